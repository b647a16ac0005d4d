"""The deadline of the current request: every outbound call made for it ends by then, whoever makes it.

Making the page of what was read has to end soon afterwards.

Kept in a context variable, so that tasks side by side share it, and a thread of its own (which nobody waits for) has
none.
"""

from __future__ import annotations

import time
from contextvars import ContextVar

RENDERING_SECONDS = 3.0
"""How long a page may still be made after the deadline of its calls."""

_end: ContextVar[float | None] = ContextVar("deadline", default=None)


class Passed(Exception):
    """The page can't be made in time."""


def set_to(end: float | None) -> None:
    """Make all calls of this context end by `end`, on `time.monotonic`'s scale; None removes the limit."""
    _end.set(end)


def left(at_most: float) -> float:
    """Return the seconds left, at most `at_most`; 0 when the deadline has passed."""
    end = _end.get()
    return at_most if end is None else max(0.0, min(at_most, end - time.monotonic()))


def check() -> None:
    """Raise Passed if the page should have been made by now. Called between the steps of making one."""
    end = _end.get()
    if end is not None and time.monotonic() > end + RENDERING_SECONDS:
        raise Passed
