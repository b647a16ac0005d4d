"""The care team: the clinic's physicians with their working hours and busy times, a week at a time.

Physicians are reference data, read through the cache. The whole week is requested and filtered here, so that one cached
copy serves every filter and time zone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta
from functools import cache
from urllib.parse import urlencode
from zoneinfo import ZoneInfo

from babel import Locale, UnknownLocaleError
from babel.dates import format_datetime, format_skeleton, get_timezone_name
from flask import Blueprint, Response, g, request, url_for
from markupsafe import Markup

from portal.config.tenants import Side
from portal.config.time_zones import zone_named, zones_offered
from portal.dates import in_zone
from portal.i18n.collation import sort_key
from portal.i18n.gettext import _
from portal.i18n.locale import is_rtl, language
from portal.parse import line, record_id, week_monday
from portal.services.client import Care
from portal.services.episodes import CareTeamMember
from portal.services.errors import CareError, Unavailable
from portal.services.found_episodes import read_episodes
from portal.services.gather import gather
from portal.services.physicians import Physician, list_physicians
from portal.state.session_records import Person
from portal.views.episodes.lookup import remembered
from portal.web import audit
from portal.web.drawings.week import Column, week
from portal.web.filters import date_locale, in_a_row, now
from portal.web.guard import signed_in
from portal.web.htmx import render, wants
from portal.web.pages import Page
from portal.web.said import said

bp = Blueprint("care_team", __name__, url_prefix="/care-team")

_MOST = 500
_DAYS = 7
_LONGEST_DAY = 8
"""How many letters of a day's name fit above its column."""
_MOST_EPISODES = 2
_FARTHEST = timedelta(weeks=52)
_USUAL_DAY = (8, 18)


class CareTeamPage(Page, template="care_team/show.html"):
    """The physicians' week for the query; above it, for patients, their own care team."""

    people: tuple[CareTeamMember, ...] | CareError
    team: Team
    query: WeekQuery


@bp.get("")
@signed_in(Side.PATIENT, Side.STAFF)
def show(care: Care, person: Person) -> Response:
    """Show the requested week, and say so if it is an older copy."""
    query = WeekQuery.of(request.args)
    # One more day on each side covers the week in every time zone, so that all share one cached copy.
    begins = datetime.combine(query.first_day, time(), UTC)
    found, people = gather(
        lambda: list_physicians(
            care, limit=_MOST, start=begins - timedelta(days=1), end=begins + timedelta(days=_DAYS + 1)
        ),
        lambda: () if person.is_staff or wants("results") else _people(care),
    )
    if isinstance(found, CareError):
        raise found
    team = Team(query, found.value.items, as_of=found.as_of)
    return render(CareTeamPage(people=people, team=team, query=query), fragment="results")


def _people(care: Care) -> tuple[CareTeamMember, ...]:
    """The care team of this patient's most recent episodes, without duplicates."""
    found = read_episodes(care, remembered()[:_MOST_EPISODES])
    if found.is_incomplete and not found.episodes:
        raise Unavailable("no episode could be read")
    audit.shown("episode.list", "episode", [one.id for one in found.episodes])
    members = [member for episode in found.newest_first for member in episode.care_team]
    return tuple({(member.name, member.role): member for member in members if member.name}.values())


@dataclass(frozen=True, slots=True)
class WeekQuery:
    """The query: the week by its first day, a name, a location, and a time zone."""

    first_day: date
    text: str
    location_id: str
    zone: ZoneInfo

    @classmethod
    def of(cls, arguments: Mapping[str, str]) -> WeekQuery:
        """Read `week` (2026-W47), `q`, `location` and `zone`. Invalid values fall back to defaults."""
        zone: ZoneInfo = g.tenant.time_zone
        given = arguments.get("zone", "")
        zone = zone_named(given) or zone
        today = in_zone(now(), zone).date()
        return cls(
            first_day=first_day_of(arguments.get("week", ""), today, _first_weekday()),
            text=line(arguments.get("q"), longest=200),
            location_id=record_id(arguments.get("location")) or "",
            zone=zone,
        )

    @property
    def days(self) -> list[date]:
        """The days of the week."""
        return [self.first_day + timedelta(days=offset) for offset in range(_DAYS)]

    @property
    def week(self) -> str:
        """The week in ISO 8601: `2026-W47`."""
        monday = self.first_day + timedelta(days=-self.first_day.weekday() % _DAYS)
        year, number, _weekday = monday.isocalendar()
        return f"{year}-W{number:02}"

    @property
    def is_clinic_zone(self) -> bool:
        """Whether times are in the clinic's time zone."""
        return self.zone.key == g.tenant.time_zone.key

    @property
    def earlier(self) -> str | None:
        """The address of the previous week, within `_FARTHEST`."""
        return self._moved(-_DAYS)

    @property
    def later(self) -> str | None:
        """The address of the next week, within `_FARTHEST`."""
        return self._moved(_DAYS)

    @property
    def this_week(self) -> str | None:
        """The address of the current week, unless it is this one."""
        first_day = first_day_of("", in_zone(now(), self.zone).date(), self.first_day.weekday())
        return None if first_day == self.first_day else replace(self, first_day=first_day).href()

    def href(self, **changed: str) -> str:
        """The address of this query."""
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


@dataclass(frozen=True, slots=True)
class Period:
    """A period on one day; instants in the zone shown."""

    start: datetime
    end: datetime

    @property
    def words(self) -> str:
        """`09:00–17:00`; the end of the day is 24:00."""
        return f"{_clock(self.start)}–{_clock(self.end)}"

    @property
    def hours(self) -> tuple[float, float]:
        """The same in hours since midnight."""
        end = 24.0 if self.end.date() > self.start.date() else _hour(self.end)
        return _hour(self.start), end


@dataclass(frozen=True, slots=True)
class Workday:
    """One day of a physician, with or without hours."""

    date: date
    works: tuple[Period, ...]
    busy: tuple[Period, ...]


@dataclass(frozen=True, slots=True)
class Member:
    """A physician with the week shown."""

    physician: Physician
    days: tuple[Workday, ...]

    @property
    def about(self) -> str:
        """Title, specialty and location in one line."""
        one = self.physician
        return in_a_row(map(said, filter(None, (one.title, one.specialty, one.location_name))), " · ")

    @property
    def works(self) -> bool:
        """Whether there are working hours in this week."""
        return any(day.works for day in self.days)


class Team:
    """The physicians shown, and the filters' choices."""

    def __init__(self, query: WeekQuery, physicians: Sequence[Physician], *, as_of: datetime | None) -> None:
        self.query = query
        self.as_of = as_of
        active = sorted(
            (one for one in physicians if one.is_active), key=lambda one: sort_key(one.name, language())
        )
        self.locations = sorted(
            {(one.location_id, one.location_name or one.location_id) for one in active if one.location_id},
            key=lambda pair: sort_key(str(pair[1]), language()),
        )
        self.members = [Member(one, _days(one, query)) for one in active if _matches(one, query)]
        hours = [s.hours for m in self.members for d in m.days for s in (*d.works, *d.busy)]
        self._opens = min([_USUAL_DAY[0], *(int(start) for start, _end in hours)])
        self._closes = max([_USUAL_DAY[1], *(int(-(-end // 1)) for _start, end in hours)])

    @property
    def zones(self) -> list[tuple[str, str]]:
        """The time zones to choose from: the clinic's, the current one, and common ones."""
        clinic = g.tenant.time_zone.key
        keys = zones_offered(g.tenant.time_zone, self.query.zone.key)
        return [
            (key, _("%(zone)s (the clinic’s)", zone=key) if key == clinic else key.replace("_", " "))
            for key in keys
        ]

    @property
    def zone_words(self) -> str:
        """The zone's display name."""
        midday = datetime.combine(self.query.first_day, time(12), self.query.zone)
        return get_timezone_name(midday, locale=date_locale())

    def drawing(self, member: Member, number: int) -> Markup:
        """The physician's week as a chart."""
        today = in_zone(now(), self.query.zone).date()
        return week(
            [
                Column(
                    _short_day(day.date),
                    [one.hours for one in day.works],
                    [one.hours for one in day.busy],
                    is_today=day.date == today,
                )
                for day in member.days
            ],
            opens=self._opens,
            closes=self._closes,
            hours=[_hour_word(hour) for hour in range(25)],
            title=_("The week of %(name)s", name=member.physician.name),
            description=_("Working hours, and what is taken of them; the same stands in the table below."),
            id_=f"week-{number}",
            rtl=is_rtl(),
        )


def _matches(physician: Physician, query: WeekQuery) -> bool:
    words = f"{physician.name} {physician.title} {physician.specialty}".casefold()
    is_there = not query.location_id or physician.location_id == query.location_id
    return is_there and all(word in words for word in query.text.casefold().split())


def _days(physician: Physician, query: WeekQuery) -> tuple[Workday, ...]:
    zone = query.zone
    own = _own_zone(physician, zone)
    weekly: dict[int | None, list[tuple[time, time]]] = {}
    for hours in physician.working_hours:
        opens, closes = hours.opens, hours.closes
        if opens and closes and opens < closes:
            weekly.setdefault(hours.weekday, []).append((opens, closes))
    busy = [(one.start, one.end) for one in physician.busy]
    days: list[Workday] = []
    for day in query.days:
        begins = datetime.combine(day, time(), zone)
        ends = datetime.combine(day + timedelta(days=1), time(), zone)
        works = _within(_around(day, weekly, own), begins, ends, zone)
        days.append(Workday(day, works, _within(busy, begins, ends, zone)))
    return tuple(days)


def _around(
    day: date, weekly: Mapping[int | None, Sequence[tuple[time, time]]], own: ZoneInfo
) -> Iterator[tuple[datetime, datetime]]:
    """The working hours of this day and those beside it: another zone's fall on two days."""
    for near in (day - timedelta(days=1), day, day + timedelta(days=1)):
        for opens, closes in weekly.get(near.weekday(), ()):
            yield datetime.combine(near, opens, own), datetime.combine(near, closes, own)


def _within(
    stretches: Iterable[tuple[datetime, datetime]], begins: datetime, ends: datetime, zone: ZoneInfo
) -> tuple[Period, ...]:
    """The parts of the periods that fall on one day, in order. Compared as instants, because of clock changes."""
    low, high = in_zone(begins, UTC), in_zone(ends, UTC)
    found = [(max(in_zone(start, UTC), low), min(in_zone(end, UTC), high)) for start, end in stretches]
    return tuple(
        Period(in_zone(start, zone), in_zone(end, zone)) for start, end in sorted(found) if start < end
    )


def _own_zone(physician: Physician, otherwise: ZoneInfo) -> ZoneInfo:
    return zone_named(physician.time_zone) or (otherwise if physician.time_zone else g.tenant.time_zone)


def first_day_of(text: str, today: date, weekday: int) -> date:
    """The first day of an ISO week within a year of today, else of this week; weeks start on `weekday`, 0 for Monday.

    A week that starts on a Saturday or Sunday has the number of its Monday's ISO week.
    """
    given = week_monday(text)
    if given is None or abs(given - today) > _FARTHEST + timedelta(days=_DAYS):
        given = today
    return given - timedelta(days=(given.weekday() - weekday) % _DAYS)


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


def _hour(at: datetime) -> float:
    return at.hour + at.minute / 60


def _clock(at: datetime) -> str:
    return f"{at:%H:%M}"


def _hour_word(hour: int) -> str:
    return f"{hour % 24:02}"


def _short_day(day: date) -> str:
    noon = datetime.combine(day, time(12))
    written = format_skeleton("Ed", noon, locale=date_locale())
    # Some languages have no abbreviated day names; the narrow form fits.
    return written if len(written) <= _LONGEST_DAY else format_datetime(noon, "EEEEE d", locale=date_locale())
