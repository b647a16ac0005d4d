"""Signatures of audit lines: who can't read the portal's secret keys can't write a line (HMAC-SHA-256, RFC 2104).

A line ends with the member `mac`, over all that stands before it. Its member `key` is the fingerprint of the secret key
that the signature's own key is derived from (HKDF), so that lines stay verifiable while keys are rotated.
"""

from __future__ import annotations

import hmac
from collections.abc import Iterable, Mapping

from portal.store.sealer import derived, fingerprint, mac

_MEMBER = b',"mac":"%s"}'
_LENGTH = len(_MEMBER % (b"0" * 64))


def keys_of(secret_keys: Iterable[str]) -> Mapping[str, bytes]:
    """Return the keys of signatures by the fingerprint of the secret key that each is derived from."""
    return {fingerprint(key): derived(key, "audit lines") for key in secret_keys}


def signed(line: bytes, key: bytes) -> bytes:
    """Return the JSON object with its signature as the last member."""
    return line[:-1] + _MEMBER % mac(key, line).hex().encode()


def is_signed(line: bytes, key: bytes) -> bool:
    """Whether the line ends with the signature that the key gives it."""
    return hmac.compare_digest(signed(line[:-_LENGTH] + b"}", key), line)
