"""What changed in a plan since a snapshot of it, told by its doses: rows may be split, merged or made anew meanwhile.

Two plans are compared day by day with the calendar of doses that every page uses (`portal.services.rules.doses`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from datetime import date, datetime, timedelta
from enum import Enum, auto
from typing import TypeAlias

import msgspec
from msgspec import structs

from portal.services.protocols import Medication, Protocol, ProtocolStatus
from portal.services.rules.doses import Dose, courses, doses_of_day, horizon
from portal.values import Value

_MOST_DAYS = 180
"""How far ahead two plans are compared."""


class PlanSnapshot(msgspec.Struct, frozen=True, kw_only=True):
    """A plan as somebody saw it: its status, its first day, and of each row what says when to take how much."""

    status: ProtocolStatus
    start_date: date | None
    medications: tuple[Medication, ...]


Amount: TypeAlias = tuple[float | None, str]
"""A number and its unit."""


class Portion(Value, frozen=True):
    """What is taken of a medicine on a date: the doses of its rows, the earliest first."""

    on: date
    doses: tuple[Dose, ...]

    @property
    def times(self) -> tuple[str | None, ...]:
        """The hours: HH:MM, or as the API sent them."""
        return tuple(dose.time for dose in self.doses)

    @property
    def amounts(self) -> tuple[Amount, ...]:
        """How much at each hour."""
        return tuple((dose.medication.dose, dose.medication.unit) for dose in self.doses)

    @property
    def amount(self) -> Amount | None:
        """How much each time; None where it isn't always as much."""
        return self.amounts[0] if len(set(self.amounts)) == 1 else None


class Kind(Enum):
    """What changed about a medicine."""

    NEW = auto()
    ENDED = auto()
    MOVED = auto()
    """A single dose is taken on another day, or at another hour of the night."""
    DOSE = auto()
    DAYS = auto()
    """The days on which it is taken."""


class DoseChange(Value, frozen=True):
    """The first difference of one medicine: from date `on` it is `after` and no longer `before`."""

    kind: Kind
    drug: str
    on: date
    before: Portion | None
    after: Portion | None


class PlanChange(Value, frozen=True):
    """What changed: the doses, and the plan's status if that did; `at` is when, as far as the API says."""

    at: datetime | None
    doses: tuple[DoseChange, ...]
    status: ProtocolStatus | None


def snapshot_of(plan: Protocol) -> PlanSnapshot:
    """Return what is kept of a plan, to tell later what changed: no names, routes or instructions."""
    return PlanSnapshot(
        status=plan.status,
        start_date=plan.start_date,
        medications=tuple(
            structs.replace(row, id=None, route="", instructions=None) for row in plan.medications
        ),
    )


def changed(before: PlanSnapshot, plan: Protocol, on: date) -> PlanChange | None:
    """Return what changed since `before` for the date `on` and later; None if nothing that is still to come did."""
    status = plan.status if plan.status != before.status else None
    after = snapshot_of(plan)
    if after == before:
        return None
    names = {row.drug.casefold(): row.drug for row in (*before.medications, *after.medications)}
    doses = tuple(_changes(_Calendar(before, on), _Calendar(after, on), names)) if plan.is_active else ()
    return PlanChange(plan.last_modification_time, doses, status) if doses or status else None


def _changes(before: _Calendar, after: _Calendar, names: dict[str, str]) -> Iterator[DoseChange]:
    for drug, name in names.items():
        was, is_now = before.portions(drug), after.portions(drug)
        differ = [day for day in sorted({*was, *is_now}) if not _is_same(was.get(day), is_now.get(day))]
        if not differ:
            continue
        first = differ[0]
        one, other = was.get(first), is_now.get(first)
        if len(was) == len(is_now) == 1:
            (one,), (other,) = was.values(), is_now.values()
            yield DoseChange(Kind.DOSE if one.on == other.on else Kind.MOVED, name, other.on, one, other)
        elif not was:
            yield DoseChange(Kind.NEW, name, first, None, other)
        elif not any(day >= first for day in is_now):
            yield DoseChange(Kind.ENDED, name, first, one, None)
        else:
            yield DoseChange(Kind.DOSE if one and other else Kind.DAYS, name, first, one, other)


def _is_same(one: Portion | None, other: Portion | None) -> bool:
    if one is None or other is None:
        return one is other
    return Counter(zip(one.times, one.amounts, strict=True)) == Counter(
        zip(other.times, other.amounts, strict=True)
    )


class _Calendar:
    """The doses of a plan as it was seen, from a date on."""

    def __init__(self, plan: PlanSnapshot, on: date) -> None:
        self._start = plan.start_date if plan.status == ProtocolStatus.ACTIVE else None
        self._courses = courses(plan.medications)
        self._on = on

    def portions(self, drug: str) -> dict[date, Portion]:
        """What is taken of a medicine, by date; rows without an end go on for two weeks."""
        if self._start is None:
            return {}
        mine = [course for course in self._courses if course.medication.drug.casefold() == drug]
        today = (self._on - self._start).days + 1
        last = min(horizon(self._courses, today), today + _MOST_DAYS)
        found: dict[date, Portion] = {}
        for day in range(today, last + 1):
            if doses := doses_of_day(mine, day):
                on = self._start + timedelta(days=day - 1)
                found[on] = Portion(on, tuple(doses))
        return found
