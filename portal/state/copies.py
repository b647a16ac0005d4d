"""Documents that were made for a session, kept for some minutes: a PDF that is looked at, saved and printed is made once.

The only records of the clinic that stand in the store. They are sealed like all that does, found by the session alone
that they were made for, and gone when it ends. A session has a few places: a newer document takes an older one's.
"""

from __future__ import annotations

import hashlib

import msgspec

from portal.clock import Clock
from portal.store.names import hashed_name
from portal.store.vault import Vault

_SECONDS = 5 * 60
_PLACES = 4
_LARGEST = 2 * 1024 * 1024


class Copy(msgspec.Struct, frozen=True):
    """A document, and the digest of what it was made from."""

    made_from: bytes
    content: bytes


class Copies:
    """The documents of all sessions. Every method may raise StoreDown."""

    def __init__(self, vault: Vault, clock: Clock) -> None:
        self._vault = vault
        self._clock = clock

    def find(self, session: str, about: str, made_from: bytes) -> bytes | None:
        """Return the session's document about this, if it was made from the same."""
        held = self._vault.get(_name(session, _place(about)), Copy)
        return held.value.content if held and held.value.made_from == made_from else None

    def keep(self, session: str, about: str, made_from: bytes, content: bytes) -> None:
        """Keep a document for some minutes, unless it is very large."""
        if len(content) > _LARGEST:
            return
        name = _name(session, _place(about))
        self._vault.delete(name)
        self._vault.insert(name, Copy(made_from, content), expires_at=self._clock() + _SECONDS)


def names_of(session: str) -> list[str]:
    """Return the names of all records that a session may have."""
    return [_name(session, place) for place in range(_PLACES)]


def _place(about: str) -> int:
    return hashlib.sha256(about.encode()).digest()[0] % _PLACES


def _name(session: str, place: int) -> str:
    return hashed_name("copy", session, str(place))
