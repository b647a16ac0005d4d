"""Which week of the care team is looked at, where, and in which time zone."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, timedelta
from functools import cache
from urllib.parse import urlencode
from zoneinfo import ZoneInfo

from babel import Locale, UnknownLocaleError
from flask import g, url_for
from msgspec.structs import replace

from portal.config.time_zones import zone_named
from portal.dates import in_zone
from portal.parse import line, record_id, week_monday
from portal.values import Value
from portal.web.filters import date_locale, now

DAYS = 7


_FARTHEST = timedelta(weeks=52)
_WEEKEND = timedelta(days=3)
"""How long before its end a week can be over: from Friday evening on."""


class WeekQuery(Value, frozen=True):
    """The query: the week by its first day, a name, a location, and a time zone; `is_opening` if it names no week."""

    first_day: date
    text: str
    location_id: str
    zone: ZoneInfo
    is_opening: bool

    @classmethod
    def of(cls, arguments: Mapping[str, str]) -> WeekQuery:
        """Read `week` (2026-W47), `q`, `location` and `zone`. Invalid values fall back to defaults."""
        zone: ZoneInfo = g.tenant.time_zone
        given = arguments.get("zone", "")
        zone = zone_named(given) or zone
        today = in_zone(now(), zone).date()
        week = arguments.get("week", "")
        return cls(
            first_day=first_day_of(week, today, _first_weekday()),
            text=line(arguments.get("q"), longest=200),
            location_id=record_id(arguments.get("location")) or "",
            zone=zone,
            is_opening=_known_monday(week, today) is None,
        )

    @property
    def days(self) -> list[date]:
        return [self.first_day + timedelta(days=offset) for offset in range(DAYS)]

    @property
    def week(self) -> str:
        """The week in ISO 8601: `2026-W47`."""
        monday = self.first_day + timedelta(days=-self.first_day.weekday() % DAYS)
        year, number, _weekday = monday.isocalendar()
        return f"{year}-W{number:02}"

    @property
    def is_clinic_zone(self) -> bool:
        return self.zone.key == g.tenant.time_zone.key

    @property
    def earlier(self) -> str | None:
        """The address of the previous week, within `_FARTHEST`."""
        return self._moved(-DAYS)

    @property
    def later(self) -> str | None:
        """The address of the next week, within `_FARTHEST`."""
        return self._moved(DAYS)

    @property
    def may_be_over(self) -> bool:
        """Whether it names no week and this one's end is so near that nobody may work in it any more."""
        today = in_zone(now(), self.zone).date()
        return self.is_opening and self.days[-1] - today < _WEEKEND

    @property
    def next_week(self) -> WeekQuery:
        return replace(self, first_day=self.first_day + timedelta(days=DAYS))

    @property
    def this_week(self) -> str | None:
        first_day = first_day_of("", in_zone(now(), self.zone).date(), self.first_day.weekday())
        return None if first_day == self.first_day else replace(self, first_day=first_day).href()

    def href(self, **changed: str) -> str:
        arguments = {
            "week": self.week,
            "q": self.text,
            "location": self.location_id,
            "zone": "" if self.is_clinic_zone else self.zone.key,
            **changed,
        }
        return f"{url_for('care_team.show')}?{urlencode({k: v for k, v in arguments.items() if v})}"

    def _moved(self, days: int) -> str | None:
        first_day = self.first_day + timedelta(days=days)
        today = in_zone(now(), self.zone).date()
        return replace(self, first_day=first_day).href() if abs(first_day - today) <= _FARTHEST else None


def first_day_of(text: str, today: date, weekday: int) -> date:
    """The first day of an ISO week within a year of today, else of this week; weeks start on `weekday`, 0 for Monday.

    A week that starts on a Saturday or Sunday has the number of its Monday's ISO week.
    """
    given = _known_monday(text, today) or today
    return given - timedelta(days=(given.weekday() - weekday) % DAYS)


def _known_monday(text: str, today: date) -> date | None:
    """The Monday of an ISO week within a year of today; None for anything else."""
    given = week_monday(text)
    return None if given is None or abs(given - today) > _FARTHEST + timedelta(days=DAYS) else given


def _first_weekday() -> int:
    """The first day of the week in the clinic's country, else that of the page's language."""
    there = _first_weekday_in(g.tenant.country)
    return date_locale().first_week_day if there is None else there


@cache
def _first_weekday_in(country: str | None) -> int | None:
    """The first day of the week in a country (CLDR, week data); None for an unknown one."""
    try:
        return Locale.parse(f"und_{country}", resolve_likely_subtags=True).first_week_day
    except (UnknownLocaleError, ValueError):
        return None
