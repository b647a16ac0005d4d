"""Conversations waiting for the clinic: those whose latest message is from outside and has no reply yet."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

from portal.services.client import Care
from portal.services.conversations import list_conversations
from portal.services.records.conversations import Conversation, MessageSide

MOST = 200
"""How many of the newest conversations are searched; each comes with its messages, so one call is enough."""

_NEVER = datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Waiting:
    """The waiting conversations, longest first; `covers` is how many were searched if there are more, else None.

    `newest` are all that were searched, newest first.
    """

    conversations: tuple[Conversation, ...]
    newest: tuple[Conversation, ...]
    covers: int | None


def read_waiting(care: Care) -> Waiting:
    """Search the newest conversations for waiting ones. Raises CareError."""
    page = list_conversations(care, limit=MOST)
    waiting = [(since, one) for one in page.items if (since := waiting_since(one)) is not None]
    waiting.sort(key=lambda pair: pair[0])
    is_cut = page.total > len(page.items) or (not page.is_counted and len(page.items) >= MOST)
    return Waiting(
        tuple(one for _since, one in waiting), tuple(page.items), len(page.items) if is_cut else None
    )


def waiting_since(conversation: Conversation) -> datetime | None:
    """The time of the first message without a reply; None if the clinic wrote last or there are no messages.

    A message without a side neither counts as a reply nor waits for one.
    """
    since: datetime | None = None
    for message in conversation.in_order:
        if message.side is MessageSide.OUTBOUND:
            since = None
        elif message.side is MessageSide.INBOUND and not message.is_archived:
            since = since or message.sent_at or conversation.last_message_at or _NEVER
    return None if conversation.is_archived else since
