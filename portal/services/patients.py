"""Patients (care API specification §4, group Patient); read as part of an episode."""

from __future__ import annotations

from portal.services.client import Care
from portal.services.endpoints import UPDATE_PATIENT
from portal.services.records.patients import Patient


def update_patient(care: Care, patient_id: str, *, patient: Patient) -> Patient | None:
    """Update the record and return it with a new stamp; None if the API returns no body: read its episode again.

    PUT /api/care/patients/{id} (care API specification §4). `patient` is the record that was read, with the changes;
    patients may only change their contact fields, else `NotAllowed`. Raises `Conflict` if it was changed meanwhile,
    `NotOffered` if the clinic keeps it in another system.
    """
    return care.act(UPDATE_PATIENT, patient, id=patient_id)
