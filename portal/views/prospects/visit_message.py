"""What to send to an enquirer for whom a visit was booked, as the portal can't send it.

The text doesn't say what the visit is for: other people may read it. It is in the language that the reader chooses for the
enquirer, as none is recorded, at first in the clinic's.
"""

from __future__ import annotations

from flask import g

from portal.i18n.gettext import _
from portal.i18n.locale import speaking
from portal.values import Value
from portal.views.booking.visit import Visit
from portal.web.clinic_contact import mail_to
from portal.web.filters import clock_time, full_date, in_a_row, isolate, telephone


class VisitMessage(Value, frozen=True):
    """The text, and where it goes: `mail` is a `mailto:` address, empty if the enquirer's isn't known."""

    language: str
    text: str
    mail: str


def message_about(visit: Visit, email: str, language: str) -> VisitMessage:
    with speaking(language):
        text = _text(visit)
        return VisitMessage(language, text, mail_to(email, _("Your appointment"), text) if email else "")


def _text(visit: Visit) -> str:
    where = _("by video") if visit.is_video else visit.where
    whom_and_where = in_a_row([part for part in (visit.with_whom, where) if part]) or g.tenant.name
    facts = {
        "day": full_date(visit.start),
        "time": clock_time(visit.start),
        "zone": g.tenant.time_zone.key,
        "whom_and_where": whom_and_where,
    }
    lines = [
        _("Hello,"),
        _(
            "your appointment isn’t confirmed yet. We have noted %(day)s at %(time)s (%(zone)s): %(whom_and_where)s.",
            **facts,
        )
        if visit.is_tentative
        else _("your appointment is on %(day)s at %(time)s (%(zone)s): %(whom_and_where)s.", **facts),
    ]
    if contact := g.tenant.contact:
        number = isolate(telephone(contact.telephone))
        lines.append(_("If you can’t come, please call us on %(number)s.", number=number))
    return "\n\n".join(lines)
