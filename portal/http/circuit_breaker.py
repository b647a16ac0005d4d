"""Circuit breakers: an upstream that keeps failing isn't called for a while, so that nobody waits for it.

One for each upstream and group of its endpoints, so that a calendar that is down takes no consent form away. A way
opens (nothing is sent) after so many failures in a row, or twice as many among the last four times as many calls; for
a second at first, at most eight, each ±20 % so that processes don't come back together. Then one read is let through
as a probe: it closes the breaker or opens it for twice as long. A person's act is never the probe; it is refused, and
known not to have been sent, until a read has gone well.

In the memory of each process, on purpose: a process sees within a few calls what its upstream is like, so sharing it
would put the store on the path of every call to learn a little earlier what one learns anyway; and what only one
machine's network does wrong must not close the others.

Own code because the libraries for it (pybreaker, circuitbreaker, purgatory) probe with whatever call comes next, an act
too, and hold a lock around the call or bring an event loop; what is needed is less than their adapters would be.
"""

from __future__ import annotations

import random
import threading
import time
from typing import Final

from portal import metrics
from portal.clock import Clock

FIRST_PAUSE: Final = 1.0
LONGEST_PAUSE: Final = 8.0
"""In seconds, before jitter."""

_JITTER = 0.2
_FORGOTTEN = 60.0
"""After so many seconds without another failure, earlier ones no longer count."""


class Open(Exception):
    """The call is not sent; `seconds` says in how long to try again."""

    def __init__(self, seconds: float) -> None:
        super().__init__("held back")
        self.seconds = seconds


class Breaker:
    """One group of an upstream's endpoints; `failures` in a row open it, 0 never does.

    Ask `admit` before a call; say after it which it was: `record_success` or `record_failure`. A call that goes well takes no lock.
    """

    def __init__(self, upstream: str, group: str, failures: int, clock: Clock = time.time) -> None:
        self._upstream = upstream
        self._group = group
        self._failures = failures
        self._clock = clock
        self._lock = threading.Lock()
        self._history = 0  # the last calls as bits, the newest lowest; a 1 is a failure
        self._failed_at = 0.0
        self._pause = 0.0  # 0 while closed
        self._paused_at = 0.0
        self._next_pause = FIRST_PAUSE
        self._is_probing = False

    @property
    def is_closed(self) -> bool:
        """Whether every call goes through."""
        return not self._pause

    def admit(self, *, is_read: bool) -> None:
        """Admit the call; raise Open if it may not be sent."""
        if not self._pause:
            return
        with self._lock:
            waited = self._clock() - self._paused_at
            is_over = not 0 <= waited < self._pause  # so a clock that was set back ends it too
            if is_read and is_over:
                # This call is the probe. The others wait for its outcome, or for another pause if none comes.
                self._is_probing, self._paused_at = True, self._clock()
                return
            metrics.circuit_open(self._group)
            raise Open(0.0 if is_over else self._pause - waited)

    def record_success(self) -> None:
        """Note that a call was answered; a refusal counts as an answer."""
        if self._history:
            self._history = (self._history << 1) & ((1 << 4 * self._failures) - 1)
        if self._pause:
            with self._lock:
                self._close()

    def record_failure(self) -> None:
        """Note that a call failed."""
        if not self._failures:
            return
        with self._lock:
            now = self._clock()
            if not self._pause:
                self._remember_failure(now)
                if self._is_enough():
                    self._open(now)
            elif self._is_probing:
                self._open(now)

    def _remember_failure(self, now: float) -> None:
        before = self._history if 0 <= now - self._failed_at < _FORGOTTEN else 0
        self._history = (before << 1 | 1) & ((1 << 4 * self._failures) - 1)
        self._failed_at = now

    def _is_enough(self) -> bool:
        in_a_row = (1 << self._failures) - 1
        return self._history & in_a_row == in_a_row or self._history.bit_count() >= 2 * self._failures

    def _open(self, now: float) -> None:
        if not self._pause:
            metrics.opened(self._upstream, self._group)
        pause, self._next_pause = self._next_pause, min(2 * self._next_pause, LONGEST_PAUSE)
        self._pause = pause * random.uniform(1 - _JITTER, 1 + _JITTER)  # noqa: S311 (jitter)
        self._paused_at, self._is_probing = now, False

    def _close(self) -> None:
        if self._pause:
            metrics.closed(self._upstream, self._group)
        self._history, self._pause, self._next_pause, self._is_probing = 0, 0.0, FIRST_PAUSE, False


class Breakers:
    def __init__(self, failures: int = 5, clock: Clock = time.time) -> None:
        self._failures = failures
        self._clock = clock
        self._made: dict[tuple[str, str], Breaker] = {}

    def of(self, upstream: str, group: str) -> Breaker:
        """Return the breaker of this group at this upstream (its address)."""
        breaker = self._made.get((upstream, group))
        if breaker is None:
            made = Breaker(upstream, group, self._failures, self._clock)
            breaker = self._made.setdefault((upstream, group), made)
        return breaker


NEVER = Breaker("", "", 0)
"""Lets everything through: for groups without a read, where the only possible probe is a person's act."""
