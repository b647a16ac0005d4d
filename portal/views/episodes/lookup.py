"""The episodes that a person can reach, and records embedded in them.

No endpoint lists episodes. Their ids come from records that mention them (consent forms, conversations, notifications)
and are stored in the session; for staff, those that they opened last.

Patients, cases, relationships and embryos have no endpoint to read them: they are embedded in an episode (care API
specification §4). Pages about them carry its id as `?episode=`; without one, all episodes that the person can reach are
searched.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import TypeVar
from urllib.parse import unquote

from flask import request
from msgspec.structs import replace

from portal.context import session
from portal.parse import LONGEST_ID, record_id
from portal.services.client import Care
from portal.services.consents import list_consents
from portal.services.conversations import list_conversations
from portal.services.decoding import PagedResult
from portal.services.episodes import Episode, get_episode
from portal.services.errors import BadResponse, CareError, NotFound, Unavailable
from portal.services.found_episodes import Found, is_whole, mentioned, read_episodes
from portal.services.gather import attempt, gather, known
from portal.services.notifications import Notification, list_notifications
from portal.state.session_records import Person
from portal.web.not_given import not_given

T = TypeVar("T")

MOST_REMEMBERED = 12
MOST_RECENT = 4
"""How many of them staff's list shows."""


def remembered() -> list[str]:
    return session().episode_ids


def knows_all() -> bool:
    """Whether this session knows a patient's episodes, so that not all that may mention one need be searched."""
    return bool(remembered()) and session().knows_all_episodes


def reachable(care: Care, person: Person, most: int | None = None) -> Found:
    """Read a person's episodes, the first `most` of them: those stored; for a patient also those that records mention.

    All records that may mention one are searched once in a session. Raises CareError if there may be some, but none is known.
    """
    ids = remembered()
    if person.is_staff or knows_all():
        return read_episodes(care, ids[:most])
    forms, conversations, notifications = gather(
        lambda: list_consents(care, limit=100),
        lambda: list_conversations(care, limit=50, include_archived=True),
        lambda: every_notification(care),
    )
    named = attempt(lambda: mentioned(forms, conversations, notifications))
    if isinstance(named, CareError) and not ids:
        raise named
    ids = list(dict.fromkeys([*ids, *(known(named) or ())]))
    found = read_episodes(care, ids[:most])
    remember(found, ids, are_all=is_whole(forms, conversations, notifications))
    return found if is_whole(forms, conversations, notifications) else replace(found, is_incomplete=True)


def every_notification(care: Care) -> PagedResult[Notification]:
    """The newest notifications, read or not: some episodes are mentioned nowhere else."""
    return list_notifications(care, limit=100)


def remember(found: Found, ids: Iterable[str] = (), *, are_all: bool = False) -> None:
    """Store the ids of the episodes read, most relevant first, then the other ids except absent ones.

    If one couldn't be read, it may be under way: those that ended come last. `are_all` says whether there are no others.
    """
    pressing = sorted(found.newest_first, key=lambda e: (e.is_ended, not _has_stored(e)))
    ended = {episode.id for episode in pressing if episode.is_ended} if found.is_incomplete else set[str]()
    ordered = sorted(dict.fromkeys([*(episode.id for episode in pressing), *ids]), key=ended.__contains__)
    left = [id_ for id_ in ordered if id_ not in found.absent]
    session().remember_episodes(left[:MOST_REMEMBERED], are_all=are_all and len(left) <= MOST_REMEMBERED)


def remember_opened(*episode_ids: str) -> None:
    """Store which episodes a member of staff opened last."""
    session().remember_episodes(list(dict.fromkeys([*episode_ids, *remembered()]))[:MOST_RECENT])


def _has_stored(episode: Episode) -> bool:
    return any(not embryo.is_terminal for embryo in episode.embryos)


def find_embedded(
    care: Care, person: Person, pick: Callable[[Episode], T | None], *, within: str
) -> tuple[Episode, T]:
    """Return the record that `pick` finds in an episode, and that episode; `within` is the member that holds it.

    It is looked for in the episode that the address names, or else in those that the person can reach: staff by opening them.

    Raises NotFound if no episode has it, Unavailable if one that may have it can't be read, BadResponse if the API never gives
    that member.
    """
    found = _named(care) if "episode" in request.args else reachable(care, person)
    for episode in found.newest_first:
        if (record := pick(episode)) is not None:
            return episode, record
    raise Unavailable("an episode can't be read") if found.is_incomplete else absent_from(within)


def absent_from(member: str) -> CareError:
    """What is raised for a record that this member of the answers doesn't have: only one that came can lack something."""
    return BadResponse(member) if not_given(member) else NotFound()


def _named(care: Care) -> Found:
    episode_id = record_id(request.args.get("episode"))
    if episode_id is None:
        raise NotFound
    return Found((get_episode(care, episode_id),))


def episode_id_of(text: str) -> str | None:
    """The episode id from a pasted id or link; None if it is neither."""
    path = re.split(r"[?#]", text.strip())[0]
    found = re.search(r"/episodes/([^/]+)", path) or re.fullmatch(r"([^/\s]{1,128})", path)
    id_ = unquote(found[1])[:LONGEST_ID] if found else ""
    return id_ if id_.isprintable() and id_.strip(".") else None
