"""Physicians as resources of the calendar (care API specification §4, group Calendar): reference data."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from typing import Annotated, ClassVar

import msgspec

from portal.parse import time_of_day
from portal.services.api import Group, Reference, SearchQuery
from portal.services.client import Care
from portal.services.decoding import Id, PagedResult, Record, Timed, Whole, in_utc
from portal.services.paging import read_page

_DAY = timedelta(days=1)
_END_OF_DAY = re.compile(r"24:00(:00(\.0+)?)?")
_DAYS = ("sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday")


class WorkingHours(Record, frozen=True, kw_only=True):
    """Weekly hours from `start` to `end` (HH:MM, physician's zone); `day_of_week` is a name or 0 for Sunday."""

    shown_on: ClassVar = ("care_team", "booking", "prospects")

    day_of_week: Annotated[Whole | str, "weekday (a name, or 0 for Sunday)"]
    start: Annotated[str, "start time"]
    end: Annotated[str, "end time"]

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
    def opens(self) -> timedelta | None:
        """`start`, since midnight; None if it is invalid."""
        return _since_midnight(self.start)

    @property
    def closes(self) -> timedelta | None:
        """`end`, since midnight; None if it is invalid. The end of the day is 24:00, or 00:00 after a later `start`."""
        if _END_OF_DAY.fullmatch(self.end.strip()):
            return _DAY
        end = _since_midnight(self.end)
        return _DAY if end == timedelta() and self.opens else end


def _since_midnight(text: str) -> timedelta | None:
    at = time_of_day(text)
    return at and timedelta(hours=at.hour, minutes=at.minute, seconds=at.second)


class Busy(Timed, frozen=True, kw_only=True):
    """A busy period."""

    shown_on: ClassVar = ("booking", "prospects")

    start: Annotated[datetime, "start of a time that isn't offered"]
    end: Annotated[datetime, "end of a time that isn't offered"]


class Physician(Record, frozen=True, kw_only=True):
    """A physician as a calendar resource; `time_zone` is an IANA name."""

    shown_on: ClassVar = ("care_team", "booking", "prospects", "cases", "protocols")
    separable: ClassVar = frozenset({"working_hours"})

    id: Id
    name: Annotated[str, "name"]
    title: Annotated[str, "title"] = ""
    specialty: Annotated[str, "specialty"] = ""
    location_id: Annotated[Id | None, "where appointments are booked"] = None
    location_name: Annotated[str | None, "where they work"] = None
    time_zone: Annotated[str | None, "time zone of their hours"] = None
    color: str | None = None
    is_active: Annotated[bool, "whether they can be chosen"] = True
    working_hours: Annotated[tuple[WorkingHours, ...], "when times are offered; without it, none are"] = ()
    busy: Annotated[tuple[Busy, ...], "times that aren't offered"] = ()


class PhysicianQuery(SearchQuery, frozen=True, kw_only=True, rename="pascal"):
    """Which physicians are asked for, and for when."""

    from_: datetime | None = msgspec.field(default=None, name="From")
    to: datetime | None = None
    location_id: Id | None = None


LIST_PHYSICIANS = Group("Calendar").get(
    "/api/calendar/resources/physicians",
    PagedResult[Physician],
    PhysicianQuery,
    shows=None,
    page="/care-team",
    kept=timedelta(minutes=5),
)


def list_physicians(
    care: Care,
    *,
    skip: int = 0,
    limit: int = 200,
    text: str | None = None,
    start: datetime | None = None,
    end: datetime | None = None,
    location_id: str | None = None,
) -> Reference[PagedResult[Physician]]:
    """Physicians with their working hours and their busy times between `start` and `end`.

    Cached for minutes; `as_of` says when they were read if the API can't be reached now. Request whole days, so that
    the cached copy is reused.
    """
    as_of: list[datetime] = []

    def read(at: int, size: int) -> PagedResult[Physician]:
        query = PhysicianQuery(
            skip_count=at,
            max_result_count=size,
            filter=text,
            from_=in_utc(start) if start else None,
            to=in_utc(end) if end else None,
            location_id=location_id,
        )
        found = care.reference(LIST_PHYSICIANS, query=query)
        as_of.extend([found.as_of] if found.as_of else [])
        return found.value

    page = read_page(read, skip, limit, care.largest_page)
    return Reference(page, min(as_of, default=None))
