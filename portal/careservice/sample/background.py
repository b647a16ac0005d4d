"""Forty further patients of riverside without accounts, whose forms fill a nurse's next two weeks."""

from __future__ import annotations

from datetime import date

from portal.careservice.domain.cases import CareCase
from portal.careservice.domain.embryos import EmbryoStorage, HoldCause, Location
from portal.careservice.domain.enumerations import (
    CareStatus,
    ConsentStatus,
    Disposition,
    EmbryoStatus,
    Outcome,
    ProtocolType,
    RelationshipType,
    SignerRole,
    SigningOrder,
    Stage,
    ToldBy,
)
from portal.careservice.domain.episodes import Episode
from portal.careservice.domain.patients import Patient, Relationship
from portal.careservice.ids import sample_id
from portal.careservice.sample import consent_texts as texts
from portal.careservice.sample.clinic import WITH_LOG_IN, Clinic, Somebody
from portal.careservice.sample.staff import physician_id

EPISODE = sample_id("episode", "zofia-1")
_NAMES = (
    ("Zofia", "Wiśniewska-Grzegorzewska"), ("Siân", "Llewellyn"), ("Bríd", "Ní Dhomhnaill"), ("Anna", "O'Sullivan"),
    ("فاطمة", "الزهراني"), ("مريم", "بن عبد العزيز"), ("Łucja", "Żółkiewska"), ("Nguyễn Thị", "Hương"),
    ("Chidinma", "Nwachukwu"), ("Priyanka", "Venkatasubramanian"), ("Hélène", "d’Aubigné-Rochefort"),
    ("Mei-Ling", "Chen 陳美玲"), ("Yuki", "Tanaka 田中由紀"), ("Jürgen", "Großmann"), ("Elizabeth", "Smith"),
    ("Elizabeth", "Smith"), ("Aoife", "Ó Briain"), ("María José", "Fernández de la Cueva"), ("Ingrid", "Sørensen"),
    ("Katarzyna", "Brzęczyszczykiewicz"), ("Olena", "Шевченко"), ("Ayşe", "Yıldız"), ("Thandiwe", "Mkhize"),
    ("Rebecca", "Cohen-Levy"), ("Hannah", "Abernathy"), ("Joanna", "Clarke"), ("Farah", "Siddiqui"),
    ("Wilhelmina", "van den Boogaard"), ("Lucía", "Ibáñez"), ("Grace", "Adeyemi"), ("Sunita", "Patel"),
    ("Emma", "Thompson"), ("Nadia", "Karimova"), ("Beatriz", "Conceição"), ("Charlotte", "Featherstonehaugh"),
    ("Rosa", "Marchetti"), ("Leilani", "Kealoha"), ("Dorothea", "Vassilakopoulou"), ("Ana", "Li"), ("Bo", "Ek"),
)  # fmt: skip
_LATE = 30
_TEMPLATES = (texts.TREATMENT, texts.STORAGE, texts.GENETIC, texts.DISCLOSURE, texts.RESEARCH)


def add(clinic: Clinic) -> None:
    """Add patients with a form each, for procedures from today to two weeks ahead; one form is overdue."""
    for index, (first, last) in enumerate(_NAMES):
        patient = Patient(
            id=sample_id("patient", f"background-{index}"),
            tenant_id=clinic.id,
            mrn=f"RF-{11000 + index}",
            first_name=first,
            last_name=last,
            date_of_birth=date(1982 + index % 14, 1 + index % 12, 1 + index % 28),
            language="ar" if index in (4, 5) else "en",
        )
        clinic.session.add(patient)
        clinic.session.flush()
        _form(clinic, index, patient)
        if index == 0:
            _frozen(clinic, patient)


def _frozen(clinic: Clinic, patient: Patient) -> None:
    """Give one of them embryos, so that the laboratory stores those of more than one family."""
    clinic.session.add(
        CareCase(
            id=sample_id("case", "zofia"),
            tenant_id=clinic.id,
            case_number="C-1990",
            patient_id=patient.id,
            title="IVF with donated sperm",
            treatment_type=ProtocolType.ANTAGONIST,
            status=CareStatus.PLANNED,
            physician_id=physician_id("leila"),
            opened_at=clinic.at(-230, "10:00"),
        )
    )
    clinic.session.flush()
    clinic.session.add(
        Episode(
            id=EPISODE,
            tenant_id=clinic.id,
            number="E-1990-1",
            type=ProtocolType.ANTAGONIST,
            status=CareStatus.FINISHED,
            stage=Stage.ENDED,
            outcome=Outcome.COMPLETED,
            start_date=clinic.day(-204),
            end_date=clinic.day(-170),
            patient_id=patient.id,
            case_id=sample_id("case", "zofia"),
        )
    )
    clinic.session.add(
        Relationship(
            id=sample_id("relationship", "zofia-donor"),
            tenant_id=clinic.id,
            patient_id=patient.id,
            related_name="Donor 4471, sperm bank",
            type=RelationshipType.SPERM_DONOR,
        )
    )
    signer = Somebody(patient.id, patient.name, "patient")
    for key, codes in (
        ("zofia-storage-1", ("ZW-1", "ZW-2", "ZW-4", "ZW-5", "ZW-6")),
        ("zofia-storage-2", ("ZW-3",)),
    ):
        clinic.consent(
            key, texts.STORAGE, patient, ((SignerRole.GAMETE_PROVIDER, signer),), status=ConsentStatus.SIGNED,
            sent=-210, signed=(signer,), episode_id=EPISODE, case_id=sample_id("case", "zofia"),
            embryo_storage_ids=[sample_id("embryo", code) for code in codes],
        )  # fmt: skip
    _decisions(clinic, patient, signer)
    _withdrawn(clinic, patient, signer)
    rows = (
        ("ZW-1", "4AB", EmbryoStatus.STORED, Disposition.UNDECIDED),
        ("ZW-2", "4BB", EmbryoStatus.RESERVED, Disposition.UNDECIDED),
        ("ZW-3", "4BB", EmbryoStatus.STORED, Disposition.UNDECIDED),
        ("ZW-4", "4BB", EmbryoStatus.STORED, Disposition.DISCARD),
        ("ZW-5", "4BB", EmbryoStatus.STORED, Disposition.DONATE_RESEARCH),
        ("ZW-6", "5BB", EmbryoStatus.ON_HOLD, Disposition.UNDECIDED),
    )
    frozen = clinic.day(-184)
    for position, (code, grade, status, wish) in enumerate(rows):
        clinic.session.add(
            EmbryoStorage(
                id=sample_id("embryo", code),
                tenant_id=clinic.id,
                patient_id=patient.id,
                episode_id=EPISODE,
                embryo_code=code,
                day=5,
                grade=grade,
                grading_system="Gardner",
                cryopreserved_at=clinic.at(-184, "14:40"),
                method="Vitrification",
                status=status,
                hold_cause=HoldCause.WISH_TAKEN_BACK if status == EmbryoStatus.ON_HOLD else None,
                hold_reason="Decision taken back" if status == EmbryoStatus.ON_HOLD else None,
                stopped_at=clinic.at(-12, "11:00") if status == EmbryoStatus.ON_HOLD else None,
                location=Location(
                    facility="Quayside", tank="T2", canister="C1", cane="4", position=str(position + 1)
                ),
                consent_form_id=sample_id(
                    "consent", "zofia-storage-2" if code == "ZW-3" else "zofia-storage-1"
                ),
                storage_consented_until=frozen.replace(day=min(frozen.day, 28), year=frozen.year + 10),
                storage_expires_at=clinic.at(180, "12:00"),
                statutory_limit=frozen.replace(day=min(frozen.day, 28), year=frozen.year + 55),
                disposition=wish,
            )
        )


def _decisions(clinic: Clinic, patient: Patient, signer: Somebody) -> None:
    """Add a decision to be carried out, one that lacks a second person's signature, and one that she took back."""
    alone = ((SignerRole.PATIENT, signer),)
    witnessed = (*alone, (SignerRole.WITNESS, WITH_LOG_IN["nora"]))
    for code, signers, wish, taken_back_at in (
        ("ZW-4", witnessed, Disposition.DISCARD, None),
        ("ZW-5", alone, Disposition.DONATE_RESEARCH, None),
        ("ZW-6", witnessed, Disposition.DISCARD, clinic.at(-12, "11:00")),
    ):
        clinic.consent(
            f"zofia-decision-{code}", texts.DISPOSITION, patient, signers, status=ConsentStatus.SIGNED,
            sent=-30, signed=tuple(person for _, person in signers), episode_id=EPISODE,
            case_id=sample_id("case", "zofia"), embryo_storage_ids=[sample_id("embryo", code)],
            disposition=wish, wish_taken_back_at=taken_back_at,
        )  # fmt: skip


def _withdrawn(clinic: Clinic, patient: Patient, signer: Somebody) -> None:
    """Add a form that she withdrew by telephone."""
    nurse = WITH_LOG_IN["nora"]
    clinic.consent(
        "zofia-disclosure", texts.DISCLOSURE, patient, ((SignerRole.PATIENT, signer),),
        status=ConsentStatus.REVOKED, sent=-90, signed=(signer,), case_id=sample_id("case", "zofia"),
        revoked_at=clinic.at(-40, "10:12"), revoked_by_id=nurse.id, revoked_by_name=nurse.name,
        on_behalf_of=signer.id, told_at=clinic.at(-40, "10:05"), told_by=ToldBy.TELEPHONE,
    )  # fmt: skip


def _form(clinic: Clinic, index: int, patient: Patient) -> None:
    signer = Somebody(patient.id, patient.name, "patient")
    clinician = WITH_LOG_IN["victor"]
    signers = [(SignerRole.PATIENT, signer)]
    if index % 3 == 0:
        signers.append((SignerRole.CLINICIAN, clinician))
    if index % 8 == 1:
        signers.append((SignerRole.WITNESS, WITH_LOG_IN["nora"]))
    waits_for_patient = index % 5 < 3
    alone = len(signers) == 1
    if waits_for_patient:
        status, signed = ConsentStatus.PENDING, ()
    else:
        status, signed = (ConsentStatus.SIGNED if alone else ConsentStatus.PARTIALLY_SIGNED), (signer,)
    clinic.consent(
        f"background-{index}",
        _TEMPLATES[index % len(_TEMPLATES)],
        patient,
        signers,
        status=status,
        sent=-3 - index % 12,
        signed=signed,
        order=SigningOrder.SEQUENTIAL if index % 2 else SigningOrder.ANY,
        procedure_date=clinic.day(-1 if index == _LATE else index % 15),
    )
