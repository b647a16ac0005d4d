"""Whose an e-mail address or telephone number surely is.

What stands in a record is a claim. It becomes the patient's when staff confirm it, when a code that the patient was
given here arrives from it, or because the patient's account has the same address verified.
"""

from __future__ import annotations

import re
import secrets
import unicodedata
from datetime import datetime, timedelta
from enum import StrEnum
from hmac import compare_digest
from typing import Any

from sqlalchemy import ForeignKey, String, and_, func, or_, select
from sqlalchemy.orm import Mapped, Session, mapped_column
from sqlalchemy.sql import ColumnElement

from portal.careservice.clock import now
from portal.careservice.database import Base, Id
from portal.careservice.domain import clinics, notifications, patients, people
from portal.careservice.domain.actor import Actor
from portal.careservice.domain.columns import one_of
from portal.careservice.domain.inbound.addresses import AddressKind, InboundAddress
from portal.careservice.domain.notifications import Notification
from portal.careservice.domain.patients import Patient, PatientDetails
from portal.careservice.domain.rules import Invalid, Refused, Rule
from portal.careservice.identity.tables import Person

CODE_HOURS = 24
"""How long a code can be used."""

MOST_WRONG = 5
"""How many texts with other codes end a code."""

_CODE = re.compile(r"(?<!\d)(?<![+\d][ -])(\d{4})[\s-]?(\d{4})(?![ -]?\d)")
"""Eight digits, but no part of a longer number, as `+65 1234 5678` or of a card."""
_READ = 1000
_MOST_CODES = 20
_TOLD_OF_SHARED = frozenset({"nurse", "coordinator", "admin"})


class Contact(StrEnum):
    """A contact detail by which senders are known: its attribute in `Patient` and `PatientDetails`."""

    EMAIL = "email"
    PHONE_NUMBER = "phone_number"


class ContactCode(Base):
    """The code that confirms a contact detail if it is sent from `address`; `wrong` counts other codes from there."""

    __tablename__ = "contact_codes"

    patient_id: Mapped[Id] = mapped_column(ForeignKey("patients.id"), primary_key=True)
    contact: Mapped[Contact] = mapped_column(one_of(Contact), primary_key=True)
    address: Mapped[str] = mapped_column(String(255), index=True)
    code: Mapped[str] = mapped_column(String(8))
    wrong: Mapped[int] = mapped_column(default=0)
    expires_at: Mapped[datetime]


def key_of(session: Session, tenant_id: str, contact: Contact, given: str | None) -> str | None:
    """The form in which two details are compared: an address in lower case, a number in E.164; None if it is neither."""
    written = (given or "").strip()
    if contact == Contact.EMAIL:
        return written.lower() if "@" in written else None
    return clinics.telephone(session, tenant_id, written)


def owners(session: Session, tenant_id: str, contact: Contact, key: str) -> list[Patient]:
    """The active patients to whom the detail surely belongs, newest record first."""
    confirmed = Patient.email_verified if contact == Contact.EMAIL else Patient.phone_number_verified
    surely = and_(_has(contact, key), confirmed)
    if contact == Contact.EMAIL:
        surely = or_(surely, Patient.id.in_(_by_account(tenant_id, key)))
    return _records(session, tenant_id, and_(surely, Patient.is_active))


def claimants(session: Session, tenant_id: str, contact: Contact, key: str) -> list[Patient]:
    """The patients whose record or account has the detail, confirmed or not, newest record first."""
    claimed = _has(contact, key)
    if contact == Contact.EMAIL:
        claimed = or_(claimed, Patient.id.in_(_by_account(tenant_id, key)))
    return _records(session, tenant_id, claimed)


def _records(session: Session, tenant_id: str, condition: ColumnElement[bool]) -> list[Patient]:
    found = session.scalars(
        select(Patient)
        .where(Patient.tenant_id == tenant_id, condition)
        .order_by(Patient.creation_time.desc(), Patient.id)
    )
    return list(found)


def _has(contact: Contact, key: str) -> ColumnElement[bool]:
    if contact == Contact.EMAIL:
        return func.lower(func.trim(Patient.email)) == key
    written: Any = Patient.phone_number
    for character in " -()./":
        written = func.replace(written, character, "")
    return written == key


def _by_account(tenant_id: str, key: str) -> Any:
    return (
        select(Patient.id)
        .join(Person, Person.id == func.coalesce(Patient.user_id, Patient.id))
        .where(Person.tenant_id == tenant_id, Person.email_verified, func.lower(Person.email) == key)
    )


def update(session: Session, actor: Actor, patient: Patient, details: PatientDetails, stamp: str) -> None:
    """Update the record (`patients.update`); changed contact details aren't confirmed unless staff say so.

    The patient gets a code to confirm them with. That another record has the same one is told to staff alone.
    """
    before = {contact: getattr(patient, contact) for contact in Contact}
    patients.update(session, actor, patient, details, stamp)
    for contact in Contact:
        key = key_of(session, patient.tenant_id, contact, getattr(patient, contact))
        is_changed = key is None or key != key_of(session, patient.tenant_id, contact, before[contact])
        is_confirmed = _confirmed(session, actor, patient, details, contact, key, is_changed=is_changed)
        setattr(patient, f"{contact}_verified", is_confirmed)
        if key is None:
            continue
        if is_changed:
            _tell_if_shared(session, patient, contact, key)
        if not is_confirmed and not actor.is_staff:
            _give_code(session, actor, patient, contact, key)


def _confirmed(
    session: Session,
    actor: Actor,
    patient: Patient,
    details: PatientDetails,
    contact: Contact,
    key: str | None,
    *,
    is_changed: bool,
) -> bool:
    """Whether the detail counts as confirmed after this update; raises Refused if patients say so themselves."""
    given: bool | None = getattr(details, f"{contact}_verified")
    kept: bool = getattr(patient, f"{contact}_verified")
    if not actor.is_staff:
        if not is_changed and given is True and not kept:
            raise Refused(Rule.FIELD_NOT_YOURS)
        given = None
    if given is True and key is None:
        raise Invalid("There is nothing that could be confirmed.", _MEMBERS[contact])
    if given is True and contact == Contact.PHONE_NUMBER:
        patient.phone_number = key
    if contact == Contact.EMAIL and key is not None and _is_accounts(session, patient, key):
        return True
    return kept and not is_changed if given is None else given


_MEMBERS = {Contact.EMAIL: "email", Contact.PHONE_NUMBER: "phoneNumber"}


def _is_accounts(session: Session, patient: Patient, key: str) -> bool:
    return session.scalar(_by_account(patient.tenant_id, key).where(Patient.id == patient.id)) is not None


def _tell_if_shared(session: Session, patient: Patient, contact: Contact, key: str) -> None:
    """Notify staff that another person's record has this detail too, at most once a day."""
    others = [
        other
        for other in claimants(session, patient.tenant_id, contact, key)
        if patients.person_id(other) != patients.person_id(patient)
    ]
    data = {
        "patientId": patient.id,
        "otherPatientIds": [other.id for other in others],
        "member": _MEMBERS[contact],
    }
    told = session.scalars(
        select(Notification.data).where(
            Notification.entity_id == patient.id, Notification.creation_time > now() - timedelta(days=1)
        )
    )
    if others and data not in list(told):
        notifications.announce(
            session,
            tenant_id=patient.tenant_id,
            who=people.staff_with(session, patient.tenant_id, _TOLD_OF_SHARED),
            kind="AccountSecurity",
            notice="ContactShared",
            entity=("Patient", patient.id),
            data=data,
            words={"names": ", ".join(one.name for one in (patient, *others))},
        )


def _give_code(session: Session, actor: Actor, patient: Patient, contact: Contact, key: str) -> None:
    """Give the patient a code for this detail, unless there is one that can still confirm it."""
    kind = AddressKind.EMAIL if contact == Contact.EMAIL else AddressKind.SMS
    to = session.scalar(
        select(InboundAddress.address)
        .where(InboundAddress.tenant_id == patient.tenant_id, InboundAddress.kind == kind)
        .order_by(InboundAddress.address)
    )
    given = session.get(ContactCode, (patient.id, contact))
    if to is None or (
        given is not None and given.address == key and given.expires_at > now() and given.wrong < MOST_WRONG
    ):
        return
    code = f"{secrets.randbelow(10**8):08}"
    given = given or ContactCode(patient_id=patient.id, contact=contact)
    given.address, given.code, given.wrong = key, code, 0
    given.expires_at = now() + timedelta(hours=CODE_HOURS)
    session.add(given)
    notifications.announce(
        session,
        tenant_id=patient.tenant_id,
        who=[actor.person_id],
        kind="AccountSecurity",
        notice="ConfirmEmail" if contact == Contact.EMAIL else "ConfirmPhoneNumber",
        entity=("Patient", patient.id),
        words={"code": f"{code[:4]} {code[4:]}", "to": to},
    )


def confirm(session: Session, tenant_id: str, contact: Contact, key: str, text: str) -> bool:
    """Whether `text`, which came from the detail `key`, confirms it for a patient by holding the code.

    After `MOST_WRONG` texts with other codes, which the patient's own number isn't, it confirms nothing any more. Only what is known to come from there may be
    given.
    """
    found = _CODE.findall(text[:_READ])[:_MOST_CODES]
    sent = ["".join(str(unicodedata.decimal(digit)) for digit in first + last) for first, last in found]
    pending = session.scalars(
        select(ContactCode)
        .join(Patient, Patient.id == ContactCode.patient_id)
        .where(
            Patient.tenant_id == tenant_id,
            ContactCode.contact == contact,
            ContactCode.address == key,
            ContactCode.expires_at > now(),
            ContactCode.wrong < MOST_WRONG,
        )
    ).all()
    right = [one for one in pending if any(compare_digest(one.code, code) for code in sent)]
    for one in pending if not right else ():
        own = session.get_one(Patient, one.patient_id).phone_number or ""
        one.wrong += any(not own.endswith(code) for code in sent)
    for one in right:
        _confirm(session, session.get_one(Patient, one.patient_id), contact, key)
        session.delete(one)
    return bool(right)


def _confirm(session: Session, patient: Patient, contact: Contact, key: str) -> None:
    if key_of(session, patient.tenant_id, contact, getattr(patient, contact)) != key:
        return
    setattr(patient, f"{contact}_verified", True)
    if contact == Contact.PHONE_NUMBER:
        patient.phone_number = key
    patient.touch(patients.person_id(patient))
    notifications.announce(
        session,
        tenant_id=patient.tenant_id,
        who=[patients.person_id(patient)],
        kind="AccountSecurity",
        notice="ContactConfirmed",
        entity=("Patient", patient.id),
    )
