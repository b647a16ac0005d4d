"""The visits that people added to their calendar, to say of one that it has changed since, or isn't listed any more.

Stored encrypted for each person and clinic: a digest for each visit's id, its treatment's id and its start.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from datetime import datetime

import msgspec

from portal.services.episodes import Appointment, Episode
from portal.state.session_records import Person
from portal.web.advice import visit_advice
from portal.web.last_known import LastKnown

_MOST = 60
"""Maximum number of visits kept for one person; the one added longest ago is dropped first."""


class Planned(msgspec.Struct, frozen=True):
    """A visit's treatment and start, as they were then."""

    episode_id: str
    start: datetime


class AddedVisits(msgspec.Struct, frozen=True):
    """One person's visits by id: the digest of what the calendar file said of each, and what was `planned`."""

    visits: dict[str, str]
    planned: dict[str, Planned] = {}


_ADDED = LastKnown("visits", AddedVisits(visits={}), seconds=90 * 24 * 3600)


def note(person: Person, episode_id: str, visits: Iterable[Appointment]) -> None:
    """Store the visits of a treatment as they are in the file that the person downloads now."""
    visits = tuple(visits)
    added = {visit.id: _digest(visit) for visit in visits}
    planned = {visit.id: Planned(episode_id, visit.start) for visit in visits}

    def with_added(saved: AddedVisits) -> AddedVisits:
        kept = dict([*(saved.visits | added).items()][-max(_MOST, len(added)) :])
        known = saved.planned | planned
        return AddedVisits(kept, {id_: known[id_] for id_ in kept if id_ in known})

    _ADDED.update(person, with_added)


def gone(person: Person, episode: Episode, at: datetime) -> list[datetime]:
    """Return when the added visits of a treatment would be that it doesn't list any more, if that is after `at`.

    A visit at the same moment under another id is the same one: some APIs make ids anew.
    """
    ids = {visit.id for visit in episode.appointments}
    starts = {visit.start for visit in episode.appointments}
    added = _ADDED.get(person).planned.items()
    lost = {one.start for id_, one in added if one.episode_id == episode.id and id_ not in ids}
    return sorted(start for start in lost - starts if start > at)


def has_changed(person: Person, visit: Appointment) -> bool:
    """Return whether the person added the visit to a calendar, and it has changed since."""
    added = _ADDED.get(person).visits.get(visit.id)
    return added is not None and added not in (_digest(visit), _former_digest(visit))


def _digest(visit: Appointment) -> str:
    advice = visit_advice(visit)
    return _hash_of(
        visit.start,
        visit.end,
        visit.time_zone,
        visit.location,
        visit.is_cancelled,
        visit.is_tentative,
        advice and advice.kind,
    )


def _former_digest(visit: Appointment) -> str:
    """The digest of a visit that was added before version 0.2."""
    return _hash_of(visit.start, visit.end, visit.location, visit.is_cancelled)


def _hash_of(*told: object) -> str:
    return hashlib.sha256(msgspec.json.encode(told)).hexdigest()[:32]
