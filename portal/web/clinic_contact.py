"""How to reach the clinic: which number answers at this hour, and when it is open."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, time
from typing import Any, cast

from babel.dates import get_day_names
from flask import Flask, g

from portal.config.contact import Contact, Hours
from portal.i18n.gettext import _
from portal.web.filters import clock_time, date_locale, day, local, now


@dataclass(frozen=True, slots=True)
class Line:
    """A number to call now, in E.164; `note` says how long it answers, or when the clinic opens again."""

    number: str
    is_out_of_hours: bool
    note: str


def init_app(app: Flask) -> None:
    """Make it known to templates."""
    cast("Any", app.jinja_env).globals.update(line_now=line_now, opening_hours=opening_hours)


def line_now() -> Line | None:
    """The number that answers at this hour; None where the clinic named none."""
    contact: Contact | None = g.tenant.contact if g.get("tenant") else None
    if contact is None:
        return None
    here = local(now())
    if closes := contact.closes(here):
        until = clock_time(datetime.combine(here.date(), closes, here.tzinfo))
        return Line(contact.telephone, False, _("Open until %(time)s.", time=until))
    opening = contact.next_opening(here)
    note = (
        _("The clinic opens %(day)s at %(time)s.", day=day(opening), time=clock_time(opening))
        if opening
        else ""
    )
    is_out_of_hours = bool(opening and contact.out_of_hours)
    return Line(
        (contact.out_of_hours if is_out_of_hours else None) or contact.telephone, is_out_of_hours, note
    )


def opening_hours(contact: Contact) -> list[str]:
    """`Mon–Fri 08:00–18:00`, a line for each of the clinic's."""
    return [f"{_days(line)} {_at(line.opens)}–{_at(line.closes)}" for line in contact.hours]


def _days(line: Hours) -> str:
    names = get_day_names("abbreviated", locale=date_locale())
    return names[line.first] if line.first == line.last else f"{names[line.first]}–{names[line.last]}"


def _at(hour: time) -> str:
    """A time of the clinic's clock, on whichever day."""
    return clock_time(datetime.combine(now().date(), hour, g.tenant.time_zone))
