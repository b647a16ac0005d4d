"""Acts that must happen only once.

A form that signs, revokes, creates, merges or books carries an operation id issued by the server. The first submission
claims the operation; a double click, a refresh or a second tab finds it pending or done and doesn't act again. A lost
response leaves it unknown until the clinic's record has been checked. Operations outlive sessions and belong to one
owner: others can't find them.

Showing such a form creates a record, so anyone signed in could fill the store by reloading. Each owner therefore has at
most a hundred: the forms untouched for longest are dropped first, never submitted ones.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Any

import msgspec

from portal.clock import Clock
from portal.store import StoredRecord
from portal.store.names import hashed_name
from portal.store.vault import Vault

_LIFETIME = 48 * 3600
_MOST = 100


class State(StrEnum):
    """The state of an operation: being filled in, sent, finished, or sent without a response."""

    OPEN = "open"
    PENDING = "pending"
    DONE = "done"
    UNKNOWN = "unknown"


class Operation(msgspec.Struct, frozen=True, kw_only=True):
    """One act. `data` is what the person has entered so far; `outcome` is where the receipt is."""

    id: str
    purpose: str
    state: State
    data: dict[str, Any]
    outcome: str = ""
    changed_at: float


class Operations:
    """The operations of all owners, who are known by a name at each clinic: `clinic` says which asks."""

    def __init__(self, vault: Vault, clock: Clock, clinic: Callable[[], str] = lambda: "") -> None:
        self._vault = vault
        self._clock = clock
        self._clinic = clinic

    def begin(
        self,
        owner: str,
        purpose: str,
        data: dict[str, Any] | None = None,
        *,
        id_: str | None = None,
        expires_at: float | None = None,
    ) -> Operation:
        """Create an open operation for this purpose (such as `sign:<form id>`) and return it.

        With an `id_`, the owner's existing operation of that id is returned if there is one. `expires_at` is in seconds
        since 1970, by default two days from now, and goes for an existing one too that is still open.
        """
        operation = Operation(
            id=id_ or secrets.token_urlsafe(16),
            purpose=purpose,
            state=State.OPEN,
            data=data or {},
            changed_at=self._clock(),
        )
        tags = [self._vault.tag("purpose", self._clinic(), owner, purpose)]
        if id_ is None:
            self._make_room(owner)
            tags.append(self._vault.tag("operations", self._clinic(), owner))
        is_new = self._vault.insert(
            self._name(owner, operation.id),
            operation,
            expires_at=expires_at or self._clock() + _LIFETIME,
            tags=tags,
        )
        if not is_new and expires_at is not None:
            self._vault.update(
                self._name(owner, operation.id),
                Operation,
                lambda held: held if held.state is State.OPEN else None,
                expires_at=expires_at,
            )
        return operation if is_new else self.find(owner, operation.id, purpose) or operation

    def _make_room(self, owner: str) -> None:
        """Drop the forms untouched for longest if the owner has too many records."""
        names = self._vault.tagged("operations", self._clinic(), owner)
        if len(names) < _MOST:
            return
        left = [
            (operation.changed_at, name)
            for name, operation in self._opened(self._vault.get_many(names)).items()
            if operation.state is State.OPEN
        ]
        if gone := sorted(left)[: len(names) - _MOST + 1]:
            self._vault.delete(*(name for _at, name in gone))

    def open_of(self, owner: str, read: Callable[..., Mapping[str, StoredRecord]]) -> list[Operation]:
        """Return the owner's operations that are being filled in; `read` returns the records of these names."""
        names = self._vault.tagged("operations", self._clinic(), owner)
        held = self._opened(read(*names)) if names else {}
        return [operation for operation in held.values() if operation.state is State.OPEN]

    def _opened(self, records: Mapping[str, StoredRecord]) -> dict[str, Operation]:
        held = {name: self._vault.open(name, record, Operation) for name, record in records.items()}
        return {name: record.value for name, record in held.items() if record}

    def find(self, owner: str, id_: str, purpose: str | None = None) -> Operation | None:
        """Return the owner's operation of this id, and of this purpose if given, or None."""
        held = self._vault.get(self._name(owner, id_), Operation)
        return held.value if held and purpose in (None, held.value.purpose) else None

    def newest(self, owner: str, purpose: str) -> Operation | None:
        """Return the owner's most recently changed operation for this purpose, or None."""
        names = self._vault.tagged("purpose", self._clinic(), owner, purpose)
        held = [record.value for name in names if (record := self._vault.get(name, Operation))]
        return max(held, key=lambda operation: operation.changed_at, default=None)

    def keep(self, owner: str, id_: str, data: dict[str, Any]) -> bool:
        """Save what the person has entered so far; return False if the operation is no longer open."""
        return self._move(owner, id_, (State.OPEN,), State.OPEN, data=data)

    def claim(self, owner: str, id_: str, data: dict[str, Any] | None = None) -> bool:
        """Claim the right to act: of several submissions of a form only one gets True, and its `data` is kept."""
        return self._move(owner, id_, (State.OPEN,), State.PENDING, data=data)

    def reopen(self, owner: str, id_: str) -> bool:
        """Record that the act certainly didn't happen: it may be tried again."""
        return self._move(owner, id_, (State.PENDING, State.UNKNOWN), State.OPEN)

    def restart(self, owner: str, id_: str) -> bool:
        """Record that the act happened and has been undone since: it may be done again."""
        return self._move(owner, id_, (State.DONE,), State.OPEN)

    def finish(self, owner: str, id_: str, outcome: str = "") -> bool:
        """Record that the act happened; `outcome` tells a repeated submission where to go."""
        return self._move(owner, id_, (State.PENDING, State.UNKNOWN, State.OPEN), State.DONE, outcome=outcome)

    def lose(self, owner: str, id_: str) -> bool:
        """Record that no response came: the act may have happened."""
        return self._move(owner, id_, (State.PENDING,), State.UNKNOWN)

    def drop(self, owner: str, id_: str) -> None:
        self._vault.delete(self._name(owner, id_))

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

        return self._vault.update(self._name(owner, id_), Operation, move) is not None

    def _name(self, owner: str, id_: str) -> str:
        return hashed_name("operation", self._clinic(), owner, id_)
