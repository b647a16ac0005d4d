"""The number at the bell: what this portal last learned, shared by all tabs and workers of a person.

Pages take it from here without a call of their own, every answer of the API that tells it is learned, and the bell
itself asks the API at most once in 15 seconds a person.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec
from flask import g

from portal.context import context
from portal.state.sessions import Person
from portal.store import StoreDown

FRESH_SECONDS = 15
_LIFETIME = 3600


class Known(msgspec.Struct, frozen=True):
    """How many were unread, and when that was learned or last asked (seconds since 1970)."""

    count: int | None
    at: float


_NOTHING = Known(count=None, at=0.0)


def count(person: Person) -> int | None:
    """Return how many notifications are unread as far as is known; None when it isn't (the store may be down)."""
    known = look(person)
    return known.count if known else None


def look(person: Person) -> Known | None:
    """Return what is known, or None."""
    try:
        held = context().vault.get(_name(person), Known)
    except StoreDown:
        return None
    return held.value if held else None


def is_fresh(known: Known | None) -> bool:
    """Whether it is too early to ask the API again."""
    return known is not None and context().clock() - known.at < FRESH_SECONDS


def learn(person: Person, count: int | None) -> None:
    """Keep the count that an answer of the API told; None (it told nothing) changes nothing."""
    if count is None:
        return

    def learned(known: Known) -> Known | None:
        return None if known.count == count and is_fresh(known) else Known(count, _now())

    _update(person, learned)


def claim(person: Person) -> bool:
    """Whether this request may ask the API: of all tabs and workers one in 15 seconds may."""

    def asked(known: Known) -> Known | None:
        return None if is_fresh(known) else Known(known.count, _now())

    return _update(person, asked) is not None


def _update(person: Person, change: Callable[[Known], Known | None]) -> Known | None:
    expires_at = _now() + _LIFETIME
    return context().vault.update(_name(person), Known, change, initial=_NOTHING, expires_at=expires_at)


def _now() -> float:
    return context().clock()


def _name(person: Person) -> str:
    return context().vault.name("bell", person.issuer, g.tenant.key, person.sub)
