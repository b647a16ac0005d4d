"""Builders of records with default values: `person("amelia")`, `consent(required_signers=(AMELIA,))`."""

from __future__ import annotations

from typing import Any

from portal.config.tenants import Side
from portal.services.consents.forms import (
    Clause,
    ConsentForm,
    ConsentStatus,
    Signature,
    Signer,
    SignerRole,
    Statement,
)
from portal.state.session_records import Person

AMELIA = Signer(role=SignerRole.PATIENT, person_id="amelia", name="Amelia", order=1)
DANIEL = Signer(role=SignerRole.PARTNER, person_id="daniel", name="Daniel", order=2)
VICTOR = Signer(role=SignerRole.CLINICIAN, person_id="victor", name="Victor", order=3)


def person(sub: str = "amelia", side: Side = Side.PATIENT, **more: Any) -> Person:
    """Somebody who is signed in."""
    members: dict[str, Any] = {
        "issuer": "https://id.example",
        "name": sub,
        "given_name": sub,
        "roles": frozenset[str](),
        "auth_time": 0.0,
        "sid": f"{sub}-1",
    }
    return Person(sub=sub, side=side, **{**members, **more})


def consent(*signed: Signer, **more: Any) -> ConsentForm:
    """A form with two clauses and a statement that waits for Amelia, with the signatures of those who have `signed`."""
    members: dict[str, Any] = {
        "id": "form",
        "title": "Egg retrieval",
        "status": ConsentStatus.PENDING,
        "body": (
            Clause(id="c1", heading="One", text="First words here"),
            Clause(id="c2", heading="Two", text="x"),
        ),
        "statements": (Statement(id="s1", text="Agreed"),),
        "required_signers": (AMELIA,),
        "signatures": tuple(Signature(role=one.role, person_id=one.person_id) for one in signed),
    }
    return ConsentForm(**{**members, **more})
