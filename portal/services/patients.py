"""Patients (care API specification §4, group Patient); read as part of an episode."""

from __future__ import annotations

from datetime import date
from typing import Annotated, ClassVar

from portal.services.api import Group
from portal.services.client import Care
from portal.services.conversations import Channel
from portal.services.decoding import Id, Record
from portal.services.stamped_record import SET_BY_API, StampedRecord
from portal.services.uses import NOT_SENT


class Address(Record, frozen=True, kw_only=True):
    """A patient's postal address."""

    shown_on: ClassVar = ("me", "patients")

    line1: Annotated[str | None, "first line of the postal address"] = None
    line2: Annotated[str | None, "second line of the postal address"] = None
    city: Annotated[str | None, "town or city"] = None
    region: Annotated[str | None, "region"] = None
    postal_code: Annotated[str | None, "postcode"] = None
    country: Annotated[str | None, "country (ISO 3166-1)"] = None


NO_ADDRESS = Address(line1="", city="", postal_code="", country="")


class EmergencyContact(Record, frozen=True, kw_only=True):
    """A patient's emergency contact."""

    shown_on: ClassVar = ("me", "patients", "episodes")

    name: Annotated[str | None, "contact's name"] = None
    phone_number: Annotated[str | None, "contact's telephone number"] = None
    relation: Annotated[str | None, "contact's relation to the patient"] = None


NO_EMERGENCY_CONTACT = EmergencyContact(name="", phone_number="", relation="")


class Patient(StampedRecord, frozen=True, kw_only=True):
    """A patient's record.

    `email_verified` and `phone_number_verified`: whether messages from there count as the patient's; None if the API
    doesn't say.
    """

    shown_on: ClassVar = ("me", "patients", "episodes")
    vital: ClassVar = frozenset({"user_id"})

    id: Id
    user_id: Annotated[
        Id | None, "account the record belongs to; without it, the record's own id", NOT_SENT
    ] = None
    mrn: Annotated[str, "medical record number"] = ""
    first_name: Annotated[str, "name"] = ""
    last_name: Annotated[str, "name"] = ""
    preferred_name: Annotated[str | None, "form of address"] = None
    date_of_birth: Annotated[date | None, "date of birth"] = None
    email: Annotated[str | None, "contact details"] = None
    email_verified: Annotated[bool | None, "whether the e-mail address is confirmed"] = None
    phone_number: Annotated[str | None, "contact details"] = None
    phone_number_verified: Annotated[bool | None, "whether the telephone number is confirmed"] = None
    address: Annotated[Address | None, "postal address"] = None
    language: Annotated[str | None, "language for correspondence"] = None
    preferred_channel: Annotated[Channel | None, "preferred channel"] = None
    emergency_contact: Annotated[EmergencyContact | None, "emergency contact"] = None
    is_active: Annotated[bool, "whether the record is in use"] = True

    @property
    def full_name(self) -> str:
        """First and last name, as far as known."""
        return f"{self.first_name} {self.last_name}".strip()

    @property
    def called(self) -> str:
        """What to call them: the preferred name, or the first."""
        return self.preferred_name or self.first_name or self.last_name

    def is_me(self, sub: str) -> bool:
        """Whether this is the record of `sub`: by `user_id`, or by `id` if there is none."""
        return (self.user_id or self.id) == sub

    def as_known_to(self, sub: str) -> Patient:
        """The record itself for the person whose it is; for the other one of a couple their names alone."""
        if self.is_me(sub):
            return self
        return Patient(
            id=self.id,
            first_name=self.first_name,
            last_name=self.last_name,
            preferred_name=self.preferred_name,
        )


UPDATE_PATIENT = Group("Patient").put(
    "/api/care/patients/{id}",
    Patient,
    Patient,
    without=SET_BY_API,
    if_known=frozenset({"emailVerified", "phoneNumberVerified"}),  # an API without them may refuse to be told
)


def update_patient(
    care: Care, patient_id: str, patient: Patient, before: Patient | None = None
) -> Patient | None:
    """Update the record and return it with a new stamp; None if the API returns no body: read its episode again.

    `patient` is the record that was read, with the changes, `before` the one that was read: what it didn't have isn't
    sent. Patients may only change their contact fields, else `NotAllowed`. Raises `Conflict` if it was changed
    meanwhile, `NotOffered` if the clinic keeps it in another system.
    """
    return care.act(UPDATE_PATIENT, patient, before=before, id=patient_id)
