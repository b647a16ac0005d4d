"""The time, as one value that is handed to whoever needs it, so that tests can move it."""

from __future__ import annotations

import math
from collections.abc import Callable

Clock = Callable[[], float]
"""Seconds since 1970-01-01 UTC, as `time.time` gives them."""

LEEWAY = 30.0
"""How far clocks may differ, in seconds. A time further ahead was set by a clock that has been set back since."""


def age(at: float, now: float) -> float:
    """How many seconds ago `at` was; infinitely many if it is ahead of now by more than the leeway."""
    return now - at if now - at >= -LEEWAY else math.inf


def lasts(until: float, seconds: float, now: float) -> bool:
    """Whether what lasts so many seconds, until then, hasn't ended. What ends later than if it began now has."""
    return now < until <= now + seconds + LEEWAY
