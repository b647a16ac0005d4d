"""The cached count of a person's unread notifications, shown at the bell and shared by all tabs and workers.

Pages read it from the cache. It is updated from every API response that contains it, and the bell's own refresh calls the
API at most once in 15 seconds per person.
"""

from __future__ import annotations

import msgspec

from portal.clock import age
from portal.context import context
from portal.state.session_records import Person
from portal.web.last_known import LastKnown

FRESH_SECONDS = 15


class LastCount(msgspec.Struct, frozen=True):
    """The unread count, None if unknown, and when it was last updated or requested (seconds since 1970)."""

    count: int | None
    at: float


KNOWN = LastKnown("bell", LastCount(count=None, at=0.0), seconds=3600)


def count(person: Person) -> int | None:
    """Return the cached unread count; None if there is none, or if the store is down."""
    return KNOWN.get(person).count


def is_fresh(known: LastCount, now: float | None = None) -> bool:
    """Return whether the count is too recent to call the API again."""
    return age(known.at, context().clock() if now is None else now) < FRESH_SECONDS


def learn(person: Person, count: int | None) -> None:
    """Cache the count from an API response; None, if the response has none, changes nothing."""
    if count is None:
        return

    def updated(known: LastCount) -> LastCount | None:
        return None if known.count == count and is_fresh(known) else LastCount(count, context().clock())

    KNOWN.update(person, updated)


def claim(person: Person) -> bool:
    """Return whether this request may call the API: only one in 15 seconds may, of all tabs and workers."""

    def requested(known: LastCount) -> LastCount | None:
        return None if is_fresh(known) else LastCount(known.count, context().clock())

    return KNOWN.update(person, requested) is not None
