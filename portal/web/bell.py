"""The number at the bell: what this portal last learned, shared by all tabs and workers of a person.

Pages take it from here without a call of their own, every answer of the API that tells it is learned, and the bell
itself asks the API at most once in 15 seconds a person.
"""

from __future__ import annotations

import hashlib

import msgspec
from flask import g

from portal.parts import parts
from portal.sessions import Person
from portal.store import StoreDown

FRESH_SECONDS = 15
_LIFETIME = 3600


class Known(msgspec.Struct, frozen=True):
    """How many were unread, and when that was learned or last asked (seconds since 1970)."""

    count: int | None
    at: float


def count(person: Person) -> int | None:
    """Return how many notifications are unread as far as is known; None when it isn't (the store may be down)."""
    known = look(person)
    return known.count if known else None


def look(person: Person) -> Known | None:
    """Return what is known, or None."""
    try:
        held = parts().vault.get(_name(person), Known)
    except StoreDown:
        return None
    return held.value if held else None


def is_fresh(known: Known | None) -> bool:
    """Whether it is too early to ask the API again."""
    return known is not None and parts().clock() - known.at < FRESH_SECONDS


def learn(person: Person, count: int | None) -> None:
    """Keep the count that an answer of the API told; None (it told nothing) changes nothing.

    When another request writes at the same moment, its count is as good.
    """
    if count is None:
        return
    vault, name = parts().vault, _name(person)
    held = vault.get(name, Known)
    known, expires_at = Known(count, _now()), _now() + _LIFETIME
    if held is None:
        vault.insert(name, known, expires_at=expires_at)
    elif held.value.count != count or not is_fresh(held.value):
        vault.replace(name, known, version=held.version, expires_at=expires_at)


def claim(person: Person) -> bool:
    """Whether this request may ask the API: of all tabs and workers one in 15 seconds may."""
    held = parts().vault.get(_name(person), Known)
    if held is None:
        return parts().vault.insert(_name(person), Known(None, _now()), expires_at=_now() + _LIFETIME)
    if is_fresh(held.value):
        return False
    asked = Known(held.value.count, _now())
    return parts().vault.replace(_name(person), asked, version=held.version, expires_at=_now() + _LIFETIME)


def _now() -> float:
    return parts().clock()


def _name(person: Person) -> str:
    who = "\0".join((person.issuer, g.tenant.key, person.sub))
    return "bell:" + hashlib.sha256(who.encode()).hexdigest()
