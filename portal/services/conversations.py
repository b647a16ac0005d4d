"""Conversations and their messages (care API specification §4, group Messaging).

There is no endpoint to read a single conversation, send a message or mark one as read.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from functools import partial
from itertools import dropwhile, islice
from typing import Annotated, ClassVar

from portal.services.api import Group, SearchQuery
from portal.services.client import Care
from portal.services.decoding import Choice, Id, PagedResult, Record, Timed, Whole
from portal.services.errors import NotFound, Unavailable
from portal.services.gather import attempt, known
from portal.services.listed import Listed
from portal.services.paging import CAP, read_list
from portal.services.patient_ref import PatientRef
from portal.services.responses import read_back
from portal.services.uses import NOT_SENT, STAFF


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

    shown_on: ClassVar = ("conversations", "find")

    id: Annotated[Id | None, "whether it is the reader"] = None
    name: Annotated[str, "name"] = ""
    role: Annotated[str, "role"] = ""

    @property
    def is_patient(self) -> bool:
        return self.role.casefold() == "patient"


class PossibleSender(Record, frozen=True, kw_only=True):
    """A patient who may have written a conversation whose sender isn't surely known; for staff."""

    shown_on: ClassVar = ("conversations",)

    id: Annotated[Id | None, "the patient's record"] = None
    name: Annotated[str, "who may have written", STAFF] = ""


class ReplyAddress(Record, frozen=True, kw_only=True):
    """Where to reply by e-mail or text, because the API accepts no messages."""

    shown_on: ClassVar = ("conversations",)

    email: Annotated[str | None, "replies by e-mail"] = None
    sms: Annotated[str | None, "replies by text message"] = None


class Attachment(Record, frozen=True, kw_only=True):
    """A file attached to a message."""

    shown_on: ClassVar = ("conversations",)

    file_id: Annotated[Id, "link to the file"]
    name: Annotated[str, "file name"] = ""
    media_type: Annotated[str, "whether it is shown inline"] = ""
    size: Annotated[Whole | None, "file size"] = None


class Message(Timed, frozen=True, kw_only=True):
    """One message; `is_archived` is each person's own choice.

    `sender_verified` is False if an e-mail's sender may be forged, None if the API doesn't say.
    """

    shown_on: ClassVar = ("conversations", "home", "episodes", "pgt_results")
    vital: ClassVar = frozenset({"body"})
    separable: ClassVar = frozenset({"attachments"})

    id: Id
    conversation_id: Id | None = None
    sender_id: Annotated[Id | None, "whether the reader wrote it"] = None
    sender_name: Annotated[str, "sender's name"] = ""
    sender_verified: Annotated[bool | None, "whether the e-mail's sender is verified"] = None
    side: Annotated[MessageSide | None, "whether it is to or from the clinic"] = None
    channel: Annotated[Channel | None, "portal, e-mail, text message or telephone"] = None
    body: Annotated[str, "message text"] = ""
    sent_at: Annotated[datetime | None, "time sent; order of messages"] = None
    read_at: Annotated[datetime | None, "whether it was read"] = None
    is_archived: Annotated[bool, "whether it is archived"] = False
    attachments: Annotated[tuple[Attachment, ...], "attachments"] = ()


class Conversation(Timed, frozen=True, kw_only=True):
    """A thread with its newest messages (50 at most)."""

    most_messages: ClassVar = 50
    shown_on: ClassVar = ("conversations", "home", "episodes", "pgt_results")
    separable: ClassVar = frozenset({"participants", "messages"})

    id: Id
    subject: Annotated[str, "subject"] = ""
    patient_id: Annotated[Id | None, "the patient, for staff"] = None
    prospect_id: Annotated[Id | None, "the enquiry it belongs to"] = None
    episode_id: Annotated[Id | None, "link to the treatment; also used to find episodes"] = None
    channel: Annotated[Channel | None, "portal, e-mail, text message or telephone"] = None
    participants: Annotated[tuple[Participant, ...], "participants"] = ()
    possible_senders: Annotated[tuple[PossibleSender, ...], "for staff, who may have written", NOT_SENT] = ()
    reply_address: Annotated[ReplyAddress, "reply address; without it nobody can reply"] = ReplyAddress()
    is_archived: Annotated[bool, "whether it is archived"] = False
    unread_count: Annotated[Whole, "number of unread messages"] = 0
    last_message_at: Annotated[datetime | None, "order in the list"] = None
    messages: Annotated[tuple[Message, ...], "messages; without them the conversation is empty"] = ()

    @property
    def patient_ref(self) -> PatientRef | None:
        """The patient with whom it is; None for an enquirer, or if its sender isn't known for sure."""
        if self.patient_id is None:
            return None
        names = tuple(participant.name for participant in self.participants if participant.is_patient)
        if len(names) == 1:
            return PatientRef(self.patient_id, names[0], self.episode_id)
        return PatientRef(self.patient_id, "", self.episode_id, one_of=names if all(names) else ())

    def names(self, person_id: str) -> bool:
        """Whether this person takes part or has written in it."""
        return any(participant.id == person_id for participant in self.participants) or any(
            message.sender_id == person_id for message in self.messages
        )

    @property
    def in_order(self) -> tuple[Message, ...]:
        """The messages, oldest first; those without a time come first."""
        return tuple(sorted(self.messages, key=lambda message: _seconds(message.sent_at)))

    @property
    def is_whole(self) -> bool:
        """Whether all of its messages came for sure."""
        return len(self.messages) < self.most_messages

    @property
    def newest_id(self) -> str:
        """The newest message's id, archived or not; empty if there is none."""
        return self.in_order[-1].id if self.messages else ""

    def first_after(self, id_: str) -> datetime | None:
        """When the first message came after this one; None if none did, or it isn't here."""
        later = dropwhile(lambda message: message.id != id_, self.in_order)
        return next((message.sent_at for message in islice(later, 1, None)), None)

    @property
    def latest(self) -> Message | None:
        """The newest message that isn't archived, or None."""
        return next((m for m in reversed(self.in_order) if not m.is_archived), None)


def _seconds(at: datetime | None) -> float:
    return float("-inf") if at is None else at.timestamp()


class ArchivedCount(Record, frozen=True, kw_only=True):
    """How many conversations were archived."""

    shown_on: ClassVar = ("conversations",)

    archived_count: Annotated[Whole | None, "number archived, shown after archiving"] = None


class ConversationQuery(SearchQuery, frozen=True, kw_only=True, rename="pascal"):
    """Which conversations are asked for."""

    sorting: str | None = None
    include_archived: bool = False


class ConversationsToArchive(Record, frozen=True, kw_only=True):
    """What is sent to archive conversations."""

    conversation_ids: tuple[Id, ...]


_messages = Group("Messaging")
RESTORE_MESSAGE = _messages.post("/api/app/messaging/restore-message/{messageId}", Message)
ARCHIVE_MESSAGE = _messages.post("/api/app/messaging/archive-message/{messageId}", Message)
LIST_CONVERSATIONS = _messages.get(
    "/api/messaging/getconversations",
    PagedResult[Conversation],
    ConversationQuery,
    shows="conversation",
    page="/conversations",
)
ARCHIVE_CONVERSATIONS = _messages.post("/api/messaging/archive", ArchivedCount, ConversationsToArchive)


_PIECE = 50
# How many conversations are read at a time; each comes with up to 50 messages.


def restore_message(care: Care, message_id: str) -> Message | None:
    """Restore a message and return it; None if the API returns no body: then its conversation tells.

    Only for this person; a repeat does no harm.
    """
    return care.act(RESTORE_MESSAGE, None, messageId=message_id)


def archive_message(care: Care, message_id: str) -> Message | None:
    """Archive a message and return it; None if the API returns no body: then its conversation tells.

    Only for this person; a repeat does no harm.
    """
    return care.act(ARCHIVE_MESSAGE, None, messageId=message_id)


def list_conversations(
    care: Care,
    *,
    skip: int = 0,
    limit: int = 20,
    text: str | None = None,
    include_archived: bool = False,
    sorting: str | None = None,
) -> PagedResult[Conversation]:
    """One page of conversations, each with its newest messages (50 at most)."""
    query = ConversationQuery(
        skip_count=skip,
        max_result_count=limit,
        filter=text,
        include_archived=include_archived,
        sorting=sorting,
    )
    return read_list(LIST_CONVERSATIONS, query, care=care)


def list_newest(care: Care, limit: int) -> tuple[PagedResult[Conversation], bool]:
    """The newest conversations, and whether they are: all there are, or in that order.

    An API that lists them in another order is asked to sort them. Raises CareError.
    """
    page = list_conversations(care, limit=limit)
    if page.listed.is_whole or _are_newest_first(page.items):
        return page, True
    ordered = known(attempt(lambda: list_conversations(care, limit=limit, sorting="lastMessageAt desc")))
    return (ordered, True) if ordered and _are_newest_first(ordered.items) else (page, False)


def _are_newest_first(conversations: Sequence[Conversation]) -> bool:
    times = [talk.last_message_at or _last_sent(talk) for talk in conversations]
    return None not in times and times == sorted(filter(None, times), reverse=True)


def _last_sent(conversation: Conversation) -> datetime | None:
    return max((message.sent_at for message in conversation.messages if message.sent_at), default=None)


def get_conversation(care: Care, conversation_id: str) -> Conversation:
    """One conversation, archived or not, found by searching the first 1000 of the list.

    Read page by page. Raises `NotFound`.
    """
    return get_conversation_and_others(care, conversation_id)[0]


def get_conversation_and_others(
    care: Care, conversation_id: str
) -> tuple[Conversation, tuple[Conversation, ...]]:
    """The same, with all conversations that were read, including this one, newest first."""
    found, seen = _look_for(care, conversation_id)
    if found is None:
        raise NotFound
    return found, seen.items


def _look_for(care: Care, conversation_id: str) -> tuple[Conversation | None, Listed[Conversation]]:
    """The conversation, if it is listed, and what was read until it came, or else the list."""
    seen: tuple[Conversation, ...] = ()
    received, is_readable = 0, True
    while received < CAP:
        page = list_conversations(care, skip=received, limit=_PIECE, include_archived=True)
        seen += page.items
        received += page.received
        is_readable = is_readable and not page.unreadable
        for conversation in page.items:
            if conversation.id == conversation_id:
                return conversation, Listed(seen, is_whole=False)
        if not page.received or received >= page.total:
            return None, Listed(seen, is_readable and page.is_counted)
    return None, Listed(seen, is_whole=False)


def _is_archived(care: Care, conversation_id: str) -> bool:
    """Whether it is archived, or stands no more in the whole list: some APIs list no archived ones."""
    found, seen = _look_for(care, conversation_id)
    return found.is_archived if found else seen.is_whole


def archive_conversations(care: Care, conversation_ids: Sequence[str]) -> int | None:
    """Archive conversations and return how many; None if the API doesn't say, although they are archived: then they are read.

    A repeat does no harm.
    """
    chosen = ConversationsToArchive(conversation_ids=tuple(conversation_ids))
    done = care.act(ARCHIVE_CONVERSATIONS, chosen)
    if done is None or not done.archived_count:
        for conversation_id in conversation_ids:
            if not read_back(partial(_is_archived, care, conversation_id)):
                raise Unavailable("it isn't archived", outcome_known=False)
    return None if done is None else done.archived_count
