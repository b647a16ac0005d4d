"""The doses around a moment: those just past, those still ahead today and in the night after it, and the next after them.

All moments are in the clinic's time zone. Nothing here knows what was taken: the care API has no such record.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import date, datetime, time, timedelta
from enum import Enum

from portal.dates import days_after
from portal.services.episodes import Episode
from portal.services.protocols import Protocol
from portal.services.rules.doses import NIGHT_ENDS, Course, Dose, active_courses, doses_of_day, minutes
from portal.values import Value

_LOOK_BACK = timedelta(hours=12)
"""How long a dose stays in sight after its hour, over midnight too: the night in which it may have been forgotten."""
_TRIGGER_LOOK_BACK = timedelta(hours=36)
"""The same for a trigger: until the egg collection that it is timed for, which a missed one puts at risk."""
_LOOK_AHEAD = 60
"""For how many days ahead the next dose is looked for."""
_BEFORE, _AFTER = timedelta(minutes=15), timedelta(minutes=30)
"""A dose is due from so long before its hour until so long after it."""
_FIRST_FOR = timedelta(hours=6)
"""For how long after its hour a dose is what to speak of first."""
_TICKED_BEFORE = timedelta(hours=2)
"""From how long before its hour a dose can be noted as taken."""
_EVENING = time(17)


class Timing(Enum):
    """Where a dose stands against the clock."""

    AHEAD = "ahead"
    DUE = "due"
    PAST = "past"
    UNTIMED = "untimed"


class DueDose(Value, frozen=True):
    """A dose with its date and, if its hour is given, its moment.

    `number` tells doses of one medicine at the same moment apart.
    """

    dose: Dose
    on: date
    at: datetime | None
    number: int = 0

    def timing(self, now: datetime) -> Timing:
        """Where it stands against the clock."""
        if self.at is None:
            return Timing.UNTIMED
        if now < self.at - _BEFORE:
            return Timing.AHEAD
        return Timing.DUE if now <= self.at + _AFTER else Timing.PAST

    def is_recent(self, now: datetime) -> bool:
        """Whether it is ahead, or so few hours past that it stays in sight whatever it is."""
        return self.at is None or now <= self.at + _LOOK_BACK

    def may_be_taken(self, now: datetime) -> bool:
        """Whether it may have been taken by now: about at its hour, later, or on its day if it has none."""
        return self.on <= now.date() if self.at is None else now >= self.at - _TICKED_BEFORE


class Around(Value, frozen=True):
    """The doses around a moment in their order; `following` are those at the next moment after them, `triggers` the trigger
    injections, from the evening before them.
    """

    doses: tuple[DueDose, ...]
    following: tuple[DueDose, ...]
    triggers: tuple[DueDose, ...]


def doses_around(plan: Protocol | None, episode: Episode | None, now: datetime) -> Around:
    """Return the doses around `now`, a time in the clinic's zone; none if the plan isn't to be followed."""
    day = plan.day_on(now.date()) if plan else None
    if plan is None or day is None:
        return Around((), (), ())
    found = active_courses(plan, episode, now.date())
    doses = [
        due
        for listed in (day - 1, day)
        for due in _of_day(plan, found, listed, now)
        if due.on >= now.date() or (due.at is not None and due.is_recent(now))
    ]
    return Around(tuple(doses), _following(plan, found, day, now), _triggers(plan, found, day, now))


def nearest(
    doses: Sequence[DueDose], is_done: Callable[[DueDose], bool], now: datetime
) -> tuple[DueDose, ...]:
    """Return the doses to speak of first: those not done whose hour is nearest, ahead or a few hours ago; all of one moment."""
    open_ = [due for due in doses if due.at and now - due.at <= _FIRST_FOR and not is_done(due)]
    first = min(open_, key=lambda due: (_distance(due, now), due.at), default=None)
    return tuple(due for due in open_ if first and due.at == first.at)


def evening_of(at: datetime) -> date | None:
    """The date whose evening or night a moment belongs to; None by day."""
    if at.hour < NIGHT_ENDS:
        return at.date() - timedelta(days=1)
    return at.date() if at.time() >= _EVENING else None


def _distance(due: DueDose, now: datetime) -> timedelta:
    return abs(due.at - now) if due.at else timedelta.max


def _of_day(plan: Protocol, found: Sequence[Course], day: int, now: datetime) -> list[DueDose]:
    listed: list[DueDose] = []
    for dose in doses_of_day(found, day):
        on = plan.date_of(dose.day)
        if on is None:
            continue
        at = minutes(dose.time)
        moment = None if at is None else datetime.combine(on, time(*divmod(at, 60)), now.tzinfo)
        alike = sum(
            due.dose.time == dose.time and due.dose.medication.drug == dose.medication.drug for due in listed
        )
        listed.append(DueDose(dose, on, moment, alike))
    return listed


def _following(plan: Protocol, found: Sequence[Course], day: int, now: datetime) -> tuple[DueDose, ...]:
    """The doses at the first moment after today's list."""
    for listed in range(day + 1, day + 1 + _LOOK_AHEAD):
        if coming := _of_day(plan, found, listed, now):
            return tuple(due for due in coming if due.at == coming[0].at)
    return ()


def _triggers(plan: Protocol, found: Sequence[Course], day: int, now: datetime) -> tuple[DueDose, ...]:
    """The triggers, from the evening before the day or night in which they are given until the egg collection."""
    courses = [course for course in found if course.medication.triggers]
    return tuple(
        due
        for listed in range(day - 2, day + 2)
        for due in _of_day(plan, courses, listed, now)
        if _evening_before(plan.date_of(listed) or due.on, now) <= now <= _end(due, now)
    )


def _evening_before(on: date, now: datetime) -> datetime:
    return datetime.combine(days_after(on, -1) or on, _EVENING, now.tzinfo)


def _end(due: DueDose, now: datetime) -> datetime:
    return due.at + _TRIGGER_LOOK_BACK if due.at else datetime.combine(due.on, time.max, now.tzinfo)
