"""What a patient had seen when they last visited, to show what has come since.

A visit is one or more looks at the home page, none of them hours after the one before. Stored encrypted for each person and
clinic: the times of looks, and hashes of what was shown (an id, and what makes it new if it changes), nothing else. Times
aren't compared, because a record's date may be long before the day on which it could first be read.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from datetime import datetime, timedelta

import msgspec

from portal.state.session_records import Person
from portal.web.last_known import LastKnown

_PAUSE = timedelta(hours=2)
"""How long nothing was looked at before a new visit begins."""
_NOTED_AFTER = timedelta(minutes=5)
"""Looks closer together aren't stored, so that opening the page writes nothing."""
_MOST = 600
"""From this number on nothing is told as new: forgetting the oldest would make it new again."""


class Visits(msgspec.Struct, frozen=True):
    """One person's last look, the end of the visit before this one, and what was known at it and has been seen since."""

    looked_at: datetime | None = None
    since: datetime | None = None
    before: tuple[str, ...] = ()
    during: tuple[str, ...] = ()


class LastVisit(msgspec.Struct, frozen=True):
    """When the last visit ended, and what was known at its end."""

    ended_at: datetime
    known: frozenset[str]

    def showed(self, *id_: str) -> bool:
        """Whether this was shown before."""
        return _hash(id_) in self.known


VISITS = LastKnown("visits-home", Visits(), seconds=365 * 24 * 3600)


def note_visit(person: Person, shown: Iterable[tuple[str, ...]], at: datetime) -> LastVisit | None:
    """Note what this look shows, by ids, and return the visit before this one; None on the first."""
    ids = {_hash(id_) for id_ in shown}
    visits = _with(VISITS.get(person), ids, at)
    VISITS.update(person, lambda saved: _worth_storing(saved, _with(saved, ids, at)))
    return LastVisit(visits.since, frozenset(visits.before)) if visits.since else None


def _with(saved: Visits, ids: set[str], at: datetime) -> Visits:
    if saved.looked_at is None or len(saved.before) + len(saved.during) > _MOST:
        return Visits(looked_at=at, before=tuple(sorted(ids)))
    is_new = at - saved.looked_at > _PAUSE
    before = (*saved.before, *saved.during) if is_new else saved.before
    during = () if is_new else saved.during
    return Visits(
        looked_at=at,
        since=saved.looked_at if is_new else saved.since,
        before=before,
        during=(*during, *sorted(ids.difference(before, during))),
    )


def _worth_storing(saved: Visits, visits: Visits) -> Visits | None:
    is_same = (saved.since, saved.before, saved.during) == (visits.since, visits.before, visits.during)
    is_recent = saved.looked_at and visits.looked_at and visits.looked_at - saved.looked_at < _NOTED_AFTER
    return None if is_same and is_recent else visits


def _hash(id_: tuple[str, ...]) -> str:
    return hashlib.sha256("\n".join(id_).encode()).hexdigest()[:12]
