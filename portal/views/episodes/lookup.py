"""The episodes that a person can reach, and records embedded in them.

No endpoint lists episodes. Their ids come from records that mention them (consent forms, conversations, notifications)
and are stored in the session; for staff, those that they opened last.

Patients, cases, relationships and embryos have no endpoint to read them: they are embedded in an episode (care API
specification §4). Pages about them carry its id as `?episode=`; without one, all episodes that the person can reach are
searched.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from functools import partial
from typing import TypeVar

from flask import request

from portal.context import session
from portal.parse import record_id
from portal.services.client import Care
from portal.services.consents import list_consents
from portal.services.consents.forms import ConsentForm
from portal.services.conversations import Conversation, list_conversations
from portal.services.decoding import Page
from portal.services.episodes import Episode, episode_ids, get_episode
from portal.services.errors import BadResponse, CareError, NotFound, Unavailable
from portal.services.gather import gather, gather_all, known
from portal.services.notifications import Notification, list_notifications
from portal.services.patients import Patient
from portal.state.session_records import Person
from portal.web.not_given import not_given

T = TypeVar("T")

MOST_REMEMBERED = 12
MOST_RECENT = 4
"""How many of them staff's list shows."""


@dataclass(frozen=True, slots=True)
class Found:
    """The episodes that could be read; `is_incomplete` if one couldn't.

    `absent` are the ids of those not available to this person: removed, or no longer shared.
    """

    episodes: tuple[Episode, ...]
    is_incomplete: bool = False
    absent: frozenset[str] = frozenset()

    @property
    def is_none_left(self) -> bool:
        """Whether there were episodes, but none is available to this person any more."""
        return bool(self.absent) and not self.episodes and not self.is_incomplete

    @property
    def newest_first(self) -> list[Episode]:
        """Ongoing ones first, then by start date, newest first."""
        by_start = sorted(self.episodes, key=lambda e: e.start_date or date.min, reverse=True)
        return sorted(by_start, key=lambda e: e.is_ended)

    def with_more(self, more: Found) -> Found:
        """These episodes and those of another result."""
        is_incomplete = self.is_incomplete or more.is_incomplete
        return Found((*self.episodes, *more.episodes), is_incomplete, self.absent | more.absent)

    def record_of(self, sub: str) -> Patient | None:
        """The record of `sub` from the newest episode that contains it, or None."""
        return next((patient for e in self.newest_first if (patient := e.patient_of(sub))), None)


def remembered() -> list[str]:
    """Return the ids stored in the session."""
    return session().episode_ids


def reachable(care: Care, person: Person) -> list[str]:
    """Return the ids of a person's episodes: those stored; for a patient without any, those mentioned in records."""
    ids = remembered()
    return ids if ids or person.is_staff else _find(care)


def read_episodes(care: Care, ids: Sequence[str]) -> Found:
    """Read these episodes concurrently; those not found are left out."""
    answers = gather_all([partial(get_episode, care, id_) for id_ in ids])
    read = tuple(answer for answer in answers if isinstance(answer, Episode))
    absent = frozenset(id_ for id_, a in zip(ids, answers, strict=True) if isinstance(a, NotFound))
    return Found(read, is_incomplete=len(read) + len(absent) < len(answers), absent=absent)


def remember(found: Found, ids: Iterable[str] = ()) -> None:
    """Store the ids of the episodes read, most relevant first, then the other ids except absent ones."""
    if not found.is_incomplete:
        pressing = sorted(found.newest_first, key=lambda e: (e.is_ended, not _has_stored(e)))
        ordered = dict.fromkeys([*(episode.id for episode in pressing), *ids])
        session().remember_episodes([one for one in ordered if one not in found.absent][:MOST_REMEMBERED])


def remember_opened(episode_id: str) -> None:
    """Store which episodes a member of staff opened last."""
    others = (known_id for known_id in remembered() if known_id != episode_id)
    session().remember_episodes([episode_id, *others][:MOST_RECENT])


def _has_stored(episode: Episode) -> bool:
    return any(not embryo.is_terminal for embryo in episode.embryos)


def mentioned(
    forms: Page[ConsentForm] | CareError,
    talks: Page[Conversation] | CareError,
    news: Page[Notification] | CareError,
) -> list[str]:
    """Return the ids of the episodes that these records mention; lists that couldn't be read are skipped.

    Raises CareError if none is mentioned and a list couldn't be read, because there may be some.
    """
    consents, conversations, notifications = known(forms), known(talks), known(news)
    ids = episode_ids(
        consents.items if consents else (),
        conversations.items if conversations else (),
        notifications.items if notifications else (),
    )
    if not ids:
        for answer in (forms, talks, news):
            if isinstance(answer, CareError):
                raise answer
    return list(ids)


def _find(care: Care) -> list[str]:
    """The ids in all records that may mention an episode; stores them."""
    forms, talks, news = gather(
        lambda: list_consents(care, limit=100),
        lambda: list_conversations(care, limit=50, include_archived=True),
        lambda: list_notifications(care, limit=100),
    )
    ids = mentioned(forms, talks, news)
    session().remember_episodes(ids[:MOST_REMEMBERED])
    return ids


def find_embedded(
    care: Care, person: Person, pick: Callable[[Episode], T | None], *, within: str
) -> tuple[Episode, T]:
    """Return the record that `pick` finds in an episode, and that episode; `within` is the member that holds it.

    Raises NotFound if no episode has it, Unavailable if one that may have it can't be read, BadResponse if the API never gives
    that member.
    """
    if "episode" in request.args:
        return _named(care, pick, within)
    return _first(read_episodes(care, reachable(care, person)), pick, within)


def find_opened(care: Care, pick: Callable[[Episode], T | None], *, within: str) -> tuple[Episode, T]:
    """The same for staff, who reach an episode by opening it."""
    if "episode" in request.args:
        return _named(care, pick, within)
    return _first(read_episodes(care, remembered()), pick, within)


def absent_from(member: str) -> CareError:
    """What is raised for a record that this member of the answers doesn't have: only one that came can lack something."""
    return BadResponse(member) if not_given(member) else NotFound()


def _named(care: Care, pick: Callable[[Episode], T | None], within: str) -> tuple[Episode, T]:
    """Look in the episode that the address names."""
    episode_id = record_id(request.args.get("episode"))
    if episode_id is None:
        raise NotFound
    episode = get_episode(care, episode_id)
    record = pick(episode)
    if record is None:
        raise absent_from(within)
    return episode, record


def _first(found: Found, pick: Callable[[Episode], T | None], within: str) -> tuple[Episode, T]:
    for episode in found.newest_first:
        if (record := pick(episode)) is not None:
            return episode, record
    raise Unavailable("an episode can't be read") if found.is_incomplete else absent_from(within)
