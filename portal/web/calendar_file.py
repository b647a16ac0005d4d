"""Calendar files (RFC 5545) for people's own calendars.

Calendars are shared and shown on lock screens, so no title mentions a treatment.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, cast

from flask import Response, make_response

from portal.dates import in_zone
from portal.i18n.gettext import _, ngettext
from portal.services.episodes import Appointment
from portal.web.advice import advice_in, visit_advice, visit_place
from portal.web.visit_times import place_time, visit_time

_REMINDED = timedelta(hours=2)
"""How long before an appointment the alarm is shown."""
_SEQUENCE_BEGINS = datetime(2020, 1, 1, tzinfo=UTC)


def appointments_calendar(visits: Sequence[Appointment], *, clinic: str, made_at: datetime) -> bytes:
    """Return the appointments as an iCalendar object, each in the time zone of its place.

    An appointment's UID stays the same and its SEQUENCE grows with the file's time, so that importing a newer file updates the
    entry instead of adding one. The API doesn't number an appointment's changes.
    """
    return serialize(
        (
            {
                "uid": f"{visit.id}@{clinic}.appointments",
                "dtstamp": made_at,
                "summary": _("Appointment"),
                "dtstart": place_time(visit),
                "dtend": in_zone(visit.ends, place_time(visit).tzinfo or UTC),
                "class": "PRIVATE",
                "sequence": _minutes_since_2020(made_at),
                "status": _status(visit),
                "location": _location(visit) or None,
                "description": _description(visit) or None,
                "alarm": None
                if visit.is_cancelled
                else (_REMINDED, _("Appointment, %(time)s", time=visit_time(visit, "time"))),
            }
            for visit in visits
        ),
        about="Appointments",
    )


def serialize(events: Iterable[dict[str, Any]], *, about: str) -> bytes:
    """Return an iCalendar object with these events, given as dictionaries of their properties (RFC 5545 §3.8).

    Properties that are None are left out. `alarm`, a pair of the time before the event and a text, becomes an alarm that is
    displayed (§3.6.6). `about` is part of the object's PRODID.
    """
    import icalendar  # imported late: it takes a tenth of the startup time, and few people download calendars

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
            before, description = alarm
            reminder = library.Alarm()
            reminder.add("action", "DISPLAY")
            reminder.add("trigger", -before)
            reminder.add("description", description)
            event.add_component(reminder)
        calendar.add_component(event)
    calendar.add_missing_timezones()
    return calendar.to_ical()


def as_download(content: bytes, name: str) -> Response:
    """Return a response that saves an iCalendar object as `name` (ASCII)."""
    return make_response(
        content,
        {
            "Content-Type": "text/calendar; charset=utf-8",
            "Content-Disposition": f'attachment; filename="{name}"',
        },
    )


def _minutes_since_2020(at: datetime) -> int:
    """A SEQUENCE (RFC 5545 §3.8.7.4) that fits in 31 bits."""
    return max(int((at - _SEQUENCE_BEGINS).total_seconds() // 60), 0)


def _location(visit: Appointment) -> str:
    place = visit_place(visit)
    return ", ".join(filter(None, (visit.location, *(place.address if place else ()))))


def _description(visit: Appointment) -> str:
    """When to arrive, how to prepare, and the map."""
    place, told = visit_place(visit), visit_advice(visit)
    said = advice_in(told.prepare) if told else None
    lines = (
        ngettext("Arrive %(num)s minute early.", "Arrive %(num)s minutes early.", told.arrive_minutes)
        if told and told.arrive_minutes
        else "",
        said.text if said else "",
        place.map if place else "",
    )
    return "\n".join(filter(None, lines))


def _status(visit: Appointment) -> str:
    if visit.is_cancelled:
        return "CANCELLED"
    return "TENTATIVE" if visit.is_tentative else "CONFIRMED"
