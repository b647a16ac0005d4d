"""Until when the request under way may wait: every outbound call that is made for it ends by then, whoever makes it.

Kept in a context variable, so that tasks side by side share it, and a thread of its own (which nobody waits for) has
none.
"""

from __future__ import annotations

import time
from contextvars import ContextVar

_end: ContextVar[float | None] = ContextVar("deadline", default=None)


def set_to(end: float | None) -> None:
    """Let all calls of this context end by `end`, on `time.monotonic`'s scale; None takes the limit away."""
    _end.set(end)


def left(at_most: float) -> float:
    """Return how many seconds something that takes `at_most` may still take; 0 when the time is over."""
    end = _end.get()
    return at_most if end is None else max(0.0, min(at_most, end - time.monotonic()))
