"""The visits that people added to their calendar, to say of one that it has changed since.

Stored encrypted for each person and clinic: a digest for each visit's id.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

import msgspec

from portal.services.episodes import Appointment
from portal.state.session_records import Person
from portal.web.last_known import LastKnown

_MOST = 60
"""Maximum number of visits kept for one person; the one added longest ago is dropped first."""


class AddedVisits(msgspec.Struct, frozen=True):
    """One person's visits by id, each with the digest of what the calendar file said."""

    visits: dict[str, str]


_ADDED = LastKnown("visits", AddedVisits(visits={}), seconds=90 * 24 * 3600)


def note(person: Person, visits: Iterable[Appointment]) -> None:
    """Store the visits as they are in the file that the person downloads now."""
    added = {visit.id: _digest(visit) for visit in visits}
    _ADDED.update(
        person, lambda saved: AddedVisits(dict([*(saved.visits | added).items()][-max(_MOST, len(added)) :]))
    )


def has_changed(person: Person, visit: Appointment) -> bool:
    """Return whether the person added the visit to a calendar, and it has changed since."""
    added = _ADDED.get(person).visits.get(visit.id)
    return added is not None and added != _digest(visit)


def _digest(visit: Appointment) -> str:
    told = (visit.start, visit.end, visit.location, visit.is_cancelled)
    return hashlib.sha256(msgspec.json.encode(told)).hexdigest()[:32]
