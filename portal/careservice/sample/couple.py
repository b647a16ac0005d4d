"""Amelia and Daniel at riverside: day 8 of stimulation in an antagonist cycle, with everything around it."""

from __future__ import annotations

from datetime import date
from typing import Any

from portal.careservice.domain.cases import CareCase
from portal.careservice.domain.enumerations import (
    CareStatus,
    Channel,
    ConsentStatus,
    ProtocolStatus,
    ProtocolType,
    ReadingMode,
    RelationshipType,
    Severity,
    SignerRole,
    SigningOrder,
    Stage,
)
from portal.careservice.domain.episodes import (
    Alert,
    Appointment,
    CareTeamMember,
    Episode,
    Follicles,
    HormoneUnits,
    Monitoring,
    TimelineEvent,
)
from portal.careservice.domain.patients import EmergencyContact, Patient, Relationship
from portal.careservice.domain.protocols import FertilityProtocol, Medication, MonitoringDay
from portal.careservice.identity.assurance import TWO_FACTORS
from portal.careservice.ids import sample_id
from portal.careservice.sample import consent_texts as texts
from portal.careservice.sample import couple_correspondence, files
from portal.careservice.sample.clinic import WITH_LOG_IN, Clinic
from portal.careservice.sample.couple_correspondence import EPISODE
from portal.careservice.sample.staff import physician_id, physician_name

_CASE = sample_id("case", "amelia")
_AMELIA, _DANIEL = WITH_LOG_IN["amelia"], WITH_LOG_IN["daniel"]
_NORA, _VICTOR, _ELIF = WITH_LOG_IN["nora"], WITH_LOG_IN["victor"], WITH_LOG_IN["elif"]
_BOTH = ((SignerRole.PATIENT, _AMELIA), (SignerRole.PARTNER, _DANIEL))


def add(clinic: Clinic) -> None:
    """Add the couple with all their records."""
    amelia = clinic.patient(
        "amelia",
        "RF-10482",
        date(1991, 4, 17),
        phone_number="+447700900182",
        preferred_name="Millie",
        preferred_channel=Channel.SMS,
    )
    daniel = clinic.patient(
        "daniel",
        "RF-10483",
        date(1989, 11, 2),
        phone_number="+447700900183",
        emergency_contact=EmergencyContact(
            name=_AMELIA.name, phone_number="+447700900182", relation="Partner"
        ),
    )
    clinic.session.add_all(_case(clinic, amelia, daniel))
    clinic.session.flush()
    clinic.session.add(_episode(clinic, amelia, daniel))
    clinic.session.add(_protocol(clinic, amelia))
    clinic.session.flush()
    _consents(clinic, amelia, daniel)
    couple_correspondence.add(clinic, amelia, daniel)


def _case(clinic: Clinic, amelia: Patient, daniel: Patient) -> list[CareCase | Relationship]:
    return [
        CareCase(
            id=_CASE,
            tenant_id=clinic.id,
            case_number="C-2051",
            patient_id=amelia.id,
            partner_id=daniel.id,
            title="IVF/ICSI, male factor",
            treatment_type=ProtocolType.ANTAGONIST,
            status=CareStatus.ACTIVE,
            physician_id=physician_id("victor"),
            coordinator_id=WITH_LOG_IN["colin"].id,
            diagnosis="Primary subfertility of 3 years; severe oligoasthenozoospermia. AMH 19.6 pmol/L, AFC 14.",
            notes="Prefers calls after 16:00. Needle phobia: offer a numbing cream and a quiet room.",
            opened_at=clinic.at(-96, "14:00"),
        ),
        Relationship(
            id=sample_id("relationship", "amelia-daniel"),
            tenant_id=clinic.id,
            patient_id=amelia.id,
            related_patient_id=daniel.id,
            related_name=_DANIEL.name,
            type=RelationshipType.PARTNER,
            is_portal_shared=True,
            start_date=date(2019, 6, 1),
        ),
        Relationship(
            id=sample_id("relationship", "amelia-contact"),
            tenant_id=clinic.id,
            patient_id=amelia.id,
            related_name="Margaret Hart",
            type=RelationshipType.EMERGENCY_CONTACT,
        ),
    ]


_SCANS = (
    (-7, 2, ([5.5, 5, 4.5, 4, 4], [6, 5, 4.5, 4, 3.5, 3]), 3.1, "linear", 141, 5.8, 1.1),
    (-4, 5, ([9, 8, 7.5, 6.5, 6], [9.5, 8.5, 8, 7, 6, 5]), 5.4, "linear", 786, 3.9, 1.2),
    (-2, 7, ([13, 12, 11, 9.5, 8], [13.5, 12.5, 11, 10, 8.5, 7]), 7.6, "trilaminar", 2480, 2.3, 1.6),
    (-1, 8, ([15, 14, 13, 11, 9.5], [16, 14.5, 13, 12, 10, 8]), 8.4, "trilaminar", 3910, 2.1, 1.9),
)


def _episode(clinic: Clinic, amelia: Patient, daniel: Patient) -> Episode:
    return Episode(
        id=EPISODE,
        tenant_id=clinic.id,
        number="E-2051-1",
        type=ProtocolType.ANTAGONIST,
        status=CareStatus.ACTIVE,
        stage=Stage.STIMULATION,
        start_date=clinic.day(-8),
        patient_id=amelia.id,
        partner_id=daniel.id,
        case_id=_CASE,
        monitoring=[
            Monitoring(
                date=clinic.day(offset),
                cycle_day=day,
                follicles=Follicles(left=left, right=right),
                endometrium_mm=lining,
                endometrium_pattern=pattern,
                e2=e2,
                lh=lh,
                p4=p4,
                unit="pmol/L",
                units=HormoneUnits(e2="pmol/L", lh="IU/L", p4="nmol/L"),
                verified=offset < -1,
            )
            for offset, day, (left, right), lining, pattern, e2, lh, p4 in _SCANS
        ],
        timeline=[
            TimelineEvent(
                kind=kind,
                stage=stage,
                title=title,
                note=note,
                occurred_at=clinic.at(offset, at),
                verified=verified,
            )
            for offset, at, kind, stage, title, note, verified in (
                (-35, "10:00", "Visit", Stage.PLANNED, "Planning visit", "Antagonist protocol agreed.", True),
                (-8, "09:00", "Cycle", Stage.BASELINE, "Cycle day 1 reported", None, False),
                (
                    -7,
                    "08:40",
                    "Scan",
                    Stage.BASELINE,
                    "Baseline scan",
                    "AFC 11, lining 3.1 mm, no cysts.",
                    True,
                ),
                (-7, "19:00", "Medication", Stage.STIMULATION, "Stimulation started", "rFSH 225 IU.", True),
                (-4, "08:30", "Scan", Stage.STIMULATION, "Monitoring scan", "Leading follicle 9.5 mm.", True),
                (
                    -3,
                    "08:00",
                    "Medication",
                    Stage.STIMULATION,
                    "Antagonist started",
                    "Cetrorelix 0.25 mg.",
                    True,
                ),
                (
                    -2,
                    "08:30",
                    "Scan",
                    Stage.STIMULATION,
                    "Monitoring scan",
                    "Lining trilaminar, 7.6 mm.",
                    True,
                ),
                (-1, "08:45", "Scan", Stage.STIMULATION, "Monitoring scan", "Leading follicle 16 mm.", False),
            )
        ],
        appointments=[
            Appointment(
                id=sample_id("appointment", f"amelia-{key}"),
                kind=kind,
                physician_id=physician_id("victor"),
                start=clinic.at(offset, start),
                end=clinic.at(offset, end),
                time_zone=clinic.time_zone,
                location=place,
                status=status,
            )
            for key, offset, kind, start, end, place, status in (
                ("scan-4", -1, "Monitoring scan", "08:30", "08:50", "Quayside, room 2", "Completed"),
                ("scan-5", 1, "Monitoring scan", "09:30", "09:50", "Quayside, room 2", "Booked"),
                ("retrieval", 4, "Egg collection", "08:00", "10:00", "Quayside, theatre", "Tentative"),
                ("transfer", 9, "Embryo transfer", "11:00", "11:45", "Quayside, theatre", "Tentative"),
            )
        ],
        care_team=[
            CareTeamMember(position=position, physician_id=identity, name=name, role=role)
            for position, (identity, name, role) in enumerate(
                (
                    (physician_id("victor"), physician_name(clinic, "victor"), "Physician"),
                    (_NORA.id, _NORA.name, "Nurse"),
                    (_ELIF.id, _ELIF.name, "Embryologist"),
                    (WITH_LOG_IN["colin"].id, WITH_LOG_IN["colin"].name, "Coordinator"),
                )
            )
        ],
        alerts=[
            Alert(
                position=0,
                severity=Severity.WARNING,
                text="Cetrorelix at the same hour every morning. Ring us if you miss one.",
                until=clinic.at(3, "08:00"),
                creation_time=clinic.at(-3, "10:20"),
            ),
            Alert(
                position=1,
                severity=Severity.INFO,
                text="Please come to each scan with an empty bladder.",
                until=clinic.at(1, "09:30"),
                creation_time=clinic.at(-1, "16:40"),
            ),
        ],
    )


def _protocol(clinic: Clinic, amelia: Patient) -> FertilityProtocol:
    medicines = (
        ("rFSH (follitropin alfa)", "Gonadotropin", 225, "IU", 1, None, "Until trigger", ["19:00"]),
        ("Cetrorelix", "GnRH antagonist", 0.25, "mg", 5, None, "Until trigger", ["08:00"]),
        ("Choriogonadotropin alfa", "hCG trigger", 250, "µg", 10, 10, None, ["21:00"]),
        # From the evening of egg collection.
        ("Progesterone", "Luteal support", 400, "mg", 12, 12, None, ["20:00"]),
        ("Progesterone", "Luteal support", 400, "mg", 13, 29, None, ["08:00", "20:00"]),
    )
    looks = (
        (1, "Baseline scan"),
        (4, "Scan and bloods"),
        (6, "Scan and bloods"),
        (7, "Scan and bloods"),
        (9, "Scan and bloods"),
    )
    return FertilityProtocol(
        id=sample_id("protocol", "amelia"),
        tenant_id=clinic.id,
        name="Antagonist, rFSH 225",
        type=ProtocolType.ANTAGONIST,
        status=ProtocolStatus.ACTIVE,
        description="Trigger when more than two follicles reach 17 mm; egg collection 34 to 37 hours later.",
        patient_id=amelia.id,
        episode_id=EPISODE,
        physician_id=physician_id("victor"),
        start_date=clinic.day(-7),
        medications=[
            Medication(
                id=sample_id("medication", f"amelia-{drug}-{start}"),
                drug=drug,
                drug_class=drug_class,
                dose=dose,
                unit=unit,
                route="Vaginal" if drug == "Progesterone" else "Subcutaneous",
                start_day=start,
                end_day=end,
                stop_rule=stop,
                times=times,
                is_trigger=drug_class.endswith("trigger"),
                instructions="Rotate the injection site." if drug.startswith("rFSH") else None,
            )
            for drug, drug_class, dose, unit, start, end, stop, times in medicines
        ],
        monitoring=[MonitoringDay(day=day, kind=kind) for day, kind in looks],
    )


def _consents(clinic: Clinic, amelia: Patient, daniel: Patient) -> None:
    about: dict[str, Any] = {"partner_id": daniel.id, "case_id": _CASE, "episode_id": EPISODE}
    with_clinician = (*_BOTH, (SignerRole.CLINICIAN, _VICTOR))
    first, second = sample_id("consent", "amelia-treatment-1"), sample_id("consent", "amelia-treatment-2")
    copy = clinic.file(
        "amelia-treatment-copy",
        "Treatment consent – signed copy.pdf",
        "application/pdf",
        files.pdf("Consent to IVF with ICSI", ["Signed by all.", "Version 3.1"]),
        days=-28,
        episode_id=None,
    )
    first_version = clinic.consent(
        "amelia-treatment-1", texts.TREATMENT, amelia, with_clinician, status=ConsentStatus.SUPERSEDED,
        sent=-40, signed=(_AMELIA, _DANIEL), version="3.0", superseded_by_id=second, **about,
    )  # fmt: skip
    daniels = first_version.signatures[1]
    daniels.screen_language, daniels.reading_mode = "es", ReadingMode.SELF
    daniels.acr, daniels.amr = TWO_FACTORS, ["pwd", "otp", "mfa"]
    clinic.consent(
        "amelia-treatment-2", texts.TREATMENT, amelia, with_clinician, status=ConsentStatus.SIGNED, sent=-30,
        signed=(_AMELIA, _DANIEL, _VICTOR), supersedes_id=first, file_id=copy.id,
        procedure_date=clinic.day(4), **about,
    )  # fmt: skip
    clinic.consent(
        "amelia-genetic", texts.GENETIC, amelia, with_clinician, status=ConsentStatus.PENDING, sent=-3,
        order=SigningOrder.SEQUENTIAL, procedure_date=clinic.day(4), expires_at=clinic.at(20, "18:00"), **about,
    )  # fmt: skip
    clinic.consent(
        "amelia-sperm", texts.FROZEN_SPERM, amelia,
        ((SignerRole.PARTNER, _DANIEL), (SignerRole.PATIENT, _AMELIA), (SignerRole.WITNESS, _NORA)),
        status=ConsentStatus.PENDING, sent=-2, order=SigningOrder.SEQUENTIAL, procedure_date=clinic.day(4), **about,
    )  # fmt: skip
    clinic.consent(
        "amelia-storage", texts.STORAGE, amelia, ((SignerRole.GAMETE_PROVIDER, _AMELIA),),
        status=ConsentStatus.PENDING, sent=-6, procedure_date=clinic.day(4), **about,
    )  # fmt: skip
    clinic.consent(
        "daniel-storage", texts.STORAGE, amelia, ((SignerRole.GAMETE_PROVIDER, _DANIEL),),
        status=ConsentStatus.SIGNED, sent=-6, signed=(_DANIEL,), procedure_date=clinic.day(4), **about,
    )  # fmt: skip
    clinic.consent(
        "amelia-disclosure", texts.DISCLOSURE, amelia, ((SignerRole.PATIENT, _AMELIA),),
        status=ConsentStatus.REVOKED, sent=-80, signed=(_AMELIA,), revoked_at=clinic.at(-20, "15:20"),
        revoke_reason="I have changed my GP and will agree again with the new practice.",
        revoked_by_id=_AMELIA.id, revoked_by_name=_AMELIA.name, case_id=_CASE, episode_id=EPISODE,
    )  # fmt: skip
    clinic.consent(
        "amelia-research", texts.RESEARCH, amelia, _BOTH, status=ConsentStatus.PENDING, sent=-60,
        expires_at=clinic.at(-10, "18:00"), **about,
    )  # fmt: skip
    clinic.consent(
        "amelia-disposition", texts.DISPOSITION, amelia, _BOTH, status=ConsentStatus.DRAFT, sent=-1,
        procedure_date=clinic.day(9), **about,
    )  # fmt: skip
    clinic.consent(
        "daniel-disclosure", texts.DISCLOSURE, daniel, ((SignerRole.PATIENT, _DANIEL),),
        status=ConsentStatus.PENDING, sent=-5, case_id=_CASE,
    )  # fmt: skip
