"""One call of the care API as it goes over the line: through its breaker, measured, and when to send it once more."""

from __future__ import annotations

import logging
import random
import re
import time
from collections.abc import Callable, Mapping
from typing import Protocol, TypeVar

from portal.http import transport
from portal.http.circuit_breaker import Breaker
from portal.http.transport import Answer, Call, TransportError
from portal.operate import metrics
from portal.services.errors import retry_seconds

log = logging.getLogger("portal")

FAILURES = frozenset({500, 502, 503, 504})
"""The statuses of a server that can't answer now."""
_RETRIED = frozenset({502, 503, 504})
_JITTER = (0.02, 0.1)
_LONGEST_PAUSE = 1.0
_SHORT = 0.5
"""A time-out says something of the API only if it had this part of the usual time, not the rest of a page's."""

_NUMBER = re.compile(r"[A-Za-z0-9._:-]{1,100}")


class Answered(Protocol):
    """What decides on another try: the status, and headers by their names in lower case."""

    @property
    def status(self) -> int: ...

    @property
    def headers(self) -> Mapping[str, str]: ...


T = TypeVar("T", bound=Answered)


def once(call: Call, group: str, breaker: Breaker, *, usual: float, alone: bool = False) -> Answer:
    """Send the call, which `breaker` has admitted; `usual` is the time-out of a call that has all its time, in seconds."""
    started = time.perf_counter()
    try:
        answer = transport.send(call, alone=alone)
    except TransportError as error:
        unanswered(error, group, breaker, started, is_fair=call.timeout >= _SHORT * usual)
        raise
    answered(answer.status, group, breaker, started)
    return answer


def answered(status: int, group: str, breaker: Breaker, started: float) -> None:
    """Count an answer. Refusals (4xx) and what isn't offered (501) are answers of an API that is well."""
    metrics.answered(group, status, time.perf_counter() - started)
    if status in FAILURES:
        breaker.bad()
    else:
        breaker.good()


def unanswered(
    error: TransportError, group: str, breaker: Breaker, started: float, *, is_fair: bool = True
) -> None:
    """Count a call without an answer, unless it is for a reason of our own."""
    metrics.upstream(group, error.reason, time.perf_counter() - started)
    if error.reason != "too large" and (is_fair or error.reason != "timed out"):
        breaker.bad()


def read(send: Callable[[], T], group: str, breaker: Breaker, *, seconds: Callable[[], float]) -> T:
    """Return what a read is answered; once more where it failed in passing and `seconds()` are left to wait for that."""
    outcome: T | TransportError
    try:
        outcome = send()
    except TransportError as error:
        outcome = error
    pause = _pause(outcome)
    if pause is not None and breaker.is_closed and seconds() > pause:
        metrics.retried(group)
        transport.pause(pause)
        return send()
    if isinstance(outcome, TransportError):
        raise outcome
    return outcome


def log_failure(
    group: str, reason: str, headers: Mapping[str, str] | None = None, *, ours: str | None = None
) -> None:
    """Write one line about a call that failed, with the API's own number of it where that isn't `ours`."""
    extra = {"group": group, "reason": reason}
    for name in ("x-correlation-id", "x-request-id"):
        number = (headers or {}).get(name, "")
        if number != ours and _NUMBER.fullmatch(number):
            extra["upstream"] = number
            break
    log.warning("call failed", extra=extra)


def _pause(outcome: Answered | TransportError) -> float | None:
    """In how many seconds a read may be sent once more, by jitter and Retry-After; None where that wouldn't help."""
    if isinstance(outcome, TransportError):
        if outcome.reason in ("timed out", "too large"):
            return None
        asked = 0.0
    elif outcome.status in _RETRIED:
        asked = retry_seconds(outcome.headers.get("retry-after")) or 0.0
    else:
        return None
    return min(asked, _LONGEST_PAUSE) + random.uniform(*_JITTER)  # noqa: S311
