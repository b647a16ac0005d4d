"""The deadline of the current request: every outbound call made for it ends by then, whoever makes it.

Making the page of what was read has to end soon afterwards.

Kept in a context variable, so that tasks side by side share it, and a thread of its own (which nobody waits for) has
none.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass

RENDERING_SECONDS = 3.0
"""How long a page may still be made after the deadline of its calls."""

_end: ContextVar[float | None] = ContextVar("deadline", default=None)


@dataclass(slots=True)
class _Wait:
    """Who wants to know that calls are still waited for at a moment, until they are told."""

    until: float
    tell: Callable[[], None] | None


_wait: ContextVar[_Wait | None] = ContextVar("wait", default=None)


class Passed(Exception):
    """The page can't be made in time."""


def set_to(end: float | None) -> None:
    """Make all calls of this context end by `end`, on `time.monotonic`'s scale; None removes the limit.

    Whoever was to be told of a wait is forgotten: a thread's next request isn't theirs.
    """
    _end.set(end)
    _wait.set(None)


def when_waiting(until: float, tell: Callable[[], None]) -> None:
    """Call `tell` once if a call of this context is still waited for at this moment, on `time.monotonic`'s scale."""
    _wait.set(_Wait(until, tell))


def wait_at_most(seconds: float) -> float:
    """Return how long to wait for a call before asking again; tell of the wait when it is time."""
    wait = _wait.get()
    if wait is None or wait.tell is None:
        return seconds
    remaining = wait.until - time.monotonic()
    if remaining > 0:
        return min(seconds, remaining)
    tell, wait.tell = wait.tell, None
    tell()
    return seconds


def left(at_most: float) -> float:
    """Return the seconds left, at most `at_most`; 0 when the deadline has passed."""
    end = _end.get()
    return at_most if end is None else max(0.0, min(at_most, end - time.monotonic()))


def check() -> None:
    """Raise Passed if the page should have been made by now. Called between the steps of making one."""
    end = _end.get()
    if end is not None and time.monotonic() > end + RENDERING_SECONDS:
        raise Passed
