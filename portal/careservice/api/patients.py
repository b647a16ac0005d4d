"""Patient: update (care API specification §4)."""

from __future__ import annotations

from datetime import date, datetime

import msgspec

from portal.careservice import database
from portal.careservice.api import payload
from portal.careservice.api.caller import Caller
from portal.careservice.api.endpoint import api, endpoint
from portal.careservice.api.records import Record, as_record
from portal.careservice.domain import accounts, contacts, patients
from portal.careservice.domain.actor import Actor
from portal.careservice.domain.enumerations import Channel
from portal.careservice.domain.patients import Address, EmergencyContact, Patient, PatientDetails
from portal.careservice.domain.permissions import Act

MODULE = "Patient"


class PatientRecord(Record, kw_only=True):
    """A patient; partners get only each other's `id` and names, everything else is left out."""

    id: str
    first_name: str
    last_name: str
    preferred_name: str | None
    user_id: str | msgspec.UnsetType | None = msgspec.UNSET
    mrn: str | msgspec.UnsetType = msgspec.UNSET
    date_of_birth: date | msgspec.UnsetType = msgspec.UNSET
    email: str | msgspec.UnsetType | None = msgspec.UNSET
    email_verified: bool | msgspec.UnsetType = msgspec.UNSET
    phone_number: str | msgspec.UnsetType | None = msgspec.UNSET
    phone_number_verified: bool | msgspec.UnsetType = msgspec.UNSET
    address: Address | msgspec.UnsetType | None = msgspec.UNSET
    language: str | msgspec.UnsetType = msgspec.UNSET
    preferred_channel: Channel | msgspec.UnsetType = msgspec.UNSET
    emergency_contact: EmergencyContact | msgspec.UnsetType | None = msgspec.UNSET
    is_active: bool | msgspec.UnsetType = msgspec.UNSET
    creation_time: datetime | msgspec.UnsetType = msgspec.UNSET
    creator_id: str | msgspec.UnsetType | None = msgspec.UNSET
    last_modification_time: datetime | msgspec.UnsetType | None = msgspec.UNSET
    last_modifier_id: str | msgspec.UnsetType | None = msgspec.UNSET
    concurrency_stamp: str | msgspec.UnsetType = msgspec.UNSET


@api.put("/api/care/patients/<patient_id>")
@endpoint(Act.UPDATE_PATIENT, MODULE)
def update_patient(caller: Caller, patient_id: str) -> PatientRecord:
    """The updated patient; patients may change only their own contact details, administrators may bind an account."""
    session = database.session()
    patient = patients.find_to_update(session, caller.actor, patient_id)
    details, stamp = payload.stamped(PatientDetails)
    contacts.update(session, caller.actor, patient, details, stamp)
    accounts.bind(session, caller.actor, patient, details.user_id)
    session.flush()
    return patient_record(patient, caller.actor)


def patient_record(patient: Patient, actor: Actor) -> PatientRecord:
    """The patient as `actor` may see one: complete for staff and the patient themselves, else only the names."""
    if actor.is_staff or patient.is_about(actor):
        return as_record(patient, PatientRecord)
    return PatientRecord(
        id=patient.id,
        first_name=patient.first_name,
        last_name=patient.last_name,
        preferred_name=patient.preferred_name,
    )
