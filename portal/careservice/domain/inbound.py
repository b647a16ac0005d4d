"""What inbound calls bring about: messages and enquiries from text messages and e-mails, and paid storage.

The clinic comes from where a call was addressed to; an address that is no clinic's has no effect.
"""

from __future__ import annotations

import hashlib
import uuid
from calendar import monthrange
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

from sqlalchemy import LargeBinary, String, delete, func, or_, select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Mapped, Session, mapped_column

from portal.careservice.clock import now
from portal.careservice.database import Base, Id
from portal.careservice.domain import notifications, people
from portal.careservice.domain.columns import one_of
from portal.careservice.domain.conversations import Attachment, Conversation, Message, Participant
from portal.careservice.domain.documents import File, FileContent
from portal.careservice.domain.embryos import MOVES, EmbryoStorage
from portal.careservice.domain.enumerations import Channel, MessageSide, ProspectStatus, Severity
from portal.careservice.domain.patients import Patient
from portal.careservice.domain.permissions import ALLOWED, STAFF, Act
from portal.careservice.domain.prospects import Prospect
from portal.careservice.domain.rules import Invalid
from portal.careservice.ids import new_id
from portal.careservice.webhooks.forms import Mail, PaymentEvent, TextMessage, Upload

KEPT_FOR = timedelta(days=30)
"""How long a delivery's answer is kept; senders give up long before."""

_ANSWER_MESSAGES = frozenset({"nurse", "coordinator"})
_SEE_TO_PAYMENTS = frozenset({"coordinator", "admin", "embryologist"})
_MOST_MONTHS = 120


class AddressKind(StrEnum):
    """What an address of a clinic is."""

    SMS = "Sms"
    EMAIL = "Email"
    PAYMENT = "Payment"


class InboundAddress(Base):
    """A number, mailbox or payment account of a clinic, as calls name it: lower case, numbers without spaces."""

    __tablename__ = "inbound_addresses"

    kind: Mapped[AddressKind] = mapped_column(one_of(AddressKind), primary_key=True)
    address: Mapped[str] = mapped_column(String(254), primary_key=True)
    tenant_id: Mapped[Id] = mapped_column(index=True)


class Delivery(Base):
    """A call that was taken, by its `webhook-id`, and what it was answered."""

    __tablename__ = "webhook_deliveries"

    webhook_id: Mapped[str] = mapped_column(String(200), primary_key=True)
    answer: Mapped[bytes] = mapped_column(LargeBinary)
    received_at: Mapped[datetime] = mapped_column(index=True)


class Payment(Base):
    """A payment as its provider last told; `amount` in the currency's smallest unit."""

    __tablename__ = "payments"

    id: Mapped[str] = mapped_column(String(200), primary_key=True)
    tenant_id: Mapped[Id] = mapped_column(primary_key=True)
    amount: Mapped[int]
    currency: Mapped[str] = mapped_column(String(3))
    succeeded: Mapped[bool]
    told_at: Mapped[datetime]


def recall(session: Session, webhook_id: str) -> bytes | Delivery:
    """The answer that this delivery got before, or a `Delivery` to keep its answer in.

    Two at once: the second waits in the database for the first to end, and then finds its answer.
    """
    moment = now()
    session.execute(delete(Delivery).where(Delivery.received_at < moment - KEPT_FOR))
    kept = session.get(Delivery, webhook_id)
    if kept is None:
        taken = Delivery(webhook_id=webhook_id, answer=b"", received_at=moment)
        try:
            with session.begin_nested():
                session.add(taken)
        except IntegrityError:
            kept = session.get_one(Delivery, webhook_id, populate_existing=True)
        else:
            return taken
    return kept.answer


def take_text_message(session: Session, sms: TextMessage) -> str | None:
    """Put an SMS into its sender's newest conversation, or a new one; returns the message's id.

    None where the number it was sent to is no clinic's.
    """
    number = _digits(sms.to)
    tenant_id = _clinic(session, AddressKind.SMS, [number])
    if tenant_id is None:
        return None
    sender = _by_number(session, tenant_id, _digits(sms.sender))
    conversation = _newest(session, tenant_id, sender)
    if not sender:
        sender = [_enquiry(session, tenant_id, last_name=sms.sender, phone_number=sms.sender, source="SMS")]
    if conversation is None:
        conversation = _begin(
            session, tenant_id, sender[0], subject="Text message", channel=Channel.SMS, reply_sms=number
        )
    body = sms.body if not sms.media else f"{sms.body}\n[Pictures not received: {sms.media}]".strip()
    writer = _writer(conversation, sender)
    return _add(session, conversation, writer, sms.sender, Channel.SMS, body, external_id=sms.sid)


def take_mail(session: Session, mail: Mail) -> str | None:
    """Put an e-mail into the conversation that it answers, its sender's newest one, or a new one.

    Its reply address names the conversation or, where its sender takes part in it, In-Reply-To does. Returns the
    message's id, None where no clinic has the address.
    """
    tenant_id = _clinic(session, AddressKind.EMAIL, [_mailbox(address) for address in mail.to])
    if tenant_id is None:
        return None
    sender = _by_mail(session, tenant_id, mail.sender)
    conversation = (
        _by_reply_address(session, tenant_id, mail.to)
        or _answered(session, tenant_id, mail.answers, sender)
        or _newest(session, tenant_id, sender)
    )
    if conversation is None and not sender:
        first, _, last = mail.sender_name.rpartition(" ")
        sender = [
            _enquiry(session, tenant_id, first_name=first, last_name=last, email=mail.sender, source="E-mail")
        ]
    if conversation is None:
        conversation = _begin(
            session,
            tenant_id,
            sender[0],
            subject=mail.subject or "E-mail",
            channel=Channel.EMAIL,
            reply_email=_own_mailbox(session, tenant_id, mail.to),
        )
    writer = _writer(conversation, sender)
    return _add(
        session,
        conversation,
        writer,
        mail.sender_name,
        Channel.EMAIL,
        mail.text,
        external_id=mail.message_id,
        uploads=mail.uploads,
    )


def take_payment(session: Session, event: PaymentEvent) -> str | None:
    """Note a payment's end; one for storage moves on until when its embryos are paid. Returns the payment's id.

    None where the account is no clinic's, or the payment was told of before.
    """
    paid = event.data.object
    account = event.account or str(paid.metadata.get("account", ""))
    tenant_id = _clinic(session, AddressKind.PAYMENT, [account.lower()])
    if tenant_id is None:
        return None
    if paid.amount < 0 or len(paid.currency) != 3 or not 0 < len(paid.id) <= 200:
        raise Invalid("An amount, a currency of three letters and an id are needed.", "data.object")
    succeeded = event.type == "payment.succeeded"
    known = session.get(Payment, (paid.id, tenant_id))
    if known is not None and (known.succeeded or not succeeded):
        return None
    payment = known or Payment(id=paid.id, tenant_id=tenant_id)
    payment.amount, payment.currency = paid.amount, paid.currency.upper()
    payment.succeeded, payment.told_at = succeeded, now()
    session.add(payment)
    embryos = _paid_for(session, tenant_id, paid.metadata)
    if succeeded and paid.metadata.get("purpose") == "storage":
        _extend(embryos, _months(paid.metadata))
    _tell_of_payment(session, tenant_id, payment, paid.metadata, embryos)
    return paid.id


# ── whose address ───────────────────────────────────────────────────────────────────────────────────────


def _clinic(session: Session, kind: AddressKind, addresses: Sequence[str]) -> str | None:
    """The clinic of the first of `addresses` that is one's."""
    rows = session.execute(
        select(InboundAddress.address, InboundAddress.tenant_id).where(
            InboundAddress.kind == kind, InboundAddress.address.in_(addresses)
        )
    )
    clinics = dict(rows.all())
    return next((clinics[address] for address in addresses if address in clinics), None)


def _digits(number: str) -> str:
    return "".join(character for character in number if character not in " -()./\t")


def _mailbox(address: str) -> str:
    """`address` without what stands after a plus sign: `reply+x@clinic.example` is of `reply@clinic.example`."""
    local, _, domain = address.partition("@")
    return f"{local.partition('+')[0]}@{domain}"


def _own_mailbox(session: Session, tenant_id: str, addresses: Iterable[str]) -> str:
    return next(
        mailbox
        for mailbox in map(_mailbox, addresses)
        if _clinic(session, AddressKind.EMAIL, [mailbox]) == tenant_id
    )


# ── who wrote ───────────────────────────────────────────────────────────────────────────────────────────

Sender = Patient | Prospect


def _by_number(session: Session, tenant_id: str, number: str) -> list[Sender]:
    def same(column: Any) -> Any:
        for character in " -()./":
            column = func.replace(column, character, "")
        return column == number

    return _known(session, tenant_id, same(Patient.phone_number), same(Prospect.phone_number))


def _by_mail(session: Session, tenant_id: str, address: str) -> list[Sender]:
    return _known(
        session, tenant_id, func.lower(Patient.email) == address, func.lower(Prospect.email) == address
    )


def _known(session: Session, tenant_id: str, patient_is: Any, prospect_is: Any) -> list[Sender]:
    """The patients that a sender may be or else the enquirers, the newest first; more than one may share a number."""
    patients = session.scalars(
        select(Patient)
        .where(Patient.tenant_id == tenant_id, Patient.is_active, patient_is)
        .order_by(Patient.creation_time.desc(), Patient.id)
    ).all()
    if patients:
        return list(patients)
    prospects = session.scalars(
        select(Prospect)
        .where(Prospect.tenant_id == tenant_id, Prospect.status != ProspectStatus.MERGED, prospect_is)
        .order_by(Prospect.creation_time.desc(), Prospect.id)
    )
    return list(prospects)


def _enquiry(session: Session, tenant_id: str, *, source: str, last_name: str, **known: str) -> Prospect:
    prospect = Prospect(
        id=new_id(),
        tenant_id=tenant_id,
        **{"first_name": "", **known},
        last_name=last_name,
        source=source,
        status=ProspectStatus.NEW,
    )
    session.add(prospect)
    session.flush()
    notifications.announce(
        session,
        tenant_id=tenant_id,
        who=people.staff_with(session, tenant_id, ALLOWED[Act.MERGE_PROSPECTS]),
        kind="ProspectReceived",
        words="EnquiryReceived",
        entity=("Prospect", prospect.id),
    )
    return prospect


def _person_id(sender: Sender) -> str:
    return (sender.user_id or sender.id) if isinstance(sender, Patient) else sender.id


class _Writer:
    """Who wrote, as a message names one."""

    def __init__(self, sender: Sender) -> None:
        self.person_id = _person_id(sender)
        self.name = (
            sender.name if isinstance(sender, Patient) else f"{sender.first_name} {sender.last_name}".strip()
        )
        self.role = "patient" if isinstance(sender, Patient) else "prospect"


def _writer(conversation: Conversation, sender: Sequence[Sender]) -> _Writer | None:
    """The one among `sender` who takes part in the conversation, else the first; None for a stranger."""
    inside = _people_of(conversation)
    found = next((one for one in sender if not inside.isdisjoint({one.id, _person_id(one)})), None)
    return _Writer(found or sender[0]) if sender else None


def _people_of(conversation: Conversation) -> set[str | None]:
    named = {participant.person_id for participant in conversation.participants}
    return named | {conversation.patient_id, conversation.prospect_id}


# ── which conversation ──────────────────────────────────────────────────────────────────────────────────


def _with(sender: Sequence[Sender]) -> Any:
    ids = [one.id for one in sender]
    return or_(
        Conversation.patient_id.in_(ids),
        Conversation.prospect_id.in_(ids),
        Conversation.id.in_(
            select(Participant.conversation_id).where(
                Participant.person_id.in_([_person_id(one) for one in sender])
            )
        ),
    )


def _newest(session: Session, tenant_id: str, sender: Sequence[Sender]) -> Conversation | None:
    if not sender:
        return None
    return session.scalars(
        select(Conversation)
        .where(Conversation.tenant_id == tenant_id, _with(sender))
        .order_by(Conversation.last_message_at.desc(), Conversation.id)
        .limit(1)
    ).first()


def _by_reply_address(session: Session, tenant_id: str, addresses: Iterable[str]) -> Conversation | None:
    return session.scalars(
        select(Conversation)
        .where(Conversation.tenant_id == tenant_id, func.lower(Conversation.reply_email).in_(list(addresses)))
        .order_by(Conversation.last_message_at.desc(), Conversation.id)
        .limit(1)
    ).first()


def _answered(
    session: Session, tenant_id: str, answers: Sequence[str], sender: Sequence[Sender]
) -> Conversation | None:
    """The conversation of one of the messages answered: known by its own id or by the one it came with."""
    if not (answers and sender):
        return None
    own = [local for local in (answer.partition("@")[0] for answer in answers) if _is_id(local)]
    return session.scalars(
        select(Conversation)
        .join(Message, Message.conversation_id == Conversation.id)
        .where(
            Conversation.tenant_id == tenant_id,
            _with(sender),
            or_(Message.id.in_(own), Message.external_id.in_(answers)),
        )
        .order_by(Message.sent_at.desc(), Message.id)
        .limit(1)
    ).first()


def _is_id(text: str) -> bool:
    try:
        return str(uuid.UUID(text)) == text
    except ValueError:
        return False


def _begin(
    session: Session,
    tenant_id: str,
    sender: Sender,
    *,
    subject: str,
    channel: Channel,
    reply_sms: str | None = None,
    reply_email: str | None = None,
) -> Conversation:
    conversation_id = new_id()
    if reply_email is not None:
        local, _, domain = reply_email.partition("@")
        reply_email = f"{local}+{conversation_id.replace('-', '')}@{domain}"
    writer = _Writer(sender)
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
        participants=[
            Participant(position=0, person_id=writer.person_id, name=writer.name, role=writer.role)
        ],
    )
    session.add(conversation)
    session.flush()
    return conversation


def _add(
    session: Session,
    conversation: Conversation,
    writer: _Writer | None,
    stranger: str,
    channel: Channel,
    body: str,
    *,
    external_id: str | None,
    uploads: Sequence[Upload] = (),
) -> str:
    moment = now()
    message = Message(
        id=new_id(),
        conversation_id=conversation.id,
        sender_id=writer.person_id if writer else None,
        sender_name=writer.name if writer else stranger,
        side=MessageSide.INBOUND,
        channel=channel,
        body=body,
        sent_at=moment,
        external_id=external_id,
        attachments=[
            _attach(session, conversation.tenant_id, position, upload)
            for position, upload in enumerate(uploads)
        ],
    )
    session.add(message)
    # A newer message brings the thread back to those who had archived it.
    conversation.last_message_at = max(conversation.last_message_at, moment)
    notifications.announce(
        session,
        tenant_id=conversation.tenant_id,
        who=_staff_of(session, conversation),
        kind="MessageReceived",
        words="MessageFromOutside",
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
        sha256=hashlib.sha256(upload.content).hexdigest(),
    )
    session.add(file)
    session.flush()
    session.add(FileContent(file_id=file.id, content=upload.content))
    return Attachment(
        position=position, file_id=file.id, name=file.name, media_type=file.media_type, size=file.size
    )


def _staff_of(session: Session, conversation: Conversation) -> set[str]:
    """Those who answer messages, and whoever of the staff takes part."""
    staff = set(people.staff_with(session, conversation.tenant_id, STAFF))
    answering = set(people.staff_with(session, conversation.tenant_id, _ANSWER_MESSAGES))
    return answering | (staff & {participant.person_id for participant in conversation.participants})


# ── payments ────────────────────────────────────────────────────────────────────────────────────────────


def _paid_for(session: Session, tenant_id: str, metadata: dict[str, Any]) -> list[EmbryoStorage]:
    """The embryos that a payment names (`embryoStorageIds`, between commas) or all of its patient's (`patientId`)."""
    named = [part.strip().lower() for part in str(metadata.get("embryoStorageIds", "")).split(",")]
    chosen = select(EmbryoStorage).where(EmbryoStorage.tenant_id == tenant_id)
    if any(named):
        chosen = chosen.where(EmbryoStorage.id.in_(named))
    else:
        chosen = chosen.where(EmbryoStorage.patient_id == str(metadata.get("patientId", "")))
    return list(session.scalars(chosen.order_by(EmbryoStorage.embryo_code, EmbryoStorage.id)))


def _months(metadata: dict[str, Any]) -> int:
    months = str(metadata.get("months", "12"))
    if not (months.isascii() and months.isdigit() and len(months) < 4 and 1 <= int(months) <= _MOST_MONTHS):
        raise Invalid(f"This is a whole number from 1 to {_MOST_MONTHS}.", "data.object.metadata.months")
    return int(months)


def _extend(embryos: Iterable[EmbryoStorage], months: int) -> None:
    for embryo in embryos:
        if MOVES[embryo.status]:
            embryo.storage_expires_at = _later(embryo.storage_expires_at or now(), months)
            embryo.touch(None)


def _later(moment: datetime, months: int) -> datetime:
    """The same day of the month so many months on, or the last of a month that is shorter."""
    years, month = divmod(moment.month - 1 + months, 12)
    year, month = moment.year + years, month + 1
    if year > 9999:
        raise Invalid("This time can't be reckoned with.", "data.object.metadata.months")
    return moment.replace(year=year, month=month, day=min(moment.day, monthrange(year, month)[1]))


def _tell_of_payment(
    session: Session,
    tenant_id: str,
    payment: Payment,
    metadata: dict[str, Any],
    embryos: Sequence[EmbryoStorage],
) -> None:
    patient_ids = {embryo.patient_id for embryo in embryos} or {str(metadata.get("patientId", ""))}
    patients = session.scalars(
        select(Patient).where(Patient.tenant_id == tenant_id, Patient.id.in_(patient_ids))
    ).all()
    notifications.announce(
        session,
        tenant_id=tenant_id,
        who=[
            *(_person_id(patient) for patient in patients),
            *people.staff_with(session, tenant_id, _SEE_TO_PAYMENTS),
        ],
        kind="PaymentReceived" if payment.succeeded else "PaymentFailed",
        entity=("Episode", embryos[0].episode_id) if embryos else ("Payment", None),
        severity=Severity.SUCCESS if payment.succeeded else Severity.WARNING,
        data={"paymentId": payment.id, "amount": payment.amount, "currency": payment.currency},
    )
