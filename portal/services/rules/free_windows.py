"""The times at which a physician can be booked: working hours without what is taken of them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

from msgspec.structs import replace

from portal.config.time_zones import zone_named
from portal.dates import in_zone
from portal.parse import calendar_date, time_of_day
from portal.services.physicians import Physician
from portal.services.rules.workdays import hours_around, weekly_hours
from portal.values import Value

LENGTH = timedelta(minutes=30)
"""The length of a window."""


class Window(Value, frozen=True):
    """A free time with a physician; instants in UTC."""

    start: datetime
    end: datetime
    physician: Physician

    @property
    def value(self) -> str:
        """Its value in the form; the slash separates the parts, as ids contain none."""
        return f"{_written(self.start)}/{self.physician.id}"

    @property
    def element_id(self) -> str:
        """The DOM id of its radio button."""
        return "w" + re.sub(r"[^0-9A-Za-z]", "-", self.value)


class Taken(Value, frozen=True):
    """A period within working hours in which a physician is busy; instants in UTC."""

    start: datetime
    end: datetime


class Day(Value, frozen=True):
    """One day of the week shown, with its windows and busy periods in order."""

    date: date
    entries: tuple[Window | Taken, ...]

    @property
    def windows(self) -> list[Window]:
        return [entry for entry in self.entries if isinstance(entry, Window)]

    def without(self, value: str) -> Day:
        """The day less a window, with whomever it is."""
        kept = (entry for entry in self.entries if not isinstance(entry, Window) or entry.value != value)
        return replace(self, entries=tuple(kept))


def day_of(day: date, physicians: Sequence[Physician], zone: ZoneInfo, after: datetime) -> Day:
    """The day's free windows and, for a single physician, the busy periods; past times are left out."""
    entries: list[Window | Taken] = []
    offered: set[datetime] = set()
    for physician in physicians:
        for opens, closes in hours_on(physician, day, zone):
            for window in _free(physician, opens, closes):
                if window.start > after and window.start not in offered:
                    offered.add(window.start)
                    entries.append(window)
            if len(physicians) == 1:
                entries += _busy(physician, opens, closes)
    return Day(day, tuple(sorted(entries, key=lambda entry: entry.start)))


def hours_on(physician: Physician, day: date, zone: ZoneInfo) -> Iterator[tuple[datetime, datetime]]:
    """The physician's working periods that start on this day at the clinic, in UTC."""
    own = zone_named(physician.time_zone) or zone
    for opens, closes in hours_around(day, weekly_hours(physician), own):
        start = in_zone(opens, UTC)
        if in_zone(start, zone).date() == day:
            yield start, in_zone(closes, UTC)


def _free(physician: Physician, opens: datetime, closes: datetime) -> Iterator[Window]:
    start = opens
    while start + LENGTH <= closes:
        end = start + LENGTH
        if not any(busy.start < end and busy.end > start for busy in physician.busy):
            yield Window(start, end, physician)
        start = end


def _busy(physician: Physician, opens: datetime, closes: datetime) -> Iterable[Taken]:
    return [
        Taken(max(busy.start, opens), min(busy.end, closes))
        for busy in physician.busy
        if busy.start < closes and busy.end > opens
    ]


def _written(at: datetime) -> str:
    return at.strftime("%Y-%m-%dT%H:%MZ")


def start_of(value: str) -> datetime | None:
    """The start of the submitted window; None if there is none."""
    day, _, clock = value.partition("/")[0].removesuffix("Z").partition("T")
    on, at = calendar_date(day), time_of_day(clock)
    return datetime.combine(on, at.replace(tzinfo=None), UTC) if on and at else None
