"""Typed records, encrypted before they reach the store.

Each value is encrypted (`portal.store.sealer`) and bound to its record's name, so a value copied to another name can't be
decrypted. A value encrypted with a key that only other processes have, as while keys are rotated, is never overwritten. If
the whole store was written with other keys, methods that read such a record raise WrongKey (`portal.store.names`).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from types import EllipsisType
from typing import Generic, TypeAlias, TypeVar, cast

import msgspec

from portal import struct_types
from portal.clock import Clock
from portal.store import Store, StoredRecord, update
from portal.store.names import NAMING_KEY, Names
from portal.store.sealer import Sealer, key_id

T = TypeVar("T")
_Members: TypeAlias = dict[object, object]


class Versioned(msgspec.Struct, Generic[T], frozen=True):
    """A decrypted record: its value, its version, and when it expires (seconds since 1970)."""

    value: T
    version: int
    expires_at: float


class Vault:
    """The store, with values of msgspec types instead of bytes, and with names that reveal nothing."""

    def __init__(self, store: Store, secret_keys: tuple[str, ...], clock: Clock = time.time) -> None:
        self.store = store
        self._names = Names(store, secret_keys, clock)
        self._sealer = Sealer(secret_keys, "store")
        self._encoder = msgspec.msgpack.Encoder()
        self._decoders: dict[type, msgspec.msgpack.Decoder[object]] = {}

    def name(self, kind: str, *parts: str) -> str:
        """Return the name of the record of this kind that belongs to `parts`; it can't be guessed without the naming key."""
        return self._names.name(kind, *parts)

    def tag(self, kind: str, *parts: str) -> str:
        """Return the tag by which `tagged` finds a record."""
        return self._names.tag(kind, *parts)

    def tagged(self, kind: str, *parts: str) -> list[str]:
        """Return the names of the records with this tag that haven't expired."""
        return self._names.tagged(kind, *parts)

    def get(self, name: str, into: type[T]) -> Versioned[T] | None:
        """Return the record, or None if it is absent, forged or encrypted with a removed key."""
        record = self.store.get(name)
        return self.open(name, record, into) if record else None

    def get_many(self, names: Iterable[str]) -> dict[str, StoredRecord]:
        """Return the encrypted records with these names in one round trip, for `open`; `tagged` then needs one less for a moment."""
        records = self.store.get_many((*names, NAMING_KEY))
        self._names.learn_key(records.pop(NAMING_KEY, None))
        return records

    def open(self, name: str, record: StoredRecord, into: type[T]) -> Versioned[T] | None:
        plain = self._opened(name, record)
        value = None if plain is None else self._read(plain, into)
        return None if value is None else Versioned(value, record.version, record.expires_at)

    def check_keys(self) -> None:
        """Raise WrongKey if the store was written with other secret keys, StoreDown if it can't be read."""
        self._names.check()

    def _opened(self, name: str, record: StoredRecord) -> bytes | None:
        plain = self._sealer.open(record.value, name.encode())
        if plain is None:
            self.check_keys()
        return plain

    def insert(self, name: str, value: object, *, expires_at: float, tags: Iterable[str] = ()) -> bool:
        """Create the record; return False if it exists."""
        return self.store.insert(name, self._seal(name, value), expires_at=expires_at, tags=tags)

    def update(
        self,
        name: str,
        into: type[T],
        change: Callable[[T], T | None],
        *,
        initial: T | None = None,
        expires_at: float | Callable[[T], float] | None = None,
        tags: Iterable[str] = (),
        held: StoredRecord | EllipsisType | None = ...,
    ) -> T | None:
        """Replace the record's value by what `change` returns for it, and return that; None if nothing was written.

        `change` returns None to keep the record. It runs again if another process wrote meanwhile (compare-and-set), so
        it must have no side effects. If the record is absent or forged, `change` receives `initial`, and the new record
        gets `tags`; without `initial` nothing is written. Nor is a record that only other processes can decrypt.
        `expires_at` (seconds since 1970) may be computed from the new value; without it, the expiry doesn't change. `held`
        is the record as read a moment ago.
        Fields that this version doesn't know are kept: while the portal is upgraded, processes of two versions share
        the store.
        """
        written: T | None = None

        def change_sealed(record: StoredRecord | None) -> tuple[bytes, float] | None:
            nonlocal written
            written = None
            plain = self._opened(name, record) if record else None
            if record and plain is None and self._is_anothers(record.value):
                return None
            read = None if plain is None else self._read(plain, into)
            before = initial if read is None else read
            known = b"" if read is None else self._encoder.encode(read)  # before `change`, which may alter it
            written = None if before is None else change(before)
            if written is None:
                return None
            until = expires_at(written) if callable(expires_at) else expires_at
            if until is None:
                if record is None:
                    raise ValueError(f"when does a new record of {name.partition(':')[0]} expire?")
                until = record.expires_at
            after = self._encoder.encode(written)
            if plain is not None and read is not None and known != plain:
                stored, ours, ours_now = map(msgspec.msgpack.decode, (plain, known, after))
                after = self._encoder.encode(_with_unknown(stored, ours, ours_now))
            return self._sealer.seal(after, name.encode()), until

        update(self.store, name, change_sealed, tags=tags, held=held)
        return written

    def _is_anothers(self, sealed: bytes) -> bool:
        """Whether other processes can decrypt what this one can't, as while keys are being rotated."""
        return not self._sealer.has_key_of(sealed) and self._names.is_in_use(key_id(sealed))

    def delete(self, *names: str) -> int:
        """Delete the records; return how many existed."""
        return self.store.delete(*names)

    def _read(self, plain: bytes, into: type[T]) -> T | None:
        try:
            return self._decoder(into).decode(plain)
        except msgspec.DecodeError:
            return None

    def _seal(self, name: str, value: object) -> bytes:
        return self._sealer.seal(self._encoder.encode(value), name.encode())

    def _decoder(self, into: type[T]) -> msgspec.msgpack.Decoder[T]:
        decoder = self._decoders.get(into)
        if decoder is None:
            with struct_types.creation_lock:
                decoder = self._decoders[into] = msgspec.msgpack.Decoder(into)
        return decoder  # pyright: ignore[reportReturnType]  # keyed by its own type


def _with_unknown(stored: object, known: object, after: object) -> object:
    """Add to `after` the members of `stored` that this version doesn't know; `known` are those that it read."""
    if not (isinstance(stored, dict) and isinstance(known, dict) and isinstance(after, dict)):
        return after
    merged, was_known = cast("_Members", after), cast("_Members", known)
    for name, value in cast("_Members", stored).items():
        if name not in was_known:
            merged.setdefault(name, value)
        elif name in merged:
            merged[name] = _with_unknown(value, was_known[name], merged[name])
    return merged
