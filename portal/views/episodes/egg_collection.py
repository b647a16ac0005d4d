"""The egg collection among a treatment's appointments."""

from __future__ import annotations

from datetime import date, datetime, time

from flask import g

from portal.services.episodes import Appointment, Episode
from portal.web.labels import is_egg_collection


def collection_of(episode: Episode | None, *, after: datetime | None = None) -> Appointment | None:
    """The appointment at which the eggs of this treatment are to be collected, if there is one; the first after a moment."""
    visits = (
        [appointment for appointment in episode.appointments if _is_collection(appointment)]
        if episode
        else []
    )
    later = (visit for visit in visits if after is None or visit.start > after)
    return min(later, key=lambda visit: visit.start, default=None)


def collection_of_plan(episode: Episode | None, begins: date | None) -> Appointment | None:
    """The egg collection that a plan leads to: the first after the day on which it begins, as a treatment may have had others."""
    after = datetime.combine(begins, time(), g.tenant.time_zone) if begins else None
    return collection_of(episode, after=after)


def _is_collection(visit: Appointment) -> bool:
    return not visit.is_cancelled and is_egg_collection(visit.kind)
