"""The doses of a plan by medicine and day, as a table; of a changed plan, before and after."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import date
from itertools import chain

from babel.dates import format_date

from portal.dates import days_after
from portal.services.protocols import Medication
from portal.services.rules.doses import common_horizon, courses, doses_of_day, horizon
from portal.values import Value
from portal.views.protocols.plan import Plan
from portal.web.doses import dose_number
from portal.web.filters import date_locale, today

_MOST_DAYS = 92
_MOST_WHOLE = 35
"""How long a plan may be to be shown from its first day, which doesn't lead today off a wide window."""
_DAYS_BEFORE = 3
"""How many days before the first change, or before today, are shown with a changed plan, and before today with a long one."""

_ByDay = dict[tuple[str, str], dict[int, tuple[str, ...]]]
"""The doses by medicine and unit, then by day."""


class GridDay(Value, frozen=True):
    """A day of the plan, with its date if day 1 has one; `month` is named on the first day and on each first of a month."""

    number: int
    on: date | None
    month: str
    is_today: bool
    checks: tuple[str, ...]


class Cell(Value, frozen=True):
    """The doses of one medicine on a day, one for each hour; `before` is None if they stay as they were."""

    doses: tuple[str, ...]
    before: tuple[str, ...] | None


class DayGrid(Value, frozen=True):
    """The days, and by medicine (name and unit) a cell for each; `is_begun` if a long plan began before the first day, `is_cut` if
    the plan goes on after the last.
    """

    days: list[GridDay]
    rows: list[tuple[str, str, list[Cell]]]
    is_begun: bool
    is_cut: bool

    @classmethod
    def of(cls, plan: Plan, before: Plan | None = None) -> DayGrid | None:
        """The grid of the rows that are complete enough; None without any."""
        moved = (before.begins - plan.begins).days if before and before.begins and plan.begins else 0
        mine, theirs = plan.drawn()[0], before.drawn()[0] if before else []
        until = (
            common_horizon(courses(mine), courses(theirs), today=plan.today)
            if before
            else horizon(courses(mine), None)
        )
        now, was = _doses(mine, until), _doses(theirs, until - moved)
        was = {name: {day + moved: doses for day, doses in of.items()} for name, of in was.items()}
        days = set(chain.from_iterable((*now.values(), *was.values())))
        if not days:
            return None
        first, last = min(days), max(days)
        if before:
            first = min(max(first, _first_change(plan, now, was) - _DAYS_BEFORE), last)
        lately = _today(plan) - _DAYS_BEFORE
        is_begun = bool(plan.begins) and not before and last - first >= _MOST_WHOLE and first < lately <= last
        if is_begun:
            first = lately
        shown = range(first, min(last, first + _MOST_DAYS - 1) + 1)
        rows = [
            (*name, [_cell(now.get(name, {}), was.get(name, {}) if before else None, day) for day in shown])
            for name in dict.fromkeys((*now, *was))
        ]
        days_shown = [_day(plan, day, is_first=day == first) for day in shown]
        return cls(days_shown, rows, is_begun, last > shown[-1])


def _first_change(plan: Plan, now: _ByDay, was: _ByDay) -> int:
    """The first day that differs, or today if that comes before."""
    differ = [
        day
        for name in now.keys() | was.keys()
        for day in now.get(name, {}).keys() | was.get(name, {}).keys()
        if now.get(name, {}).get(day) != was.get(name, {}).get(day)
    ]
    on = [_today(plan)] if plan.begins else []
    return min((*differ, *on), default=0)


def _today(plan: Plan) -> int:
    """Today as a day of the plan; 0 for one without a first day."""
    return plan.today or 0


def _cell(now: dict[int, tuple[str, ...]], was: dict[int, tuple[str, ...]] | None, day: int) -> Cell:
    doses = now.get(day, ())
    earlier = doses if was is None else was.get(day, ())
    return Cell(doses, None if earlier == doses else earlier)


def _day(plan: Plan, day: int, *, is_first: bool) -> GridDay:
    on = days_after(plan.begins, day - 1) if plan.begins else None
    checks = tuple(row.kind for row in plan.checks if row.day == str(day) and row.kind)
    month = format_date(on, "MMM", locale=date_locale()) if on and (is_first or on.day == 1) else ""
    return GridDay(day, on, month, on == today(), checks)


def _doses(rows: Sequence[Medication], until: int) -> _ByDay:
    of = courses(rows)
    found: _ByDay = {}
    for name in dict.fromkeys((row.drug, row.unit) for row in rows):
        mine = [row for row in of if (row.medication.drug, row.medication.unit) == name]
        found[name] = {day: doses for day in _days(min(row.first for row in mine), until)
                       if (doses := tuple(_amount(row.medication.dose) for row in doses_of_day(mine, day)))}  # fmt: skip
    return found


def _days(first: int, until: int) -> Iterable[int]:
    return range(first - 1, until + 1)


def _amount(dose: float | None) -> str:
    return "?" if dose is None else dose_number(dose)
