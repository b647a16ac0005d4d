"""Acts that must happen once.

A form that signs, revokes, creates, merges or books carries an operation id made by the server. The first post
of it claims the operation; a double click, a refresh or a second tab finds it pending or done and never acts
again. A lost answer leaves it unknown, until someone has looked at what the clinic's record says. Records outlive
sessions and belong to one person: another's id is simply not there.

A page that asks for a form makes a record, and so anybody signed in could fill the store by asking again and again. So one
person has a hundred at the most: the forms that were left longest ago go first, never what was sent.
"""

from __future__ import annotations

import secrets
from enum import StrEnum
from typing import Any

import msgspec

from portal.clock import Clock
from portal.store.names import hashed_name
from portal.store.vault import Vault

_LIFETIME = 48 * 3600
_MOST = 100


class State(StrEnum):
    """Where an operation is: being filled in, sent, finished, or sent without an answer."""

    OPEN = "open"
    PENDING = "pending"
    DONE = "done"
    UNKNOWN = "unknown"


class Operation(msgspec.Struct, frozen=True, kw_only=True):
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

    def begin(
        self,
        owner: str,
        purpose: str,
        data: dict[str, Any] | None = None,
        *,
        id_: str | None = None,
        expires_at: float | None = None,
    ) -> Operation:
        """Make an operation for this purpose (such as `sign:<form id>`) and return it, open.

        The owner's operation of a given `id_` is made once, and found from then on. `expires_at` is in seconds of the
        epoch, two days from now unless given.
        """
        operation = Operation(
            id=id_ or secrets.token_urlsafe(16),
            purpose=purpose,
            state=State.OPEN,
            data=data or {},
            changed_at=self._clock(),
        )
        tags = self._vault.tags("purpose", owner, purpose)
        if id_ is None:
            self._make_room(owner)
            tags += self._vault.tags("operations", owner)
        is_new = self._vault.insert(
            _name(owner, operation.id),
            operation,
            expires_at=expires_at or self._clock() + _LIFETIME,
            tags=tags,
        )
        return operation if is_new else self.find(owner, operation.id, purpose) or operation

    def _make_room(self, owner: str) -> None:
        """Drop the forms that were left longest ago, where the owner has too many records."""
        names = self._vault.tagged("operations", owner)
        if len(names) < _MOST:
            return
        records = self._vault.get_many(names)
        held = {name: self._vault.open(name, record, Operation) for name, record in records.items()}
        left = [
            (one.value.changed_at, name)
            for name, one in held.items()
            if one and one.value.state is State.OPEN
        ]
        if gone := sorted(left)[: len(names) - _MOST + 1]:
            self._vault.delete(*(name for _at, name in gone))

    def find(self, owner: str, id_: str, purpose: str) -> Operation | None:
        """Return the owner's operation of this id and purpose, or None."""
        held = self._vault.get(_name(owner, id_), Operation)
        return held.value if held and held.value.purpose == purpose else None

    def newest(self, owner: str, purpose: str) -> Operation | None:
        """Return the owner's operation for this purpose that changed last, or None."""
        names = self._vault.tagged("purpose", owner, purpose)
        held = [one.value for name in names if (one := self._vault.get(name, Operation))]
        return max(held, key=lambda operation: operation.changed_at, default=None)

    def keep(self, owner: str, id_: str, data: dict[str, Any]) -> bool:
        """Keep what the person has given so far; False when the operation isn't open any more."""
        return self._move(owner, id_, (State.OPEN,), State.OPEN, data=data)

    def claim(self, owner: str, id_: str, data: dict[str, Any] | None = None) -> bool:
        """Take the right to act: of many posts of one form, one alone gets True, and its `data` is kept."""
        return self._move(owner, id_, (State.OPEN,), State.PENDING, data=data)

    def reopen(self, owner: str, id_: str) -> bool:
        """The act surely did not happen: it may be tried again."""
        return self._move(owner, id_, (State.PENDING, State.UNKNOWN), State.OPEN)

    def restart(self, owner: str, id_: str) -> bool:
        """The act happened and was undone by another since: it may be done once more."""
        return self._move(owner, id_, (State.DONE,), State.OPEN)

    def finish(self, owner: str, id_: str, outcome: str = "") -> bool:
        """The act happened; `outcome` tells a repeat where to go."""
        return self._move(owner, id_, (State.PENDING, State.UNKNOWN, State.OPEN), State.DONE, outcome=outcome)

    def lose(self, owner: str, id_: str) -> bool:
        """No answer came: it may have happened."""
        return self._move(owner, id_, (State.PENDING,), State.UNKNOWN)

    def drop(self, owner: str, id_: str) -> None:
        """Remove the operation: what was sent under it is nobody's any more."""
        self._vault.delete(_name(owner, id_))

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
        def move(operation: Operation) -> Operation | None:
            if operation.state not in before:
                return None
            return msgspec.structs.replace(
                operation,
                state=after,
                changed_at=self._clock(),
                outcome=outcome or operation.outcome,
                data=operation.data if data is None else data,
            )

        return self._vault.update(_name(owner, id_), Operation, move) is not None


def _name(owner: str, id_: str) -> str:
    return hashed_name("operation", owner, id_)
