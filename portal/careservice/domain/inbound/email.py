"""Inbound e-mail."""

from __future__ import annotations

from sqlalchemy.orm import Session

from portal.careservice.domain.enumerations import Channel
from portal.careservice.domain.inbound.addresses import AddressKind, clinic_of, mailbox_of, own_mailbox
from portal.careservice.domain.inbound.senders import by_email, enquiry, writer_of
from portal.careservice.domain.inbound.threads import (
    add_message,
    begin,
    by_replied_messages,
    by_reply_address,
    is_duplicate,
    newest,
)
from portal.careservice.webhooks.payloads import Mail


def take_mail(session: Session, mail: Mail) -> str | None:
    """Add an e-mail to the conversation that it replies to, its sender's newest one, or a new one.

    The conversation is found by its reply address or, if the sender takes part in it, by In-Reply-To. An unverified
    sender is treated as unknown, so that only the reply address counts. Returns the message's id, None if no clinic
    has the address or the mail is a duplicate.
    """
    tenant_id = clinic_of(session, AddressKind.EMAIL, [mailbox_of(address) for address in mail.to])
    if tenant_id is None:
        return None
    if is_duplicate(session, tenant_id, Channel.EMAIL, mail.message_id, is_verified=mail.is_verified):
        return None
    sender = by_email(session, tenant_id, mail.sender) if mail.is_verified else []
    conversation = (
        by_reply_address(session, tenant_id, mail.to)
        or by_replied_messages(session, tenant_id, mail.answers, sender)
        or newest(session, tenant_id, sender)
    )
    if conversation is None and not sender:
        first, _, last = mail.sender_name.rpartition(" ")
        sender = [
            enquiry(session, tenant_id, first_name=first, last_name=last, email=mail.sender, source="E-mail")
        ]
    if conversation is None:
        conversation = begin(
            session,
            tenant_id,
            sender[0],
            subject=mail.subject or "E-mail",
            channel=Channel.EMAIL,
            reply_email=own_mailbox(session, tenant_id, mail.to),
        )
    writer = writer_of(conversation, sender) if mail.is_verified else None
    return add_message(
        session,
        conversation,
        writer,
        mail.sender_name,
        Channel.EMAIL,
        mail.text,
        external_id=mail.message_id,
        sender_verified=mail.is_verified,
        uploads=mail.uploads,
    )
