"""Typed records, encrypted before they reach the store.

AES-256-GCM (NIST SP 800-38D) with a fresh nonce for each write and the record's name as associated data, so that
a value copied under another name does not open. The first four bytes name the key: the first configured key
seals, every configured key opens, which is how keys are rotated.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable
from typing import Generic, TypeVar

import msgspec
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from portal import typed
from portal.store import Record, Store

T = TypeVar("T")


class Held(msgspec.Struct, Generic[T], frozen=True):
    """An opened record: its value, the version to write over, and when it is gone (seconds since 1970)."""

    value: T
    version: int
    expires_at: float


class Vault:
    """The store, with values of msgspec types instead of bytes."""

    def __init__(self, store: Store, secret_keys: tuple[str, ...]) -> None:
        self.store = store
        self._ciphers = {_key_id(key): AESGCM(_derive(key)) for key in secret_keys}
        self._first = _key_id(secret_keys[0])
        self._encoder = msgspec.msgpack.Encoder()
        self._decoders: dict[type, msgspec.msgpack.Decoder[object]] = {}

    def get(self, name: str, into: type[T]) -> Held[T] | None:
        """Return the record, or None when it is absent, forged or sealed with a key that is gone."""
        record = self.store.get(name)
        return self.open(name, record, into) if record else None

    def get_many(self, names: Iterable[str]) -> dict[str, Record]:
        """Return the sealed records of these names in one round trip, for `open`."""
        return self.store.get_many(names)

    def open(self, name: str, record: Record, into: type[T]) -> Held[T] | None:
        """Decrypt and decode one record."""
        cipher = self._ciphers.get(record.value[:4])
        if cipher is None:
            return None
        try:
            plain = cipher.decrypt(record.value[4:16], record.value[16:], name.encode())
            value = self._decoder(into).decode(plain)
        except (InvalidTag, msgspec.DecodeError):
            return None
        return Held(value, record.version, record.expires_at)

    def insert(self, name: str, value: object, *, expires_at: float, tags: Iterable[str] = ()) -> bool:
        """Create the record; False when one of that name exists."""
        return self.store.insert(name, self._seal(name, value), expires_at=expires_at, tags=tags)

    def replace(self, name: str, value: object, *, version: int, expires_at: float) -> bool:
        """Write over `version`; False when the record changed or is gone."""
        return self.store.replace(name, self._seal(name, value), version=version, expires_at=expires_at)

    def take(self, name: str, into: type[T]) -> T | None:
        """Read and remove in one step."""
        record = self.store.take(name)
        held = self.open(name, record, into) if record else None
        return held.value if held else None

    def delete(self, *names: str) -> int:
        """Remove the records; return how many existed."""
        return self.store.delete(*names)

    def _seal(self, name: str, value: object) -> bytes:
        nonce = os.urandom(12)
        sealed = self._ciphers[self._first].encrypt(nonce, self._encoder.encode(value), name.encode())
        return self._first + nonce + sealed

    def _decoder(self, into: type[T]) -> msgspec.msgpack.Decoder[T]:
        decoder = self._decoders.get(into)
        if decoder is None:
            with typed.making:
                decoder = self._decoders[into] = msgspec.msgpack.Decoder(into)
        return decoder  # pyright: ignore[reportReturnType]  # keyed by its own type


def _key_id(key: str) -> bytes:
    return hashlib.sha256(b"key id" + key.encode()).digest()[:4]


def _derive(key: str) -> bytes:
    return HKDF(algorithm=SHA256(), length=32, salt=None, info=b"portal store").derive(key.encode())
