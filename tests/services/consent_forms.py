"""Consent forms as the API answers them, and the draft of one."""

from __future__ import annotations

from datetime import date

from portal.services.consents.forms import (
    Clause,
    ConsentDraft,
    ConsentForm,
    ConsentKind,
    ConsentStatus,
    Signer,
    SignerRole,
    SigningOrder,
    Statement,
)

FORM = {"id": "c-1", "title": "Egg retrieval", "status": "Pending", "concurrencyStamp": "s1"}
CLAUSES = (
    Clause(id="c1", heading="What happens", text="Eggs are collected."),
    Clause(id="c2", heading="Risks", text="Bleeding – in 1 of 1000.", summary="Rarely, bleeding."),
)
STATEMENTS = (Statement(id="s1", text="I have read it."),)
HASH = "65d59fe9a0a4f89d1c098925b82dc23dbdc432ad6431bc729f7f47659a439db4"


def whole(**changes) -> ConsentForm:
    members = {
        "id": "1",
        "title": "Consent to egg retrieval",
        "status": ConsentStatus.PENDING,
        "kind": ConsentKind.TREATMENT,
        "version": "3",
        "body": CLAUSES,
        "statements": STATEMENTS,
    }
    return ConsentForm(**{**members, **changes})


DRAFT = ConsentDraft(
    patient_id="p",
    title="Egg retrieval",
    kind=ConsentKind.TREATMENT,
    version="3",
    body=CLAUSES,
    statements=STATEMENTS,
    required_signers=(Signer(role=SignerRole.PATIENT, person_id="amelia", name="Amelia", order=1),),
    signing_order=SigningOrder.SEQUENTIAL,
    episode_id="e",
    procedure_date=date(2026, 12, 1),
)
MADE = {
    "id": "c-9",
    "title": "Egg retrieval",
    "status": "Pending",
    "patientId": "p",
    "kind": "treatment",
    "version": 3,
    "episodeId": "e",
    "procedureDate": "2026-12-01",
    "requiredSigners": [{"role": "Patient", "personId": "amelia", "name": "A. Hart", "order": 1}],
    "creationTime": "2026-11-27T09:30:00Z",
}
