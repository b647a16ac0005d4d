"""Messaging: list conversations, archive and restore them for the caller (care API specification §4)."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

import msgspec
from sqlalchemy import select
from sqlalchemy.orm import selectinload

from portal.careservice import database
from portal.careservice.api import payload
from portal.careservice.api.caller import Caller
from portal.careservice.api.endpoint import api, endpoint
from portal.careservice.api.paging import Page, paginate
from portal.careservice.api.records import Record, as_record
from portal.careservice.domain import conversations, documents
from portal.careservice.domain.actor import Actor
from portal.careservice.domain.conversations import Conversation, Message, MessageState
from portal.careservice.domain.enumerations import Channel, MessageSide
from portal.careservice.domain.permissions import Act
from portal.careservice.ids import GivenId

MODULE = "Messaging"


class AttachmentRecord(Record, kw_only=True):
    """A file sent with a message; `size` in bytes."""

    file_id: str
    name: str
    media_type: str
    size: int


class MessageRecord(Record, kw_only=True):
    """A message as one person sees it; `readAt` is null until they have read it.

    `senderVerified` is false if an e-mail may not come from its stated sender, null if that isn't checked.
    """

    id: str
    conversation_id: str
    sender_id: str | None
    sender_name: str
    sender_verified: bool | None
    side: MessageSide
    channel: Channel
    body: str
    sent_at: datetime
    read_at: datetime | None
    is_archived: bool
    attachments: list[AttachmentRecord]


class ParticipantRecord(Record, kw_only=True):
    """A participant; `id` is the person's `sub`."""

    id: str
    name: str
    role: str


class ReplyAddress(Record, kw_only=True):
    """Where an answer by e-mail or text message goes."""

    email: str | None
    sms: str | None


class PossibleSender(Record, kw_only=True):
    """A patient who may be the sender; `id` is the record's."""

    id: str
    name: str


class ConversationRecord(Record, kw_only=True):
    """A conversation as one person sees it, with its newest messages, the oldest of them first.

    Only staff get `possibleSenders`: the patients who may have written a conversation whose sender isn't surely known.
    """

    id: str
    subject: str
    patient_id: str | None
    prospect_id: str | None
    episode_id: str | None
    channel: Channel
    participants: list[ParticipantRecord]
    reply_address: ReplyAddress
    is_archived: bool
    unread_count: int
    last_message_at: datetime
    possible_senders: list[PossibleSender] | msgspec.UnsetType = msgspec.UNSET
    messages: list[MessageRecord]


class ToArchive(msgspec.Struct, rename="camel", kw_only=True):
    """Which conversations to archive."""

    conversation_ids: Annotated[list[GivenId], msgspec.Meta(min_length=1, max_length=1000)]


class ArchivedCount(Record, kw_only=True):
    """How many of the named conversations are archived now."""

    archived_count: int


SORTABLE = {
    "subject": Conversation.subject,
    "lastMessageAt": Conversation.last_message_at,
    "channel": Conversation.channel,
}


@api.get("/api/messaging/getconversations")
@endpoint(Act.USE_MESSAGES, MODULE)
def list_conversations(caller: Caller) -> Page[ConversationRecord]:
    """The caller's conversations, newest first; archived ones only with IncludeArchived."""
    session, query, actor = database.session(), payload.query(), caller.actor
    chosen = conversations.visible(session, actor)
    if not query.flag("IncludeArchived"):
        chosen = chosen.where(~conversations.is_archived(actor))
    for word in (query.text("Filter") or "").split()[:10]:
        chosen = chosen.where(conversations.mentions(caller.tenant_id, word))
    total, found = paginate(
        session,
        query,
        chosen.options(selectinload(Conversation.participants)),
        sortable=SORTABLE,
        default=(Conversation.last_message_at.desc(), Conversation.id),
    )
    return Page(total_count=total, items=_records(actor, found))


@api.post("/api/messaging/archive")
@endpoint(Act.USE_MESSAGES, MODULE)
def archive_conversations(caller: Caller) -> ArchivedCount:
    """Archive conversations for the caller only."""
    wanted = payload.body(ToArchive).conversation_ids
    return ArchivedCount(archived_count=conversations.archive(database.session(), caller.actor, wanted))


@api.post("/api/app/messaging/archive-message/<message_id>")
@endpoint(Act.USE_MESSAGES, MODULE)
def archive_message(caller: Caller, message_id: str) -> MessageRecord:
    """Archive a message for the caller only."""
    return _set_archived(caller, message_id, archived=True)


@api.post("/api/app/messaging/restore-message/<message_id>")
@endpoint(Act.USE_MESSAGES, MODULE)
def restore_message(caller: Caller, message_id: str) -> MessageRecord:
    """Restore a message for the caller only."""
    return _set_archived(caller, message_id, archived=False)


def _set_archived(caller: Caller, message_id: str, *, archived: bool) -> MessageRecord:
    session, actor = database.session(), caller.actor
    message = conversations.find_message(session, actor, message_id)
    state = conversations.set_message_archived(session, actor, message, archived=archived)
    withheld = documents.withheld_of(
        session, actor, [attachment.file_id for attachment in message.attachments]
    )
    return _message(actor, message, state, withheld)


def _records(actor: Actor, found: list[Conversation]) -> list[ConversationRecord]:
    session = database.session()
    ids = [conversation.id for conversation in found]
    messages = conversations.newest_messages(session, ids)
    shown_ids = [message.id for thread in messages.values() for message in thread]
    states = conversations.states_of(session, actor, shown_ids)
    attached = [
        file.file_id for thread in messages.values() for message in thread for file in message.attachments
    ]
    withheld = documents.withheld_of(session, actor, attached)
    unread = conversations.unread_counts(session, actor, ids)
    names = conversations.names_of_possible_senders(session, found) if actor.is_staff else {}
    archived = set(
        session.scalars(
            select(Conversation.id).where(Conversation.id.in_(ids), conversations.is_archived(actor))
        )
    )
    return [
        ConversationRecord(
            id=conversation.id,
            subject=conversation.subject,
            patient_id=conversation.patient_id,
            prospect_id=conversation.prospect_id,
            episode_id=conversation.episode_id,
            channel=conversation.channel,
            participants=[
                ParticipantRecord(id=participant.person_id, name=participant.name, role=participant.role)
                for participant in conversation.participants
            ],
            reply_address=ReplyAddress(email=conversation.reply_email, sms=conversation.reply_sms),
            is_archived=conversation.id in archived,
            unread_count=unread.get(conversation.id, 0),
            last_message_at=conversation.last_message_at,
            possible_senders=[
                PossibleSender(id=id_, name=names[id_])
                for id_ in conversation.possible_sender_ids or ()
                if id_ in names
            ]
            if actor.is_staff
            else msgspec.UNSET,
            messages=[
                _message(actor, message, states.get(message.id), withheld)
                for message in messages.get(conversation.id, [])
            ],
        )
        for conversation in found
    ]


def _message(
    actor: Actor, message: Message, state: MessageState | None, withheld: frozenset[str]
) -> MessageRecord:
    read_at = state.read_at if state is not None else None
    return MessageRecord(
        id=message.id,
        conversation_id=message.conversation_id,
        sender_id=message.sender_id,
        sender_name=message.sender_name,
        sender_verified=message.sender_verified,
        side=message.side,
        channel=message.channel,
        body=message.body,
        sent_at=message.sent_at,
        # Messages from the caller's own side are never unread.
        read_at=read_at if conversations.is_towards(message, actor) else message.sent_at,
        is_archived=state is not None and state.archived_at is not None,
        attachments=[
            as_record(attachment, AttachmentRecord)
            for attachment in message.attachments
            if attachment.file_id not in withheld
        ],
    )
