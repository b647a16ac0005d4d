"""The care team: the clinic's physicians with their working hours and busy times, a week at a time.

Physicians are reference data, read through the cache. The whole week is requested and filtered here, so that one cached
copy serves every filter and time zone.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, date, datetime, time, timedelta

from babel.dates import format_datetime, format_skeleton, get_timezone_name
from flask import Blueprint, Response, g, request
from markupsafe import Markup
from msgspec.structs import replace

from portal.config.time_zones import zones_offered
from portal.dates import in_zone
from portal.folding import folded
from portal.i18n.collation import sort_key
from portal.i18n.gettext import _
from portal.i18n.locale import is_rtl, language
from portal.services.api import Reference
from portal.services.decoding import PagedResult
from portal.services.episodes import CareTeamMember
from portal.services.errors import CareError, Unavailable
from portal.services.gather import gather, needed
from portal.services.physicians import Physician, list_physicians
from portal.services.rules.workdays import Workday, workdays
from portal.values import Value
from portal.views.care_team_week import DAYS, WeekQuery
from portal.views.episodes.lookup import MOST_REMEMBERED, reachable
from portal.web.drawings.week import Column, week
from portal.web.filters import date_locale, day, in_a_row, now, today
from portal.web.handlers import Care, Page, Person, Side, audit, render, signed_in, wants
from portal.web.not_given import not_given
from portal.web.text_language import with_lang

bp = Blueprint("care_team", __name__, url_prefix="/care-team")

_MOST = 500
_LONGEST_DAY = 8
"""How many letters of a day's name fit above its column."""
_USUAL_DAY = (8, 18)


class CareTeamPage(Page, template="care_team/show.html"):
    """The physicians' week for the query; above it, for patients, their own care team."""

    people: tuple[CareTeamMember, ...] | CareError
    team: Team
    query: WeekQuery


@bp.get("")
@signed_in(Side.PATIENT, Side.STAFF)
def show(care: Care, person: Person) -> Response:
    """Show the requested week, and say so if it is an older copy; without one this week or, once it is over, the next."""
    query = WeekQuery.of(request.args)
    found, people = gather(
        lambda: _physicians(care, query),
        lambda: () if person.is_staff or wants("results") else _people(care, person),
    )
    found = needed(found)
    if query.may_be_over and _is_over(query, found.value.items):
        query = query.next_week
    team = Team(query, found.value.items, as_of=found.as_of)
    return render(CareTeamPage(people=people, team=team, query=team.query), fragment="results")


def _physicians(care: Care, query: WeekQuery) -> Reference[PagedResult[Physician]]:
    # One more day on each side covers the week in every time zone, so that all share one cached copy.
    begins = datetime.combine(query.first_day, time(), UTC)
    days = 2 * DAYS if query.may_be_over else DAYS
    return list_physicians(
        care, limit=_MOST, start=begins - timedelta(days=1), end=begins + timedelta(days=days + 1)
    )


def _is_over(query: WeekQuery, physicians: Sequence[Physician]) -> bool:
    """Whether somebody works in the week, but nobody from now on."""
    ends = [
        period.end
        for physician in physicians
        if physician.is_active
        for day in workdays(physician, query.days, query.zone, g.tenant.time_zone)
        for period in day.works
    ]
    return bool(ends) and max(ends) <= now()


def _people(care: Care, person: Person) -> tuple[CareTeamMember, ...]:
    """Who looks after the patient in the treatments under way or, where all have ended, in the last one; each once."""
    found = reachable(care, person, MOST_REMEMBERED)
    if found.is_incomplete and not found.episodes:
        raise Unavailable("no episode could be read")
    audit.shown("episode.list", "episode", [episode.id for episode in found.episodes])
    current = [episode for episode in found.newest_first if not episode.is_ended] or found.newest_first[:1]
    members = [member for episode in current for member in episode.care_team]
    return tuple({(member.name, member.role): member for member in members if member.name}.values())


class Member(Value, frozen=True):
    """A physician with the week shown; `is_opening` if that is where the page opens."""

    physician: Physician
    days: tuple[Workday, ...]
    is_opening: bool

    @property
    def about(self) -> str:
        """Title, specialty and location in one line."""
        physician = self.physician
        return in_a_row(
            map(with_lang, filter(None, (physician.title, physician.specialty, physician.location_name))),
            " · ",
        )

    @property
    def works(self) -> bool:
        return any(day.works for day in self.days)

    @property
    def is_free_told(self) -> bool:
        """Whether this is the week of today, or the next one where that is over, and the API tells what is taken."""
        is_current = any(workday.date == today() for workday in self.days)
        is_next = self.is_opening and bool(self.next_free)
        return self.works and (is_current or is_next) and not not_given("Physician.busy")

    @property
    def next_free(self) -> str:
        """The first hours from now on in which nothing is taken, with their day; empty if there are none in this week."""
        found = ((workday, period) for workday in self.days for period in workday.free(now()))
        return next((in_a_row([day(workday.date), period.words]) for workday, period in found), "")


class Team:
    """The physicians shown, and the filters' choices. Of a place that none of them has (`is_place_unknown`) it is everybody."""

    def __init__(self, query: WeekQuery, physicians: Sequence[Physician], *, as_of: datetime | None) -> None:
        self.as_of = as_of
        active = sorted(
            (physician for physician in physicians if physician.is_active),
            key=lambda physician: sort_key(physician.name, language()),
        )
        places = [(p.location_id, p.location_name) for p in active if p.location_id]
        named = {id_: id_ for id_, _name in places} | {id_: name for id_, name in places if name}
        self.is_place_unknown = bool(query.location_id) and query.location_id not in named
        self.query = query = replace(query, location_id="") if self.is_place_unknown else query
        self.locations = sorted(named.items(), key=lambda pair: sort_key(pair[1], language()))
        self.members = [
            Member(
                physician, workdays(physician, query.days, query.zone, g.tenant.time_zone), query.is_opening
            )
            for physician in active
            if _matches(physician, query)
        ]
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
        midday = datetime.combine(self.query.first_day, time(12), self.query.zone)
        return get_timezone_name(midday, locale=date_locale())

    def drawing(self, member: Member, number: int) -> Markup:
        """The physician's week as a chart."""
        today = in_zone(now(), self.query.zone).date()
        return week(
            [
                Column(
                    _short_day(day.date),
                    [span.hours for span in day.works],
                    [span.hours for span in day.busy],
                    is_today=day.date == today,
                )
                for day in member.days
            ],
            opens=self._opens,
            closes=self._closes,
            hours=[f"{hour % 24:02}" for hour in range(25)],
            title=_("The week of %(name)s", name=member.physician.name),
            description=_("Working hours, and what is taken of them; the same stands in the table below."),
            id_=f"week-{number}",
            rtl=is_rtl(),
        )


def _matches(physician: Physician, query: WeekQuery) -> bool:
    words = folded(f"{physician.name} {physician.title} {physician.specialty}")
    is_there = not query.location_id or physician.location_id == query.location_id
    return is_there and all(word in words for word in folded(query.text).split())


def _short_day(day: date) -> str:
    noon = datetime.combine(day, time(12))
    written = format_skeleton("Ed", noon, locale=date_locale())
    # Some languages have no abbreviated day names; the narrow form fits.
    return written if len(written) <= _LONGEST_DAY else format_datetime(noon, "EEEEE d", locale=date_locale())
