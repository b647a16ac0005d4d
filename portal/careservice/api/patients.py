"""Patient: update (care API specification §4)."""

from __future__ import annotations

from datetime import date

from portal.careservice import database
from portal.careservice.api import payload
from portal.careservice.api.caller import Caller
from portal.careservice.api.endpoint import api, endpoint
from portal.careservice.api.records import AuditedRecord, shown
from portal.careservice.domain import patients
from portal.careservice.domain.consents.parties import rename_signers
from portal.careservice.domain.enumerations import Channel
from portal.careservice.domain.patients import Address, EmergencyContact, PatientDetails
from portal.careservice.domain.permissions import Act

MODULE = "Patient"


class PatientRecord(AuditedRecord, kw_only=True):
    """A patient."""

    id: str
    user_id: str | None
    mrn: str
    first_name: str
    last_name: str
    preferred_name: str | None
    date_of_birth: date
    email: str | None
    phone_number: str | None
    address: Address | None
    language: str
    preferred_channel: Channel
    emergency_contact: EmergencyContact | None
    is_active: bool


@api.put("/api/care/patients/<patient_id>")
@endpoint(Act.UPDATE_PATIENT, MODULE)
def update_patient(caller: Caller, patient_id: str) -> PatientRecord:
    """The patient as changed; patients change their own contact fields alone."""
    session = database.session()
    patient = patients.find(session, caller.actor, patient_id)
    patients.require_kept_here(patient)
    details, stamp = payload.stamped(PatientDetails)
    before = patient.user_id or patient.id
    patients.update(session, caller.actor, patient, details, stamp)
    if before != (patient.user_id or patient.id):
        session.flush()
        rename_signers(session, patient, before)
    session.flush()
    return shown(patient, PatientRecord)
