"""The cached id of each conversation's newest message, shared by all of a person's tabs and workers.

Open pages poll it to learn of new messages. As for the bell, the API is called at most once in 15 seconds per person. Only
ids are cached.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from portal.clock import age
from portal.context import context
from portal.services.conversations import Conversation
from portal.state.session_records import Person
from portal.web.last_known import LastKnown

_FRESH_SECONDS = 15


class Newest(msgspec.Struct, frozen=True):
    """The newest message's id by conversation id, the latest conversation first; None before the first API response.

    `at` is when the API was last called (seconds since 1970).
    """

    messages: dict[str, str] | None
    at: float


KNOWN = LastKnown("messages", Newest(messages=None, at=0.0), seconds=3600)


def newest_of(conversations: Sequence[Conversation]) -> str:
    """Return the id of the newest message of all; empty if there is none."""
    return next(iter(_by_conversation(conversations).values()), "")


def newest(person: Person, conversation_id: str | None = None) -> str | None:
    """Return the cached id of the newest message, of one conversation or of all; None if unknown."""
    messages = KNOWN.get(person).messages
    if messages is None:
        return None
    return messages.get(conversation_id) if conversation_id else next(iter(messages.values()), "")


def learn(person: Person, conversations: Sequence[Conversation]) -> None:
    """Cache the newest messages of these conversations (in any order) from an API response."""
    messages = _by_conversation(conversations)
    KNOWN.update(person, lambda known: None if known.messages == messages else Newest(messages, known.at))


def claim(person: Person) -> bool:
    """Return whether this request may call the API: only one in 15 seconds may, of all tabs and workers."""

    def requested(known: Newest) -> Newest | None:
        now = context().clock()
        return None if age(known.at, now) < _FRESH_SECONDS else Newest(known.messages, now)

    return KNOWN.update(person, requested) is not None


def _by_conversation(conversations: Sequence[Conversation]) -> dict[str, str]:
    newest_first = sorted(conversations, key=_sent_at, reverse=True)
    return {
        conversation.id: conversation.newest_id for conversation in newest_first if conversation.newest_id
    }


def _sent_at(conversation: Conversation) -> float:
    at = conversation.in_order[-1].sent_at if conversation.messages else None
    return at.timestamp() if at else 0.0
