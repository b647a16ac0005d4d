"""Harbour: Maya in early pregnancy, and the work of Omar, her nurse."""

from __future__ import annotations

from datetime import date
from typing import Any

from portal.careservice.domain.cases import CareCase
from portal.careservice.domain.embryos import EmbryoStorage, Location
from portal.careservice.domain.enumerations import (
    CareStatus,
    ConsentStatus,
    Disposition,
    EmbryoStatus,
    Outcome,
    ProtocolStatus,
    ProtocolType,
    RelationshipType,
    Severity,
    SignerRole,
    Stage,
)
from portal.careservice.domain.episodes import Alert, Appointment, CareTeamMember, Episode, TimelineEvent
from portal.careservice.domain.patients import Address, Patient, Relationship
from portal.careservice.domain.policies import ClinicPolicy
from portal.careservice.domain.protocols import FertilityProtocol, Medication
from portal.careservice.ids import sample_id
from portal.careservice.sample import consent_texts as texts
from portal.careservice.sample import files
from portal.careservice.sample.clinic import WITH_LOG_IN, Clinic, Somebody
from portal.careservice.sample.staff import physician_id, physician_name

EPISODE = sample_id("episode", "maya-1")
EMR_EPISODE = sample_id("episode", "elsewhere-1")
_MAYA, _OMAR = WITH_LOG_IN["maya"], WITH_LOG_IN["omar"]


def add(clinic: Clinic) -> None:
    """Add all records of this clinic, which doesn't use the modules for prospects and the calendar."""
    clinic.session.add(ClinicPolicy(tenant_id=clinic.id, modules_off=["Calendar", "Prospect"]))
    maya = clinic.patient(
        "maya",
        "HF-20031",
        date(1990, 2, 11),
        phone_number="+447700900261",
        address=Address(line1="3 Pier Road", city="Plymouth", postal_code="PL1 2NY", country="GB"),
        emergency_contact=None,
    )
    elsewhere = Patient(
        id=sample_id("patient", "elsewhere"),
        tenant_id=clinic.id,
        mrn="HF-20077",
        first_name="Ingeborg",
        last_name="Þorsteinsdóttir",
        date_of_birth=date(1986, 12, 24),
        email="ingeborg@harbour.example",
        language="en",
        kept_by_emr=True,
    )
    clinic.session.add(elsewhere)
    clinic.session.flush()
    _maya(clinic, maya)
    _elsewhere(clinic, elsewhere)


def _case(clinic: Clinic, key: str, number: str, patient: Patient, title: str) -> CareCase:
    return CareCase(
        id=sample_id("case", key),
        tenant_id=clinic.id,
        case_number=number,
        patient_id=patient.id,
        title=title,
        treatment_type=ProtocolType.FET_MEDICATED,
        status=CareStatus.ACTIVE,
        physician_id=physician_id("amina"),
        opened_at=clinic.at(-430, "09:00"),
    )


def _maya(clinic: Clinic, maya: Patient) -> None:
    clinic.session.add(_case(clinic, "maya", "H-301", maya, "Frozen embryo transfer"))
    clinic.session.add(
        Relationship(
            id=sample_id("relationship", "maya-donor"),
            tenant_id=clinic.id,
            patient_id=maya.id,
            related_name="Donor 2210, sperm bank",
            type=RelationshipType.SPERM_DONOR,
        )
    )
    clinic.session.flush()
    clinic.session.add(
        Episode(
            id=EPISODE,
            tenant_id=clinic.id,
            number="H-301-1",
            type=ProtocolType.FET_MEDICATED,
            status=CareStatus.ACTIVE,
            stage=Stage.EARLY_SCAN,
            outcome=Outcome.PREGNANCY,
            start_date=clinic.day(-55),
            patient_id=maya.id,
            case_id=sample_id("case", "maya"),
            timeline=[
                TimelineEvent(
                    kind="Cycle",
                    stage=stage,
                    title=title,
                    note=note,
                    occurred_at=clinic.at(offset, "10:00"),
                    verified=True,
                )
                for offset, stage, title, note in (
                    (-33, Stage.TRANSFER, "Embryo transfer", "One warmed blastocyst, 4AB"),
                    (-23, Stage.PREGNANCY_TEST, "Pregnancy test", "Positive, hCG 184 IU/L"),
                    (-2, Stage.EARLY_SCAN, "Early scan", "One heartbeat seen, 7 weeks + 1 day"),
                )
            ],
            appointments=[
                Appointment(
                    id=sample_id("appointment", "maya-scan"),
                    kind="Second scan",
                    physician_id=physician_id("amina"),
                    start=clinic.at(10, "11:15"),
                    end=clinic.at(10, "11:40"),
                    time_zone=clinic.time_zone,
                    location="Pier, room 1",
                    status="Booked",
                )
            ],
            care_team=[
                CareTeamMember(
                    position=0,
                    physician_id=physician_id("amina"),
                    name=physician_name(clinic, "amina"),
                    role="Physician",
                ),
                CareTeamMember(position=1, physician_id=_OMAR.id, name=_OMAR.name, role="Nurse"),
            ],
            alerts=[Alert(position=0, severity=Severity.INFO, text="Progesterone continues until week 10.")],
        )
    )
    clinic.session.add(
        FertilityProtocol(
            id=sample_id("protocol", "maya"),
            tenant_id=clinic.id,
            name="Medicated FET",
            type=ProtocolType.FET_MEDICATED,
            status=ProtocolStatus.ACTIVE,
            patient_id=maya.id,
            episode_id=EPISODE,
            physician_id=physician_id("amina"),
            start_date=clinic.day(-53),
            medications=[
                Medication(
                    id=sample_id("medication", "maya-oestradiol"),
                    drug="Oestradiol valerate",
                    drug_class="Oestrogen",
                    dose=2,
                    unit="mg",
                    route="Oral",
                    start_day=1,
                    end_day=71,
                    times=["08:00", "14:00", "20:00"],
                ),
                Medication(
                    id=sample_id("medication", "maya-progesterone"),
                    drug="Progesterone",
                    drug_class="Luteal support",
                    dose=400,
                    unit="mg",
                    route="Vaginal",
                    start_day=16,
                    end_day=71,
                    times=["08:00", "20:00"],
                ),
            ],
            monitoring=[],
        )
    )
    clinic.session.flush()
    folder = clinic.directory("maya-scans", EPISODE, "Scans")
    clinic.file(
        "maya-scan",
        "Early scan.png",
        "image/png",
        files.scan(),
        days=-2,
        episode_id=EPISODE,
        directory_id=folder.id,
    )
    about: dict[str, Any] = {"case_id": sample_id("case", "maya"), "episode_id": EPISODE}
    clinic.consent(
        "maya-treatment", texts.TREATMENT, maya, ((SignerRole.PATIENT, _MAYA), (SignerRole.CLINICIAN, _OMAR)),
        status=ConsentStatus.PARTIALLY_SIGNED, sent=-60, signed=(_MAYA,), **about,
    )  # fmt: skip
    clinic.consent(
        "maya-disclosure", texts.DISCLOSURE, maya, ((SignerRole.PATIENT, _MAYA),), status=ConsentStatus.PENDING,
        sent=-2, **about,
    )  # fmt: skip
    clinic.consent(
        "maya-storage", texts.STORAGE, maya, ((SignerRole.GAMETE_PROVIDER, _MAYA),), status=ConsentStatus.SIGNED,
        sent=-400, signed=(_MAYA,), **about,
    )  # fmt: skip
    clinic.consent(
        "maya-transfer", texts.TREATMENT, maya, ((SignerRole.PATIENT, _MAYA), (SignerRole.CLINICIAN, _OMAR)),
        status=ConsentStatus.SIGNED, sent=-50, signed=(_MAYA, _OMAR), procedure_date=clinic.day(-33),
        embryo_storage_ids=[sample_id("embryo", "MF-1")], **about,
    )  # fmt: skip
    _embryos(clinic, maya)
    clinic.conversation(
        "maya-scan", "Your scan", [_MAYA, _OMAR],
        [
            (_OMAR, 2, "What a lovely scan. Your next one is in ten days or so."),
            (_MAYA, 1, "Thank you all so much!"),
            (_MAYA, 0.5, "One question: may I travel by train?"),
        ],
        unread_by=[_OMAR], unread=2, patient_id=maya.id, episode_id=EPISODE,
    )  # fmt: skip
    clinic.notify(
        _MAYA, "ConsentRequested", "A form is ready for you", "Please read it and decide.", ago=2,
        about=("ConsentForm", sample_id("consent", "maya-disclosure")),
    )  # fmt: skip
    clinic.notify(
        _MAYA, "EpisodeUpdated", "Your record was updated", "Open the portal to see it.", ago=2.1,
        severity=Severity.SUCCESS, about=("Episode", EPISODE),
    )  # fmt: skip
    clinic.notify(
        _OMAR, "MessageReceived", "A patient has written", "A message is waiting for an answer.", ago=0.5,
        about=("Conversation", sample_id("conversation", "maya-scan")),
    )  # fmt: skip


def _embryos(clinic: Clinic, maya: Patient) -> None:
    frozen = clinic.day(-390)
    for code, grade, status in (
        ("MF-1", "4AB", EmbryoStatus.TRANSFERRED),
        ("MF-2", "4BB", EmbryoStatus.STORED),
    ):
        is_stored = status == EmbryoStatus.STORED
        clinic.session.add(
            EmbryoStorage(
                id=sample_id("embryo", code),
                tenant_id=clinic.id,
                patient_id=maya.id,
                episode_id=EPISODE,
                embryo_code=code,
                day=5,
                grade=grade,
                grading_system="Gardner",
                cryopreserved_at=clinic.at(-390, "15:00"),
                method="Vitrification",
                status=status,
                location=Location(facility="Pier", tank="A", canister="1", cane="3", position="2")
                if is_stored
                else None,
                consent_form_id=sample_id("consent", "maya-storage"),
                storage_consented_until=frozen.replace(day=min(frozen.day, 28), year=frozen.year + 10),
                storage_expires_at=clinic.at(120, "12:00") if is_stored else None,
                statutory_limit=frozen.replace(day=min(frozen.day, 28), year=frozen.year + 55),
                disposition=Disposition.CONTINUE_STORAGE,
            )
        )


def _elsewhere(clinic: Clinic, patient: Patient) -> None:
    clinic.session.add(_case(clinic, "elsewhere", "H-314", patient, "Shared care with the hospital"))
    clinic.session.flush()
    clinic.session.add(
        Episode(
            id=EMR_EPISODE,
            tenant_id=clinic.id,
            number="H-314-1",
            type=ProtocolType.FET_MEDICATED,
            status=CareStatus.PLANNED,
            stage=Stage.PLANNED,
            start_date=clinic.day(-5),
            patient_id=patient.id,
            case_id=sample_id("case", "elsewhere"),
        )
    )
    clinic.session.flush()
    signer = Somebody(patient.id, patient.name, "patient")
    clinic.consent(
        "elsewhere-treatment", texts.TREATMENT, patient,
        ((SignerRole.PATIENT, signer), (SignerRole.CLINICIAN, _OMAR)), status=ConsentStatus.PENDING, sent=-4,
        episode_id=EMR_EPISODE, procedure_date=clinic.day(6),
    )  # fmt: skip
    clinic.notify(
        _OMAR, "EpisodeUpdated", "A shared record was updated", "It is kept in the hospital’s system.", ago=1,
        about=("Episode", EMR_EPISODE),
    )  # fmt: skip
