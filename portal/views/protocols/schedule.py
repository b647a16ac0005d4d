"""Exporting a protocol: day by day as a PDF, and its medicines as a calendar file."""

from __future__ import annotations

from datetime import date

from flask import Blueprint, Response, g, request, url_for

from portal.i18n.gettext import _
from portal.services.episodes import Episode
from portal.services.errors import NotFound, Unavailable
from portal.services.protocols import Check, Protocol, get_protocol
from portal.services.rules.doses import Dose, Standing, active_courses, courses, doses_of_day, horizon
from portal.values import Value
from portal.views.protocols.plan_calendar import calendar_of, events_of, next_check
from portal.views.protocols.view import ProtocolView, read_treatment, read_view
from portal.web import seen_plans
from portal.web.calendar_file import as_download
from portal.web.choice_names import choice_name
from portal.web.extensions import limit_files, limiter, person_or_address
from portal.web.filters import now, today
from portal.web.handlers import Care, Person, Side, audit, signed_in
from portal.web.pdf import Document, pdf_response
from portal.web.plan_view import PlanView

bp = Blueprint("schedule", __name__)

_MOST_DAYS = 120
"""The maximum number of days listed; a longer plan says that it continues."""


class Day(Value, frozen=True):
    """One day of the plan with its doses, by time, and its checks; a day between others may have none."""

    number: int
    date: date | None
    doses: list[Dose]
    checks: tuple[Check, ...]


class ScheduleDocument(Document, template="print/protocol.html"):
    """The printed plan; `is_cut` says that it continues after the days listed, `holds_until` is the next check, after which
    doses may change.
    """

    protocol: Protocol
    view: ProtocolView
    holds_until: date | None
    days: list[Day]
    is_cut: bool


@bp.get("/<record:protocol_id>/schedule.pdf")
@signed_in(Side.PATIENT, Side.STAFF, is_file=True)
def document(care: Care, person: Person, protocol_id: str) -> Response:
    """Return the plan as a PDF: its rows, and each day with what is due."""
    protocol = get_protocol(care, protocol_id)
    view = read_view(care, person, protocol)
    if view.is_incomplete:  # a printed plan must say whose it is, and whether it is followed
        raise Unavailable("the treatment or a name of the plan")
    listed = days(protocol, view.episode, today())
    return pdf_response(
        ScheduleDocument(
            protocol=protocol,
            view=view,
            holds_until=next_check(protocol, today()),
            days=listed[:_MOST_DAYS],
            is_cut=len(listed) > _MOST_DAYS,
            stamp=_stamp(view),
        ),
        name=_("%(name)s, day by day", name=protocol.name),
        by_hand=url_for("protocols.show", protocol_id=protocol.id),
        about=("protocol.download", "protocol", protocol.id),
    )


def _stamp(view: ProtocolView) -> str | None:
    """The notice on every page of a plan that isn't active, isn't followed any more, or whose treatment may not go on."""
    if not view.protocol.is_active:
        return choice_name(view.protocol.status)
    if view.standing in (Standing.ENDED, Standing.ANOTHERS) and (state := view.state_beside_status):
        return state[0]
    return _("Consent withdrawn or declined") if view.withdrawn else None


@bp.get("/<record:protocol_id>/schedule.ics")
@limiter.limit(limit_files, key_func=person_or_address)
@signed_in(Side.PATIENT, Side.STAFF, is_file=True)
def calendar(care: Care, person: Person, protocol_id: str) -> Response:
    """Return the medicines of a plan that is followed, or goes on after its treatment, as a calendar file (RFC 5545).

    Events of a file that the person downloaded before and that are no longer in the plan are cancelled in it.
    """
    protocol = get_protocol(care, protocol_id)
    episode = read_treatment(care, protocol)
    view = PlanView(protocol, episode, person)
    before = seen_plans.last_seen(person, protocol).events if person.is_patient else ()
    if not view.standing.has_doses and not before:
        raise NotFound
    audit.shown("protocol.calendar", "protocol", protocol.id)
    content = calendar_of(
        protocol,
        episode,
        zone=g.tenant.time_zone,
        clinic=g.tenant.key,
        made_at=now(),
        address=url_for("protocols.show", protocol_id=protocol.id, _external=True),
        is_named="names" in request.args,
        is_plain=person.is_patient,
        whose=view.medicines_of,
        before=before,
    )
    if person.is_patient:
        seen_plans.remember_download(person, protocol, events_of(protocol, episode, g.tenant.key, today()))
    return as_download(content, "medicines.ics")


def days(protocol: Protocol, episode: Episode | None, on: date) -> list[Day]:
    """Return the days of a plan from its first to its last, at most one more than are listed; rows without an end go on
    for two weeks.

    A patient's plan that isn't followed on the date `on` has no days, and after the end of its treatment (`episode`) those of
    what goes on; the clinic's own has all.
    """
    found = courses(protocol.medications) if protocol.is_template else active_courses(protocol, episode, on)
    checks = protocol.monitoring if found or protocol.is_template else ()
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
