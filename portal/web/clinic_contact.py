"""How to reach the clinic: the number to call now, opening hours, reply time, and when to call at once."""

from __future__ import annotations

from datetime import datetime, time
from typing import Any, cast
from urllib.parse import quote, urlencode

from babel.dates import get_day_names
from flask import Flask, g

from portal.config.contact import Contact, Hours
from portal.i18n.gettext import _, for_each_language, ngettext
from portal.i18n.locale import language
from portal.values import Value
from portal.web.filters import clock_time, date_locale, day, local, now


class Line(Value, frozen=True):
    """A telephone number to call now (E.164); `note` says until when the clinic is open, or when it opens.

    `other` is the number to try if nobody answers, on days whose opening hours are uncertain; else None.
    """

    number: str
    is_out_of_hours: bool
    note: str
    other: str | None = None


def init_app(app: Flask) -> None:
    cast("Any", app.jinja_env).globals.update(
        line_now=line_now,
        opening_hours=opening_hours,
        reply_time=reply_time,
        mail_to_clinic=mail_to_clinic,
        emergency_number=emergency_number,
        call_now_signs=call_now_signs,
    )


def line_now() -> Line | None:
    """Return the number to call now, throughout one request the same; None if the clinic configured none."""
    spoken = language()
    kept: dict[str, Line | None] = g.setdefault("lines", {})
    if spoken not in kept:
        kept[spoken] = _line_now()
    return kept[spoken]


def _line_now() -> Line | None:
    contact: Contact | None = g.tenant.contact if g.get("tenant") else None
    if contact is None:
        return None
    local_now = local(now())
    other = None if contact.is_sure(local_now.date()) else contact.out_of_hours
    if closes := contact.closes(local_now):
        until = clock_time(datetime.combine(local_now.date(), closes, local_now.tzinfo))
        return Line(contact.telephone, False, _("Open until %(time)s.", time=until), other)
    opening = contact.next_opening(local_now)
    note = _opens(opening, local_now) if opening else ""
    if contact.out_of_hours and opening:
        return Line(contact.out_of_hours, True, note, contact.telephone if other else None)
    return Line(contact.telephone, False, note, other)


def _opens(opening: datetime, local_now: datetime) -> str:
    if opening.date() == local_now.date():
        return _("The clinic opens today at %(time)s.", time=clock_time(opening))
    return _("The clinic opens %(day)s at %(time)s.", day=day(opening), time=clock_time(opening))


def reply_time() -> str:
    """Return a sentence with the hours within which the clinic answers messages; empty if it configured none."""
    contact: Contact | None = g.tenant.contact if g.get("tenant") else None
    if contact is None or contact.reply_hours is None:
        return ""
    return ngettext(
        "We aim to answer within %(num)s hour on days when the clinic is open.",
        "We aim to answer within %(num)s hours on days when the clinic is open.",
        contact.reply_hours,
    )


def mail_to_clinic(subject: str = "", about: str = "", *, text: str = "") -> str:
    """Return a `mailto:` address (RFC 6068) of a message to the clinic; empty if it configured no e-mail.

    The message has `text`, or room to write above a line that says what it is `about`.
    """
    contact: Contact | None = g.tenant.contact if g.get("tenant") else None
    if contact is None or not contact.email:
        return ""
    return mail_to(contact.email, subject, text or (f"\n\n{about}" if about else ""))


def mail_to(address: str, subject: str, text: str) -> str:
    """Return a `mailto:` address (RFC 6068) of a message with this subject and text."""
    fields = {"subject": subject, "body": text.replace("\n", "\r\n")}
    query = urlencode({name: value for name, value in fields.items() if value}, quote_via=quote)
    return f"mailto:{quote(address, safe='@')}{query and f'?{query}'}"


def emergency_number() -> str | None:
    """Return the emergency services' number; None if the clinic configured none."""
    contact: Contact | None = g.tenant.contact if g.get("tenant") else None
    return contact.emergency if contact else None


def call_now_signs() -> list[str]:
    """Return the symptoms for which a patient should call at once: the clinic's in this language, else the defaults."""
    contact: Contact | None = g.tenant.contact if g.get("tenant") else None
    own = contact.call_now.get(language()) if contact else None
    return list(own) if own else _default_signs()


@for_each_language
def _default_signs() -> list[str]:
    """Symptoms that patient leaflets commonly name; not clinically reviewed."""
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
    """Return the opening hours, a line such as `Mon–Fri 08:00–18:00` for each entry."""
    return [f"{_days(line)} {_at(line.opens)}–{_at(line.closes)}" for line in contact.hours]


def _days(line: Hours) -> str:
    names = get_day_names("abbreviated", locale=date_locale())
    return names[line.first] if line.first == line.last else f"{names[line.first]}–{names[line.last]}"


def _at(hour: time) -> str:
    """Return a time of day in the clinic's zone as text."""
    return clock_time(datetime.combine(now().date(), hour, g.tenant.time_zone))
