"""Password hashing: Argon2id (RFC 9106), 19 MiB and two passes, the least that OWASP recommends."""

from __future__ import annotations

from functools import lru_cache

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

_hasher = PasswordHasher(time_cost=2, memory_cost=19_456, parallelism=1)


def hash_password(password: str) -> str:
    """The hash to store for `password`, with its parameters and salt."""
    return _hasher.hash(password)


def matches(password: str, password_hash: str | None) -> bool:
    """Whether `password` matches `password_hash`.

    Takes as long where there is no such person (`None`), so that timing doesn't reveal who exists.
    """
    try:
        return _hasher.verify(password_hash or _dummy_hash(), password) and password_hash is not None
    except (VerificationError, InvalidHashError):
        return False


@lru_cache(maxsize=1)
def _dummy_hash() -> str:
    return hash_password("dummy")
