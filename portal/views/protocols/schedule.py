"""Exporting a protocol: day by day as a PDF, and its medicines as a calendar file."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from flask import Blueprint, Response, g, request, url_for

from portal.config.tenants import Side
from portal.dates import days_after, later
from portal.i18n.gettext import _
from portal.services.client import Care
from portal.services.errors import NotFound, Unavailable
from portal.services.protocols import get_protocol
from portal.services.records.protocols import Check, Medication, Protocol
from portal.state.session_records import Person
from portal.views.protocols.labels import status_word
from portal.views.protocols.view import ProtocolView, read_view
from portal.web import audit
from portal.web.calendar_file import as_download, written
from portal.web.drawings.schedule import Bar, bars, written_dose
from portal.web.extensions import limit_files, limiter, person_or_address
from portal.web.filters import now, number
from portal.web.guard import signed_in
from portal.web.pdf import Document, printed

bp = Blueprint("schedule", __name__)

_MOST_DAYS = 120
"""The maximum number of days listed; a longer plan says that it continues."""
_TIME = re.compile(r"([01][0-9]|2[0-3]):([0-5][0-9])")
_TAKES = timedelta(minutes=15)


@dataclass(frozen=True, slots=True)
class Day:
    """One day of the plan with its medicines, by time, and its checks."""

    number: int
    date: date | None
    medications: tuple[Medication, ...]
    checks: tuple[Check, ...]


class ScheduleDocument(Document, template="print/protocol.html"):
    """The printed plan; `is_cut` says that it continues after the days listed."""

    protocol: Protocol
    view: ProtocolView
    days: list[Day]
    is_cut: bool


@bp.get("/<record:protocol_id>/schedule.pdf")
@signed_in(Side.PATIENT, Side.STAFF)
def document(care: Care, person: Person, protocol_id: str) -> Response:
    """Return the plan as a PDF: its rows, and each day with what is due."""
    protocol = get_protocol(care, protocol_id)
    view = read_view(care, person, protocol)
    if view.is_nameless:  # a printed plan must say whose it is
        raise Unavailable("names on the plan")
    listed = days(view)
    return printed(
        ScheduleDocument(
            protocol=protocol,
            view=view,
            days=listed[:_MOST_DAYS],
            is_cut=len(listed) > _MOST_DAYS,
            stamp=None if protocol.is_active else status_word(protocol.status),
        ),
        name=_("%(name)s, day by day", name=protocol.name),
        by_hand=url_for("protocols.show", protocol_id=protocol.id),
        about=("protocol.download", "protocol", protocol.id),
    )


@bp.get("/<record:protocol_id>/schedule.ics")
@limiter.limit(limit_files, key_func=person_or_address)
@signed_in(Side.PATIENT, Side.STAFF)
def calendar(care: Care, person: Person, protocol_id: str) -> Response:
    """Return the medicines of an active plan as a calendar file (RFC 5545)."""
    protocol = get_protocol(care, protocol_id)
    if not protocol.is_followed:
        raise NotFound
    audit.shown("protocol.calendar", "protocol", protocol.id)
    content = calendar_of(
        protocol,
        zone=g.tenant.time_zone,
        clinic=g.tenant.key,
        made_at=now(),
        address=url_for("protocols.show", protocol_id=protocol.id, _external=True),
        is_named="names" in request.args,
    )
    return as_download(content, "medicines.ics")


def days(view: ProtocolView) -> list[Day]:
    """Return the days on which something is due, at most one more than are listed."""
    spans = bars(view.protocol.medications)
    checks = view.protocol.monitoring
    due = {check.day for check in checks}
    for span in spans:
        due.update(range(span.start, min(span.end, span.start + _MOST_DAYS) + 1))
    return [
        Day(
            number,
            view.date_of(number),
            _by_time([span.medication for span in spans if span.start <= number <= span.end]),
            tuple(check for check in checks if check.day == number),
        )
        for number in sorted(due)[: _MOST_DAYS + 1]
    ]


def calendar_of(
    protocol: Protocol,
    *,
    zone: ZoneInfo,
    clinic: str,
    made_at: datetime,
    address: str,
    is_named: bool = False,
) -> bytes:
    """Return each medicine as a daily event at the clinic's local time, with an alarm; all-day if it has no time.

    Calendars are shared and shown on lock screens: events and alarms say `Medicine, 21:00`, and name the medicine only on
    request (`is_named`); `address` links to the details. If only a rule ends a medicine, its events end with the days
    drawn. Events have stable UIDs, so that importing the file again updates them.
    """
    begins = protocol.start_date
    assert begins is not None
    description = _("What to take and how much is in your plan: %(address)s", address=address)

    def event(span: Bar) -> dict[str, Any]:
        first = days_after(begins, span.start - 1) or begins
        at = _time_of(span.medication)
        start = datetime.combine(first, at, zone) if at else None
        what = _("Medicine")
        if is_named:
            what = " ".join(filter(None, (span.medication.drug, written_dose(span.medication, number))))
        said = _("%(what)s, %(time)s", what=what, time=f"{at:%H:%M}") if at else what
        return {
            "uid": f"{_name(protocol, span.medication)}@{clinic}.medicines",
            "dtstamp": made_at,
            "summary": said,
            "alarm": (timedelta(), said) if start else None,
            "description": description,
            "url": address,
            "dtstart": start or first,
            "dtend": later(start, _TAKES) if start else None,
            "rrule": {"freq": "daily", "count": span.end - span.start + 1},
            "class": "PRIVATE",
            "transp": "TRANSPARENT",
        }

    return written((event(span) for span in bars(protocol.medications)), about="Medicines")


def _by_time(medications: Sequence[Medication]) -> tuple[Medication, ...]:
    return tuple(sorted(medications, key=lambda one: (one.time or "~", one.drug)))


def _time_of(medication: Medication) -> time | None:
    found = _TIME.fullmatch(medication.time or "")
    return time(int(found[1]), int(found[2])) if found else None


def _name(protocol: Protocol, medication: Medication) -> str:
    """The stable part of an event's UID: the medicine's id, else what distinguishes it within the plan."""
    if medication.id:
        return medication.id
    told = f"{protocol.id}\0{medication.drug}\0{medication.start_day}\0{medication.time}"
    return hashlib.sha256(told.encode()).hexdigest()[:32]
