"""Inbound text messages."""

from __future__ import annotations

from collections.abc import Collection

from sqlalchemy.orm import Session

from portal.careservice.domain import clinics
from portal.careservice.domain.enumerations import Channel
from portal.careservice.domain.inbound.addresses import AddressKind, clinic_of, without_spaces
from portal.careservice.domain.inbound.senders import by_number, enquiry, writer_of
from portal.careservice.domain.inbound.threads import add_message, begin, is_duplicate, newest
from portal.careservice.identity.tables import Tenant
from portal.careservice.webhooks.payloads import TextMessage


def take_text_message(
    session: Session, sms: TextMessage, *, of_clinics: Collection[str] | None = None
) -> str | None:
    """Add an SMS to its sender's newest conversation, or a new one; return the message's id.

    None if it was sent to a number that isn't a clinic's (or one of `of_clinics`, by name), or is a duplicate.
    """
    number = without_spaces(sms.to)
    tenant_id = clinic_of(session, AddressKind.SMS, [number])
    if tenant_id is None or is_duplicate(session, tenant_id, Channel.SMS, sms.sid):
        return None
    if of_clinics is not None and session.get_one(Tenant, tenant_id).name not in of_clinics:
        return None
    sender = by_number(session, tenant_id, without_spaces(sms.sender))
    conversation = newest(session, tenant_id, sender)
    if not sender:
        phone = clinics.telephone(session, tenant_id, sms.sender) or sms.sender
        sender = [enquiry(session, tenant_id, last_name=sms.sender, phone_number=phone, source="SMS")]
    if conversation is None:
        conversation = begin(
            session, tenant_id, sender[0], subject="Text message", channel=Channel.SMS, reply_sms=number
        )
    body = sms.body if not sms.media else f"{sms.body}\n[Pictures not received: {sms.media}]".strip()
    writer = writer_of(conversation, sender)
    return add_message(session, conversation, writer, sms.sender, Channel.SMS, body, external_id=sms.sid)
