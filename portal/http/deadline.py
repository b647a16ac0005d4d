"""The deadline of the current request: every outbound call made for it ends by then, whoever makes it.

Kept in a context variable, so that tasks side by side share it, and a thread of its own (which nobody waits for) has
none.
"""

from __future__ import annotations

import time
from contextvars import ContextVar

_end: ContextVar[float | None] = ContextVar("deadline", default=None)


def set_to(end: float | None) -> None:
    """Make all calls of this context end by `end`, on `time.monotonic`'s scale; None removes the limit."""
    _end.set(end)


def left(at_most: float) -> float:
    """Return the seconds left, at most `at_most`; 0 when the deadline has passed."""
    end = _end.get()
    return at_most if end is None else max(0.0, min(at_most, end - time.monotonic()))
