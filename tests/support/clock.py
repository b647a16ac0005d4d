"""The clock that tests hand to the code in place of the system's."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager


class Clock:
    """Seconds since the epoch, moved by tests.

    It stands still unless it is made of a clock that runs: `Clock(time.time)` goes on from the present.
    """

    def __init__(self, source: Callable[[], float] = lambda: 1_000_000.0) -> None:
        self._source = source
        self.ahead = 0.0

    def __call__(self) -> float:
        return self._source() + self.ahead

    @property
    def now(self) -> float:
        return self()

    @now.setter
    def now(self, now: float) -> None:
        self.ahead = now - self._source()

    @contextmanager
    def stopped(self) -> Iterator[None]:
        """Let it stand still, so that what depends on time doesn't depend on how busy the machine is."""
        source, now = self._source, self._source()
        self._source = lambda: now
        try:
            yield
        finally:
            self._source = source

    def advance(self, seconds: float) -> None:
        self.ahead += seconds
