"""When an appointment is: by the clock at its place, and by the clinic's where that shows another time.

The only place that writes an appointment's time: pages use the filter `visit_time`, files and messages the function.
"""

from __future__ import annotations

from datetime import date, datetime
from zoneinfo import ZoneInfo

from babel.dates import get_timezone_location
from flask import Flask, g
from markupsafe import Markup

from portal.config.tenants import time_zones
from portal.dates import in_zone
from portal.i18n.gettext import _
from portal.i18n.locale import language
from portal.services.episodes import Appointment
from portal.web.filters import day, in_a_row, local


def init_app(app: Flask) -> None:
    """Make the filter known to templates."""
    app.jinja_env.filters["visit_time"] = _visit_time


def place_time(visit: Appointment) -> datetime:
    """When it begins by the clock at its place; by the clinic's where it names no zone, or none that exists."""
    zone: ZoneInfo = g.tenant.time_zone
    name = visit.time_zone
    return in_zone(local(visit.start), ZoneInfo(name) if name and name in time_zones() else zone)


def place_day(visit: Appointment) -> date:
    """The date at its place."""
    return place_time(visit).date()


def visit_time(visit: Appointment, style: str = "moment") -> str:
    """`Fri 27 Nov, 14:15`; where the place's clock differs, `Fri 27 Nov, 14:15 London time · 15:15 clinic time`.

    `style` is `moment`; `time` for a visit under the heading of its day; or `span`, which tells the end, too.
    """
    there, here = place_time(visit), local(visit.start)
    is_same_day = there.date() == here.date()
    end = visit.end if style == "span" else None
    told = _written(there, end, with_day=style != "time" or not is_same_day)
    if there.replace(tzinfo=None) != here.replace(tzinfo=None):
        place, clinic = _city(there.tzinfo), _written(here, end, with_day=not is_same_day)
        return in_a_row((
            _("%(time)s %(place)s time", time=told, place=place), _("%(time)s clinic time", time=clinic)
        ), " · ")  # fmt: skip
    return _("%(time)s clinic time", time=told) if style == "span" else told


def _visit_time(visit: Appointment, style: str = "moment") -> Markup:
    told = visit_time(visit, style)
    return Markup('<time datetime="{}">{}</time>').format(visit.start.isoformat(timespec="seconds"), told)


def _city(zone: object) -> str:
    return get_timezone_location(str(zone), locale=language(), return_city=True)


def _written(start: datetime, end: datetime | None, *, with_day: bool) -> str:
    clock = f"{start:%H:%M}" + (f"–{in_zone(local(end), start.tzinfo):%H:%M}" if end and start.tzinfo else "")
    return in_a_row((day(start.date()), clock)) if with_day else clock
