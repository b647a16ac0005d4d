"""Patients and their relationships."""

from __future__ import annotations

from datetime import date
from typing import Annotated

import msgspec
from sqlalchemy import ForeignKey, String, or_, select
from sqlalchemy.orm import Mapped, Session, mapped_column
from sqlalchemy.sql import ColumnElement

from portal.careservice.database import Base, Id, Returned
from portal.careservice.domain import clinics
from portal.careservice.domain.actor import Actor
from portal.careservice.domain.columns import Audited, Structs, one_of
from portal.careservice.domain.enumerations import Channel, RelationshipType
from portal.careservice.domain.folding import folded_from
from portal.careservice.domain.rules import Invalid, KeptElsewhere, NotThere, Refused, Rule, require_stamp
from portal.careservice.domain.texts import ONE_LINE
from portal.careservice.ids import GivenId

Name = Annotated[str, msgspec.Meta(min_length=1, max_length=200), ONE_LINE]
Line = Annotated[str, msgspec.Meta(max_length=200), ONE_LINE]
Email = Annotated[str, msgspec.Meta(max_length=254, pattern=r"^[^@\s]+@[^@\s]+$"), ONE_LINE]


class Address(msgspec.Struct, rename="camel", kw_only=True):
    """A postal address; `country` is ISO 3166-1 alpha-2."""

    line1: Name
    line2: Line | None = None
    city: Name
    region: Line | None = None
    postal_code: Line
    country: Name


class EmergencyContact(msgspec.Struct, rename="camel", kw_only=True):
    """Whom the clinic calls in an emergency."""

    name: Name
    phone_number: Line
    relation: Line


class Patient(Audited, Base):
    """A person under a clinic's care; `user_id` is the `sub` of the account that is bound to the record.

    `email_changed_by_id` is who last changed the e-mail, None if it never was. `email_verified` and
    `phone_number_verified`: this detail is surely the patient's (`contacts`).
    """

    __tablename__ = "patients"

    id: Mapped[Id] = mapped_column(primary_key=True)
    tenant_id: Mapped[str] = mapped_column(String(36), index=True)
    user_id: Mapped[str | None] = mapped_column(String(36), index=True)
    mrn: Mapped[str]
    first_name: Mapped[str]
    last_name: Mapped[str]
    preferred_name: Mapped[str | None]
    folded_name: Mapped[str] = folded_from("first_name", "last_name", "preferred_name")
    date_of_birth: Mapped[date]
    email: Mapped[str | None]
    email_changed_by_id: Mapped[str | None] = mapped_column(String(36))
    email_verified: Mapped[bool] = mapped_column(default=False)
    phone_number: Mapped[str | None]
    phone_number_verified: Mapped[bool] = mapped_column(default=False)
    address: Mapped[Address | None] = mapped_column(Structs(Address))
    language: Mapped[str] = mapped_column(default="en")
    preferred_channel: Mapped[Channel] = mapped_column(one_of(Channel), default=Channel.EMAIL)
    emergency_contact: Mapped[EmergencyContact | None] = mapped_column(Structs(EmergencyContact))
    is_active: Mapped[bool] = mapped_column(default=True)
    kept_by_emr: Mapped[bool] = mapped_column(default=False)

    @property
    def name(self) -> str:
        """Given and family name."""
        return f"{self.first_name} {self.last_name}"

    def is_about(self, actor: Actor) -> bool:
        """Whether `actor` is this patient: by `user_id` or, without one, by the record's own id."""
        return actor.sub is not None and actor.sub == (self.user_id or self.id)


class Relationship(Base):
    """What another person is to a patient; deleting one is permanent."""

    __tablename__ = "relationships"

    id: Mapped[Returned[Id]] = mapped_column(primary_key=True)
    tenant_id: Mapped[str] = mapped_column(String(36))
    patient_id: Mapped[Returned[str]] = mapped_column(ForeignKey("patients.id"), index=True)
    related_patient_id: Mapped[Returned[str | None]] = mapped_column(ForeignKey("patients.id"), index=True)
    related_name: Mapped[Returned[str]]
    type: Mapped[Returned[RelationshipType]] = mapped_column(one_of(RelationshipType))
    is_portal_shared: Mapped[Returned[bool]] = mapped_column(default=False)
    start_date: Mapped[Returned[date | None]]
    end_date: Mapped[Returned[date | None]]


class PatientDetails(msgspec.Struct, rename="camel", kw_only=True):
    """An update of a patient: the record without its id and audit.

    `user_id` stays unchanged if it is left out, since binding to an account is a separate act; so do `email_verified`
    and `phone_number_verified`, unless what they are about changes.
    """

    user_id: GivenId | msgspec.UnsetType | None = msgspec.UNSET
    mrn: Name
    first_name: Name
    last_name: Name
    preferred_name: Line | None = None
    date_of_birth: date
    email: Email | None = None
    email_verified: bool | None = None
    phone_number: Line | None = None
    phone_number_verified: bool | None = None
    address: Address | None = None
    language: Annotated[str, msgspec.Meta(pattern=r"^[a-z]{2,3}(-[A-Za-z0-9]{2,8})*$"), ONE_LINE]
    preferred_channel: Channel
    emergency_contact: EmergencyContact | None = None
    is_active: bool


CONTACT_FIELDS = frozenset(
    {
        "preferred_name",
        "email",
        "phone_number",
        "address",
        "language",
        "preferred_channel",
        "emergency_contact",
    }
)
"""What patients may change about themselves."""


_SET_ELSEWHERE = frozenset({"user_id", "email_verified", "phone_number_verified"})
"""What `accounts.bind` and `contacts.update` set."""


def person_id(patient: Patient) -> str:
    """The `sub` of a patient with an account, else the id of the record."""
    return patient.user_id or patient.id


def is_mine(sub: str) -> ColumnElement[bool]:
    """The condition on `Patient` that selects the records of the person `sub`."""
    return or_(Patient.user_id == sub, (Patient.user_id.is_(None)) & (Patient.id == sub))


def ids_of(session: Session, actor: Actor) -> list[str]:
    """The ids of the actor's own patient records at the clinic; usually one."""
    found = session.scalars(
        select(Patient.id).where(Patient.tenant_id == actor.tenant_id, is_mine(actor.person_id))
    )
    return list(found)


def find_to_update(session: Session, actor: Actor, patient_id: str) -> Patient:
    """The patient: for staff any of the clinic's, for patients only themselves.

    Raises NotThere, KeptElsewhere if the record is kept by the clinic's own EMR.
    """
    patient = session.get(Patient, patient_id)
    if patient is None or patient.tenant_id != actor.tenant_id:
        raise NotThere
    if not actor.is_staff and not patient.is_about(actor):
        raise NotThere
    if patient.kept_by_emr:
        raise KeptElsewhere
    return patient


def update(session: Session, actor: Actor, patient: Patient, details: PatientDetails, stamp: str) -> Patient:
    """Replace the record's details, except those set elsewhere; raises Refused or Invalid.

    Patients may change only their contact details.
    """
    require_stamp(patient.concurrency_stamp, stamp)
    _normalize_numbers(session, patient, details)
    changes = {
        name: value
        for name, value in msgspec.structs.asdict(details).items()
        if name not in _SET_ELSEWHERE and getattr(patient, name) != value
    }
    if not actor.is_staff and not changes.keys() <= CONTACT_FIELDS:
        raise Refused(Rule.FIELD_NOT_YOURS)
    if "date_of_birth" in changes and details.date_of_birth > clinics.today(session, patient.tenant_id):
        raise Invalid("That day is in the future.", "dateOfBirth")
    for name, value in changes.items():
        setattr(patient, name, value)
    if "email" in changes:
        patient.email_changed_by_id = actor.sub
    patient.touch(actor.sub)
    return patient


def _normalize_numbers(session: Session, patient: Patient, details: PatientDetails) -> None:
    """Convert new telephone numbers in `details` to E.164; raises Invalid for an impossible one."""

    def normalized(given: str, kept: str | None, member: str) -> str:
        if not given.strip() or given == kept:
            return given
        number = clinics.telephone(session, patient.tenant_id, given)
        if number is None:
            raise Invalid("This isn't a telephone number.", member)
        return number

    if details.phone_number is not None:
        details.phone_number = normalized(details.phone_number, patient.phone_number, "phoneNumber")
    contact, kept = details.emergency_contact, patient.emergency_contact
    if contact is not None:
        contact.phone_number = normalized(
            contact.phone_number, kept.phone_number if kept else None, "emergencyContact.phoneNumber"
        )
