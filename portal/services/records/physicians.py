"""Physicians as calendar resources."""

from __future__ import annotations

from datetime import datetime, time

from portal.parse import time_of_day
from portal.services.decoding import Id, Record, Timed, Whole

_DAYS = ("sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday")


class WorkingHours(Record, frozen=True, kw_only=True):
    """Weekly hours from `start` to `end` (HH:MM, physician's zone); `day_of_week` is a name or 0 for Sunday."""

    day_of_week: Whole | str
    start: str
    end: str

    @property
    def weekday(self) -> int | None:
        """The weekday as in Python (Monday is 0); None if it is invalid.

        Names may be abbreviated ("mon", "MO"), and Sunday may be 7 (ISO 8601): no other day can be meant.
        """
        day = self.day_of_week
        if isinstance(day, str):
            name = day.strip().rstrip(".").casefold()
            day = next((n for n, whole in enumerate(_DAYS) if len(name) > 1 and whole.startswith(name)), -1)
        return (day - 1) % 7 if 0 <= day <= 7 else None

    @property
    def opens(self) -> time | None:
        """`start` as a time of day, or None if it is invalid."""
        return time_of_day(self.start)

    @property
    def closes(self) -> time | None:
        """`end` as a time of day, or None if it is invalid."""
        return time_of_day(self.end)


class Busy(Timed, frozen=True, kw_only=True):
    """A busy period."""

    start: datetime
    end: datetime


class Physician(Record, frozen=True, kw_only=True):
    """A physician as a calendar resource; `time_zone` is an IANA name."""

    id: Id
    name: str
    title: str = ""
    specialty: str = ""
    location_id: Id | None = None
    location_name: str | None = None
    time_zone: str | None = None
    color: str | None = None
    is_active: bool = True
    working_hours: tuple[WorkingHours, ...] = ()
    busy: tuple[Busy, ...] = ()
