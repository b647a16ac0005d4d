"""Patients (care API specification §4, group Patient); read as part of an episode."""

from __future__ import annotations

from datetime import date

from portal.services.api import Group
from portal.services.audited import AUDIT_MEMBERS, Audited
from portal.services.client import Care
from portal.services.conversations import (
    Channel,
)
from portal.services.decoding import Id, Record


class Address(Record, frozen=True, kw_only=True):
    """A patient's postal address."""

    line1: str = ""
    line2: str | None = None
    city: str = ""
    region: str | None = None
    postal_code: str = ""
    country: str = ""


class EmergencyContact(Record, frozen=True, kw_only=True):
    """A patient's emergency contact."""

    name: str = ""
    phone_number: str = ""
    relation: str = ""


class Patient(Audited, frozen=True, kw_only=True):
    """A patient's record.

    `email_verified` and `phone_number_verified`: whether messages from there count as the patient's; None if the API
    doesn't say.
    """

    id: Id
    user_id: Id | None = None
    mrn: str = ""
    first_name: str = ""
    last_name: str = ""
    preferred_name: str | None = None
    date_of_birth: date | None = None
    email: str | None = None
    email_verified: bool | None = None
    phone_number: str | None = None
    phone_number_verified: bool | None = None
    address: Address | None = None
    language: str | None = None
    preferred_channel: Channel | None = None
    emergency_contact: EmergencyContact | None = None
    is_active: bool = True

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
    without=AUDIT_MEMBERS,
    if_known=frozenset({"emailVerified", "phoneNumberVerified"}),  # an API without them may refuse to be told
)


def update_patient(care: Care, patient_id: str, *, patient: Patient) -> Patient | None:
    """Update the record and return it with a new stamp; None if the API returns no body: read its episode again.

    PUT /api/care/patients/{id} (care API specification §4). `patient` is the record that was read, with the changes;
    patients may only change their contact fields, else `NotAllowed`. Raises `Conflict` if it was changed meanwhile,
    `NotOffered` if the clinic keeps it in another system.
    """
    return care.act(UPDATE_PATIENT, patient, id=patient_id)
