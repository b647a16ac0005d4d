"""Hanne and Tobias at riverside, whose relationship has ended; the forms that each signed are still in force."""

from __future__ import annotations

from datetime import date

from portal.careservice.domain.cases import CareCase
from portal.careservice.domain.enumerations import (
    CareStatus,
    ConsentStatus,
    Outcome,
    ProtocolType,
    RelationshipType,
    SignerRole,
    Stage,
)
from portal.careservice.domain.episodes import Episode
from portal.careservice.domain.patients import Patient, Relationship
from portal.careservice.ids import sample_id
from portal.careservice.sample import consent_texts as texts
from portal.careservice.sample.clinic import Clinic, Somebody
from portal.careservice.sample.staff import physician_id

EPISODE = sample_id("episode", "hanne-1")
_CASE = sample_id("case", "hanne")


def add(clinic: Clinic) -> None:
    """Add both, without accounts, with a finished episode and the form that each of them signed."""
    hanne, tobias = (
        Patient(
            id=sample_id("patient", key),
            tenant_id=clinic.id,
            mrn=mrn,
            first_name=key.title(),
            last_name=family_name,
            date_of_birth=born,
            language="en",
        )
        for key, mrn, family_name, born in (
            ("hanne", "RF-08730", "Lindgaard", date(1988, 3, 9)),
            ("tobias", "RF-08731", "Brandt", date(1986, 7, 21)),
        )
    )
    clinic.session.add_all([hanne, tobias])
    clinic.session.flush()
    clinic.session.add_all(
        [
            CareCase(
                id=_CASE,
                tenant_id=clinic.id,
                case_number="C-1702",
                patient_id=hanne.id,
                partner_id=tobias.id,
                title="IVF",
                treatment_type=ProtocolType.ANTAGONIST,
                status=CareStatus.FINISHED,
                physician_id=physician_id("victor"),
                opened_at=clinic.at(-560, "10:00"),
                closed_at=clinic.at(-410, "10:00"),
            ),
            Relationship(
                id=sample_id("relationship", "hanne-tobias"),
                tenant_id=clinic.id,
                patient_id=hanne.id,
                related_patient_id=tobias.id,
                related_name=tobias.name,
                type=RelationshipType.PARTNER,
                is_portal_shared=True,
                start_date=date(2016, 5, 14),
                end_date=clinic.day(-120),
            ),
        ]
    )
    clinic.session.flush()
    clinic.session.add(
        Episode(
            id=EPISODE,
            tenant_id=clinic.id,
            number="E-1702-1",
            type=ProtocolType.ANTAGONIST,
            status=CareStatus.FINISHED,
            stage=Stage.ENDED,
            outcome=Outcome.NO_PREGNANCY,
            start_date=clinic.day(-530),
            end_date=clinic.day(-495),
            patient_id=hanne.id,
            partner_id=tobias.id,
            case_id=_CASE,
        )
    )
    clinic.session.flush()
    for key, patient in (("hanne", hanne), ("tobias", tobias)):
        signer = Somebody(patient.id, patient.name, "patient")
        clinic.consent(
            f"{key}-storage", texts.STORAGE, hanne, ((SignerRole.GAMETE_PROVIDER, signer),),
            status=ConsentStatus.SIGNED, sent=-540, signed=(signer,), partner_id=tobias.id, case_id=_CASE,
            episode_id=EPISODE,
        )  # fmt: skip
