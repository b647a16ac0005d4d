"""Which conversation an inbound message belongs to, and adding it there."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Sequence

from sqlalchemy import func, or_, select, true
from sqlalchemy.orm import Session

from portal.careservice.clock import now
from portal.careservice.domain import notifications, people
from portal.careservice.domain.conversations import Attachment, Conversation, Message, Participant
from portal.careservice.domain.documents import File, FileContent
from portal.careservice.domain.enumerations import Channel, MessageSide
from portal.careservice.domain.inbound.senders import Writer, writer
from portal.careservice.domain.patients import Patient
from portal.careservice.domain.permissions import STAFF
from portal.careservice.domain.prospects import Prospect
from portal.careservice.ids import new_id
from portal.careservice.webhooks.forms import Upload

_ANSWER_MESSAGES = frozenset({"nurse", "coordinator"})


def by_reply_address(session: Session, tenant_id: str, addresses: Iterable[str]) -> Conversation | None:
    """The conversation whose reply address is among `addresses`."""
    return session.scalars(
        select(Conversation)
        .where(Conversation.tenant_id == tenant_id, func.lower(Conversation.reply_email).in_(list(addresses)))
        .order_by(Conversation.last_message_at.desc(), Conversation.id)
        .limit(1)
    ).first()


def by_replied_messages(session: Session, tenant_id: str, answers: Sequence[str]) -> Conversation | None:
    """The conversation of the newest message whose own or external id is among `answers`."""
    if not answers:
        return None
    own = [local for local in (answer.partition("@")[0] for answer in answers) if _is_id(local)]
    return session.scalars(
        select(Conversation)
        .join(Message, Message.conversation_id == Conversation.id)
        .where(
            Conversation.tenant_id == tenant_id, or_(Message.id.in_(own), Message.external_id.in_(answers))
        )
        .order_by(Message.sent_at.desc(), Message.id)
        .limit(1)
    ).first()


def _is_id(text: str) -> bool:
    try:
        return str(uuid.UUID(text)) == text
    except ValueError:
        return False


def is_duplicate(
    session: Session,
    tenant_id: str,
    channel: Channel,
    external_id: str | None,
    *,
    is_verified: bool | None = None,
) -> bool:
    """Whether the clinic already has a message with this external id.

    For a verified sender, messages by unverified ones don't count: a forged id could otherwise block the real message.
    """
    if external_id is None:
        return False
    found = (
        select(Message.id)
        .join(Conversation, Conversation.id == Message.conversation_id)
        .where(
            Conversation.tenant_id == tenant_id,
            Message.channel == channel,
            Message.external_id == external_id,
            Message.sender_verified.is_not(False) if is_verified else true(),
        )
    )
    return session.scalar(found.limit(1)) is not None


def begin(
    session: Session,
    tenant_id: str,
    sender: Patient | Prospect | None,
    *,
    subject: str,
    channel: Channel,
    stranger: str | None = None,
    reply_sms: str | None = None,
    reply_email: str | None = None,
) -> Conversation:
    """A new conversation with `sender`, or with `stranger`; one by e-mail gets a reply address of its own."""
    conversation_id = new_id()
    if reply_email is not None:
        local, _, domain = reply_email.partition("@")
        reply_email = f"{local}+{conversation_id.replace('-', '')}@{domain}"
    named = writer(sender)
    conversation = Conversation(
        id=conversation_id,
        tenant_id=tenant_id,
        subject=subject,
        patient_id=sender.id if isinstance(sender, Patient) else None,
        prospect_id=sender.id if isinstance(sender, Prospect) else None,
        channel=channel,
        reply_email=reply_email,
        reply_sms=reply_sms,
        last_message_at=now(),
        stranger=stranger,
        participants=[Participant(position=0, person_id=named.person_id, name=named.name, role=named.role)]
        if named
        else [],
    )
    session.add(conversation)
    session.flush()
    return conversation


def add_message(
    session: Session,
    conversation: Conversation,
    written_by: Writer | None,
    stranger: str,
    channel: Channel,
    body: str,
    *,
    external_id: str | None,
    sender_verified: bool | None = None,
    uploads: Sequence[Upload] = (),
) -> str:
    """Add a message, notify those who answer, and return its id; `stranger` names the sender if `written_by` is None."""
    moment = now()
    message = Message(
        id=new_id(),
        conversation_id=conversation.id,
        tenant_id=conversation.tenant_id,
        sender_id=written_by.person_id if written_by else None,
        sender_name=written_by.name if written_by else stranger,
        side=MessageSide.INBOUND,
        channel=channel,
        body=body,
        sent_at=moment,
        external_id=external_id,
        sender_verified=sender_verified,
        attachments=[
            _attach(session, conversation.tenant_id, position, upload)
            for position, upload in enumerate(uploads)
        ],
    )
    session.add(message)
    # A newer message restores the thread for those who archived it.
    conversation.last_message_at = max(conversation.last_message_at, moment)
    notifications.announce(
        session,
        tenant_id=conversation.tenant_id,
        who=_staff_of(session, conversation),
        kind="MessageReceived",
        notice="MessageFromSomebody" if conversation.stranger else "MessageFromOutside",
        entity=("Conversation", conversation.id),
    )
    return message.id


def _attach(session: Session, tenant_id: str, position: int, upload: Upload) -> Attachment:
    file = File(
        id=new_id(),
        tenant_id=tenant_id,
        name=upload.name,
        media_type=upload.media_type,
        size=len(upload.content),
        sha256=upload.sha256,
    )
    session.add(file)
    session.flush()
    session.add(FileContent(file_id=file.id, content=upload.content))
    return Attachment(
        position=position, file_id=file.id, name=file.name, media_type=file.media_type, size=file.size
    )


def _staff_of(session: Session, conversation: Conversation) -> set[str]:
    """Those who answer messages, and staff who take part."""
    staff = set(people.staff_with(session, conversation.tenant_id, STAFF))
    answering = set(people.staff_with(session, conversation.tenant_id, _ANSWER_MESSAGES))
    return answering | (staff & {participant.person_id for participant in conversation.participants})
