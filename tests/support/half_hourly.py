"""Values that tests share for half an hour at most, because sample records are dated from the day they are made."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import cache, wraps
from typing import TypeVar

T = TypeVar("T")


def half_hourly(make: Callable[[], T]) -> Callable[[], T]:
    """Call `make` once for each half hour of the clock, and return its value until the next."""

    @cache
    def made(_half_hour: int) -> T:
        return make()

    @wraps(make)
    def current() -> T:
        return made(int(time.time() // 1800))

    return current
