"""Adds a message from outside to the conversation where its sender and staff read it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy.orm import Session

from portal.careservice.domain import clinics, people
from portal.careservice.domain.conversations import Conversation
from portal.careservice.domain.enumerations import Channel
from portal.careservice.domain.inbound import placing
from portal.careservice.domain.inbound.senders import Sender, Writer, enquiry, writer
from portal.careservice.domain.inbound.threads import add_message, begin
from portal.careservice.domain.patients import Patient
from portal.careservice.domain.prospects import Prospect
from portal.careservice.webhooks.forms import Upload


@dataclass(frozen=True, kw_only=True)
class Received:
    """A text or e-mail to the clinic's own `reply_to`; `name` is what its sender calls themself.

    `by_address` and `by_reply` are the conversations that it answers by its address and by In-Reply-To.
    `is_verified` is None for a text; one that isn't `is_whole` couldn't be read completely.
    """

    channel: Channel
    subject: str
    body: str
    external_id: str | None
    reply_to: str
    name: str = ""
    is_verified: bool | None = None
    by_address: Conversation | None = None
    by_reply: Conversation | None = None
    is_whole: bool = True
    uploads: Sequence[Upload] = ()


def take(session: Session, tenant_id: str, sender: Sender, received: Received) -> str:
    """Store the message where its sender and staff alone read it, and return its id."""
    conversation, written_by = _place(session, tenant_id, sender, received)
    body = received.body
    if received.channel == Channel.EMAIL and _topic(received.subject) != _topic(conversation.subject):
        body = f"{received.subject}\n\n{body}".strip()
    return add_message(
        session,
        conversation,
        written_by,
        sender.address,
        received.channel,
        body,
        external_id=received.external_id,
        sender_verified=received.is_verified,
        uploads=received.uploads,
    )


def _topic(subject: str) -> str:
    """The subject without the "Re:" of an answer: any other word before a colon is its own."""
    return _ANSWER.sub("", subject).strip().casefold()


_ANSWER = re.compile(
    r"^(?:\s*(?:re|res|aw|antw|sv|vs|odp|ynt|rif|r|رد|回复|fwd?|wg|vl|vb|rv|tr|enc|i|pd)(?:\[[0-9]{1,3}\])?\s*[:：])+",
    re.IGNORECASE,
)
"""What mail programs put before the subject of an answer or of a forwarded mail, in several languages."""


def _place(
    session: Session, tenant_id: str, sender: Sender, received: Received
) -> tuple[Conversation, Writer | None]:
    patient, claimed, replied = sender.patient, sender.claimed, received.by_address
    if patient is not None and received.is_whole:
        found = placing.for_patient(session, patient, [replied, received.by_reply])
        return found or _begin(session, tenant_id, patient, received), writer(patient)
    if claimed is not None and replied is not None and received.is_whole:
        is_own = placing.by_reply_address_alone(session, claimed, replied)
        if is_own:
            return replied, None
    return _among_staff(session, tenant_id, sender, received)


def _among_staff(
    session: Session, tenant_id: str, sender: Sender, received: Received
) -> tuple[Conversation, Writer | None]:
    """The conversation with a sender who isn't surely a patient, and the sender if it is a known prospect."""
    replied = received.by_address
    about = session.get(Patient, replied.patient_id) if replied is not None and replied.patient_id else None
    possible = {patient.id for patient in (*sender.possible, about) if patient is not None}
    conversation, prospect = placing.for_stranger(session, tenant_id, sender), sender.prospect
    if conversation is None:
        if prospect is None and not possible and received.is_whole:
            prospect = _enquiry(session, tenant_id, sender, received)
        conversation = _begin(session, tenant_id, prospect, received, stranger=sender.key)
    conversation.possible_sender_ids = sorted(possible.union(conversation.possible_sender_ids or ()))
    is_known = prospect is not None and prospect.id == conversation.prospect_id
    return conversation, writer(prospect if is_known and received.is_verified is not False else None)


def _begin(
    session: Session,
    tenant_id: str,
    sender: Patient | Prospect | None,
    received: Received,
    *,
    stranger: str | None = None,
) -> Conversation:
    is_mail = received.channel == Channel.EMAIL
    return begin(
        session,
        tenant_id,
        sender,
        subject=received.subject or "E-mail",
        channel=received.channel,
        stranger=stranger,
        reply_email=received.reply_to if is_mail else None,
        reply_sms=None if is_mail else received.reply_to,
    )


def _enquiry(session: Session, tenant_id: str, sender: Sender, received: Received) -> Prospect:
    if received.channel == Channel.EMAIL:
        is_taken = people.is_known_as(session, tenant_id, received.name)
        first, _, last = (sender.address if is_taken else received.name).rpartition(" ")
        return enquiry(
            session, tenant_id, first_name=first, last_name=last, email=sender.address, source="E-mail"
        )
    phone = clinics.telephone(session, tenant_id, sender.address) or sender.address
    return enquiry(session, tenant_id, last_name=sender.address, phone_number=phone, source="SMS")
