"""Free windows: physicians' working hours minus their busy times.

The care API lists hours and busy times, not free windows, and doesn't say how long a window is: here half an hour,
counted from the start of each working period (docs/assumptions.md). Hours are in the physician's time zone.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime, time, timedelta
from urllib.parse import urlencode
from zoneinfo import ZoneInfo

from flask import g, request
from msgspec import structs

from portal.i18n.collation import sort_key
from portal.i18n.gettext import _
from portal.i18n.locale import language
from portal.parse import calendar_date
from portal.services.client import Care
from portal.services.physicians import Physician, list_physicians
from portal.services.rules.free_windows import Day, Window, day_of, start_of
from portal.values import Value
from portal.web.filters import now, today

FIRST_VISIT = "InitialConsultation"
"""The kind of appointment booked through a link."""
BY_VIDEO = "VideoConsultation"
_DAYS = 7
_FARTHEST = 26
"""How many weeks ahead can be shown."""


class Week(Value, frozen=True):
    """A week of one physician (with busy times) or, if `physician` is None, of all.

    `asked` is the requested day, if any; `kind` the chosen kind of appointment, where there is a choice: links keep it.
    """

    first_day: date
    physicians: tuple[Physician, ...]
    physician: Physician | None
    days: tuple[Day, ...]
    asked: date | None = None
    kind: str = ""

    @property
    def is_full(self) -> bool:
        return not any(day.windows for day in self.days)

    @property
    def soonest(self) -> datetime | None:
        return next((window.start for day in self.days for window in day.windows), None)

    @property
    def shown(self) -> Day | None:
        """The requested day, else the first with a window; None if nothing is free."""
        if self.is_full:
            return None
        asked = (day for day in self.days if day.date == self.asked)
        return next(asked, None) or next(day for day in self.days if day.windows)

    @property
    def time_shown(self) -> datetime | None:
        """A time that the page shows, in whose season the others are too; None if nothing is free."""
        return next((window.start for window in self.shown.windows), self.soonest) if self.shown else None

    def nearest(self, value: str, most: int = 3) -> list[Window]:
        """The free windows closest to the one that a form requested, in order; none if that isn't a valid time."""
        asked = start_of(value)
        if asked is None:
            return []
        free = sorted((w for day in self.days for w in day.windows), key=lambda w: abs(w.start - asked))
        return sorted(free[:most], key=lambda w: w.start)

    def without(self, value: str) -> Week:
        """The week less a window that was refused: an API that doesn't say who is busy would offer it again."""
        return structs.replace(self, days=tuple(day.without(value) for day in self.days))

    @property
    def earlier(self) -> date | None:
        return self.first_day - timedelta(days=_DAYS) if self.first_day > today() else None

    @property
    def later(self) -> date | None:
        """The first day of the next week, within `_FARTHEST`."""
        following = self.first_day + timedelta(days=_DAYS)
        return following if following <= today() + timedelta(weeks=_FARTHEST) else None

    @property
    def last_day(self) -> date:
        return self.first_day + timedelta(days=_DAYS - 1)

    def href(
        self,
        base: str,
        first_day: date | None = None,
        physician_id: str | None = None,
        day: date | None = None,
        kind: str | None = None,
    ) -> str:
        """The address for another week, physician, day or kind; an empty `physician_id` means any."""
        chosen = self.physician.id if self.physician else ""
        query = {
            "from": (first_day or self.first_day).isoformat(),
            "physician": chosen,
            "type": kind or self.kind,
        }
        if day is not None:
            query["day"] = day.isoformat()
        if physician_id is not None:
            query["physician"] = physician_id
        return f"{base}?{urlencode({name: value for name, value in query.items() if value})}"

    def window(self, value: str) -> Window | None:
        """Return the window that was submitted, if it is still free."""
        return next((w for day in self.days for w in day.windows if w.value == value), None)


def appointment_types() -> list[tuple[str, str]]:
    """The kinds of appointment that staff can book; only suggestions, because clinics define their own."""
    return [
        (FIRST_VISIT, _("First consultation")),
        ("NurseConsultation", _("Consultation with a nurse")),
        (BY_VIDEO, _("Consultation by video")),
        ("FertilityAssessment", _("Fertility assessment")),
    ]


def read_week(care: Care, *, first_day: date, physician_id: str, anybody: bool) -> Week:
    """Read the current week; without a `physician_id`, that of who is free first or, with `anybody`, of whoever is free.

    GET /api/calendar/resources/physicians (care API specification §4), never from the cache: a copy a few minutes old
    might offer times that have been taken.
    """
    zone: ZoneInfo = g.tenant.time_zone
    begins = datetime.combine(first_day, time(), zone)
    ends = datetime.combine(first_day + timedelta(days=_DAYS), time(), zone)
    live = replace(care, references=None)
    found = list_physicians(live, start=begins, end=ends).value.items
    physicians = tuple(sorted((p for p in found if p.is_active), key=lambda p: sort_key(p.name, language())))

    def week(chosen: Physician | None) -> Week:
        return Week(
            first_day=first_day,
            physicians=physicians,
            physician=chosen,
            days=tuple(
                day_of(first_day + timedelta(days=offset), [chosen] if chosen else physicians, zone, now())
                for offset in range(_DAYS)
            ),
            asked=calendar_date(request.values.get("day")),
        )

    chosen = next((p for p in physicians if p.id == physician_id), None)
    if chosen or anybody or not physicians:
        return week(chosen)
    return min(map(week, physicians), key=lambda choice: choice.soonest or datetime.max.replace(tzinfo=UTC))


def read_asked_week(care: Care, *, anybody: bool) -> Week:
    """Read the week of the query: of a `physician`, `from` a day that isn't before today, and within `_FARTHEST`."""
    given = calendar_date(request.values.get("from")) or today()
    first_day = min(max(given, today()), today() + timedelta(weeks=_FARTHEST))
    asked = request.values.get("physician", "")
    return read_week(care, first_day=first_day, physician_id=asked, anybody=anybody)
