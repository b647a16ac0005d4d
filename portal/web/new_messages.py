"""Which message is the newest of each conversation: what this portal last learned, shared by all tabs and workers of a person.

Pages that stay open ask here. The API is asked at most once in 15 seconds a person, as for the bell; what is kept are ids
alone.
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
    """The newest message by conversation, that of the newest conversation first; when the API was last asked.

    Seconds since 1970; `messages` is None before the first answer.
    """

    messages: dict[str, str] | None
    at: float


KNOWN = LastKnown("messages", Newest(messages=None, at=0.0), seconds=3600)


def newest_of(conversations: Sequence[Conversation]) -> str:
    """Return the newest message of the newest conversation, empty where there is none."""
    return next(iter(_by_conversation(conversations).values()), "")


def newest(person: Person, conversation_id: str | None = None) -> str | None:
    """Return the newest message of a conversation, or of all; None when it isn't known."""
    messages = KNOWN.get(person).messages
    if messages is None:
        return None
    return messages.get(conversation_id) if conversation_id else next(iter(messages.values()), "")


def learn(person: Person, conversations: Sequence[Conversation]) -> None:
    """Keep the newest conversations from an answer of the API, in any order."""
    found = _by_conversation(conversations)
    KNOWN.update(person, lambda known: None if known.messages == found else Newest(found, known.at))


def claim(person: Person) -> bool:
    """Whether this request may ask the API: of all tabs and workers one in 15 seconds may."""

    def asked(known: Newest) -> Newest | None:
        now = context().clock()
        return None if age(known.at, now) < _FRESH_SECONDS else Newest(known.messages, now)

    return KNOWN.update(person, asked) is not None


def _by_conversation(conversations: Sequence[Conversation]) -> dict[str, str]:
    newest_first = sorted(conversations, key=_sent_at, reverse=True)
    return {one.id: one.newest_id for one in newest_first if one.newest_id}


def _sent_at(conversation: Conversation) -> float:
    at = conversation.in_order[-1].sent_at if conversation.messages else None
    return at.timestamp() if at else 0.0
