"""Names and tags of records, from which a reader of the store learns nothing about people and clinics.

A record that belongs to a long random value (a session's cookie, an operation's id) is named by that value's SHA-256.
Values that could be guessed (people, addresses, clinics) are hashed with a key (HMAC-SHA-256, RFC 2104).

The first process creates this naming key and stores it, encrypted with each of its secret keys. All processes therefore
derive the same names, and names don't change when secret keys are rotated. A process that can't decrypt the naming key
was given the wrong secret keys: it changes nothing and raises WrongKey.
"""

from __future__ import annotations

import hashlib
import logging
import math
import os
import time
from functools import lru_cache

import msgspec

from portal import metrics
from portal.clock import Clock
from portal.store import Store, StoreDown, StoredRecord, WrongKey, update
from portal.store.sealer import Sealer, fingerprint, key_id, mac
from portal.values import Value

log = logging.getLogger("portal")

NAMING_KEY = "naming-key"
"""The name of its record."""
_LIFETIME = 10 * 365 * 24 * 3600
_MOMENT = 1.0
"""For so many seconds the naming key that was read along with other records is taken for the newest."""


def hashed_name(kind: str, *parts: str) -> str:
    """Return the name of a record; one of `parts` must be a random value of at least 72 bits."""
    text = "\0".join(parts)
    return f"{kind}:{hashlib.sha256(text.encode()).hexdigest()}"


@lru_cache(4096)
def _keyed_name(key: bytes, kind: str, parts: tuple[str, ...]) -> str:
    """Cached, because each of a person's pages reads the same dozen records."""
    named = msgspec.msgpack.encode((kind, *parts))
    return f"{kind}:{mac(key, named)[:16].hex()}"


class SealedNamingKey(msgspec.Struct, frozen=True, kw_only=True):
    """The stored naming key, encrypted once with each secret key."""

    seals: list[bytes]


class _NamingKey(Value, frozen=True):
    """The decrypted naming key, with the record that it was read from."""

    key: bytes
    record: bytes

    def name(self, kind: str, parts: tuple[str, ...]) -> str:
        return _keyed_name(self.key, kind, parts)


class Names:
    """Derives the names for one store. Every method may raise StoreDown, or WrongKey if the naming key can't be decrypted."""

    def __init__(self, store: Store, secret_keys: tuple[str, ...], clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._sealers = [Sealer((key,), "names") for key in secret_keys]
        self._fingerprints = [fingerprint(key) for key in secret_keys]
        self._known: _NamingKey | None = None
        self._read_at: tuple[StoredRecord | None, float] = None, -math.inf

    def check(self) -> None:
        """Raise WrongKey if the store was written with other secret keys. Writes nothing, except to a store that was emptied."""
        record = self._store.get(NAMING_KEY)
        if record and self._opened(record) is None:
            raise self._wrong_key(record)
        if record is None and self._known:
            self._read()

    def is_in_use(self, key: bytes) -> bool:
        """Whether some process still has the secret key with this id."""
        record = self._store.get(NAMING_KEY)
        return record is not None and key in map(key_id, _decoded(record).seals)

    def name(self, kind: str, *parts: str) -> str:
        """Return the name of the record of this kind that belongs to `parts`."""
        return (self._known or self._read()).name(kind, parts)

    def tag(self, kind: str, *parts: str) -> str:
        """Return the tag by which `tagged` finds a record."""
        return self._newest().name(kind, parts)

    def tagged(self, kind: str, *parts: str) -> list[str]:
        """Return the names of the records with this tag."""
        return self._store.tagged(self._newest(_MOMENT).name(kind, parts))

    def learn_key(self, record: StoredRecord | None) -> None:
        """Take down the record of the naming key, which was read just now along with others."""
        self._read_at = record, time.monotonic()

    def _newest(self, seconds: float = 0.0) -> _NamingKey:
        """Return the key that the store holds now, so that every process finds tagged records.

        Otherwise, after a store was emptied, running processes and new ones would use different keys. To look something up, one
        that was read so many seconds ago will do.
        """
        record, at = self._read_at
        if time.monotonic() - at >= seconds:
            record = self._store.get(NAMING_KEY)
        is_known = record and self._known and record.value == self._known.record
        return self._known if self._known and is_known else self._read()

    def _read(self) -> _NamingKey:
        """Read the key; create it if there is none, and encrypt it again if the secret keys have changed."""
        is_gone = self._known is not None and self._store.get(NAMING_KEY) is None
        is_written = update(self._store, NAMING_KEY, self._change) is not None
        if is_gone and is_written:
            log.error("the store was emptied: everybody who was signed in has to sign in again")
            metrics.store_emptied()
        record = self._store.get(NAMING_KEY)
        naming_key = (self._opened(record) if record else None) or self._known
        if naming_key is None:
            raise self._wrong_key(record) if record else StoreDown("no naming key")
        self._known = naming_key
        return naming_key

    def _change(self, record: StoredRecord | None) -> tuple[bytes, float] | None:
        opened = self._opened(record) if record else None
        if record and (opened is None or self._is_up_to_date(record)):
            return None  # a key that can't be decrypted is never overwritten: others find sessions by it
        naming_key = opened or self._known
        key = naming_key.key if naming_key else os.urandom(32)
        seals = [sealer.seal(key, NAMING_KEY.encode()) for sealer in self._sealers]
        seals = [*(self._newer_seals(record) if record else ()), *seals]
        return msgspec.msgpack.encode(SealedNamingKey(seals=seals)), self._clock() + _LIFETIME

    def _wrong_key(self, record: StoredRecord) -> WrongKey:
        seals = ", ".join(key_id(seal).hex() for seal in _decoded(record).seals) or "an unknown key"
        return WrongKey(f"the store is sealed with {seals}; this process has {', '.join(self._fingerprints)}")

    def _newer_seals(self, record: StoredRecord) -> list[bytes]:
        """Return the seals made with keys that this process hasn't received yet.

        A process puts the seal of its own first key first. So if the first seal is foreign, foreign keys are newer than
        this process's; otherwise they are keys that were removed.
        """
        seals = _decoded(record).seals
        foreign = [seal for seal in seals if not any(self._open(seal, sealer) for sealer in self._sealers)]
        return foreign if foreign and foreign[0] == seals[0] else []

    def _opened(self, record: StoredRecord) -> _NamingKey | None:
        opened = [self._open(seal, sealer) for seal in _decoded(record).seals for sealer in self._sealers]
        key = next((key for key in opened if key), None)
        return _NamingKey(key, record.value) if key else None

    def _is_up_to_date(self, record: StoredRecord) -> bool:
        """Whether it is encrypted with every secret key and no removed one, and lasts for years."""
        seals = _decoded(record).seals
        is_sealed = all(any(self._open(seal, sealer) for seal in seals) for sealer in self._sealers)
        lasts = record.expires_at - self._clock() > _LIFETIME / 2
        return lasts and is_sealed and len(seals) == len(self._sealers) + len(self._newer_seals(record))

    @staticmethod
    def _open(seal: bytes, sealer: Sealer) -> bytes | None:
        return sealer.open(seal, NAMING_KEY.encode())


def _decoded(record: StoredRecord) -> SealedNamingKey:
    try:
        return msgspec.msgpack.decode(record.value, type=SealedNamingKey)
    except msgspec.DecodeError:
        return SealedNamingKey(seals=[])
