"""The calls of embryos' genetic tests as the person last saw them, so that an amended one shows before and after.

The API gives the newest call alone. Kept sealed in the store for each person and clinic: by the id of the test its call,
the percentage if it has one, and the call that it replaced, without anybody's name. The first look is the beginning.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec
from msgspec import structs

from portal.services.records.episodes import PgtBrief
from portal.services.records.pgt_results import PgtResult
from portal.state.session_records import Person
from portal.web.last_known import LastKnown

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


_LOOKS = LastKnown("results", Looks(results={}), seconds=365 * 24 * 3600)


def calls_before(person: Person, results: Iterable[PgtResult | PgtBrief]) -> dict[str, SeenCall]:
    """Return, by id, what the person saw before the calls changed to these, and keep these as seen."""
    shown = {
        one.id: SeenCall(str(one.call), getattr(one, "mosaic_percent", None)) for one in results if one.call
    }
    if not shown:
        return {}
    known = _LOOKS.of(person)
    looks = _after(known, shown)
    if looks != known:
        _LOOKS.update(person, lambda held: _after(held, shown))
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
