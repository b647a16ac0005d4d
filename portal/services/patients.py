"""Patients (care API specification §4, group Patient); read as part of an episode."""

from __future__ import annotations

from portal.services.client import Care
from portal.services.decoding import fields_of
from portal.services.endpoints import UPDATE_PATIENT
from portal.services.records.base import AUDIT_MEMBERS
from portal.services.records.patients import Patient


def update_patient(care: Care, patient_id: str, *, patient: Patient) -> Patient | None:
    """The record as it is now, with a new stamp; None when the API tells nothing: read its episode again.

    PUT /api/care/patients/{id} (care API specification §4). `patient` is the record that was read, with what
    is changed: patients change their contact fields alone, else `NotAllowed`. Raises `Conflict` when it was
    changed meanwhile, `NotOffered` when the clinic's own system keeps it.
    """
    body = fields_of(patient, without=AUDIT_MEMBERS)
    return care.act(UPDATE_PATIENT, Patient, body=body, id=patient_id)
