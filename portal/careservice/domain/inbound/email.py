"""Inbound e-mail."""

from __future__ import annotations

from sqlalchemy.orm import Session

from portal.careservice.domain import contacts
from portal.careservice.domain.contacts import Contact
from portal.careservice.domain.enumerations import Channel
from portal.careservice.domain.inbound.addresses import AddressKind, clinic_of, mailbox_of, own_mailbox
from portal.careservice.domain.inbound.messages import Received, take
from portal.careservice.domain.inbound.senders import by_email
from portal.careservice.domain.inbound.threads import by_replied_messages, by_reply_address, is_duplicate
from portal.careservice.webhooks.payloads import Mail


def take_mail(session: Session, mail: Mail) -> str | None:
    """Add an e-mail to a conversation of its sender (`placing`); return the message's id.

    What couldn't be read of it is named, and what arrived attached. None if no clinic has the address or the mail is a
    duplicate.
    """
    tenant_id = clinic_of(session, AddressKind.EMAIL, [mailbox_of(address) for address in mail.to])
    if tenant_id is None:
        return None
    if is_duplicate(session, tenant_id, Channel.EMAIL, mail.message_id, is_verified=mail.is_verified):
        return None
    if mail.is_verified:
        contacts.confirm(session, tenant_id, Contact.EMAIL, mail.sender, f"{mail.subject}\n{mail.text}")
    body, uploads = mail.text, mail.uploads
    if mail.original is not None:
        body = f"{body}\n\n[Couldn't be read: {', '.join(mail.faults)}. The original is attached.]".strip()
        uploads = (*uploads, mail.original)
    return take(
        session,
        tenant_id,
        by_email(session, tenant_id, mail.sender or "unknown sender", is_verified=mail.is_verified),
        Received(
            channel=Channel.EMAIL,
            subject=mail.subject,
            body=body,
            external_id=mail.message_id,
            reply_to=own_mailbox(session, tenant_id, mail.to),
            name=mail.sender_name,
            is_verified=mail.is_verified,
            by_address=by_reply_address(session, tenant_id, mail.to),
            by_reply=by_replied_messages(session, tenant_id, mail.answers),
            is_whole=not mail.faults,
            uploads=uploads,
        ),
    )
