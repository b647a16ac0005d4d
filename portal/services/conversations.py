"""Conversations and their messages (care API specification §4, group Messaging).

There is no endpoint to read a single conversation, send a message or mark one as read.
"""

from __future__ import annotations

from collections.abc import Sequence

from portal.services.client import Care
from portal.services.decoding import Page
from portal.services.endpoints import (
    ARCHIVE_CONVERSATIONS,
    ARCHIVE_MESSAGE,
    LIST_CONVERSATIONS,
    RESTORE_MESSAGE,
)
from portal.services.errors import NotFound
from portal.services.exchanges import ConversationQuery, ConversationsToArchive
from portal.services.paging import CAP, requested_page
from portal.services.records.conversations import Conversation, Message

_PIECE = 50
# How many conversations are read at a time; each comes with up to 50 messages.


def restore_message(care: Care, message_id: str) -> Message | None:
    """Restore a message and return it; None if the API returns no body, although it is restored.

    POST /api/app/messaging/restore-message/{messageId} (care API specification §4). Only for this person;
    a repeat does no harm.
    """
    return care.act(RESTORE_MESSAGE, None, messageId=message_id)


def archive_message(care: Care, message_id: str) -> Message | None:
    """Archive a message and return it; None if the API returns no body, although it is archived.

    POST /api/app/messaging/archive-message/{messageId} (care API specification §4). Only for this person;
    a repeat does no harm.
    """
    return care.act(ARCHIVE_MESSAGE, None, messageId=message_id)


def list_conversations(
    care: Care,
    *,
    skip: int = 0,
    limit: int = 20,
    sorting: str | None = None,
    text: str | None = None,
    include_archived: bool = False,
) -> Page[Conversation]:
    """One page of conversations, each with its newest messages (50 at most).

    GET /api/messaging/getconversations (care API specification §4).
    """
    query = ConversationQuery(
        skip_count=skip,
        max_result_count=limit,
        sorting=sorting,
        filter=text,
        include_archived=include_archived,
    )
    return requested_page(care.read(LIST_CONVERSATIONS, query=query), skip, limit)


def get_conversation(care: Care, conversation_id: str) -> Conversation:
    """One conversation, archived or not, found by searching the first 1000 of the list.

    GET /api/messaging/getconversations, page by page (care API specification §4). Raises `NotFound`.
    """
    return get_conversation_and_others(care, conversation_id)[0]


def get_conversation_and_others(
    care: Care, conversation_id: str
) -> tuple[Conversation, tuple[Conversation, ...]]:
    """The same, with all conversations that were read, including this one, newest first."""
    seen: tuple[Conversation, ...] = ()
    while len(seen) < CAP:
        page = list_conversations(care, skip=len(seen), limit=_PIECE, include_archived=True)
        seen += page.items
        for conversation in page.items:
            if conversation.id == conversation_id:
                return conversation, seen
        if not page.items or len(seen) >= page.total:
            break
    raise NotFound


def archive_conversations(care: Care, conversation_ids: Sequence[str]) -> int | None:
    """Archive conversations and return how many; None if the API doesn't say, although they are archived.

    POST /api/messaging/archive (care API specification §4). A repeat does no harm.
    """
    chosen = ConversationsToArchive(conversation_ids=tuple(conversation_ids))
    done = care.act(ARCHIVE_CONVERSATIONS, chosen)
    return None if done is None else done.archived_count
