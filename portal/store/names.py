"""The names of records and their tags, which reveal nothing about people and clinics to a reader of the store.

What belongs to a long random value (a session's cookie, an operation's id) is named by a plain hash of it, which nobody
can guess. Everything else (people, addresses, clinics) could be tried out, so it is named by HMAC-SHA-256 (RFC 2104).

The key for that is made once, by the process that needs it first, and lies in the store: so all processes give the same
names, and names stay when secret keys are rotated. It is sealed with each of the secret keys, so that a process that
has one of them can open it. One that has none of them was given wrong secret keys: it changes nothing and says so.
"""

from __future__ import annotations

import hashlib
import hmac
import os
from dataclasses import dataclass

import msgspec

from portal.clock import Clock
from portal.store import Record, Store, StoreDown, WrongKey, update
from portal.store.sealer import Sealer, fingerprint, key_id

_RECORD = "naming-key"
_LIFETIME = 10 * 365 * 24 * 3600
_OLDER_VERSIONS_TAG = "audit-anchors"
_MIXED_SECONDS = 24 * 3600


def hashed_name(kind: str, *parts: str) -> str:
    """Return the name of a record; one of `parts` is a random value of 72 bits or more."""
    text = "\0".join(parts)
    return f"{kind}:{hashlib.sha256(text.encode()).hexdigest()}"


class SealedNamingKey(msgspec.Struct, frozen=True, kw_only=True):
    """The naming key as it is stored, sealed with each secret key.

    `upgraded_at` (seconds since 1970): it was made then for a store that versions without such a key wrote to before.
    """

    seals: list[bytes]
    upgraded_at: float | None = None


@dataclass(frozen=True, slots=True)
class _NamingKey:
    """An opened naming key, with the bytes of its record."""

    key: bytes
    upgraded_at: float | None
    record: bytes

    def name(self, kind: str, parts: tuple[str, ...]) -> str:
        named = msgspec.msgpack.encode((kind, *parts))
        return f"{kind}:{hmac.digest(self.key, named, 'sha256')[:16].hex()}"


class Names:
    """Makes the names for one store. Every method may raise StoreDown, and WrongKey where the naming key can't be opened.

    Versions of the portal without a naming key tagged records by plain hashes. For a day after an upgrade, while some may
    still be running, records get both tags, so that whichever ends a person's sessions finds them all; and those that
    carry the plain one alone are always found.
    """

    def __init__(self, store: Store, secret_keys: tuple[str, ...], clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._sealers = [Sealer((key,), "names") for key in secret_keys]
        self._fingerprints = [fingerprint(key) for key in secret_keys]
        self._known: _NamingKey | None = None

    def check(self) -> None:
        """Raise WrongKey if the store is sealed with other secret keys. Writes nothing."""
        record = self._store.get(_RECORD)
        if record and self._opened(record) is None:
            raise self._wrong_key(record)

    def is_in_use(self, key: bytes) -> bool:
        """Whether a process has the secret key with this id: one that nobody has any more seals what nobody can open."""
        record = self._store.get(_RECORD)
        return record is not None and key in map(key_id, _decoded(record).seals)

    def name(self, kind: str, *parts: str) -> str:
        """Return the name of the record of this kind about these things."""
        return (self._known or self._read()).name(kind, parts)

    def tags(self, kind: str, *parts: str) -> list[str]:
        """Return the tags by which `tagged` finds a record again."""
        naming_key = self._newest()
        tag, upgraded_at = naming_key.name(kind, parts), naming_key.upgraded_at
        if upgraded_at is None or self._clock() - upgraded_at > _MIXED_SECONDS:
            return [tag]
        return [tag, hashed_name(kind, *parts)]

    def tagged(self, kind: str, *parts: str) -> list[str]:
        """Return the names of the records that carry the tag."""
        naming_key = self._newest()
        names = self._store.tagged(naming_key.name(kind, parts))
        if naming_key.upgraded_at is not None:
            names += self._store.tagged(hashed_name(kind, *parts))
        return list(dict.fromkeys(names))

    def _newest(self) -> _NamingKey:
        """Return the key as the store has it now, because every process must find tagged records.

        After a store was emptied, a process that went on and one that started since might else know two keys.
        """
        record = self._store.get(_RECORD)
        is_known = record and self._known and record.value == self._known.record
        return self._known if self._known and is_known else self._read()

    def _read(self) -> _NamingKey:
        """Read the key; make it if there is none, and seal it again if the secret keys have changed."""
        update(self._store, _RECORD, self._change)
        record = self._store.get(_RECORD)
        naming_key = (self._opened(record) if record else None) or self._known
        if naming_key is None:
            raise self._wrong_key(record) if record else StoreDown("no naming key")
        self._known = naming_key
        return naming_key

    def _change(self, record: Record | None) -> tuple[bytes, float] | None:
        opened = self._opened(record) if record else None
        if record and (opened is None or self._is_up_to_date(record)):
            return None  # never over a key that can't be opened: people's sessions are found by it
        naming_key = opened or self._known or self._made()
        seals = [sealer.seal(naming_key.key, _RECORD.encode()) for sealer in self._sealers]
        seals = [*(self._newer_seals(record) if record else ()), *seals]
        kept = SealedNamingKey(seals=seals, upgraded_at=naming_key.upgraded_at)
        return msgspec.msgpack.encode(kept), self._clock() + _LIFETIME

    def _made(self) -> _NamingKey:
        is_upgrade = self._store.tagged(_OLDER_VERSIONS_TAG)
        return _NamingKey(os.urandom(32), self._clock() if is_upgrade else None, b"")

    def _wrong_key(self, record: Record) -> WrongKey:
        seals = ", ".join(key_id(seal).hex() for seal in _decoded(record).seals) or "an unknown key"
        return WrongKey(f"the store is sealed with {seals}; this process has {', '.join(self._fingerprints)}")

    def _newer_seals(self, record: Record) -> list[bytes]:
        """Return the seals with keys that this process doesn't have yet.

        Who seals puts its first key first, so foreign seals are newer where one of them stands first, and else of keys
        that were removed.
        """
        seals = _decoded(record).seals
        foreign = [seal for seal in seals if not any(self._open(seal, sealer) for sealer in self._sealers)]
        return foreign if foreign and foreign[0] == seals[0] else []

    def _opened(self, record: Record) -> _NamingKey | None:
        kept = _decoded(record)
        opened = [self._open(seal, sealer) for seal in kept.seals for sealer in self._sealers]
        key = next((key for key in opened if key), None)
        return _NamingKey(key, kept.upgraded_at, record.value) if key else None

    def _is_up_to_date(self, record: Record) -> bool:
        """Whether it is sealed with every secret key and no removed one, and lasts for years."""
        seals = _decoded(record).seals
        is_sealed = all(any(self._open(seal, sealer) for seal in seals) for sealer in self._sealers)
        lasts = record.expires_at - self._clock() > _LIFETIME / 2
        return lasts and is_sealed and len(seals) == len(self._sealers) + len(self._newer_seals(record))

    @staticmethod
    def _open(seal: bytes, sealer: Sealer) -> bytes | None:
        return sealer.open(seal, _RECORD.encode())


def _decoded(record: Record) -> SealedNamingKey:
    try:
        return msgspec.msgpack.decode(record.value, type=SealedNamingKey)
    except msgspec.DecodeError:
        return SealedNamingKey(seals=[])
