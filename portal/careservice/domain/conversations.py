"""Conversations and their messages; each person has their own read and archived state."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import ForeignKey, Index, String, and_, func, or_, select
from sqlalchemy.orm import Mapped, Session, aliased, mapped_column, relationship, selectinload
from sqlalchemy.sql import ColumnElement, Select

from portal.careservice.clock import now
from portal.careservice.database import Base, Id
from portal.careservice.domain import sharing
from portal.careservice.domain.actor import Actor
from portal.careservice.domain.columns import one_of
from portal.careservice.domain.enumerations import Channel, MessageSide
from portal.careservice.domain.folding import folded, folded_from
from portal.careservice.domain.patients import Patient
from portal.careservice.domain.rules import NotThere
from portal.careservice.ids import new_id

EMBEDDED = 50
"""How many of a conversation's newest messages a list includes."""


class Conversation(Base):
    """A thread between a clinic and a patient or prospect, or somebody who isn't surely either.

    `stranger` is the address or number of such a sender, `possible_sender_ids` the patients who it may be. Patients
    never see those.
    """

    __tablename__ = "conversations"
    __table_args__ = (Index("ix_conversations_list", "tenant_id", "last_message_at"),)

    id: Mapped[Id] = mapped_column(primary_key=True)
    tenant_id: Mapped[str] = mapped_column(String(36))
    subject: Mapped[str]
    folded_subject: Mapped[str] = folded_from("subject")
    patient_id: Mapped[str | None] = mapped_column(ForeignKey("patients.id"), index=True)
    prospect_id: Mapped[str | None] = mapped_column(String(36), index=True)
    episode_id: Mapped[str | None] = mapped_column(String(36), index=True)
    channel: Mapped[Channel] = mapped_column(one_of(Channel))
    reply_email: Mapped[str | None]
    reply_sms: Mapped[str | None]
    last_message_at: Mapped[datetime]
    stranger: Mapped[str | None] = mapped_column(String(255), index=True)
    possible_sender_ids: Mapped[list[str] | None]

    participants: Mapped[list[Participant]] = relationship(order_by="Participant.position")


class Participant(Base):
    """A participant of a conversation."""

    __tablename__ = "conversation_participants"

    id: Mapped[Id] = mapped_column(primary_key=True, default=new_id)
    conversation_id: Mapped[str] = mapped_column(ForeignKey("conversations.id"), index=True)
    position: Mapped[int]
    person_id: Mapped[str] = mapped_column(String(36), index=True)
    name: Mapped[str]
    role: Mapped[str]


class Message(Base):
    """A message to the clinic (Inbound) or from it (Outbound).

    `tenant_id` is its conversation's, so that a search reads only one clinic's messages. `external_id` is the
    Message-ID of the e-mail or the sid of the SMS that it arrived as; `sender_verified` is whether the e-mail comes
    from its stated sender, None if that isn't checked.
    """

    __tablename__ = "messages"
    __table_args__ = (Index("ix_messages_thread", "conversation_id", "sent_at"),)

    id: Mapped[Id] = mapped_column(primary_key=True)
    conversation_id: Mapped[str] = mapped_column(ForeignKey("conversations.id"))
    tenant_id: Mapped[str] = mapped_column(String(36), index=True)
    sender_id: Mapped[str | None] = mapped_column(String(36))
    sender_name: Mapped[str]
    folded_sender: Mapped[str] = folded_from("sender_name")
    side: Mapped[MessageSide] = mapped_column(one_of(MessageSide))
    channel: Mapped[Channel] = mapped_column(one_of(Channel))
    body: Mapped[str]
    sent_at: Mapped[datetime]
    external_id: Mapped[str | None] = mapped_column(String(255), index=True)
    sender_verified: Mapped[bool | None]

    attachments: Mapped[list[Attachment]] = relationship(order_by="Attachment.position")


class Attachment(Base):
    """A file sent with a message."""

    __tablename__ = "attachments"

    id: Mapped[Id] = mapped_column(primary_key=True, default=new_id)
    message_id: Mapped[str] = mapped_column(ForeignKey("messages.id"), index=True)
    position: Mapped[int]
    file_id: Mapped[str] = mapped_column(String(36), index=True)
    name: Mapped[str]
    media_type: Mapped[str]
    size: Mapped[int]


class MessageState(Base):
    """When one person read and archived one message."""

    __tablename__ = "message_states"

    message_id: Mapped[str] = mapped_column(ForeignKey("messages.id"), primary_key=True)
    person_id: Mapped[Id] = mapped_column(primary_key=True)
    read_at: Mapped[datetime | None]
    archived_at: Mapped[datetime | None]


class ConversationState(Base):
    """When one person archived one conversation; a newer message restores it."""

    __tablename__ = "conversation_states"

    conversation_id: Mapped[str] = mapped_column(ForeignKey("conversations.id"), primary_key=True)
    person_id: Mapped[Id] = mapped_column(primary_key=True)
    archived_at: Mapped[datetime | None]


def visible(session: Session, actor: Actor) -> Select[Conversation]:
    """The conversations that `actor` may see: staff all of their clinic's, patients those about or with them.

    Patients see one that is about another patient only while that patient shares their care with them.
    """
    chosen = select(Conversation).where(Conversation.tenant_id == actor.tenant_id)
    if actor.is_staff:
        return chosen
    takes_part = Conversation.id.in_(
        select(Participant.conversation_id).where(Participant.person_id == actor.person_id)
    )
    is_open = or_(
        Conversation.patient_id.is_(None), Conversation.patient_id.in_(sharing.sharing_with(session, actor))
    )
    return chosen.where(
        or_(Conversation.patient_id.in_(sharing.own_records(actor)), and_(takes_part, is_open))
    )


def is_archived(actor: Actor) -> ColumnElement[bool]:
    """The condition that selects the conversations that the person has archived since their last message."""
    return (
        select(ConversationState.conversation_id)
        .where(
            ConversationState.conversation_id == Conversation.id,
            ConversationState.person_id == actor.person_id,
            ConversationState.archived_at >= Conversation.last_message_at,
        )
        .exists()
    )


def mentions(tenant_id: str, word: str) -> ColumnElement[bool]:
    """The condition that selects a clinic's conversations whose subject, messages, senders or patient contain `word`."""
    said = select(Message.conversation_id).where(
        Message.tenant_id == tenant_id,
        or_(
            Message.body.icontains(word, autoescape=True),
            Message.folded_sender.contains(folded(word), autoescape=True),
        ),
    )
    called = select(Patient.id).where(
        Patient.tenant_id == tenant_id, Patient.folded_name.contains(folded(word), autoescape=True)
    )
    return or_(
        Conversation.folded_subject.contains(folded(word), autoescape=True),
        Conversation.id.in_(said),
        Conversation.patient_id.in_(called),
    )


def find_message(session: Session, actor: Actor, message_id: str) -> Message:
    """The message, if `actor` may see its conversation; raises NotThere."""
    message = session.get(Message, message_id)
    if message is None:
        raise NotThere
    _require_visible(session, actor, [message.conversation_id])
    return message


def _require_visible(session: Session, actor: Actor, ids: Sequence[str]) -> list[Conversation]:
    found = list(session.scalars(visible(session, actor).where(Conversation.id.in_(ids))))
    if len(found) != len(set(ids)):
        raise NotThere
    return found


def set_message_archived(session: Session, actor: Actor, message: Message, *, archived: bool) -> MessageState:
    """Archive or restore a message for this person only; idempotent.

    Restoring a message of an archived conversation also restores the conversation.
    """
    state = _message_state(session, actor, message.id)
    if not archived:
        state.archived_at = None
        thread = session.get(ConversationState, (message.conversation_id, actor.person_id))
        if thread is not None:
            thread.archived_at = None
    elif state.archived_at is None:
        state.archived_at = now()
    return state


def _message_state(session: Session, actor: Actor, message_id: str) -> MessageState:
    state = session.get(MessageState, (message_id, actor.person_id))
    if state is None:
        state = MessageState(message_id=message_id, person_id=actor.person_id)
        session.add(state)
    return state


def archive(session: Session, actor: Actor, ids: Sequence[str]) -> int:
    """Archive conversations for this person only; return how many of `ids` are archived now. Raises NotThere."""
    for conversation in _require_visible(session, actor, ids):
        state = session.get(ConversationState, (conversation.id, actor.person_id))
        if state is None:
            state = ConversationState(conversation_id=conversation.id, person_id=actor.person_id)
            session.add(state)
        if state.archived_at is None or state.archived_at < conversation.last_message_at:
            state.archived_at = max(now(), conversation.last_message_at)
    return len(set(ids))


def is_towards(message: Message, actor: Actor) -> bool:
    """Whether somebody else sent the message to the actor's side, so that it can be unread."""
    wanted = MessageSide.INBOUND if actor.is_staff else MessageSide.OUTBOUND
    return message.sender_id != actor.sub and (message.side == wanted or not actor.is_staff)


def _towards(actor: Actor) -> ColumnElement[bool]:
    from_another = or_(Message.sender_id.is_(None), Message.sender_id != actor.person_id)
    return and_(from_another, Message.side == MessageSide.INBOUND) if actor.is_staff else from_another


def _unread(actor: Actor) -> Select[Any]:
    return (
        select(Message.id)
        .outerjoin(
            MessageState,
            and_(MessageState.message_id == Message.id, MessageState.person_id == actor.person_id),
        )
        .where(_towards(actor), MessageState.read_at.is_(None))
    )


def unread_counts(session: Session, actor: Actor, ids: Collection[str]) -> dict[str, int]:
    """The number of messages to the person that are unread and not archived, by conversation; 0 is left out."""
    rows = session.execute(
        _unread(actor)
        .where(Message.conversation_id.in_(ids), MessageState.archived_at.is_(None))
        .with_only_columns(Message.conversation_id, func.count())
        .group_by(Message.conversation_id)
    )
    return dict(rows.all())


def mark_read(session: Session, actor: Actor, ids: Collection[str], *, until: datetime | None = None) -> None:
    """Mark the messages to the person in these conversations as read: all, or those sent by `until`."""
    if not ids:
        return
    moment = now()
    visible_ids = select(
        visible(session, actor).with_only_columns(Conversation.id).where(Conversation.id.in_(ids)).subquery()
    )
    unread = _unread(actor).where(Message.conversation_id.in_(visible_ids))
    if until is not None:
        unread = unread.where(Message.sent_at <= until)
    for message_id in session.scalars(unread).all():
        _message_state(session, actor, message_id).read_at = moment


def newest_messages(session: Session, ids: Collection[str]) -> dict[str, list[Message]]:
    """The newest messages of each conversation, at most `EMBEDDED`, oldest first; two queries."""
    ranked = (
        select(
            Message,
            func.row_number()
            .over(partition_by=Message.conversation_id, order_by=(Message.sent_at.desc(), Message.id))
            .label("rank"),
        )
        .where(Message.conversation_id.in_(ids))
        .subquery()
    )
    newest = aliased(Message, ranked)
    messages = session.scalars(
        select(newest)
        .where(ranked.c.rank <= EMBEDDED)
        .order_by(newest.sent_at, newest.id)
        .options(selectinload(newest.attachments))
    )
    by_conversation: dict[str, list[Message]] = {}
    for message in messages:
        by_conversation.setdefault(message.conversation_id, []).append(message)
    return by_conversation


def states_of(session: Session, actor: Actor, messages: Collection[str]) -> dict[str, MessageState]:
    """The person's state of each of these messages, by message id; unread ones may have none."""
    states = session.scalars(
        select(MessageState).where(
            MessageState.person_id == actor.person_id, MessageState.message_id.in_(messages)
        )
    )
    return {state.message_id: state for state in states}


def names_of_possible_senders(session: Session, found: Collection[Conversation]) -> dict[str, str]:
    """The names of the patients who may be the senders of these conversations, by record id."""
    ids = {id_ for conversation in found for id_ in conversation.possible_sender_ids or ()}
    patients = session.scalars(select(Patient).where(Patient.id.in_(ids))) if ids else ()
    return {patient.id: patient.name for patient in patients}


def is_attached(session: Session, actor: Actor, file_id: str) -> bool:
    """Whether the file is attached to a message that `actor` may see."""
    attaching = (
        visible(session, actor)
        .join(Message, Message.conversation_id == Conversation.id)
        .join(Attachment, Attachment.message_id == Message.id)
        .where(Attachment.file_id == file_id)
    )
    return session.scalars(attaching.limit(1)).first() is not None


def ids_of_episode(session: Session, actor: Actor, episode_id: str) -> list[str]:
    """The ids of the conversations about an episode that `actor` may see, newest first."""
    chosen = (
        visible(session, actor)
        .where(Conversation.episode_id == episode_id)
        .order_by(Conversation.last_message_at.desc(), Conversation.id)
        .with_only_columns(Conversation.id)
    )
    return list(session.scalars(chosen))
