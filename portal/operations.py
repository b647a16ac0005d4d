"""Acts that must happen once.

A form that signs, revokes, creates, merges or books carries an operation id made by the server. The first post
of it claims the operation; a double click, a refresh or a second tab finds it pending or done and never acts
again. A lost answer leaves it unknown, until someone has looked at what the clinic's record says. Records outlive
sessions and belong to one person: another's id is simply not there.
"""

from __future__ import annotations

import hashlib
import secrets
from enum import StrEnum
from typing import Any

import msgspec

from portal.clock import Clock
from portal.store.vault import Held, Vault

_LIFETIME = 48 * 3600


class State(StrEnum):
    """Where an operation is: being filled in, sent, finished, or sent without an answer."""

    OPEN = "open"
    PENDING = "pending"
    DONE = "done"
    UNKNOWN = "unknown"


class Operation(msgspec.Struct, kw_only=True):
    """One act under way. `data` is what the person has given so far; `outcome` where the receipt is."""

    id: str
    purpose: str
    state: State
    data: dict[str, Any]
    outcome: str = ""
    changed_at: float


class Operations:
    """The operations of all people, each under its owner's name."""

    def __init__(self, vault: Vault, clock: Clock) -> None:
        self._vault = vault
        self._clock = clock

    def begin(self, owner: str, purpose: str, data: dict[str, Any] | None = None) -> Operation:
        """Make an operation for this purpose (such as `sign:<form id>`) and return it, open."""
        operation = Operation(
            id=secrets.token_urlsafe(16),
            purpose=purpose,
            state=State.OPEN,
            data=data or {},
            changed_at=self._clock(),
        )
        self._vault.insert(
            _name(owner, operation.id),
            operation,
            expires_at=self._clock() + _LIFETIME,
            tags=[_tag(owner, purpose)],
        )
        return operation

    def find(self, owner: str, id_: str, purpose: str) -> Operation | None:
        """Return the owner's operation of this id and purpose, or None."""
        held = self._held(owner, id_)
        return held.value if held and held.value.purpose == purpose else None

    def newest(self, owner: str, purpose: str) -> Operation | None:
        """Return the owner's operation for this purpose that changed last, or None."""
        names = self._vault.store.tagged(_tag(owner, purpose))
        held = [one.value for name in names if (one := self._vault.get(name, Operation))]
        return max(held, key=lambda operation: operation.changed_at, default=None)

    def keep(self, owner: str, id_: str, data: dict[str, Any]) -> bool:
        """Keep what the person has given so far; False when the operation isn't open any more."""
        return self._move(owner, id_, (State.OPEN,), State.OPEN, data=data)

    def claim(self, owner: str, id_: str) -> bool:
        """Take the right to act: of many posts of one form, one alone gets True."""
        return self._move(owner, id_, (State.OPEN,), State.PENDING)

    def reopen(self, owner: str, id_: str) -> bool:
        """The act surely did not happen: it may be tried again."""
        return self._move(owner, id_, (State.PENDING, State.UNKNOWN), State.OPEN)

    def finish(self, owner: str, id_: str, outcome: str = "") -> bool:
        """The act happened; `outcome` tells a repeat where to go."""
        return self._move(owner, id_, (State.PENDING, State.UNKNOWN, State.OPEN), State.DONE, outcome=outcome)

    def lose(self, owner: str, id_: str) -> bool:
        """No answer came: it may have happened."""
        return self._move(owner, id_, (State.PENDING,), State.UNKNOWN)

    def _move(
        self,
        owner: str,
        id_: str,
        before: tuple[State, ...],
        after: State,
        *,
        data: dict[str, Any] | None = None,
        outcome: str = "",
    ) -> bool:
        name = _name(owner, id_)
        while (held := self._held(owner, id_)) is not None and held.value.state in before:
            operation = held.value
            operation.state, operation.changed_at = after, self._clock()
            operation.outcome = outcome or operation.outcome
            operation.data = operation.data if data is None else data
            if self._vault.replace(name, operation, version=held.version, expires_at=held.expires_at):
                return True
        return False

    def _held(self, owner: str, id_: str) -> Held[Operation] | None:
        return self._vault.get(_name(owner, id_), Operation) if id_ else None


def _name(owner: str, id_: str) -> str:
    return "operation:" + _digest(owner, id_)


def _tag(owner: str, purpose: str) -> str:
    return "purpose:" + _digest(owner, purpose)


def _digest(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()
