"""What the clinic wrote to a patient after a result, so that both are read together."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date, datetime, timedelta

from portal.services.conversations import Conversation, Message, MessageSide, list_conversations
from portal.services.errors import CareError
from portal.values import Value
from portal.web.filters import local
from portal.web.handlers import Care, Person, audit

_CONVERSATIONS = 20
_DAYS = timedelta(days=7)
"""For how long after a result a message may be about it."""


class FollowUp(Value, frozen=True):
    conversation: Conversation
    message: Message


def read_conversations(care: Care, person: Person) -> tuple[Conversation, ...]:
    """Read a patient's newest conversations, none of which is shown yet; none for staff. Raises CareError."""
    if person.is_staff:
        return ()
    audit.shown("conversation.list", "conversation", ())
    return list_conversations(care, limit=_CONVERSATIONS).items


def follow_up_of(
    conversations: Iterable[Conversation] | CareError, episode_id: str | None, since: date | datetime | None
) -> FollowUp | CareError | None:
    """Return the clinic's first message about the treatment in the week after a result; None without one.

    A message of the same day counts from the result's hour on, where `since` has one. None that may be forged: it isn't known
    to be the clinic's.
    """
    if episode_id is None or since is None:
        return None
    first_day = local(since).date() if isinstance(since, datetime) else since
    if isinstance(conversations, CareError):
        return conversations
    found = [
        FollowUp(talk, message)
        for talk in conversations
        if talk.episode_id == episode_id
        for message in talk.messages
        if message.side == MessageSide.OUTBOUND
        and message.sent_at
        and not message.is_archived
        and message.sender_verified is not False
        and timedelta() <= local(message.sent_at).date() - first_day <= _DAYS
        and not (isinstance(since, datetime) and message.sent_at < since)
    ]
    first = min(
        found,
        key=lambda written: written.message.sent_at.timestamp() if written.message.sent_at else 0.0,
        default=None,
    )
    if first:
        audit.shown("conversation.list", "conversation", first.conversation.id)
    return first
