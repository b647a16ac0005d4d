"""Passwords, kept as Argon2id (RFC 9106) at the strength that OWASP names for busy servers."""

from __future__ import annotations

from functools import lru_cache

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

_hasher = PasswordHasher(time_cost=2, memory_cost=19_456, parallelism=1)


def hash_password(password: str) -> str:
    """The text to keep for `password`."""
    return _hasher.hash(password)


def is_right(password: str, password_hash: str | None) -> bool:
    """Whether `password` is the one behind `password_hash`.

    Takes as long when there is no such person (`None`), so that time does not tell who exists.
    """
    try:
        return _hasher.verify(password_hash or _nobody(), password) and password_hash is not None
    except (VerificationError, InvalidHashError):
        return False


@lru_cache(maxsize=1)
def _nobody() -> str:
    return hash_password("nobody has this one")
