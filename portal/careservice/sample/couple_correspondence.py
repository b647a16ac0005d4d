"""Amelia's and Daniel's files, conversations and notifications."""

from __future__ import annotations

from typing import Any

from portal.careservice.domain.enumerations import Channel, Severity
from portal.careservice.domain.patients import Patient
from portal.careservice.ids import sample_id
from portal.careservice.sample import files
from portal.careservice.sample.clinic import WITH_LOG_IN, Clinic

EPISODE = sample_id("episode", "amelia-1")
_AMELIA, _DANIEL = WITH_LOG_IN["amelia"], WITH_LOG_IN["daniel"]
_NORA, _VICTOR = WITH_LOG_IN["nora"], WITH_LOG_IN["victor"]


def add(clinic: Clinic, amelia: Patient, daniel: Patient) -> None:
    """Add all of these."""
    _documents_and_conversations(clinic, amelia, daniel)
    _notifications(clinic)


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
        "amelia-timelapse", "Time-lapse demonstration.png", "image/png", files.time_lapse_still("amelia"),
        days=-12, directory_id=None, **place,
    )  # fmt: skip
    about: dict[str, Any] = {"patient_id": amelia.id, "episode_id": EPISODE}
    both = [_AMELIA, _DANIEL, _NORA]
    clinic.conversation(
        "amelia-scan", "After yesterday’s scan", both,
        [
            (_NORA, 1.2, "Hello Amelia. Your scan looks lovely: the leading follicle is 16 mm."),
            (_AMELIA, 1.1, "Thank you. Do I stay at 225?"),
            (_NORA, 0.4, "Yes, 225 IU tonight again, and cetrorelix at 8 tomorrow. The picture is attached."),
        ],
        unread_by=[_AMELIA, _DANIEL], attached=[scan, plan], **about,
    )  # fmt: skip
    clinic.conversation(
        "amelia-injection", "Bruising where I inject", [_AMELIA, _NORA],
        [
            (_AMELIA, 0.9, "Is it normal that it bruises? It’s only on the left."),
            (_AMELIA, 0.2, "It’s bigger today. Shall I come in?"),
        ],
        unread_by=[_NORA, _VICTOR], unread=2, **about,
    )  # fmt: skip
    clinic.conversation(
        "amelia-sms", "Text messages", [_AMELIA, WITH_LOG_IN["colin"]],
        [
            (WITH_LOG_IN["colin"], 3.5, f"Riverside Fertility: scan on {clinic.day(-1):%A} 08:30. Reply 1 to confirm."),
            (_AMELIA, 3.4, "1"),
            (WITH_LOG_IN["colin"], 0.6, f"Riverside Fertility: next scan on {clinic.day(1):%A} 09:30."),
        ],
        channel=Channel.SMS, unread_by=[_AMELIA], **about,
    )  # fmt: skip
    clinic.conversation(
        "amelia-welcome", "Welcome to Riverside", [_AMELIA, WITH_LOG_IN["colin"]],
        [(WITH_LOG_IN["colin"], 95, "Welcome! Here you’ll find your forms, dates and messages.")],
        channel=Channel.EMAIL, **about,
    )  # fmt: skip
    clinic.archive("amelia-welcome", _AMELIA)
    clinic.conversation(
        "daniel-sample", "Producing the sample", [_DANIEL, _NORA],
        [
            (_DANIEL, 5, "How long should I abstain before the egg collection?"),
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
        about=("ConsentForm", sample_id("consent", "amelia-sperm")),
    )  # fmt: skip
    clinic.notify(
        _AMELIA, "AppointmentReminder", "Reminder of your scan", f"{clinic.day(1):%A} 09:30 at Quayside.", ago=0.1,
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
            person, "MessageReceived", "A patient has written", "A message is waiting for an answer.",
            ago=ago, about=("Conversation", sample_id("conversation", "amelia-injection")),
        )  # fmt: skip
    clinic.notify(
        _NORA, "EpisodeUpdated", "A monitoring result is waiting to be verified", "Scan and bloods of yesterday.",
        ago=0.8, severity=Severity.WARNING, about=episode,
    )  # fmt: skip
    clinic.notify(
        _VICTOR, "EpisodeUpdated", "A trigger decision is due", "Leading follicle 16 mm yesterday.",
        ago=0.7, severity=Severity.URGENT, about=episode,
    )  # fmt: skip
