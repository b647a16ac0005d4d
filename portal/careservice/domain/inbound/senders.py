"""Senders of messages: whose a telephone number or an e-mail address is, surely or possibly."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sqlalchemy import case, func, select
from sqlalchemy.orm import Session

from portal.careservice.domain import contacts, notifications, people
from portal.careservice.domain.contacts import Contact
from portal.careservice.domain.enumerations import ProspectStatus
from portal.careservice.domain.inbound.addresses import without_spaces
from portal.careservice.domain.patients import Patient, person_id
from portal.careservice.domain.permissions import ALLOWED, Act
from portal.careservice.domain.prospects import Prospect, details_for_staff
from portal.careservice.ids import new_id


@dataclass(frozen=True, kw_only=True)
class Sender:
    """Who sent a message from `address`, which is compared as `key`.

    `patient` is surely the sender; `claimed` would be, if the message weren't unverified. `possible` are all patients
    who it may be. `prospect` is the enquiry that came from there before.
    """

    address: str
    key: str
    patient: Patient | None = None
    claimed: Patient | None = None
    possible: tuple[Patient, ...] = ()
    prospect: Prospect | None = None


@dataclass(frozen=True, kw_only=True)
class Writer:
    """The writer of a message, as the message names one."""

    person_id: str
    name: str
    role: str


def by_number(session: Session, tenant_id: str, number: str) -> Sender:
    """The sender of a text message from `number`, which is read as dialled in the clinic's country."""
    key = contacts.key_of(session, tenant_id, Contact.PHONE_NUMBER, number)
    if key is None:
        return Sender(address=number, key=without_spaces(number).lower() or number)
    written: Any = Prospect.phone_number
    for character in " -()./":
        written = func.replace(written, character, "")
    return _sender(session, tenant_id, Contact.PHONE_NUMBER, number, key, written == key)


def by_email(session: Session, tenant_id: str, address: str, *, is_verified: bool) -> Sender:
    """The sender of an e-mail from `address`, in lower case; an unverified one is nobody surely."""
    found = _sender(
        session, tenant_id, Contact.EMAIL, address, address, func.lower(Prospect.email) == address
    )
    if is_verified:
        return found
    return Sender(address=address, key=address, claimed=found.patient, possible=found.possible)


def _sender(
    session: Session, tenant_id: str, contact: Contact, address: str, key: str, prospect_is: Any
) -> Sender:
    owners = contacts.owners(session, tenant_id, contact, key)
    if len({person_id(owner) for owner in owners}) == 1:
        return Sender(address=address, key=key, patient=owners[0], possible=(owners[0],))
    possible = contacts.claimants(session, tenant_id, contact, key)
    prospect = session.scalars(
        select(Prospect)
        .where(Prospect.tenant_id == tenant_id, prospect_is)
        .order_by(
            case((Prospect.merged_into_id.is_(None), 0), else_=1), Prospect.creation_time.desc(), Prospect.id
        )
        .limit(1)
    ).first()
    while prospect is not None and prospect.merged_into_id is not None:
        prospect = session.get(Prospect, prospect.merged_into_id)
    return Sender(address=address, key=key, possible=tuple(possible), prospect=None if possible else prospect)


def enquiry(
    session: Session, tenant_id: str, *, source: str, last_name: str, **known: str | None
) -> Prospect:
    """A new prospect; those who may merge prospects are notified."""
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
        notice="EnquiryReceived",
        entity=("Prospect", prospect.id),
        data=details_for_staff(prospect),
    )
    return prospect


def writer(sender: Patient | Prospect | None) -> Writer | None:
    """A patient or prospect as the writer of a message."""
    if sender is None:
        return None
    if isinstance(sender, Patient):
        return Writer(person_id=person_id(sender), name=sender.name, role="patient")
    return Writer(
        person_id=sender.id, name=f"{sender.first_name} {sender.last_name}".strip(), role="prospect"
    )
