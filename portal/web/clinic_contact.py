"""How to reach the clinic: which number answers at this hour, and when it is open."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, time
from typing import Any, cast

from babel.dates import get_day_names
from flask import Flask, g

from portal.config.contact import Contact, Hours
from portal.i18n.gettext import _, for_each_language, ngettext
from portal.i18n.locale import language
from portal.web.filters import clock_time, date_locale, day, local, now


@dataclass(frozen=True, slots=True)
class Line:
    """A number to call now, in E.164; `note` says how long it answers, or when the clinic opens again.

    `other` is the one to try if nobody answers, where it isn't sure which of the two does; else None.
    """

    number: str
    is_out_of_hours: bool
    note: str
    other: str | None = None


def init_app(app: Flask) -> None:
    """Make it known to templates."""
    cast("Any", app.jinja_env).globals.update(
        line_now=line_now,
        opening_hours=opening_hours,
        reply_time=reply_time,
        emergency_number=emergency_number,
        call_now_signs=call_now_signs,
    )


def line_now() -> Line | None:
    """The number that answers at this hour; None where the clinic named none."""
    contact: Contact | None = g.tenant.contact if g.get("tenant") else None
    if contact is None:
        return None
    here = local(now())
    unsure = None if contact.is_sure(here.date()) else contact.out_of_hours
    if closes := contact.closes(here):
        until = clock_time(datetime.combine(here.date(), closes, here.tzinfo))
        return Line(contact.telephone, False, _("Open until %(time)s.", time=until), unsure)
    opening = contact.next_opening(here)
    note = (
        _("The clinic opens %(day)s at %(time)s.", day=day(opening), time=clock_time(opening))
        if opening
        else ""
    )
    if contact.out_of_hours and opening:
        return Line(contact.out_of_hours, True, note, contact.telephone if unsure else None)
    return Line(contact.telephone, False, note, unsure)


def reply_time() -> str:
    """Within which time the clinic answers messages; empty where it named none."""
    contact: Contact | None = g.tenant.contact if g.get("tenant") else None
    if contact is None or contact.reply_hours is None:
        return ""
    return ngettext(
        "We aim to answer within %(num)s hour on days when the clinic is open.",
        "We aim to answer within %(num)s hours on days when the clinic is open.",
        contact.reply_hours,
    )


def emergency_number() -> str | None:
    """The number of the emergency services; None where the clinic named none."""
    contact: Contact | None = g.tenant.contact if g.get("tenant") else None
    return contact.emergency if contact else None


def call_now_signs() -> list[str]:
    """The signs on which a patient calls at once: the clinic's in the reader's language, else the portal's own."""
    contact: Contact | None = g.tenant.contact if g.get("tenant") else None
    own = contact.call_now.get(language()) if contact else None
    return list(own) if own else _usual_signs()


@for_each_language
def _usual_signs() -> list[str]:
    """What leaflets for patients commonly name; nobody has reviewed it for a clinic."""
    return [
        _("heavy bleeding, such as a soaked pad within an hour"),
        _("severe or growing pain in your belly, or pain on one side or at the tip of a shoulder"),
        _("shortness of breath, or pain in the chest"),
        _("a fever of 38 °C or more, or shivering"),
        _("vomiting that doesn’t stop, so that you can’t keep drinks down"),
        _("little or very dark urine, a belly that swells quickly, or quick weight gain"),
        _("fainting or strong dizziness"),
        _("pain or swelling in one leg"),
        _("a medicine that was missed, or a wrong dose, above all the trigger injection"),
    ]


def opening_hours(contact: Contact) -> list[str]:
    """`Mon–Fri 08:00–18:00`, a line for each of the clinic's."""
    return [f"{_days(line)} {_at(line.opens)}–{_at(line.closes)}" for line in contact.hours]


def _days(line: Hours) -> str:
    names = get_day_names("abbreviated", locale=date_locale())
    return names[line.first] if line.first == line.last else f"{names[line.first]}–{names[line.last]}"


def _at(hour: time) -> str:
    """A time of the clinic's clock, on whichever day."""
    return clock_time(datetime.combine(now().date(), hour, g.tenant.time_zone))
