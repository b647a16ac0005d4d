"""Records that have no address of their own to be read at: they are found in an episode.

Patients, cases, relationships and embryos come embedded in an episode (care API specification §4), so that the pages
about them carry its id as `?episode=`; without one, the episodes that the person can reach are looked through.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TypeVar

from flask import request

from portal.services.client import Care
from portal.services.episodes import get_episode
from portal.services.errors import NotFound, Unavailable
from portal.services.records import Episode
from portal.sessions import Person
from portal.views.episodes import reachable, read_episodes
from portal.web.routing import RecordId

T = TypeVar("T")


def reach(care: Care, person: Person, pick: Callable[[Episode], T | None]) -> tuple[Episode, T]:
    """Return the episode that holds the record which `pick` takes out of it, and the record.

    Raises NotFound where none does, Unavailable where one that may hold it can't be read.
    """
    if "episode" in request.args:
        episode = get_episode(care, _asked())
        record = pick(episode)
        if record is None:
            raise NotFound
        return episode, record
    found = read_episodes(care, reachable(care, person))
    for episode in found.newest_first:
        if (record := pick(episode)) is not None:
            return episode, record
    raise Unavailable("an episode can't be read") if found.is_incomplete else NotFound


def _asked() -> str:
    """The id of the episode in the query; what can't be one is not there."""
    given = request.args.get("episode", "")
    if not re.fullmatch(RecordId.regex, given):
        raise NotFound
    return given
