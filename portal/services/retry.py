"""Sends a call to the care API through its circuit breaker, measures it, and decides on retries."""

from __future__ import annotations

import logging
import random
import re
import time
from collections.abc import Callable, Mapping
from typing import Protocol, TypeVar

from portal import metrics
from portal.http import transport
from portal.http.circuit_breaker import Breaker
from portal.http.transfer import Answer, Call, TransportError
from portal.services.api import AnyEndpoint
from portal.services.failures import retry_seconds
from portal.services.interfaces import Observer

log = logging.getLogger("portal")

FAILURES = frozenset({500, 502, 503, 504})
"""Statuses of a server that can't respond now."""
_RETRIED = frozenset({502, 503, 504})
_JITTER = (0.02, 0.1)
_LONGEST_PAUSE = 1.0
_SHORT = 0.5
"""A timeout counts against the API only if the call had at least this fraction of the usual time."""

_NUMBER = re.compile(r"[A-Za-z0-9._:-]{1,100}")


class Answered(Protocol):
    """What decides on a retry: the status, and headers by lower-case name."""

    @property
    def status(self) -> int: ...

    @property
    def headers(self) -> Mapping[str, str]: ...


T = TypeVar("T", bound=Answered)


def once(call: Call, group: str, breaker: Breaker, *, usual: float) -> Answer:
    """Send the call, which `breaker` has admitted; `usual` is the full timeout of a call, in seconds."""
    started = time.perf_counter()
    try:
        answer = transport.send(call)
    except TransportError as error:
        unanswered(error, group, breaker, started, is_fair=call.timeout >= _SHORT * usual)
        raise
    answered(answer.status, group, breaker, started)
    return answer


def answered(status: int, group: str, breaker: Breaker, started: float) -> None:
    """Count a response. Refusals (4xx) and 501 are responses of a healthy API."""
    metrics.answered(group, status, time.perf_counter() - started)
    if status in FAILURES:
        breaker.record_failure()
    else:
        breaker.record_success()


def unanswered(
    error: TransportError, group: str, breaker: Breaker, started: float, *, is_fair: bool = True
) -> None:
    """Count a call without a response, unless the portal itself is the reason."""
    metrics.upstream(group, error.reason, time.perf_counter() - started)
    if error.reason != "too large" and (is_fair or error.reason != "timed out"):
        breaker.record_failure()


def read(send: Callable[[], T], group: str, breaker: Breaker, *, seconds: Callable[[], float]) -> T:
    """Send a read; retry once after a transient failure if `seconds()` leaves enough time."""
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


def act(send: Callable[[], T], breaker: Breaker, *, may_repeat: bool, seconds: Callable[[], float]) -> T:
    """Send an act; retry once if it can't have arrived, or if repeating is harmless (`may_repeat`).

    A TransportError is `sent` if either attempt was. PUT and DELETE aren't retried either: although idempotent, a
    retry of one that did arrive would be reported as a conflict (its stamp is outdated) or as not found.
    """
    try:
        return send()
    except TransportError as error:
        is_pointless = not error.sent and (error.reason == "timed out" or seconds() < 0)
        if (
            error.reason == "too large"
            or is_pointless
            or not breaker.is_closed
            or (error.sent and not may_repeat)
        ):
            raise
        first = error
    try:
        return send()
    except TransportError as error:
        raise TransportError(error.reason, sent=first.sent or error.sent) from error


def timed(send: Callable[[], T], endpoint: AnyEndpoint, observer: Observer | None) -> Callable[[], T]:
    """Wrap `send` so that the observer learns how long each call takes."""
    if observer is None:
        return send

    def observed() -> T:
        started, failed = time.perf_counter(), True
        try:
            answer = send()
            failed = answer.status in FAILURES
            return answer
        finally:
            observer.called(endpoint, time.perf_counter() - started, failed=failed)

    return observed


def log_failure(
    group: str, reason: str, headers: Mapping[str, str] | None = None, *, ours: str | None = None
) -> None:
    """Log a failed call, with the API's correlation id if it isn't `ours`."""
    extra = {"group": group, "reason": reason}
    for name in ("x-correlation-id", "x-request-id"):
        number = (headers or {}).get(name, "")
        if number != ours and _NUMBER.fullmatch(number):
            extra["upstream"] = number
            break
    log.warning("call failed", extra=extra)


def _pause(outcome: Answered | TransportError) -> float | None:
    """The delay in seconds before a retry, from jitter and Retry-After; None if a retry wouldn't help."""
    if isinstance(outcome, TransportError):
        if outcome.reason in ("timed out", "too large"):
            return None
        asked = 0.0
    elif outcome.status in _RETRIED:
        asked = retry_seconds(outcome.headers.get("retry-after")) or 0.0
    else:
        return None
    return min(asked, _LONGEST_PAUSE) + random.uniform(*_JITTER)  # noqa: S311
