"""The calendar of doses: which doses a plan asks for on which day. Every page, file and drawing asks here and nowhere else.

Days are days of the plan (1 is its first). A dose between midnight and 03:00 stands in the list of the evening before,
because that is the night in which it is taken; `day` is its day on the calendar. See "Medicines" in docs/assumptions.md.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from datetime import date, timedelta
from enum import Enum
from functools import lru_cache

from portal.services.cases import CareStatus
from portal.services.episodes import Episode, Outcome
from portal.services.protocols import Medication, Protocol, ProtocolStatus
from portal.values import Value

_CLOCK = re.compile(r"([01][0-9]|2[0-3]):([0-5][0-9])")
_MIDDAY, _DAY = 12 * 60, 24 * 60
_AHEAD = 14
NIGHT_ENDS = 3
"""The hour until which a dose belongs to the evening before it."""
_LATE, _NIGHT_ENDS, _MORNING = 23 * 60 + 30, NIGHT_ENDS * 60, 6 * 60
"""From 23:30 to 03:00 a date alone is misread; a trigger before 06:00 belongs to the evening before it."""


class Course(Value, frozen=True):
    """One hour of one row: doses every `every` days from day `first` to `last`, both included; None is without an end.

    `time` is HH:MM, or as the API sent it, or None. A `last` before `first` is a course without doses.
    """

    medication: Medication
    time: str | None
    first: int
    last: int | None
    every: int

    def is_on(self, day: int) -> bool:
        """Whether a dose falls on that day of the calendar."""
        return (
            self.first <= day
            and (self.last is None or day <= self.last)
            and (day - self.first) % self.every == 0
        )

    def days(self, until: int) -> range:
        """The days with a dose, up to `until`."""
        last = until if self.last is None else min(self.last, until)
        return range(self.first, last + 1, self.every)

    @property
    def lists_before(self) -> int:
        """1 if its doses stand in the list of the evening before, else 0."""
        at = minutes(self.time)
        return int(at is not None and at < _NIGHT_ENDS)


class Dose(Value, frozen=True):
    """One dose, on a day of the calendar, at a time of day (HH:MM, or as the API sent it, or None)."""

    medication: Medication
    day: int
    time: str | None

    @property
    def moment(self) -> tuple[int, int, str]:
        """What doses are sorted by: when, those without an hour last; then the medicine."""
        return _moment(self.day, self.time, self.medication)


class Standing(Enum):
    """Whether the doses of a plan are to be taken now, and if not, why."""

    FOLLOWED = "followed"
    GOES_ON = "goes on"
    """The treatment has ended; rows that run past its end are still taken."""
    DRAFT = "draft"
    ON_HOLD = "on hold"
    COMPLETED = "completed"
    CANCELLED = "cancelled"
    UNDATED = "undated"
    EMPTY = "empty"
    ENDED = "ended"
    ANOTHERS = "another's"
    """Its patient is neither person of its treatment, so that nobody there may take it for theirs."""
    UNKNOWN = "unknown"
    NONE = "none"

    @property
    def has_doses(self) -> bool:
        return self in (Standing.FOLLOWED, Standing.GOES_ON)


_STANDINGS = {
    ProtocolStatus.DRAFT: Standing.DRAFT,
    ProtocolStatus.ON_HOLD: Standing.ON_HOLD,
    ProtocolStatus.COMPLETED: Standing.COMPLETED,
    ProtocolStatus.CANCELLED: Standing.CANCELLED,
}


@lru_cache(maxsize=512)
def minutes(time: str | None) -> int | None:
    """The minutes after midnight of HH:MM; None for anything else."""
    found = _CLOCK.fullmatch(time or "")
    return int(found[1]) * 60 + int(found[2]) if found else None


def _moment(day: int, time: str | None, medication: Medication) -> tuple[int, int, str]:
    at = minutes(time)
    return day, _DAY if at is None else at, medication.drug


def is_at_night(time: str | None) -> bool:
    """Whether it is between 23:30 and 03:00, when a date alone may be taken for the wrong night."""
    at = minutes(time)
    return at is not None and (at >= _LATE or at < _NIGHT_ENDS)


def courses(medications: Sequence[Medication]) -> list[Course]:
    """Return the courses of a plan, by first day and hour."""
    triggers = [(m.start_day, minutes(time)) for m in medications if m.triggers for time in m.hours]
    found = [
        Course(
            medication,
            time,
            medication.start_day,
            _last(medication, time, triggers),
            max(medication.every_days or 1, 1),
        )
        for medication in medications
        for time in medication.hours
    ]
    return sorted(found, key=lambda course: _moment(course.first, course.time, course.medication))


def doses_of_day(of: Iterable[Course], day: int) -> list[Dose]:
    """Return the doses in the list of that day, the earliest first; those of the night after it come last."""
    found = [
        Dose(course.medication, on, course.time)
        for course in of
        for on in (day + course.lists_before,)
        if course.is_on(on)
    ]
    return sorted(found, key=lambda dose: dose.moment)


def standing(plan: Protocol | None, episode: Episode | None, on: date) -> Standing:
    """Return whether this plan's doses are taken on that date; `episode` is the treatment, where it is known."""
    if plan is None:
        return Standing.NONE
    if episode and episode.owner_of(plan) is None:
        return Standing.ANOTHERS
    if plan.status != ProtocolStatus.ACTIVE:
        return _STANDINGS.get(plan.status, Standing.UNKNOWN)
    if not plan.medications:
        return Standing.EMPTY
    day = plan.day_on(on)
    if day is None:
        return Standing.UNDATED
    if episode is None or not episode.is_ended:
        return Standing.FOLLOWED
    return Standing.GOES_ON if any(_is_left(c, day) for c in _past_end(plan, episode)) else Standing.ENDED


def active_courses(plan: Protocol | None, episode: Episode | None, on: date) -> list[Course]:
    """Return the courses that stand on that date: all of a plan that is followed, some of one whose treatment has ended."""
    found = standing(plan, episode, on)
    if plan is None or not found.has_doses:
        return []
    return _past_end(plan, episode) if found is Standing.GOES_ON and episode else courses(plan.medications)


def doses_on(plan: Protocol | None, episode: Episode | None, on: date) -> list[Dose]:
    """Return the doses in the list of that date, the earliest first; none if the plan isn't to be followed."""
    day = plan.day_on(on) if plan else None
    return [] if day is None else doses_of_day(active_courses(plan, episode, on), day)


def doses_tonight(plan: Protocol | None, episode: Episode | None, on: date) -> list[Dose]:
    """Return the doses after midnight on that date, which stand in the list of the day before."""
    before = doses_on(plan, episode, on - timedelta(days=1))
    day = plan.day_on(on) if plan else None
    return [dose for dose in before if dose.day == day]


def remaining(plan: Protocol | None, episode: Episode | None, on: date) -> list[Course]:
    """Return the courses of an active plan with a dose on that date or later."""
    day = plan.day_on(on) if plan else None
    return (
        []
        if day is None
        else [course for course in active_courses(plan, episode, on) if _is_left(course, day)]
    )


def horizon(of: Sequence[Course], today: int | None) -> int:
    """Return the last day that is listed and drawn: the last with a dose, or two weeks ahead if a course has no end.

    `today` is a day of the plan; a plan without dates counts from its first dose.
    """
    named = max((c.first if c.last is None else max(c.last, c.first) for c in of), default=0)
    if all(course.last is not None for course in of):
        return named
    return max(named, (min(c.first for c in of) if today is None else today) + _AHEAD)


def common_horizon(*plans: Sequence[Course], today: int | None) -> int:
    """Return the last day on which plans are compared: the same for all, so that a course without an end goes on as long
    in each, and two weeks later than what any lists, so that one which ends by now is seen to.
    """
    return horizon([course for of in plans for course in of], today) + _AHEAD


def _is_left(course: Course, day: int) -> bool:
    return course.last is None or course.last >= max(day, course.first)


def _past_end(plan: Protocol, episode: Episode) -> list[Course]:
    """The courses that outlast their treatment: begun by its end, and not of the stimulation that ended with it."""
    if episode.status != CareStatus.FINISHED or episode.outcome in (Outcome.CANCELLED, Outcome.NO_PREGNANCY):
        return []
    ended = plan.day_on(episode.end_date) if episode.end_date else None
    return [
        course
        for course in courses(plan.medications)
        if not (course.medication.triggers or course.medication.ends_with_trigger)
        and (ended is None or course.first <= ended)
    ]


def _last(row: Medication, time: str | None, triggers: Sequence[tuple[int, int | None]]) -> int | None:
    """The last day of a row's hour. Of several ends the first holds; a trigger without one is a single dose."""
    ends = [day for day in (row.end_day, row.last_dose_day) if day is not None]
    if row.triggers:
        return min(ends, default=row.start_day)
    if row.ends_with_trigger and triggers:
        coming = [trigger for trigger in triggers if trigger[0] >= row.start_day]
        is_evening_given = row.last_dose_day is not None
        ends += [_last_before(trigger, time, is_evening_given=is_evening_given) for trigger in coming]
        if not coming and row.is_until_trigger:
            ends.append(row.start_day - 1)
    return min(ends, default=None)


def _last_before(trigger: tuple[int, int | None], time: str | None, *, is_evening_given: bool) -> int:
    """The last day on which a dose at `time` comes before the trigger, and before its evening unless that is given."""
    day, at = trigger
    edge = (day, _DAY if at is None else at)
    if not is_evening_given:
        evening = day - 1 if at is not None and at < _MORNING else day
        edge = min(edge, (evening, _MIDDAY))
    hour = minutes(time)
    return edge[0] if hour is not None and hour < edge[1] else edge[0] - 1
