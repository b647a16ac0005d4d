"""Grace at riverside: a cycle that ended without pregnancy, and a freeze-all cycle with tested embryos."""

from __future__ import annotations

from datetime import date
from typing import Any

from portal.careservice.domain.cases import CareCase
from portal.careservice.domain.embryos import EmbryoStorage, HoldCause, Location
from portal.careservice.domain.enumerations import (
    CareStatus,
    ConsentStatus,
    Disposition,
    EmbryoStatus,
    Outcome,
    PgtCall,
    PgtStatus,
    PgtType,
    ProtocolStatus,
    ProtocolType,
    RelationshipType,
    Severity,
    SignerRole,
    Stage,
)
from portal.careservice.domain.episodes import (
    CareTeamMember,
    Episode,
    Follicles,
    HormoneUnits,
    Monitoring,
    TimelineEvent,
)
from portal.careservice.domain.patients import Patient, Relationship
from portal.careservice.domain.pgt_results import Abnormality, PgtResult, Thresholds
from portal.careservice.domain.protocols import FertilityProtocol, Medication, MonitoringDay
from portal.careservice.ids import sample_id
from portal.careservice.sample import consent_texts as texts
from portal.careservice.sample import files
from portal.careservice.sample.clinic import WITH_LOG_IN, Clinic, Somebody
from portal.careservice.sample.staff import physician_id, physician_name

FREEZE_ALL = sample_id("episode", "grace-2")
EARLIER = sample_id("episode", "grace-1")
_CASE = sample_id("case", "grace")
_GRACE, _ELIF, _NORA, _VICTOR = (WITH_LOG_IN[name] for name in ("grace", "elif", "nora", "victor"))

# The sex that the laboratory noted, which isn't disclosed; it has none for an embryo without a result.
_SEX = {"GO-1": "XY", "GO-2": "XX", "GO-3": "XX", "GO-4": "XY", "GO-5": "XXX", "GO-6": None}
_COMMENTS = {
    "GO-2": "Profile consistent with 46,XX, female.",
    "GO-4": "Profile consistent with mos 46,XY, male, with a gain of chromosome 7 in about a third of the cells.",
    "GO-5": "Profile consistent with 48,XXX,+16.",
}
# code, day, grade, status, disposition, paid for days, call, mosaic %, abnormalities, PGT status
_EMBRYOS = (
    ("GO-1", 5, "4AA", EmbryoStatus.RESERVED, Disposition.CONTINUE_STORAGE, 275, PgtCall.EUPLOID, None, (), PgtStatus.RELEASED),
    ("GO-2", 5, "4AB", EmbryoStatus.STORED, Disposition.CONTINUE_STORAGE, 275, PgtCall.EUPLOID, None, (), PgtStatus.RELEASED),
    ("GO-3", 5, "5BB", EmbryoStatus.STORED, Disposition.UNDECIDED, 18, PgtCall.EUPLOID, None, (), PgtStatus.AMENDED),
    ("GO-4", 6, "4BB", EmbryoStatus.STORED, Disposition.UNDECIDED, 275, PgtCall.LOW_MOSAIC, 32.0, (("7", "mosaic gain (32 %)"),), PgtStatus.RELEASED),
    ("GO-5", 6, "4BC", EmbryoStatus.DISCARDED, Disposition.DISCARD, None, PgtCall.ANEUPLOID, None, (("16", "trisomy"), ("X", "gain")), PgtStatus.RELEASED),
    ("GO-6", 6, "5BB", EmbryoStatus.ON_HOLD, Disposition.UNDECIDED, 275, PgtCall.NO_RESULT, None, (), PgtStatus.REPORTED),
)  # fmt: skip


_HOURS = {Stage.TRIGGER: "21:30", Stage.RETRIEVAL: "08:30"}
"""When steps happened: the trigger 35 hours before egg collection."""
_REPORTED = {PgtStatus.RELEASED: -72, PgtStatus.AMENDED: -40, PgtStatus.REPORTED: -8}
"""On which day the laboratory reported results in each status."""


def add(clinic: Clinic) -> None:
    """Add her and her partner with all their records."""
    grace = clinic.patient("grace", "RF-09117", date(1987, 9, 3), phone_number="+447700900174", language="en")
    joseph = Patient(
        id=sample_id("patient", "joseph"),
        tenant_id=clinic.id,
        mrn="RF-09118",
        first_name="Joseph",
        last_name="Okafor-D'Angelo",
        date_of_birth=date(1985, 1, 30),
        email="joseph@riverside.example",
        language="en",
    )
    clinic.session.add(joseph)
    clinic.session.flush()
    clinic.session.add_all(
        [
            CareCase(
                id=_CASE,
                tenant_id=clinic.id,
                case_number="C-1876",
                patient_id=grace.id,
                partner_id=joseph.id,
                title="IVF with PGT-A after failed transfer",
                treatment_type=ProtocolType.ANTAGONIST,
                status=CareStatus.ON_HOLD,
                physician_id=physician_id("victor"),
                coordinator_id=WITH_LOG_IN["colin"].id,
                diagnosis="Secondary subfertility; one failed transfer. AMH 11.2 pmol/L.",
                opened_at=clinic.at(-420, "10:00"),
            ),
            Relationship(
                id=sample_id("relationship", "grace-joseph"),
                tenant_id=clinic.id,
                patient_id=grace.id,
                related_patient_id=joseph.id,
                related_name=joseph.name,
                type=RelationshipType.SPOUSE,
                is_portal_shared=False,
                start_date=date(2015, 8, 22),
            ),
            Relationship(
                id=sample_id("relationship", "grace-sister"),
                tenant_id=clinic.id,
                patient_id=grace.id,
                related_name="Comfort Okafor",
                type=RelationshipType.EMERGENCY_CONTACT,
            ),
        ]
    )
    clinic.session.flush()
    _episodes(clinic, grace, joseph)
    clinic.session.flush()
    _consents(clinic, grace, joseph)
    _embryos(clinic, grace)
    _correspondence(clinic, grace)


def _episodes(clinic: Clinic, grace: Patient, joseph: Patient) -> None:
    team = (
        (physician_id("victor"), physician_name(clinic, "victor"), "Physician"),
        (_ELIF.id, _ELIF.name, "Embryologist"),
    )
    timelines = {
        FREEZE_ALL: (
            (-104, Stage.STIMULATION, "Stimulation started", "rFSH 300 IU"),
            (-94, Stage.TRIGGER, "Agonist trigger", "To lower the risk of OHSS"),
            (-92, Stage.RETRIEVAL, "Egg collection", "13 eggs, 10 mature"),
            (-91, Stage.FERTILISATION, "Fertilisation check", "8 of 10 with two pronuclei"),
            (-87, Stage.BIOPSY, "Trophectoderm biopsy", "6 blastocysts, day 5 and 6"),
            (-86, Stage.FREEZE, "Vitrification", "6 blastocysts frozen"),
            (-67, Stage.ENDED, "Results discussed", None),
        ),
        EARLIER: (
            (-330, Stage.STIMULATION, "Stimulation started", "rFSH 225 IU"),
            (-318, Stage.RETRIEVAL, "Egg collection", "9 eggs, 7 mature"),
            (-313, Stage.TRANSFER, "Embryo transfer", "One blastocyst, 4BB"),
            (-302, Stage.PREGNANCY_TEST, "Pregnancy test", "Not pregnant. We are sorry."),
        ),
    }
    for key, number, start, end, outcome, scans in (
        (FREEZE_ALL, "E-1876-2", -105, -67, Outcome.COMPLETED, True),
        (EARLIER, "E-1876-1", -332, -302, Outcome.NO_PREGNANCY, False),
    ):
        clinic.session.add(
            Episode(
                id=key,
                tenant_id=clinic.id,
                number=number,
                type=ProtocolType.ANTAGONIST,
                status=CareStatus.FINISHED,
                stage=Stage.ENDED,
                outcome=outcome,
                start_date=clinic.day(start),
                end_date=clinic.day(end),
                patient_id=grace.id,
                partner_id=joseph.id,
                case_id=_CASE,
                timeline=[
                    TimelineEvent(
                        kind="Cycle",
                        stage=stage,
                        title=title,
                        note=note,
                        occurred_at=clinic.at(offset, _HOURS.get(stage, "10:30")),
                        verified=True,
                    )
                    for offset, stage, title, note in timelines[key]
                ],
                monitoring=_scans(clinic) if scans else [],
                care_team=[
                    CareTeamMember(position=position, physician_id=identity, name=name, role=role)
                    for position, (identity, name, role) in enumerate(team)
                ],
            )
        )
    clinic.session.add(
        FertilityProtocol(
            id=sample_id("protocol", "grace"),
            tenant_id=clinic.id,
            name="Antagonist, rFSH 300, freeze-all",
            type=ProtocolType.ANTAGONIST,
            status=ProtocolStatus.COMPLETED,
            description="Agonist trigger, all blastocysts biopsied and vitrified.",
            patient_id=grace.id,
            episode_id=FREEZE_ALL,
            physician_id=physician_id("victor"),
            start_date=clinic.day(-104),
            medications=[
                Medication(
                    id=sample_id("medication", "grace-fsh"), drug="rFSH (follitropin beta)", time="20:00",
                    drug_class="Gonadotropin", dose=300, unit="IU", route="Subcutaneous", start_day=1, end_day=10,
                ),
                Medication(
                    id=sample_id("medication", "grace-ganirelix"), drug="Ganirelix", time="08:00",
                    drug_class="GnRH antagonist", dose=0.25, unit="mg", route="Subcutaneous", start_day=5, end_day=11,
                ),
                Medication(
                    id=sample_id("medication", "grace-triptorelin"), drug="Triptorelin",
                    drug_class="GnRH agonist trigger", dose=0.2, unit="mg", route="Subcutaneous",
                    start_day=11, end_day=11, time="21:30", is_trigger=True,
                ),
            ],
            monitoring=[MonitoringDay(day=day, kind="Scan and bloods") for day in (1, 5, 9, 11)],
        )
    )  # fmt: skip


def _scans(clinic: Clinic) -> list[Monitoring]:
    rows = (
        (-104, 2, ([5, 5, 4.0], [5.5, 5, 4, 4]), 3.4, "linear", 118, 6.2, 0.9),
        (-100, 6, ([10, 9, 8.5], [10.5, 9, 8, 7.5]), 5.9, "linear", 1310, 3.3, 1.4),
        (-96, 10, ([17, 16, 14.5, 12, 11], [18, 16.5, 15, 13, 12, 11]), 8.8, "trilaminar", 7240, 2.0, 2.2),
        (
            -94,
            12,
            ([19, 18, 16.5, 15, 14, 12], [20, 18.5, 17, 15.5, 15, 14, 12]),
            9.6,
            "trilaminar",
            10900,
            1.9,
            2.9,
        ),
    )
    return [
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
            verified=True,
        )
        for offset, day, (left, right), lining, pattern, e2, lh, p4 in rows
    ]


def _consents(clinic: Clinic, grace: Patient, joseph: Patient) -> None:
    about: dict[str, Any] = {"partner_id": joseph.id, "case_id": _CASE, "episode_id": FREEZE_ALL}
    husband = Somebody(joseph.id, joseph.name, "patient")  # without an account: he signs on paper, or waits
    alone = ((SignerRole.PATIENT, _GRACE),)
    both = (*alone, (SignerRole.PARTNER, husband))
    with_clinician = (*both, (SignerRole.CLINICIAN, _VICTOR))
    clinic.consent(
        "grace-storage", texts.STORAGE, grace, ((SignerRole.GAMETE_PROVIDER, _GRACE),),
        status=ConsentStatus.SIGNED, sent=-120, signed=(_GRACE,), **about,
    )  # fmt: skip
    clinic.consent(
        "joseph-storage", texts.STORAGE, grace, ((SignerRole.GAMETE_PROVIDER, husband),),
        status=ConsentStatus.SIGNED, sent=-120, signed=(husband,),
        embryo_storage_ids=[sample_id("embryo", code) for code, *_ in _EMBRYOS], **about,
    )  # fmt: skip
    clinic.consent(
        "grace-genetic", texts.GENETIC, grace, (*alone, (SignerRole.CLINICIAN, _VICTOR)),
        status=ConsentStatus.SIGNED, sent=-118, signed=(_GRACE, _VICTOR), **about,
    )  # fmt: skip
    clinic.consent(
        "grace-disposition", texts.DISPOSITION, grace, with_clinician, status=ConsentStatus.SIGNED, sent=-60,
        signed=(_GRACE, husband, _VICTOR), embryo_storage_ids=[sample_id("embryo", "GO-5")],
        disposition=Disposition.DISCARD, **about,
    )  # fmt: skip
    clinic.consent(
        "grace-renewal", texts.RENEWAL, grace, both, status=ConsentStatus.PENDING, sent=-4,
        expires_at=clinic.at(30, "18:00"), embryo_storage_ids=[sample_id("embryo", "GO-3")], **about,
    )  # fmt: skip
    clinic.consent(
        "grace-treatment", texts.TREATMENT, grace, with_clinician, status=ConsentStatus.SIGNED, sent=-350,
        signed=(_GRACE, husband, _VICTOR), version="2.4", partner_id=joseph.id, case_id=_CASE,
        episode_id=EARLIER,
    )  # fmt: skip


def _embryos(clinic: Clinic, grace: Patient) -> None:
    folder = clinic.directory("grace-genetics", FREEZE_ALL, "Genetic tests")
    older = clinic.directory("grace-letters", FREEZE_ALL, "Letters")
    clinic.directory("grace-letters-old", FREEZE_ALL, "Earlier letters", older)
    report = clinic.file(
        "grace-report", "PGT-A report.pdf", "application/pdf",
        files.pdf("PGT-A report", ["GO-1 euploid", "GO-2 euploid", "GO-3 euploid", "GO-4 low mosaic, 32 %",
                                   "GO-5 aneuploid"]),
        days=-72, episode_id=FREEZE_ALL, directory_id=folder.id,
    )  # fmt: skip
    report.is_patient_copy = True
    unreleased = clinic.file(
        "grace-report-late", "PGT-A report GO-6 (for review).pdf", "application/pdf",
        files.pdf("PGT-A report", ["GO-6 no result, the sample amplified twice; repeat biopsy to be discussed"]),
        days=-8, episode_id=FREEZE_ALL, directory_id=folder.id,
    )  # fmt: skip
    frozen = clinic.day(-86)
    for position, (code, day, grade, status, wish, paid, call, mosaic, found, stage) in enumerate(_EMBRYOS):
        result_id = sample_id("pgt-result", code)
        clinic.session.add(
            EmbryoStorage(
                id=sample_id("embryo", code),
                tenant_id=clinic.id,
                patient_id=grace.id,
                episode_id=FREEZE_ALL,
                embryo_code=code,
                day=day,
                grade=grade,
                grading_system="Gardner",
                cryopreserved_at=clinic.at(-87 if day == 5 else -86, "15:10"),
                method="Vitrification",
                status=status,
                location=None
                if status == EmbryoStatus.DISCARDED
                else Location(
                    facility="Quayside", tank="T4", canister="C2", cane="17", position=str(position + 1)
                ),
                hold_reason="Repeat biopsy under discussion" if status == EmbryoStatus.ON_HOLD else None,
                hold_cause=HoldCause.CLINIC if status == EmbryoStatus.ON_HOLD else None,
                pgt_result_id=result_id,
                consent_form_id=sample_id("consent", "grace-storage"),
                storage_consented_until=frozen.replace(day=min(frozen.day, 28), year=frozen.year + 10),
                storage_expires_at=clinic.at(paid, "12:00") if paid is not None else None,
                statutory_limit=frozen.replace(day=min(frozen.day, 28), year=frozen.year + 55),
                disposition=wish,
                notes="Hatching at warming expected." if grade.startswith("5") else None,
            )
        )
        clinic.session.flush()
        released = stage in (PgtStatus.RELEASED, PgtStatus.AMENDED)
        clinic.session.add(
            PgtResult(
                id=result_id,
                tenant_id=clinic.id,
                embryo_storage_id=sample_id("embryo", code),
                embryo_code=code,
                episode_id=FREEZE_ALL,
                test_type=PgtType.PGT_A,
                laboratory="Avon Genomics",
                biopsied_at=clinic.at(-87 if day == 5 else -86, "11:20"),
                reported_at=clinic.at(_REPORTED[stage], "12:00"),
                status=stage,
                call=call,
                mosaic_percent=mosaic,
                thresholds=Thresholds(euploid_below=20, aneuploid_above=80),
                abnormalities=[
                    Abnormality(chromosome=chromosome, change=change) for chromosome, change in found
                ],
                sex_disclosed=False,
                sex=_SEX[code],
                comment=_COMMENTS.get(code),
                report_file_id=report.id if released else unreleased.id,
                released_at=clinic.at(_REPORTED[stage] + 2, "16:00") if released else None,
            )
        )


def _correspondence(clinic: Clinic, grace: Patient) -> None:
    clinic.conversation(
        "grace-results", "Your results", [_GRACE, _VICTOR, _ELIF],
        [
            (_VICTOR, 70, f"Your results are in the portal. Let’s talk them through on {clinic.day(-67):%A}."),
            (_GRACE, 69.5, "What does low mosaic mean for GO-4?"),
            (_ELIF, 69, "A part of the cells tested differs. It can be transferred after counselling."),
        ],
        patient_id=grace.id, episode_id=FREEZE_ALL,
    )  # fmt: skip
    clinic.conversation(
        "grace-storage", "Storage of GO-3", [_GRACE, WITH_LOG_IN["colin"]],
        [
            (WITH_LOG_IN["colin"], 6, "Storage of one embryo is paid until the end of the month."),
            (_GRACE, 5.5, "We’d like to go on. How do I pay?"),
            (WITH_LOG_IN["colin"], 1.5, "I have sent you a link by e-mail; the date moves once it is paid."),
        ],
        unread_by=[_GRACE], patient_id=grace.id, episode_id=FREEZE_ALL,
    )  # fmt: skip
    clinic.conversation(
        "grace-earlier", "After the pregnancy test", [_GRACE, _NORA],
        [(_NORA, 301, "We are sorry that it didn’t work this time. Ring whenever you like.")],
        patient_id=grace.id, episode_id=EARLIER,
    )  # fmt: skip
    clinic.archive("grace-earlier", _GRACE)
    embryo = ("EmbryoStorage", sample_id("embryo", "GO-3"))
    episode = ("Episode", FREEZE_ALL)
    for person in (_GRACE, WITH_LOG_IN["colin"]):
        clinic.notify(
            person, "StorageReminder", "A date is coming up", "Please look at it in the portal.", ago=6,
            severity=Severity.URGENT, about=embryo, data={"episodeId": FREEZE_ALL},
        )  # fmt: skip
    clinic.notify(
        _GRACE, "ResultReleased", "Something new is in your record", "Open the portal to see it.", ago=70,
        severity=Severity.SUCCESS, is_read=True, about=("PGTResult", sample_id("pgt-result", "GO-1")),
        data={"episodeId": FREEZE_ALL},
    )  # fmt: skip
    clinic.notify(
        _GRACE, "MessageReceived", "You have a new message", "Open the portal to read it.", ago=1.5,
        about=("Conversation", sample_id("conversation", "grace-storage")),
    )  # fmt: skip
    clinic.notify(
        _GRACE, "ConsentRequested", "A form is ready for you", "Please read it and decide.", ago=4,
        about=("ConsentForm", sample_id("consent", "grace-renewal")),
    )  # fmt: skip
    clinic.notify(
        _GRACE, "PaymentReceived", "A payment arrived", "Thank you.", ago=80, severity=Severity.SUCCESS,
        is_read=True, about=episode,
    )  # fmt: skip
    clinic.notify(
        _GRACE, "EpisodeUpdated", "Your record was updated", "Open the portal to see it.", ago=300, is_read=True,
        about=("Episode", EARLIER),
    )  # fmt: skip
    clinic.notify(
        _ELIF, "ResultReleased", "A report is waiting for review", "GO-6: no result.", ago=8, severity=Severity.WARNING,
        about=("PGTResult", sample_id("pgt-result", "GO-6")), data={"episodeId": FREEZE_ALL},
    )  # fmt: skip
