"""The number at the bell: what this portal last learned, shared by all tabs and workers of a person.

Pages take it from here without a call of their own, every answer of the API that tells it is learned, and the bell
itself asks the API at most once in 15 seconds a person.
"""

from __future__ import annotations

import msgspec

from portal.clock import age
from portal.context import context
from portal.state.session_records import Person
from portal.web.last_known import LastKnown

FRESH_SECONDS = 15


class LastCount(msgspec.Struct, frozen=True):
    """How many were unread, and when that was learned or last asked (seconds since 1970)."""

    count: int | None
    at: float


KNOWN = LastKnown("bell", LastCount(count=None, at=0.0), seconds=3600)


def count(person: Person) -> int | None:
    """Return how many notifications are unread as far as is known; None when it isn't (the store may be down)."""
    return KNOWN.get(person).count


def is_fresh(known: LastCount) -> bool:
    """Whether it is too early to ask the API again."""
    return age(known.at, context().clock()) < FRESH_SECONDS


def learn(person: Person, count: int | None) -> None:
    """Keep the count from an answer of the API; None, when it gave none, changes nothing."""
    if count is None:
        return

    def learned(known: LastCount) -> LastCount | None:
        return None if known.count == count and is_fresh(known) else LastCount(count, context().clock())

    KNOWN.update(person, learned)


def claim(person: Person) -> bool:
    """Whether this request may ask the API: of all tabs and workers one in 15 seconds may."""

    def asked(known: LastCount) -> LastCount | None:
        return None if is_fresh(known) else LastCount(known.count, context().clock())

    return KNOWN.update(person, asked) is not None
