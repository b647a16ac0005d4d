"""A protocol to take along: day by day as a PDF, and its medicines as a calendar file."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from typing import Any, cast
from zoneinfo import ZoneInfo

from flask import Blueprint, Response, g, make_response, url_for

from portal.services.client import Care
from portal.services.errors import NotFound, Unavailable
from portal.services.protocols import get_protocol
from portal.services.records import Check, Medication, Protocol, ProtocolStatus
from portal.sessions import Person
from portal.tenants import Side
from portal.views.protocols.shown import Shown, read_shown
from portal.views.protocols.words import status_word
from portal.web import audit
from portal.web.drawings.schedule import bars
from portal.web.extensions import limit_files, limiter, person_or_address
from portal.web.filters import now
from portal.web.guard import signed_in
from portal.web.printed import printed
from portal.words import _

bp = Blueprint("schedule", __name__)

_MOST_DAYS = 120
"""Days that are listed one by one; a plan that goes on longer says so."""
_TIME = re.compile(r"([01][0-9]|2[0-3]):([0-5][0-9])")
_TAKES = timedelta(minutes=15)


@dataclass(frozen=True, slots=True)
class Day:
    """One day of the plan with what is taken, by time, and what is looked at."""

    number: int
    date: date | None
    medications: tuple[Medication, ...]
    checks: tuple[Check, ...]


@bp.get("/<record:protocol_id>/schedule.pdf")
@signed_in(Side.PATIENT, Side.STAFF)
def document(care: Care, person: Person, protocol_id: str) -> Response:
    """Answer with the plan as a PDF: its rows, and each day with what is due."""
    protocol = get_protocol(care, protocol_id)
    shown = read_shown(care, person, protocol)
    if shown.is_nameless:  # nobody should hold a plan on paper that doesn't say whose it is
        raise Unavailable("names on the plan")
    listed = days(shown)
    return printed(
        "print/protocol.html",
        name=_("%(name)s, day by day", name=protocol.name),
        by_hand=url_for("protocols.show", protocol_id=protocol.id),
        about=("protocol.download", "protocol", protocol.id),
        protocol=protocol,
        shown=shown,
        days=listed[:_MOST_DAYS],
        is_cut=len(listed) > _MOST_DAYS,
        stamp=None if protocol.status == ProtocolStatus.ACTIVE else status_word(protocol.status),
    )


@bp.get("/<record:protocol_id>/schedule.ics")
@limiter.limit(limit_files, key_func=person_or_address)
@signed_in(Side.PATIENT, Side.STAFF)
def calendar(care: Care, person: Person, protocol_id: str) -> Response:
    """Answer with the medicines of a plan that is followed as a calendar file (RFC 5545)."""
    protocol = get_protocol(care, protocol_id)
    if not protocol.is_followed:
        raise NotFound
    audit.note("protocol.calendar", "done", kind="protocol", id_=protocol.id)
    return make_response(
        calendar_of(
            protocol,
            zone=g.tenant.time_zone,
            clinic=g.tenant.key,
            made_at=now(),
            address=url_for("protocols.show", protocol_id=protocol.id, _external=True),
        ),
        {
            "Content-Type": "text/calendar; charset=utf-8",
            "Content-Disposition": 'attachment; filename="medicines.ics"',
        },
    )


def days(shown: Shown) -> list[Day]:
    """Return the days on which something is due, the first one more than listed at most."""
    spans = bars(shown.protocol.medications)
    checks = shown.protocol.monitoring
    due = {check.day for check in checks}
    for span in spans:
        due.update(range(span.start, min(span.end, span.start + _MOST_DAYS) + 1))
    return [
        Day(
            number,
            shown.date_of(number),
            _by_time([span.medication for span in spans if span.start <= number <= span.end]),
            tuple(check for check in checks if check.day == number),
        )
        for number in sorted(due)[: _MOST_DAYS + 1]
    ]


def calendar_of(protocol: Protocol, *, zone: ZoneInfo, clinic: str, made_at: datetime, address: str) -> bytes:
    """Return each medicine as a daily event at the clinic's time of day; without a time it takes the day.

    Calendars are shared and shown on lock screens: no title names a medicine, `address` leads to what to take. Where
    only a rule ends a medicine, its events end with the days that are drawn. An event keeps its UID, so that
    importing the file again moves it.
    """
    import icalendar  # a tenth of a start, for a file that few download

    made = cast("Any", icalendar)
    begins = protocol.start_date
    assert begins is not None
    calendar = made.Calendar()
    calendar.add("prodid", "-//Clinic portal//Medicines//EN")
    calendar.add("version", "2.0")
    calendar.add("method", "PUBLISH")
    for span in bars(protocol.medications):
        event = made.Event()
        first = begins + timedelta(days=span.start - 1)
        at = _time_of(span.medication)
        event.add("uid", f"{_name(protocol, span.medication)}@{clinic}.medicines")
        event.add("dtstamp", made_at)
        event.add("summary", _("Medicine"))
        event.add("description", _("What to take and how much is in your plan: %(address)s", address=address))
        event.add("url", address)
        if at is None:
            event.add("dtstart", first)
        else:
            start = datetime.combine(first, at, zone)
            event.add("dtstart", start)
            event.add("dtend", start + _TAKES)
        event.add("rrule", {"freq": "daily", "count": span.end - span.start + 1})
        event.add("class", "PRIVATE")
        event.add("transp", "TRANSPARENT")
        calendar.add_component(event)
    calendar.add_missing_timezones()
    return calendar.to_ical()


def _by_time(medications: Sequence[Medication]) -> tuple[Medication, ...]:
    return tuple(sorted(medications, key=lambda one: (one.time or "~", one.drug)))


def _time_of(medication: Medication) -> time | None:
    found = _TIME.fullmatch(medication.time or "")
    return time(int(found[1]), int(found[2])) if found else None


def _name(protocol: Protocol, medication: Medication) -> str:
    """What an event is known by: the medicine's own id, else what tells it from the others of the plan."""
    if medication.id:
        return medication.id
    told = f"{protocol.id}\0{medication.drug}\0{medication.start_day}\0{medication.time}"
    return hashlib.sha256(told.encode()).hexdigest()[:32]
