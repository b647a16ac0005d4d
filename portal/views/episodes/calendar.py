"""The appointments of an episode as calendar files (RFC 5545): all of them, or one."""

from __future__ import annotations

from collections.abc import Sequence

from flask import Blueprint, Response, g

from portal.services.episodes import Appointment, get_episode
from portal.services.errors import NotFound
from portal.web import added_visits
from portal.web.calendar_file import appointments_calendar, as_download
from portal.web.extensions import limit_files, limiter, person_or_address
from portal.web.filters import now
from portal.web.handlers import Care, Person, Side, audit, signed_in

bp = Blueprint("calendar", __name__)


@bp.app_template_filter("changed_since_added")
def changed_since_added(visit: Appointment, person: Person) -> bool:
    """Whether the person has the visit in a calendar otherwise than it is now."""
    return person.is_patient and added_visits.has_changed(person, visit)


@bp.get("/<record:episode_id>/appointments.ics")
@limiter.limit(limit_files, key_func=person_or_address)
@signed_in(Side.PATIENT, Side.STAFF, is_file=True)
def all_appointments(care: Care, person: Person, episode_id: str) -> Response:
    return _download(person, get_episode(care, episode_id).appointments, episode_id)


@bp.get("/<record:episode_id>/appointments/<record:appointment_id>.ics")
@limiter.limit(limit_files, key_func=person_or_address)
@signed_in(Side.PATIENT, Side.STAFF, is_file=True)
def one_appointment(care: Care, person: Person, episode_id: str, appointment_id: str) -> Response:
    visits = [visit for visit in get_episode(care, episode_id).appointments if visit.id == appointment_id]
    if not visits:
        raise NotFound
    return _download(person, visits, episode_id)


def _download(person: Person, visits: Sequence[Appointment], episode_id: str) -> Response:
    audit.shown("appointments.download", "episode", episode_id)
    added_visits.note(person, episode_id, visits)
    content = appointments_calendar(visits, clinic=g.tenant.key, made_at=now())
    return as_download(content, "appointments.ics")
