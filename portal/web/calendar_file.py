"""Calendar files (RFC 5545): what people take along into the calendars of their own devices.

Such calendars are shared and shown on lock screens, so no title says anything of a treatment.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import Any, cast

from flask import Response, make_response

from portal.dates import in_zone, later
from portal.i18n.gettext import _
from portal.services.episodes import Appointment
from portal.web.visit_times import place_time, visit_time

_USUAL_LENGTH = timedelta(minutes=30)
_REMINDED = timedelta(hours=2)
"""How long before a visit the calendar reminds."""


def appointments_calendar(visits: Sequence[Appointment], *, clinic: str, made_at: datetime) -> bytes:
    """Return the visits as an iCalendar object, each in the zone of its place.

    A visit keeps its UID, so that importing the file again moves the entry instead of doubling it.
    """
    return serialize(
        (
            {
                "uid": f"{visit.id}@{clinic}.appointments",
                "dtstamp": made_at,
                "summary": _("Appointment"),
                "dtstart": place_time(visit),
                "dtend": _end(visit),
                "class": "PRIVATE",
                "status": _status(visit),
                "location": visit.location or None,
                "alarm": None
                if visit.is_cancelled
                else (_REMINDED, _("Appointment, %(time)s", time=visit_time(visit, "time"))),
            }
            for visit in visits
        ),
        about="Appointments",
    )


def serialize(events: Iterable[dict[str, Any]], *, about: str) -> bytes:
    """Return events, each by the names of its properties (RFC 5545 §3.8), as an iCalendar object.

    What is None is left out; `about` is a part of the object's PRODID. `alarm`, a time before the event begins and what
    to say then, becomes an alarm that is shown (§3.6.6).
    """
    import icalendar  # a tenth of a start, for a file that few download

    library = cast("Any", icalendar)
    calendar = library.Calendar()
    calendar.add("prodid", f"-//Clinic portal//{about}//EN")
    calendar.add("version", "2.0")
    calendar.add("method", "PUBLISH")
    for properties in events:
        event = library.Event()
        for name, value in properties.items():
            if value is not None and name != "alarm":
                event.add(name, value)
        if alarm := properties.get("alarm"):
            before, said = alarm
            reminder = library.Alarm()
            reminder.add("action", "DISPLAY")
            reminder.add("trigger", -before)
            reminder.add("description", said)
            event.add_component(reminder)
        calendar.add_component(event)
    calendar.add_missing_timezones()
    return calendar.to_ical()


def as_download(content: bytes, name: str) -> Response:
    """Answer with an iCalendar object, to be saved under `name` (ASCII)."""
    return make_response(
        content,
        {
            "Content-Type": "text/calendar; charset=utf-8",
            "Content-Disposition": f'attachment; filename="{name}"',
        },
    )


def _end(visit: Appointment) -> datetime:
    begins = place_time(visit)
    return in_zone(visit.end, begins.tzinfo) if visit.end and begins.tzinfo else later(begins, _USUAL_LENGTH)


def _status(visit: Appointment) -> str:
    if visit.is_cancelled:
        return "CANCELLED"
    return "TENTATIVE" if visit.is_tentative else "CONFIRMED"
