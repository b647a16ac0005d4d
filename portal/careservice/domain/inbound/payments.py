"""Payments that a provider reports; one for storage extends the time that embryos are paid for."""

from __future__ import annotations

import re
from calendar import monthrange
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any, cast

from sqlalchemy import String, select
from sqlalchemy.orm import Mapped, Session, mapped_column

from portal.careservice.clock import now
from portal.careservice.database import Base, Id
from portal.careservice.domain import notifications, people
from portal.careservice.domain.embryos import MOVES, EmbryoStorage
from portal.careservice.domain.enumerations import Severity
from portal.careservice.domain.episodes import Episode
from portal.careservice.domain.inbound.addresses import AddressKind, clinic_of
from portal.careservice.domain.patients import Patient, person_id
from portal.careservice.domain.rules import Invalid
from portal.careservice.webhooks.payloads import PaymentEvent

_NOTIFIED_OF_PAYMENTS = frozenset({"coordinator", "admin", "embryologist"})
_MOST_MONTHS = 120


class Payment(Base):
    """A payment as last reported by its provider; `amount` is in the currency's smallest unit."""

    __tablename__ = "payments"

    id: Mapped[str] = mapped_column(String(200), primary_key=True)
    tenant_id: Mapped[Id] = mapped_column(primary_key=True)
    amount: Mapped[int]
    currency: Mapped[str] = mapped_column(String(3))
    succeeded: Mapped[bool]
    told_at: Mapped[datetime]


def take_payment(session: Session, event: PaymentEvent) -> str | None:
    """Record a payment's result and, if it is for storage, extend its embryos' paid time; return the payment's id.

    None if the account isn't a clinic's, or the result is already known.
    """
    paid = event.data.object
    account = event.account or _text(paid.metadata, "account")
    tenant_id = clinic_of(session, AddressKind.PAYMENT, [account.lower()])
    if tenant_id is None:
        return None
    succeeded = event.type == "payment.succeeded"
    known = session.get(Payment, (paid.id, tenant_id))
    if known is not None and (known.succeeded or not succeeded):
        return None
    payment = known or Payment(id=paid.id, tenant_id=tenant_id)
    payment.amount, payment.currency = paid.amount, paid.currency.upper()
    payment.succeeded, payment.told_at = succeeded, now()
    session.add(payment)
    embryos = _paid_for(session, tenant_id, paid.metadata)
    is_for_storage = succeeded and paid.metadata.get("purpose") == "storage"
    is_applied = not is_for_storage or _is_extended(embryos, paid.metadata)
    _announce(session, tenant_id, payment, paid.metadata, embryos, is_applied=is_applied)
    return paid.id


def _is_extended(embryos: Sequence[EmbryoStorage], metadata: dict[str, Any]) -> bool:
    """Extend the embryos' paid time; return whether that is all that the payment says, as far as it can be read."""
    months = _months(metadata)
    stored = [embryo for embryo in embryos if MOVES[embryo.status]]
    if months is None:
        return False
    _extend(stored, months)
    return bool(stored) and set(_named(metadata)) <= {embryo.id for embryo in stored}


def _named(metadata: dict[str, Any]) -> list[str]:
    """The ids that a payment names: a list, or text with commas or of a JSON list, for many providers keep texts alone."""
    given = metadata.get("embryoStorageIds")
    texts = cast("list[object]", given) if isinstance(given, list) else [_text(metadata, "embryoStorageIds")]
    return [part.lower() for text in texts for part in re.split(r"[\s,;\[\]\"']+", str(text)) if part]


def _paid_for(session: Session, tenant_id: str, metadata: dict[str, Any]) -> list[EmbryoStorage]:
    """The embryos that a payment names (`embryoStorageIds`) or all of its patient's (`patientId`).

    A partner who has none pays for those of the episodes that they are the partner in, if these are of one patient.
    """
    named = _named(metadata)
    chosen = select(EmbryoStorage).where(EmbryoStorage.tenant_id == tenant_id)
    chosen = chosen.order_by(EmbryoStorage.embryo_code, EmbryoStorage.id)
    if named:
        return list(session.scalars(chosen.where(EmbryoStorage.id.in_(named))))
    payer = _payer(metadata)
    if own := list(session.scalars(chosen.where(EmbryoStorage.patient_id == payer))):
        return own
    shared = select(Episode.id).where(Episode.tenant_id == tenant_id, Episode.partner_id == payer)
    found = list(session.scalars(chosen.where(EmbryoStorage.episode_id.in_(shared))))
    return found if len({embryo.patient_id for embryo in found}) == 1 else []


def _payer(metadata: dict[str, Any]) -> str:
    return _text(metadata, "patientId").lower()


def _months(metadata: dict[str, Any]) -> int | None:
    """For how many months it is; None where that can't be read."""
    months = _text(metadata, "months") or "12"
    is_number = months.isascii() and months.isdigit() and len(months) < 4
    return int(months) if is_number and 1 <= int(months) <= _MOST_MONTHS else None


def _text(metadata: dict[str, Any], name: str) -> str:
    """What a payment says, "" for what is null as for what is missing."""
    value = metadata.get(name)
    return "" if value is None else str(value).strip()


def _extend(embryos: Iterable[EmbryoStorage], months: int) -> None:
    for embryo in embryos:
        embryo.storage_expires_at = _later(embryo.storage_expires_at or now(), months)
        embryo.touch(None)


def _later(moment: datetime, months: int) -> datetime:
    """The same day of the month `months` later, or the last day of a shorter month."""
    years, month = divmod(moment.month - 1 + months, 12)
    year, month = moment.year + years, month + 1
    if year > 9999:
        raise Invalid("This time is out of range.", "data.object.metadata.months")
    return moment.replace(year=year, month=month, day=min(moment.day, monthrange(year, month)[1]))


def _announce(
    session: Session,
    tenant_id: str,
    payment: Payment,
    metadata: dict[str, Any],
    embryos: Sequence[EmbryoStorage],
    *,
    is_applied: bool,
) -> None:
    """Notify each patient, with an episode of their own, who paid, and staff, who learn of one that isn't applied whole."""
    episodes = {embryo.patient_id: embryo.episode_id for embryo in reversed(embryos)}
    patient_ids = {*episodes, _payer(metadata)}
    patients = session.scalars(
        select(Patient).where(Patient.tenant_id == tenant_id, Patient.id.in_(patient_ids))
    ).all()
    staff = people.staff_with(session, tenant_id, _NOTIFIED_OF_PAYMENTS)
    told = [([person_id(patient)], episodes.get(patient.id), True) for patient in patients]
    for who, episode_id, is_well in (*told, (staff, embryos[0].episode_id if embryos else None, is_applied)):
        notifications.announce(
            session,
            tenant_id=tenant_id,
            who=who,
            kind="PaymentReceived" if payment.succeeded else "PaymentFailed",
            entity=("Episode", episode_id) if episode_id else ("Payment", None),
            severity=Severity.SUCCESS if payment.succeeded and is_well else Severity.WARNING,
            notice=None if is_well else "PaymentNotApplied",
            words={"payment": payment.id.replace("{", "").replace("}", "")},
            data={
                "paymentId": payment.id,
                "amount": payment.amount,
                "currency": payment.currency,
                **({"episodeId": episode_id} if episode_id else {}),
            },
        )
