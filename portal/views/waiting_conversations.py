"""The conversations that wait for the clinic: whose newest message came from outside and has no answer yet."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

from portal.services.client import Care
from portal.services.conversations import list_conversations
from portal.services.records.conversations import Conversation, MessageSide

MOST = 200
"""How many of the newest conversations are looked through; each brings its messages along, so that one call does."""

_NEVER = datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Waiting:
    """Those that wait, the longest first; `covers` is how many were looked through when there are more, else None.

    `newest` are all that were looked through, the newest first.
    """

    conversations: tuple[Conversation, ...]
    newest: tuple[Conversation, ...]
    covers: int | None


def read_waiting(care: Care) -> Waiting:
    """Look through the newest conversations for those that wait. Raises CareError."""
    page = list_conversations(care, limit=MOST)
    waiting = [(since, one) for one in page.items if (since := waiting_since(one)) is not None]
    waiting.sort(key=lambda pair: pair[0])
    is_cut = page.total > len(page.items) or (not page.is_counted and len(page.items) >= MOST)
    return Waiting(
        tuple(one for _since, one in waiting), tuple(page.items), len(page.items) if is_cut else None
    )


def waiting_since(conversation: Conversation) -> datetime | None:
    """When the first message came that nobody has answered; None when the clinic spoke last, or nobody did.

    A message that says nothing of its side answers nothing and waits for nothing.
    """
    since: datetime | None = None
    for message in conversation.in_order:
        if message.side is MessageSide.OUTBOUND:
            since = None
        elif message.side is MessageSide.INBOUND and not message.is_archived:
            since = since or message.sent_at or conversation.last_message_at or _NEVER
    return None if conversation.is_archived else since
