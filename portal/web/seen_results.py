"""The calls of embryos' genetic tests as the person last saw them, so that an amended one shows before and after.

The API gives the newest call alone. Kept sealed in the store for each person and clinic: by the id of the test its call,
the percentage if it has one, and the call that it replaced, without anybody's name. The first look is the beginning.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable

import msgspec
from flask import g
from msgspec import structs

from portal.context import context
from portal.services.records.episodes import PgtBrief
from portal.services.records.pgt_results import PgtResult
from portal.state.session_records import Person
from portal.store import StoreDown

log = logging.getLogger("portal")

_LIFETIME = 365 * 24 * 3600
_MOST = 100
"""Results that are kept for one person; the one that was first seen longest ago goes first."""


class SeenCall(msgspec.Struct, frozen=True):
    """The call of a test, with the percentage of changed cells where it was shown."""

    call: str
    percent: float | None = None

    def differs_from(self, other: SeenCall) -> bool:
        """Whether it says something else; a list shows no percentage, so that one that is missing is no difference."""
        return self.call != other.call or (
            None not in (self.percent, other.percent) and self.percent != other.percent
        )


class Look(msgspec.Struct, frozen=True):
    """A call as it was seen last, and the one seen before it changed."""

    now: SeenCall
    before: SeenCall | None = None


class Looks(msgspec.Struct, frozen=True):
    """What one person saw, by the id of the test."""

    results: dict[str, Look]


_NOTHING = Looks(results={})


def calls_before(person: Person, results: Iterable[PgtResult | PgtBrief]) -> dict[str, SeenCall]:
    """Return, by id, what the person saw before the calls changed to these, and keep these as seen."""
    shown = {
        one.id: SeenCall(str(one.call), getattr(one, "mosaic_percent", None)) for one in results if one.call
    }
    if not shown:
        return {}
    looks = _after(_read(person), shown)
    _write(person, shown)
    return {id_: before for id_ in shown if (before := looks.results[id_].before)}


def _after(looks: Looks, shown: dict[str, SeenCall]) -> Looks:
    found = dict(looks.results)
    for id_, now in shown.items():
        held = found.get(id_)
        if held is None:
            found[id_] = Look(now)
        elif now.differs_from(held.now):
            found[id_] = Look(now, held.now)
        elif held.now.percent is None:
            found[id_] = structs.replace(held, now=now)
    return Looks(results=dict(list(found.items())[-max(_MOST, len(shown)) :]))


def _read(person: Person) -> Looks:
    try:
        held = context().vault.get(_name(person), Looks)
    except StoreDown as error:
        log.warning("results as they were seen can't be read: %s", error)
        return _NOTHING
    return held.value if held else _NOTHING


def _write(person: Person, shown: dict[str, SeenCall]) -> None:
    def changed(looks: Looks) -> Looks | None:
        after = _after(looks, shown)
        return None if after == looks else after

    expires_at = context().clock() + _LIFETIME
    try:
        context().vault.update(_name(person), Looks, changed, initial=_NOTHING, expires_at=expires_at)
    except StoreDown as error:  # the page is shown all the same
        log.warning("a result that was seen isn't remembered: %s", error)


def _name(person: Person) -> str:
    return context().vault.name("results", person.issuer, g.tenant.key, person.sub)
