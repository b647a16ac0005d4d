"""Forty further patients of riverside without log-ins, whose forms fill a nurse's next two weeks."""

from __future__ import annotations

from datetime import date

from portal.careservice.domain.enumerations import ConsentStatus, SignerRole, SigningOrder
from portal.careservice.domain.patients import Patient
from portal.careservice.ids import sample_id
from portal.careservice.sample import consent_texts as texts
from portal.careservice.sample.clinic import WITH_LOG_IN, Clinic, Somebody

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
_TEMPLATES = (texts.TREATMENT, texts.STORAGE, texts.GENETIC, texts.PARENTHOOD, texts.RESEARCH)


def add(clinic: Clinic) -> None:
    """Patients and a form of each, with procedures from today to two weeks ahead."""
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
        procedure_date=clinic.day(index % 15),
    )
