"""Appointment times as text, in the time zone of the appointment's place, and in the clinic's if that differs.

All appointment times are formatted here: pages use the filter `visit_time`, files and messages the function.
"""

from __future__ import annotations

from datetime import date, datetime
from zoneinfo import ZoneInfo

from babel.dates import get_timezone_location
from flask import Flask, g
from markupsafe import Markup

from portal.config.time_zones import zone_named
from portal.dates import in_zone
from portal.i18n.gettext import _
from portal.i18n.locale import language
from portal.services.episodes import Appointment
from portal.web.filters import day, in_a_row, local, now


def init_app(app: Flask) -> None:
    app.jinja_env.filters["visit_time"] = _visit_time
    app.jinja_env.filters["visit_doubt"] = visit_doubt


def place_time(visit: Appointment) -> datetime:
    """Return when it begins, in its place's time zone; in the clinic's if its zone is missing or unknown."""
    zone: ZoneInfo = zone_named(visit.time_zone) or g.tenant.time_zone
    return in_zone(local(visit.start), zone)


def place_day(visit: Appointment) -> date:
    """Return its date in its place's time zone."""
    return place_time(visit).date()


def visit_time(visit: Appointment, style: str = "moment") -> str:
    """Return `Fri 27 Nov, 14:15`, or `Fri 27 Nov, 14:15 London time · 15:15 clinic time` if the zones' clocks differ.

    `style` is `moment` (date and time), `time` (under a heading with the date) or `span` (date, begin and end).
    """
    at_place, at_clinic = place_time(visit), local(visit.start)
    is_same_day = at_place.date() == at_clinic.date()
    end = visit.end if style == "span" else None
    place_words = _format(at_place, end, with_day=style != "time" or not is_same_day)
    if at_place.replace(tzinfo=None) != at_clinic.replace(tzinfo=None):
        clinic_words = _format(at_clinic, end, with_day=not is_same_day)
        return in_a_row((
            _("%(time)s %(place)s time", time=place_words, place=_city(at_place.tzinfo)),
            _("%(time)s clinic time", time=clinic_words),
        ), " · ")  # fmt: skip
    return _("%(time)s clinic time", time=place_words) if style == "span" else place_words


def visit_doubt(visit: Appointment) -> str:
    """Return that it has to be confirmed, where it has to be and isn't over; else nothing."""
    return _("To be confirmed") if visit.is_tentative and visit.ends > now() else ""


def _visit_time(visit: Appointment, style: str = "moment") -> Markup:
    words = visit_time(visit, style)
    return Markup('<time datetime="{}">{}</time>').format(visit.start.isoformat(timespec="seconds"), words)


def _city(zone: object) -> str:
    return get_timezone_location(str(zone), locale=language(), return_city=True)


def _format(start: datetime, end: datetime | None, *, with_day: bool) -> str:
    until = in_zone(local(end), start.tzinfo) if end and start.tzinfo else None
    if until and until.date() != start.date():
        return f"{_format(start, None, with_day=with_day)} – {_format(until, None, with_day=True)}"
    clock = f"{start.hour:02}:{start.minute:02}" + (f"–{until.hour:02}:{until.minute:02}" if until else "")
    return in_a_row((day(start.date()), clock)) if with_day else clock
