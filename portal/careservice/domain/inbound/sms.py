"""Inbound text messages."""

from __future__ import annotations

from collections.abc import Collection

from sqlalchemy.orm import Session

from portal.careservice.domain import contacts
from portal.careservice.domain.contacts import Contact
from portal.careservice.domain.enumerations import Channel
from portal.careservice.domain.inbound.addresses import AddressKind, clinic_of, without_spaces
from portal.careservice.domain.inbound.messages import Received, take
from portal.careservice.domain.inbound.senders import by_number
from portal.careservice.domain.inbound.threads import is_duplicate
from portal.careservice.identity.tables import Tenant
from portal.careservice.webhooks.payloads import TextMessage


def take_text_message(
    session: Session, sms: TextMessage, *, of_clinics: Collection[str] | None = None
) -> str | None:
    """Add an SMS to a conversation of its sender (`placing`); return the message's id.

    None if it was sent to a number that isn't a clinic's (or one of `of_clinics`, by name), or is a duplicate.
    """
    number = without_spaces(sms.to)
    tenant_id = clinic_of(session, AddressKind.SMS, [number])
    if tenant_id is None or is_duplicate(session, tenant_id, Channel.SMS, sms.sid):
        return None
    if of_clinics is not None and session.get_one(Tenant, tenant_id).name not in of_clinics:
        return None
    key = contacts.key_of(session, tenant_id, Contact.PHONE_NUMBER, sms.sender)
    if key is not None:
        contacts.confirm(session, tenant_id, Contact.PHONE_NUMBER, key, sms.body)
    body = sms.body if not sms.media else f"{sms.body}\n[Pictures not received: {sms.media}]".strip()
    return take(
        session,
        tenant_id,
        by_number(session, tenant_id, sms.sender),
        Received(
            channel=Channel.SMS, subject="Text message", body=body, external_id=sms.sid, reply_to=number
        ),
    )
