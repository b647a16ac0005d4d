"""Calls that are made at the same moment."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")


def at_once(*calls: Callable[[], T]) -> list[T]:
    """What the calls answer, each made in a thread of its own at the same moment."""
    start = threading.Barrier(len(calls))

    def made(call: Callable[[], T]) -> T:
        start.wait(timeout=10)
        return call()

    with ThreadPoolExecutor(len(calls)) as pool:
        return list(pool.map(made, calls))
