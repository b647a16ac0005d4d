"""Reading several episodes, each of which may fail by itself, and finding records that are embedded in them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from functools import partial
from typing import TypeVar

from portal.services.client import Care
from portal.services.consents.forms import ConsentForm
from portal.services.conversations import Conversation
from portal.services.decoding import PagedResult
from portal.services.episodes import Episode, episode_ids, get_episode
from portal.services.errors import CareError, NotFound, NotOffered
from portal.services.gather import gather_all, items_of
from portal.services.notifications import Notification
from portal.services.patients import Patient
from portal.services.storage import EmbryoStorage
from portal.values import Value

T = TypeVar("T")


class Found(Value, frozen=True):
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
    def is_only_one(self) -> bool:
        """Whether there is one episode, and no other that couldn't be read or isn't available any more."""
        return len(self.episodes) == 1 and not self.absent and not self.is_incomplete

    @property
    def newest_first(self) -> list[Episode]:
        """Ongoing ones first, then by start date, newest first."""
        by_start = sorted(self.episodes, key=lambda e: e.start_date or date.min, reverse=True)
        return sorted(by_start, key=lambda e: e.is_ended)

    @property
    def embryos(self) -> list[tuple[EmbryoStorage, Episode]]:
        """Each embryo once, with the newest episode that has it: one that froze it, or one that is to use it."""
        found: dict[str, tuple[EmbryoStorage, Episode]] = {}
        for episode in self.newest_first:
            for embryo in episode.embryos:
                found.setdefault(embryo.id, (embryo, episode))
        return list(found.values())

    def with_more(self, more: Found) -> Found:
        is_incomplete = self.is_incomplete or more.is_incomplete
        return Found((*self.episodes, *more.episodes), is_incomplete, self.absent | more.absent)

    def record_of(self, sub: str) -> Patient | None:
        """The record of `sub` from the newest episode that contains it, or None."""
        return next((patient for e in self.newest_first if (patient := e.patient_of(sub))), None)


def read_episodes(care: Care, ids: Sequence[str]) -> Found:
    """Read these episodes concurrently; those not found are left out."""
    answers = gather_all([partial(get_episode, care, id_) for id_ in ids])
    read = tuple(answer for answer in answers if isinstance(answer, Episode))
    absent = frozenset(id_ for id_, a in zip(ids, answers, strict=True) if isinstance(a, NotFound))
    return Found(read, is_incomplete=len(read) + len(absent) < len(answers), absent=absent)


def is_whole(*lists: object) -> bool:
    """Whether each of these lists could be read, unless the clinic doesn't offer it."""
    return not any(isinstance(one, CareError) and not isinstance(one, NotOffered) for one in lists)


def mentioned(
    forms: PagedResult[ConsentForm] | CareError,
    conversations: PagedResult[Conversation] | CareError,
    notifications: PagedResult[Notification] | CareError,
) -> list[str]:
    """Return the ids of the episodes that these records mention; lists that couldn't be read are skipped.

    Raises CareError if none is mentioned and a list couldn't be read, because there may be some.
    """
    ids = episode_ids(items_of(forms), items_of(conversations), items_of(notifications))
    if not ids:
        for answer in (forms, conversations, notifications):
            if isinstance(answer, CareError):
                raise answer
    return list(ids)
