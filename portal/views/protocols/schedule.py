"""Exporting a protocol: day by day as a PDF, and its medicines as a calendar file."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from flask import Blueprint, Response, g, request, url_for

from portal.config.tenants import Side
from portal.dates import in_zone, later
from portal.i18n.gettext import _
from portal.services.client import Care
from portal.services.errors import NotFound, Unavailable
from portal.services.patients import Patient
from portal.services.protocols import Check, Protocol, get_protocol
from portal.services.rules.doses import (
    Course,
    Dose,
    Standing,
    active_courses,
    courses,
    doses_of_day,
    horizon,
    minutes,
    standing,
)
from portal.state.session_records import Person
from portal.views.protocols.view import ProtocolView, read_view, read_whose
from portal.web import audit, seen_plans
from portal.web.calendar_file import as_download, serialize
from portal.web.choice_names import choice_name
from portal.web.doses import amount, product
from portal.web.extensions import limit_files, limiter, person_or_address
from portal.web.filters import now, today
from portal.web.guard import signed_in
from portal.web.pdf import Document, pdf_response

bp = Blueprint("schedule", __name__)

_MOST_DAYS = 120
"""The maximum number of days listed; a longer plan says that it continues."""
_TAKES = timedelta(minutes=15)


@dataclass(frozen=True, slots=True)
class Day:
    """One day of the plan with its doses, by time, and its checks; a day between others may have none."""

    number: int
    date: date | None
    doses: list[Dose]
    checks: tuple[Check, ...]


class ScheduleDocument(Document, template="print/protocol.html"):
    """The printed plan; `is_cut` says that it continues after the days listed.

    `patient` is whose plan it is, with what this person may know of them, or None if that can't be read; `holds_until` the
    next check, after which doses may change.
    """

    protocol: Protocol
    view: ProtocolView
    patient: Patient | None
    holds_until: date | None
    days: list[Day]
    is_cut: bool


@bp.get("/<record:protocol_id>/schedule.pdf")
@signed_in(Side.PATIENT, Side.STAFF, is_file=True)
def document(care: Care, person: Person, protocol_id: str) -> Response:
    """Return the plan as a PDF: its rows, and each day with what is due."""
    protocol = get_protocol(care, protocol_id)
    view = read_view(care, person, protocol)
    patient, is_nameless = view.patient, view.is_nameless
    if person.is_patient:
        whose = read_whose(care, protocol)
        patient = whose.patient and whose.patient.as_known_to(person.sub)
        is_nameless = whose.is_unread
    if is_nameless:  # a printed plan must say whose it is
        raise Unavailable("names on the plan")
    listed = days(protocol, today())
    return pdf_response(
        ScheduleDocument(
            protocol=protocol,
            view=view,
            patient=patient,
            holds_until=_next_check(protocol, today()),
            days=listed[:_MOST_DAYS],
            is_cut=len(listed) > _MOST_DAYS,
            stamp=None if protocol.is_active else choice_name(protocol.status),
        ),
        name=_("%(name)s, day by day", name=protocol.name),
        by_hand=url_for("protocols.show", protocol_id=protocol.id),
        about=("protocol.download", "protocol", protocol.id),
    )


@bp.get("/<record:protocol_id>/schedule.ics")
@limiter.limit(limit_files, key_func=person_or_address)
@signed_in(Side.PATIENT, Side.STAFF, is_file=True)
def calendar(care: Care, person: Person, protocol_id: str) -> Response:
    """Return the medicines of an active plan as a calendar file (RFC 5545).

    Events of a file that the person downloaded before and that are no longer in the plan are cancelled in it.
    """
    protocol = get_protocol(care, protocol_id)
    before = seen_plans.last_seen(person, protocol).events if person.is_patient else ()
    if standing(protocol, None, today()) is not Standing.FOLLOWED and not before:
        raise NotFound
    audit.shown("protocol.calendar", "protocol", protocol.id)
    content = calendar_of(
        protocol,
        zone=g.tenant.time_zone,
        clinic=g.tenant.key,
        made_at=now(),
        address=url_for("protocols.show", protocol_id=protocol.id, _external=True),
        is_named="names" in request.args,
        is_plain=person.is_patient,
        before=before,
    )
    if person.is_patient:
        seen_plans.remember_download(person, protocol, events_of(protocol, g.tenant.key, today()))
    return as_download(content, "medicines.ics")


def days(protocol: Protocol, on: date) -> list[Day]:
    """Return the days of a plan from its first to its last, at most one more than are listed; rows without an end go on
    for two weeks.

    A patient's plan that isn't followed on the date `on` has no days; the clinic's own, without a patient, has.
    """
    found = active_courses(protocol, None, on) if protocol.patient_id else courses(protocol.medications)
    checks = protocol.monitoring if found or not protocol.patient_id else ()
    until = horizon(found, protocol.day_on(on))
    due = {check.day for check in checks}
    due.update(day - row.lists_before for row in found for day in row.days(until)[: _MOST_DAYS + 1])
    if not due:
        return []
    listed = range(min(due), min(max(due), min(due) + _MOST_DAYS) + 1)
    return [
        Day(
            number,
            protocol.date_of(number),
            [dose for dose in doses_of_day(found, number) if dose.day <= until],
            tuple(check for check in checks if check.day == number),
        )
        for number in listed
    ]


def calendar_of(
    protocol: Protocol,
    *,
    zone: ZoneInfo,
    clinic: str,
    made_at: datetime,
    address: str,
    is_named: bool = False,
    is_plain: bool = True,
    before: Iterable[str] = (),
) -> bytes:
    """Return each hour of each medicine as a recurring event at the clinic's local time, with an alarm; all-day if it has
    no hour.

    Calendars are shared and shown on lock screens: events and alarms say `Medicine, 21:00`, and name the medicine only on
    request (`is_named`); `address` links to the details. Rows without an end stop two weeks from now.
    Events have stable UIDs and a sequence, so that importing the file again updates them; those in `before`, UIDs of
    an earlier file, that are gone are cancelled.
    """
    description = _("What to take and how much is in your plan: %(address)s", address=address)
    today = in_zone(made_at, zone).date()
    listed, until = _listed(protocol, today)
    sequence = _revision(protocol)

    def event(course: Course) -> dict[str, Any]:
        first = protocol.date_of(course.first)
        assert first is not None
        at = _time_of(course.time)
        start = datetime.combine(first, at, zone) if at else None
        row, what, told = course.medication, _("Medicine"), description
        if is_named:
            what = " ".join(filter(None, (row.drug, amount(row, is_plain=is_plain))))
            told = "\n".join(filter(None, (product(row), description)))
        said = _("%(what)s, %(time)s", what=what, time=f"{at:%H:%M}") if at else what
        return {
            "uid": _uid(protocol, course, clinic),
            "dtstamp": made_at,
            "sequence": sequence,
            "summary": said,
            "alarm": (timedelta(), said) if start else None,
            "description": told,
            "url": address,
            "dtstart": start or first,
            "dtend": later(start, _TAKES) if start else None,
            "rrule": {"freq": "daily", "interval": course.every, "count": len(course.days(until))},
            "class": "PRIVATE",
            "transp": "TRANSPARENT",
        }

    uids = [_uid(protocol, course, clinic) for course in listed]
    gone = (_cancelled(uid, made_at, sequence, today) for uid in before if uid not in uids)
    return serialize([*map(event, listed), *gone], about="Medicines")


def _next_check(protocol: Protocol, on: date) -> date | None:
    """The date of the plan's next check, today's included; None without one, or without dates."""
    dates = (protocol.date_of(check.day) for check in protocol.monitoring)
    return min((found for found in dates if found and found >= on), default=None)


def events_of(protocol: Protocol, clinic: str, on: date) -> tuple[str, ...]:
    """Return the UIDs of the events in the calendar file of a plan on that date."""
    return tuple(_uid(protocol, course, clinic) for course in _listed(protocol, on)[0])


def _listed(protocol: Protocol, on: date) -> tuple[list[Course], int]:
    """The courses of the calendar file, and the last day that it holds."""
    found = active_courses(protocol, None, on)
    until = horizon(found, protocol.day_on(on))
    return [row for row in found if row.days(until) and protocol.date_of(row.first)], until


def _cancelled(uid: str, made_at: datetime, sequence: int, on: date) -> dict[str, Any]:
    """An event that is no longer in the plan (RFC 5545 §3.8.1.11); calendars take it out by its UID."""
    return {
        "uid": uid,
        "dtstamp": made_at,
        "sequence": sequence,
        "summary": _("Medicine"),
        "dtstart": on,
        "status": "CANCELLED",
        "class": "PRIVATE",
        "transp": "TRANSPARENT",
    }


def _revision(protocol: Protocol) -> int:
    """The SEQUENCE of a plan's events (RFC 5545 §3.8.7.4): it grows with each change of the plan."""
    first, last = protocol.creation_time, protocol.last_modification_time
    return max(int((last - first).total_seconds()), 0) if first and last else 0


def _time_of(text: str | None) -> time | None:
    found = minutes(text)
    return None if found is None else time(*divmod(found, 60))


def _uid(protocol: Protocol, course: Course, clinic: str) -> str:
    return f"{_name(protocol, course)}@{clinic}.medicines"


def _name(protocol: Protocol, course: Course) -> str:
    """The stable part of an event's UID: the medicine's id, else what distinguishes it within the plan; then the hour."""
    row = course.medication
    if row.id:
        return row.id if course.time == row.hours[0] else f"{row.id}-{course.time}"
    told = f"{protocol.id}\0{row.drug}\0{row.start_day}\0{course.time}"
    return hashlib.sha256(told.encode()).hexdigest()[:32]
