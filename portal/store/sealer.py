"""How the portal seals everything that it keeps outside its own memory.

AES-256-GCM (NIST SP 800-38D) with a fresh nonce for each value. The first four bytes name the key: the first configured
key seals, every configured key opens, which is how keys are rotated. Keys are derived by HKDF (RFC 5869), for each
purpose another.
"""

from __future__ import annotations

import hashlib
import hmac
import os
from functools import lru_cache

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

_KEY_ID, _NONCE = 4, 12


class Sealer:
    """Seals and opens bytes for one purpose, such as "store"."""

    def __init__(self, secret_keys: tuple[str, ...], purpose: str) -> None:
        self._ciphers = {_key_id(key): AESGCM(derived(key, purpose)) for key in secret_keys}
        self._first = _key_id(secret_keys[0])

    def seal(self, plain: bytes, bound_to: bytes) -> bytes:
        """Return the value, encrypted; it opens only with the same `bound_to` (associated data)."""
        nonce = os.urandom(_NONCE)
        return self._first + nonce + self._ciphers[self._first].encrypt(nonce, plain, bound_to)

    def has_key_of(self, sealed: bytes) -> bool:
        """Whether it was sealed with one of these keys."""
        return key_id(sealed) in self._ciphers

    def open(self, sealed: bytes, bound_to: bytes) -> bytes | None:
        """Return the plain value; None when it is forged, bound to something else, or its key is gone."""
        cipher = self._ciphers.get(key_id(sealed))
        nonce, encrypted = sealed[_KEY_ID : _KEY_ID + _NONCE], sealed[_KEY_ID + _NONCE :]
        if cipher is None or len(nonce) < _NONCE:
            return None
        try:
            return cipher.decrypt(nonce, encrypted, bound_to)
        except InvalidTag:
            return None


def mac(key: bytes, message: bytes) -> bytes:
    """Return the message's HMAC-SHA-256 (RFC 2104), of which the key's part is reckoned once."""
    begun = _keyed(key).copy()
    begun.update(message)
    return begun.digest()


@lru_cache(maxsize=64)
def _keyed(key: bytes) -> hmac.HMAC:
    return hmac.new(key, digestmod=hashlib.sha256)


def key_id(sealed: bytes) -> bytes:
    return sealed[:_KEY_ID]


def fingerprint(key: str) -> str:
    """What tells secret keys apart in logs and files: eight hexadecimal digits, which say nothing about the key."""
    return _key_id(key).hex()


def derived(key: str, purpose: str) -> bytes:
    """Return the 32 bytes that a secret key gives for one purpose (HKDF, RFC 5869)."""
    return HKDF(algorithm=SHA256(), length=32, salt=None, info=f"portal {purpose}".encode()).derive(
        key.encode()
    )


def _key_id(key: str) -> bytes:
    return hashlib.sha256(b"key id" + key.encode()).digest()[:_KEY_ID]
