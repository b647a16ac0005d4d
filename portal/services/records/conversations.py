"""Conversations and their messages."""

from __future__ import annotations

from datetime import datetime

from portal.services.decoding import Choice, Id, Record, Timed, Whole


class MessageSide(Choice):
    """Inbound is to the clinic, Outbound from it."""

    INBOUND = "Inbound"
    OUTBOUND = "Outbound"


class Channel(Choice):
    """The channel of a message."""

    PORTAL = "Portal"
    EMAIL = "Email"
    SMS = "Sms"
    PHONE = "Phone"


class Participant(Record, frozen=True, kw_only=True):
    """A participant in a conversation; `id` is their `sub`."""

    id: Id | None = None
    name: str = ""
    role: str = ""


class PossibleSender(Record, frozen=True, kw_only=True):
    """A patient who may have written a conversation whose sender isn't surely known; for staff."""

    id: Id | None = None
    name: str = ""


class ReplyAddress(Record, frozen=True, kw_only=True):
    """Where to reply by e-mail or text, because the API accepts no messages."""

    email: str | None = None
    sms: str | None = None


class Attachment(Record, frozen=True, kw_only=True):
    """A file attached to a message."""

    file_id: Id
    name: str = ""
    media_type: str = ""
    size: Whole | None = None


class Message(Timed, frozen=True, kw_only=True):
    """One message; `is_archived` is each person's own choice.

    `sender_verified` is False if an e-mail's sender may be forged, None if the API doesn't say.
    """

    id: Id
    conversation_id: Id | None = None
    sender_id: Id | None = None
    sender_name: str = ""
    sender_verified: bool | None = None
    side: MessageSide | None = None
    channel: Channel | None = None
    body: str = ""
    sent_at: datetime | None = None
    read_at: datetime | None = None
    is_archived: bool = False
    attachments: tuple[Attachment, ...] = ()


class Conversation(Timed, frozen=True, kw_only=True):
    """A thread with its newest messages (50 at most)."""

    id: Id
    subject: str = ""
    patient_id: Id | None = None
    prospect_id: Id | None = None
    episode_id: Id | None = None
    channel: Channel | None = None
    participants: tuple[Participant, ...] = ()
    possible_senders: tuple[PossibleSender, ...] = ()
    reply_address: ReplyAddress = ReplyAddress()
    is_archived: bool = False
    unread_count: Whole = 0
    last_message_at: datetime | None = None
    messages: tuple[Message, ...] = ()

    @property
    def in_order(self) -> tuple[Message, ...]:
        """The messages, oldest first; those without a time come first."""
        return tuple(sorted(self.messages, key=lambda message: _seconds(message.sent_at)))

    @property
    def newest_id(self) -> str:
        """The newest message's id, archived or not; empty if there is none."""
        return self.in_order[-1].id if self.messages else ""

    @property
    def latest(self) -> Message | None:
        """The newest message that isn't archived, or None."""
        return next((m for m in reversed(self.in_order) if not m.is_archived), None)


def _seconds(at: datetime | None) -> float:
    return float("-inf") if at is None else at.timestamp()


class ArchivedCount(Record, frozen=True, kw_only=True):
    """How many conversations were archived."""

    archived_count: Whole | None = None
