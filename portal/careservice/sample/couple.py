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
    Monitoring,
    TimelineEvent,
)
from portal.careservice.domain.patients import EmergencyContact, Patient, Relationship
from portal.careservice.domain.protocols import FertilityProtocol, Medication, MonitoringDay
from portal.careservice.ids import sample_id
from portal.careservice.sample import consent_texts as texts
from portal.careservice.sample import files
from portal.careservice.sample.clinic import WITH_LOG_IN, Clinic
from portal.careservice.sample.staff import physician_id, physician_name

EPISODE = sample_id("episode", "amelia-1")
_CASE = sample_id("case", "amelia")
_AMELIA, _DANIEL = WITH_LOG_IN["amelia"], WITH_LOG_IN["daniel"]
_NORA, _VICTOR, _ELIF = WITH_LOG_IN["nora"], WITH_LOG_IN["victor"], WITH_LOG_IN["elif"]
_BOTH = ((SignerRole.PATIENT, _AMELIA), (SignerRole.PARTNER, _DANIEL))


def add(clinic: Clinic) -> None:
    """All of it."""
    amelia = clinic.patient(
        "amelia",
        "RF-10482",
        date(1991, 4, 17),
        phone_number="+44 7700 900182",
        preferred_name="Millie",
        preferred_channel=Channel.SMS,
    )
    daniel = clinic.patient(
        "daniel",
        "RF-10483",
        date(1989, 11, 2),
        phone_number="+44 7700 900183",
        emergency_contact=EmergencyContact(
            name=_AMELIA.name, phone_number="+44 7700 900182", relation="Partner"
        ),
    )
    clinic.session.add_all(_case(clinic, amelia, daniel))
    clinic.session.flush()
    clinic.session.add(_episode(clinic, amelia, daniel))
    clinic.session.add(_protocol(clinic, amelia))
    clinic.session.flush()
    _consents(clinic, amelia, daniel)
    _documents_and_conversations(clinic, amelia, daniel)
    _notifications(clinic)


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
            notes="Prefers calls after 16:00. Needle phobia: <b>offer topical anaesthetic</b> & a quiet room.",
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
        start_date=clinic.day(-9),
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
                (-9, "09:00", "Cycle", Stage.BASELINE, "Cycle day 1 reported", None, False),
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
                ("retrieval", 4, "Egg retrieval", "08:00", "10:00", "Quayside, theatre", "Tentative"),
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
            ),
            Alert(
                position=1,
                severity=Severity.INFO,
                text="Please arrive for tomorrow’s scan with an empty bladder.",
                until=clinic.at(1, "09:30"),
            ),
        ],
    )


def _protocol(clinic: Clinic, amelia: Patient) -> FertilityProtocol:
    medicines = (
        ("rFSH (follitropin alfa)", "Gonadotropin", 225, "IU", 1, None, "Until trigger", "19:00"),
        ("Cetrorelix", "GnRH antagonist", 0.25, "mg", 5, None, "Until trigger", "08:00"),
        ("Choriogonadotropin alfa", "hCG trigger", 250, "µg", 10, 10, None, "21:00"),
        ("Progesterone", "Luteal support", 400, "mg", 12, 29, None, "08:00"),
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
        description="Trigger when more than two follicles reach 17 mm; retrieval 34 to 36 hours later.",
        patient_id=amelia.id,
        episode_id=EPISODE,
        physician_id=physician_id("victor"),
        start_date=clinic.day(-7),
        medications=[
            Medication(
                id=sample_id("medication", f"amelia-{drug}"),
                drug=drug,
                drug_class=drug_class,
                dose=dose,
                unit=unit,
                route="Vaginal" if drug == "Progesterone" else "Subcutaneous",
                start_day=start,
                end_day=end,
                stop_rule=stop,
                time=time,
                instructions="Rotate the injection site." if drug.startswith("rFSH") else None,
            )
            for drug, drug_class, dose, unit, start, end, stop, time in medicines
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
    clinic.consent(
        "amelia-treatment-1", texts.TREATMENT, amelia, with_clinician, status=ConsentStatus.SUPERSEDED,
        sent=-40, signed=(_AMELIA, _DANIEL), version="3.0", superseded_by_id=second, **about,
    )  # fmt: skip
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
        "amelia-parenthood", texts.PARENTHOOD, amelia,
        ((SignerRole.PARTNER, _DANIEL), (SignerRole.PATIENT, _AMELIA), (SignerRole.WITNESS, _NORA)),
        status=ConsentStatus.PENDING, sent=-2, order=SigningOrder.SEQUENTIAL, procedure_date=clinic.day(9), **about,
    )  # fmt: skip
    clinic.consent(
        "amelia-storage", texts.STORAGE, amelia, _BOTH, status=ConsentStatus.PARTIALLY_SIGNED, sent=-6,
        signed=(_DANIEL,), procedure_date=clinic.day(4), **about,
    )  # fmt: skip
    clinic.consent(
        "amelia-disclosure", texts.DISCLOSURE, amelia, ((SignerRole.PATIENT, _AMELIA),),
        status=ConsentStatus.REVOKED, sent=-80, signed=(_AMELIA,), revoked_at=clinic.at(-20, "15:20"),
        revoke_reason="I have changed my GP and will agree again with the new practice.",
        revoked_by_id=_AMELIA.id, case_id=_CASE, episode_id=EPISODE,
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


def _documents_and_conversations(clinic: Clinic, amelia: Patient, daniel: Patient) -> None:
    place: dict[str, Any] = {"episode_id": EPISODE}
    letters = clinic.directory("amelia-letters", EPISODE, "Letters")
    results = clinic.directory("amelia-results", EPISODE, "Results")
    scans = clinic.directory("amelia-scans", EPISODE, "Scans", results)
    bloods = clinic.directory("amelia-bloods", EPISODE, "Blood tests", results)
    clinic.directory("amelia-archive", EPISODE, "Archive", letters)
    plan = clinic.file(
        "amelia-plan", "Treatment plan – Amelia & Daniel.pdf", "application/pdf",
        files.pdf("Your treatment plan", ["rFSH 225 IU every evening from day 1", "Cetrorelix 0.25 mg from day 5",
                                          "Trigger when more than two follicles reach 17 mm"]),
        days=-30, directory_id=letters.id, **place,
    )  # fmt: skip
    scan = clinic.file(
        "amelia-scan", "Scan day 7.png", "image/png", files.scan(), days=-1, directory_id=scans.id, **place
    )
    clinic.file(
        "amelia-bloods", "Hormones day 7.txt", "text/plain",
        b"Oestradiol 3910 pmol/L\nLH 2.1 IU/L\nProgesterone 1.9 nmol/L\n",
        days=-1, directory_id=bloods.id, **place,
    )  # fmt: skip
    clinic.file(
        "amelia-semen", "Analiza nasienia – Zażółć gęślą jaźń (kopia) “final”.pdf", "application/pdf",
        files.pdf("Semen analysis", ["Concentration 4.1 M/mL", "Progressive motility 18 %"]),
        days=-90, directory_id=results.id, **place,
    )  # fmt: skip
    clinic.file(
        "amelia-timelapse", "Time-lapse demonstration.png", "image/png", files.large_picture("amelia"),
        days=-12, directory_id=None, **place,
    )  # fmt: skip
    about: dict[str, Any] = {"patient_id": amelia.id, "episode_id": EPISODE}
    both = [_AMELIA, _DANIEL, _NORA]
    clinic.conversation(
        "amelia-scan", "After yesterday’s scan", both,
        [
            (_NORA, 1.2, "Good morning! Your scan looks lovely: the leading follicle is 16 mm."),
            (_AMELIA, 1.1, "Thank you. Do I stay at 225?"),
            (_NORA, 0.4, "Yes, 225 IU tonight again, and cetrorelix at 8 tomorrow. The picture is attached."),
        ],
        unread_by=[_AMELIA, _DANIEL], attached=[scan, plan], **about,
    )  # fmt: skip
    clinic.conversation(
        "amelia-injection", "Bruising where I inject", [_AMELIA, _NORA],
        [
            (_AMELIA, 0.9, "Is it normal that it bruises? <script>alert('no')</script> & it's \"only\" on the left."),
            (_AMELIA, 0.2, "It’s bigger today. Shall I come in?"),
        ],
        unread_by=[_NORA, _VICTOR], unread=2, **about,
    )  # fmt: skip
    clinic.conversation(
        "amelia-sms", "Text messages", [_AMELIA, WITH_LOG_IN["colin"]],
        [
            (WITH_LOG_IN["colin"], 3.5, "Riverside Fertility: scan on Thursday 08:30. Reply 1 to confirm."),
            (_AMELIA, 3.4, "1"),
            (WITH_LOG_IN["colin"], 0.6, "Riverside Fertility: next scan tomorrow 09:30."),
        ],
        channel=Channel.SMS, unread_by=[_AMELIA], **about,
    )  # fmt: skip
    clinic.conversation(
        "amelia-welcome", "Welcome to Riverside", [_AMELIA, WITH_LOG_IN["colin"]],
        [(WITH_LOG_IN["colin"], 95, "Welcome! Here you find your forms, dates and messages.")],
        channel=Channel.EMAIL, **about,
    )  # fmt: skip
    clinic.archive("amelia-welcome", _AMELIA)
    clinic.conversation(
        "daniel-sample", "Producing the sample", [_DANIEL, _NORA],
        [
            (_DANIEL, 5, "How long should I abstain before the day of retrieval?"),
            (_NORA, 4.8, "Two to three days is ideal. Please bring photo identification."),
        ],
        unread_by=[_DANIEL], patient_id=daniel.id, episode_id=EPISODE,
    )  # fmt: skip


def _notifications(clinic: Clinic) -> None:
    talk = ("Conversation", sample_id("conversation", "amelia-scan"))
    sms = ("Conversation", sample_id("conversation", "amelia-sms"))
    episode = ("Episode", EPISODE)
    genetic = ("ConsentForm", sample_id("consent", "amelia-genetic"))
    for person, ago in ((_AMELIA, 0.4), (_DANIEL, 0.41)):
        clinic.notify(
            person,
            "MessageReceived",
            "You have a new message",
            "Open the portal to read it.",
            ago=ago,
            about=talk,
        )
    clinic.notify(
        _AMELIA,
        "MessageReceived",
        "You have a new message",
        "Open the portal to read it.",
        ago=0.6,
        about=sms,
    )
    clinic.notify(
        _DANIEL, "MessageReceived", "You have a new message", "Open the portal to read it.", ago=4.8,
        about=("Conversation", sample_id("conversation", "daniel-sample")),
    )  # fmt: skip
    clinic.notify(
        _AMELIA,
        "ConsentRequested",
        "A form is ready for you",
        "Please read it and decide.",
        ago=3,
        about=genetic,
    )
    clinic.notify(
        _AMELIA, "ConsentRequested", "A form is ready for you", "Please read it and decide.", ago=6,
        about=("ConsentForm", sample_id("consent", "amelia-storage")),
    )  # fmt: skip
    clinic.notify(
        _DANIEL, "ConsentRequested", "A form is ready for you", "Please read it and decide.", ago=2,
        about=("ConsentForm", sample_id("consent", "amelia-parenthood")),
    )  # fmt: skip
    clinic.notify(
        _AMELIA, "AppointmentReminder", "Reminder about tomorrow", "09:30 at Quayside.", ago=0.1,
        severity=Severity.WARNING, about=episode,
    )  # fmt: skip
    clinic.notify(
        _AMELIA, "ConsentRevoked", "A form has changed", "A form that names you was withdrawn.", ago=20,
        severity=Severity.WARNING, is_read=True, about=("ConsentForm", sample_id("consent", "amelia-disclosure")),
    )  # fmt: skip
    clinic.notify(
        _AMELIA, "ConsentCompleted", "A form is complete", "Everybody has signed.", ago=29,
        severity=Severity.SUCCESS, is_read=True, about=("ConsentForm", sample_id("consent", "amelia-treatment-2")),
    )  # fmt: skip
    clinic.notify(
        _AMELIA, "AccountSecurity", "A new sign-in to your account", "If it wasn’t you, ring us at once.", ago=15,
        severity=Severity.URGENT, is_read=True,
    )  # fmt: skip
    for index in range(16):
        clinic.notify(
            _AMELIA,
            "EpisodeUpdated" if index % 2 else "AppointmentReminder",
            "Your record was updated" if index % 2 else "Reminder about an appointment",
            "Open the portal to see it.",
            ago=7 + 3 * index,
            is_read=index > 2,
            about=episode,
        )
    for person, ago in ((_NORA, 0.2), (_VICTOR, 0.21)):
        clinic.notify(
            person, "MessageReceived", "A patient has written", "A message waits for an answer.",
            ago=ago, about=("Conversation", sample_id("conversation", "amelia-injection")),
        )  # fmt: skip
    clinic.notify(
        _NORA, "EpisodeUpdated", "A monitoring result waits to be verified", "Scan and bloods of yesterday.",
        ago=0.8, severity=Severity.WARNING, about=episode,
    )  # fmt: skip
    clinic.notify(
        _VICTOR, "EpisodeUpdated", "A trigger decision is due", "Leading follicle 16 mm yesterday.",
        ago=0.7, severity=Severity.URGENT, about=episode,
    )  # fmt: skip
