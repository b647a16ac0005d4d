"""Hashes passwords as quickly as Argon2 can: people sign in thousands of times, and to hash as deployed takes longer than the rest."""

from __future__ import annotations

import pytest
from argon2 import PasswordHasher

from portal.careservice.identity import passwords

AS_DEPLOYED = passwords._hasher


def quicken(patch: pytest.MonkeyPatch) -> None:
    """Let this process hash so; it checks what another has hashed at that one's cost."""
    patch.setattr(passwords, "_hasher", PasswordHasher(time_cost=1, memory_cost=8, parallelism=1))
