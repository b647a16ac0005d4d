"""What was made for a session, kept for some minutes: documents, so that viewing, saving and printing a PDF renders it once,
and what was read of the embryos in storage (`portal/views/storage/inventory.py`).

With the plans and results that people saw (`portal/web/seen_plans.py`, `portal/web/seen_results.py`), the moves of
embryos that wait for a second person (`portal/views/storage/pending_moves.py`) and whom a session has read about
(`portal/web/known_people.py`) these are the only clinical records in the
store. Like everything in it they are sealed; only the session that they were made for can find them, and they are deleted when it ends.
A session has a few slots for documents, in which newer ones replace older ones, and one for the embryos.
"""

from __future__ import annotations

import hashlib

import msgspec

from portal.clock import Clock
from portal.store.names import hashed_name
from portal.store.vault import Vault

_SECONDS = 5 * 60
_SLOTS = 4
INVENTORY = "embryos in storage"
"""What its own slot holds."""
_ROOM_SLOT = _SLOTS
_LARGEST = 2 * 1024 * 1024


class Copy(msgspec.Struct, frozen=True):
    """A document or record, and the digest of its source."""

    made_from: bytes
    content: bytes


class Copies:
    """The documents of all sessions. Every method may raise StoreDown."""

    def __init__(self, vault: Vault, clock: Clock) -> None:
        self._vault = vault
        self._clock = clock

    def find(self, session: str, about: str, made_from: bytes) -> bytes | None:
        """Return the session's document about this, if it was made from the same source."""
        held = self._vault.get(_name(session, _slot(about)), Copy)
        return held.value.content if held and held.value.made_from == made_from else None

    def keep(
        self, session: str, about: str, made_from: bytes, content: bytes, *, seconds: float = _SECONDS
    ) -> None:
        """Keep a document for a few minutes, unless it is very large."""
        if len(content) > _LARGEST:
            return
        name = _name(session, _slot(about))
        self._vault.delete(name)
        self._vault.insert(name, Copy(made_from, content), expires_at=self._clock() + seconds)

    def drop(self, session: str, about: str) -> None:
        """Delete the session's document about this."""
        self._vault.delete(_name(session, _slot(about)))


def names_of(session: str) -> list[str]:
    """Return the names of all the records that a session may have."""
    return [_name(session, slot) for slot in (*range(_SLOTS), _ROOM_SLOT)]


def _slot(about: str) -> int:
    if about == INVENTORY:
        return _ROOM_SLOT
    return hashlib.sha256(about.encode()).digest()[0] % _SLOTS


def _name(session: str, slot: int) -> str:
    return hashed_name("copy", session, str(slot))
