"""The number at the bell: what this portal last learned, shared by all tabs and workers of a person.

Pages take it from here without a call of their own, every answer of the API that tells it is learned, and the bell
itself asks the API at most once in 15 seconds a person.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec
from flask import g

from portal.clock import age
from portal.context import context
from portal.state.session_records import Person
from portal.store import StoreDown

FRESH_SECONDS = 15
_LIFETIME = 3600


class LastCount(msgspec.Struct, frozen=True):
    """How many were unread, and when that was learned or last asked (seconds since 1970)."""

    count: int | None
    at: float


_NOTHING = LastCount(count=None, at=0.0)


def count(person: Person) -> int | None:
    """Return how many notifications are unread as far as is known; None when it isn't (the store may be down)."""
    known = last_count(person)
    return known.count if known else None


def last_count(person: Person) -> LastCount | None:
    """Return the last known count, or None."""
    try:
        held = context().vault.get(_name(person), LastCount)
    except StoreDown:
        return None
    return held.value if held else None


def is_fresh(known: LastCount | None) -> bool:
    """Whether it is too early to ask the API again."""
    return known is not None and age(known.at, _now()) < FRESH_SECONDS


def learn(person: Person, count: int | None) -> None:
    """Keep the count from an answer of the API; None, when it gave none, changes nothing."""
    if count is None:
        return

    def learned(known: LastCount) -> LastCount | None:
        return None if known.count == count and is_fresh(known) else LastCount(count, _now())

    _update(person, learned)


def claim(person: Person) -> bool:
    """Whether this request may ask the API: of all tabs and workers one in 15 seconds may."""

    def asked(known: LastCount) -> LastCount | None:
        return None if is_fresh(known) else LastCount(known.count, _now())

    return _update(person, asked) is not None


def _update(person: Person, change: Callable[[LastCount], LastCount | None]) -> LastCount | None:
    expires_at = _now() + _LIFETIME
    try:
        return context().vault.update(
            _name(person), LastCount, change, initial=_NOTHING, expires_at=expires_at
        )
    except StoreDown:  # no page fails for its bell
        return None


def _now() -> float:
    return context().clock()


def _name(person: Person) -> str:
    return context().vault.name("bell", person.issuer, g.tenant.key, person.sub)
