"""What changed in a plan since a snapshot of it, told by its doses: rows may be split, merged or made anew meanwhile.

Two plans are compared day by day with the calendar of doses that every page uses (`portal.services.rules.doses`).
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator
from datetime import date, datetime, timedelta
from enum import Enum, auto
from typing import TypeAlias

import msgspec
from msgspec import structs

from portal.config.medicines import folded_drug
from portal.config.routes import route_of
from portal.config.units import unit_of
from portal.services.protocols import Medication, Protocol, ProtocolStatus
from portal.services.rules.doses import Dose, common_horizon, courses, doses_of_day
from portal.values import Value

_MOST_DAYS = 180
"""How far ahead two plans are compared."""


class PlanSnapshot(msgspec.Struct, frozen=True, kw_only=True):
    """A plan as somebody saw it: its status, its first day, and of each row what says when to take how much, and how.

    Of a row's instructions there is only a hash.
    """

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
        """How much at each hour, its unit in one spelling."""
        return tuple((dose.medication.dose, unit_of(dose.medication.unit)) for dose in self.doses)

    def given(self, *members: str) -> set[str]:
        """What these members of its rows say, where they say anything."""
        told = ((member, getattr(dose.medication, member)) for dose in self.doses for member in members)
        return {
            route_of(words) if member == "route" else " ".join(words.casefold().split())
            for member, words in told
            if words
        }

    @property
    def route(self) -> str:
        """Its route; empty where none is given, or more than one."""
        routes = {route_of(dose.medication.route): dose.medication.route for dose in self.doses}
        return next(iter(routes.values())) if len(routes) == 1 else ""

    @property
    def amount(self) -> Amount | None:
        """How much each time; None where it isn't always as much."""
        return self.amounts[0] if len(set(self.amounts)) == 1 else None


_Portions: TypeAlias = dict[date, Portion]


class Kind(Enum):
    """What changed about a medicine."""

    NEW = auto()
    ENDED = auto()
    MOVED = auto()
    """A single dose is taken on another day, or at another hour of the night."""
    DOSE = auto()
    DAYS = auto()
    """The days on which it is taken."""
    ROUTE = auto()
    INSTRUCTIONS = auto()
    """What is said of how it is taken, or the rule by which it stops."""


class DoseChange(Value, frozen=True):
    """The first difference of one medicine, in its doses or in how it is taken: from date `on` it is `after` and no longer `before`."""

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
    """Return what is kept of a plan, to tell later what changed: no names, and no instructions, which may have some."""
    return PlanSnapshot(
        status=plan.status,
        start_date=plan.start_date,
        medications=tuple(
            structs.replace(row, id=None, instructions=_hash(row.instructions)) for row in plan.medications
        ),
    )


def _hash(instructions: str | None) -> str | None:
    words = " ".join((instructions or "").split())
    return hashlib.sha256(words.encode()).hexdigest()[:16] if words else None


def changed(before: PlanSnapshot, plan: Protocol, on: date) -> PlanChange | None:
    """Return what changed since `before` for the date `on` and later; None if nothing that is still to come did."""
    status = plan.status if plan.status != before.status else None
    after = snapshot_of(plan)
    if after == before:
        return None
    names = {folded_drug(row.drug): row.drug for row in (*before.medications, *after.medications)}
    was, is_now = _Calendar(before, on), _Calendar(after, on)
    until = min(max(was.last, is_now.last), on + timedelta(days=_MOST_DAYS))
    doses = tuple(_changes(was, is_now, names, until)) if plan.is_active else ()
    return PlanChange(plan.last_modification_time, doses, status) if doses or status else None


def _changes(before: _Calendar, after: _Calendar, names: dict[str, str], until: date) -> Iterator[DoseChange]:
    for drug, name in names.items():
        was, is_now = before.portions(drug, until), after.portions(drug, until)
        if dose := _other_dose(name, was, is_now):
            yield dose
        for kind, members in _WAYS.items():
            if way := _other_way(kind, members, name, was, is_now):
                yield way


def _other_dose(name: str, was: _Portions, is_now: _Portions) -> DoseChange | None:
    differ = [day for day in sorted({*was, *is_now}) if not _is_same(was.get(day), is_now.get(day))]
    if not differ:
        return None
    first = differ[0]
    one, other = was.get(first), is_now.get(first)
    if len(was) == len(is_now) == 1:
        (one,), (other,) = was.values(), is_now.values()
        return DoseChange(Kind.DOSE if one.on == other.on else Kind.MOVED, name, other.on, one, other)
    if not was:
        return DoseChange(Kind.NEW, name, first, None, other)
    if not any(day >= first for day in is_now):
        return DoseChange(Kind.ENDED, name, first, one, None)
    return DoseChange(Kind.DOSE if one and other else Kind.DAYS, name, first, one, other)


_WAYS = {Kind.ROUTE: ("route",), Kind.INSTRUCTIONS: ("instructions", "stop_rule")}
"""The members of a row that say how its medicine is taken."""


def _other_way(
    kind: Kind, members: tuple[str, ...], name: str, was: _Portions, is_now: _Portions
) -> DoseChange | None:
    """What is new in how a medicine is taken. What isn't given any more is no change: a list may leave it out."""
    is_single = len(was) == len(is_now) == 1
    days = zip(was, is_now, strict=True) if is_single else ((day, day) for day in is_now if day in was)
    for before, after in days:
        if is_now[after].given(*members) - was[before].given(*members):
            return DoseChange(kind, name, after, was[before], is_now[after])
    return None


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

    @property
    def last(self) -> date:
        """The last date until which another plan is compared with it."""
        if self._start is None:
            return self._on
        today = (self._on - self._start).days + 1
        return self._on + timedelta(days=common_horizon(self._courses, today=today) - today)

    def portions(self, drug: str, until: date) -> _Portions:
        """What is taken of a medicine, by date."""
        if self._start is None:
            return {}
        mine = [course for course in self._courses if folded_drug(course.medication.drug) == drug]
        today = (self._on - self._start).days + 1
        found: _Portions = {}
        for day in range(today, today + (until - self._on).days + 1):
            if doses := doses_of_day(mine, day):
                on = self._start + timedelta(days=day - 1)
                found[on] = Portion(on, tuple(doses))
        return found
