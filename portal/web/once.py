"""What acts that happen once have in common: waiting for the post that came first, and giving up on a lost answer."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable
from typing import TypeVar

from portal.operations import Operation, State
from portal.parts import parts
from portal.sessions import Person

T = TypeVar("T")

_WAIT_SECONDS = 4.0
_LOST_SECONDS = 20.0
"""Longer than any page may take: what was sent before that has happened, or never will."""


def settled(person: Person, operation: Operation) -> Operation:
    """Return the operation as it ended; still pending when that takes longer than a few seconds.

    What the caller holds may be older than another post's claim, so the operation is read anew first.
    """

    def read() -> Operation:
        return parts().operations.find(person.sub, operation.id, operation.purpose) or operation

    return awaited(read, lambda newest: newest.state is State.PENDING and not is_lost(newest))


def awaited(read: Callable[[], T], is_pending: Callable[[T], bool]) -> T:
    """Return what is read once it isn't pending any more; as it is then, when that takes longer than a few seconds."""
    until = time.monotonic() + _WAIT_SECONDS
    while is_pending(newest := read()) and time.monotonic() < until:
        time.sleep(0.05)
    return newest


def is_lost(operation: Operation) -> bool:
    """Whether it was sent so long ago that the record, if it doesn't show it now, never will."""
    return operation.state is not State.OPEN and is_long_ago(operation.changed_at)


def is_long_ago(moment: float) -> bool:
    """Whether what was sent then (in seconds of the epoch) has happened by now, or never will."""
    return parts().clock() - moment > _LOST_SECONDS


def key(*sent: str | None) -> str:
    """Return the idempotency key of what is sent: the same when it is sent again, another for anything else."""
    return hashlib.sha256("\0".join(part or "" for part in sent).encode()).hexdigest()[:40]
