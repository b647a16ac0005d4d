"""A physician's working hours by day, in any time zone."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, date, datetime, time, timedelta
from typing import TypeAlias
from zoneinfo import ZoneInfo

from portal.config.time_zones import zone_named
from portal.dates import in_zone
from portal.services.physicians import Physician
from portal.values import Value


class Period(Value, frozen=True):
    """A period on one day; instants in the zone shown."""

    start: datetime
    end: datetime

    @property
    def words(self) -> str:
        """`09:00–17:00`; the end of the day is 24:00."""
        end = "24:00" if self.end.date() > self.start.date() else _clock(self.end)
        return f"{_clock(self.start)}–{end}"

    @property
    def hours(self) -> tuple[float, float]:
        """The same in hours since midnight."""
        end = 24.0 if self.end.date() > self.start.date() else _hour(self.end)
        return _hour(self.start), end


class Workday(Value, frozen=True):
    """One day of a physician, with or without hours."""

    date: date
    works: tuple[Period, ...]
    busy: tuple[Period, ...]

    def free(self, after: datetime) -> Iterator[Period]:
        """The working hours after that moment in which nothing is taken, in order."""
        for period in self.works:
            start = max(period.start, in_zone(after, period.start.tzinfo or UTC))
            for taken in sorted(self.busy, key=lambda taken: taken.start):
                if taken.end > start and taken.start < period.end:
                    if taken.start > start:
                        yield Period(start, taken.start)
                    start = taken.end
            if start < period.end:
                yield Period(start, period.end)


def workdays(
    physician: Physician, on: Iterable[date], zone: ZoneInfo, clinic_zone: ZoneInfo
) -> tuple[Workday, ...]:
    """The physician's hours on these days of `zone`; a physician without a time zone works in the clinic's."""
    own = zone_named(physician.time_zone) or (zone if physician.time_zone else clinic_zone)
    weekly = weekly_hours(physician)
    busy = [(time.start, time.end) for time in physician.busy]
    days: list[Workday] = []
    for day in on:
        begins = datetime.combine(day, time(), zone)
        ends = datetime.combine(day + timedelta(days=1), time(), zone)
        works = _within(hours_around(day, weekly, own), begins, ends, zone)
        days.append(Workday(day, works, _within(busy, begins, ends, zone)))
    return tuple(days)


Weekly: TypeAlias = Mapping[int | None, Sequence[tuple[timedelta, timedelta]]]
"""Working hours by weekday, 0 for Monday, since midnight."""


def weekly_hours(physician: Physician) -> Weekly:
    """The physician's working hours; those without a beginning or an end after it are left out."""
    weekly: dict[int | None, list[tuple[timedelta, timedelta]]] = {}
    for hours in physician.working_hours:
        opens, closes = hours.opens, hours.closes
        if opens is not None and closes is not None and opens < closes:
            weekly.setdefault(hours.weekday, []).append((opens, closes))
    return weekly


def hours_around(day: date, weekly: Weekly, own: ZoneInfo) -> Iterator[tuple[datetime, datetime]]:
    """The working hours of this day and those beside it: another zone's fall on two days."""
    for near in (day - timedelta(days=1), day, day + timedelta(days=1)):
        for opens, closes in weekly.get(near.weekday(), ()):
            midnight = datetime.combine(near, time(), own)
            yield midnight + opens, midnight + closes


def _within(
    stretches: Iterable[tuple[datetime, datetime]], begins: datetime, ends: datetime, zone: ZoneInfo
) -> tuple[Period, ...]:
    """The parts of the periods that fall on one day, in order. Compared as instants, because of clock changes."""
    low, high = in_zone(begins, UTC), in_zone(ends, UTC)
    found = [(max(in_zone(start, UTC), low), min(in_zone(end, UTC), high)) for start, end in stretches]
    return tuple(
        Period(in_zone(start, zone), in_zone(end, zone)) for start, end in sorted(found) if start < end
    )


def _hour(at: datetime) -> float:
    return at.hour + at.minute / 60


def _clock(at: datetime) -> str:
    return f"{at:%H:%M}"
