"""The results ("calls") of embryos' genetic tests as a person last saw them, to show an amended one with the previous one.

The API returns only the current call. Stored encrypted for each person and clinic, without names: per test its call, the
percentage if any, and the call before that. The first time that a test is shown, nothing counts as changed.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec
from msgspec import structs

from portal.services.pgt_results import PgtBrief, PgtResult
from portal.state.session_records import Person
from portal.web.last_known import LastKnown

_MOST = 100
"""Maximum number of results kept for one person; the one first seen longest ago is dropped first."""


class SeenCall(msgspec.Struct, frozen=True):
    """The call of a test, and the percentage of abnormal cells if it was shown."""

    call: str
    percent: float | None = None

    def differs_from(self, other: SeenCall) -> bool:
        """Whether call or percentage differ. A missing percentage is no difference, because lists don't show it."""
        return self.call != other.call or (
            None not in (self.percent, other.percent) and self.percent != other.percent
        )


class SeenResult(msgspec.Struct, frozen=True):
    """A call as last seen, and the different one seen before it, if any."""

    now: SeenCall
    before: SeenCall | None = None


class SeenResults(msgspec.Struct, frozen=True):
    results: dict[str, SeenResult]


_SEEN = LastKnown("results", SeenResults(results={}), seconds=365 * 24 * 3600)


def previous_calls(person: Person, results: Iterable[PgtResult | PgtBrief]) -> dict[str, SeenCall]:
    """Return by test id the call that the person saw before each changed one, and store these calls as seen."""
    shown = {
        result.id: SeenCall(str(result.call), getattr(result, "mosaic_percent", None))
        for result in results
        if result.call
    }
    if not shown:
        return {}
    saved = _SEEN.get(person)
    updated = _with(saved, shown)
    if updated != saved:
        _SEEN.update(person, lambda current: _with(current, shown))
    return {id_: before for id_ in shown if (before := updated.results[id_].before)}


def _with(saved: SeenResults, shown: dict[str, SeenCall]) -> SeenResults:
    results = dict(saved.results)
    for id_, now in shown.items():
        last = results.get(id_)
        if last is None:
            results[id_] = SeenResult(now)
        elif now.differs_from(last.now):
            results[id_] = SeenResult(now, last.now)
        elif last.now.percent is None:
            results[id_] = structs.replace(last, now=now)
    return SeenResults(results=dict(list(results.items())[-max(_MOST, len(shown)) :]))
