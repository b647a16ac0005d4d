"""What awaits riverside's staff in the morning besides forms: messages, a report, a missed visit."""

from __future__ import annotations

from portal.careservice.domain.enumerations import Channel, Severity
from portal.careservice.domain.patients import Patient
from portal.careservice.domain.prospects import Prospect, details_for_staff
from portal.careservice.ids import sample_id
from portal.careservice.sample.background import EPISODE
from portal.careservice.sample.clinic import WITH_LOG_IN, Clinic, Somebody
from portal.careservice.sample.frozen import FREEZE_ALL

_NORA, _ELIF, _COLIN = (WITH_LOG_IN[name] for name in ("nora", "elif", "colin"))


def add(clinic: Clinic) -> None:
    """Add two unanswered messages, the laboratory's report, a missed visit, an overdue form and a referral."""
    sian, zofia, sunita = (
        clinic.session.get_one(Patient, sample_id("patient", f"background-{index}")) for index in (1, 0, 30)
    )
    _messages(clinic, sian, zofia)
    clinic.notify(
        _NORA, "EpisodeUpdated", "A report waits to be discussed", "GO-6: no result, repeat biopsy to be discussed.",
        ago=0.12, about=("Episode", FREEZE_ALL),
    )  # fmt: skip
    clinic.notify(
        _NORA, "AppointmentReminder", "A visit was missed", "Siân Llewellyn didn’t come to yesterday’s scan.",
        ago=0.6, severity=Severity.WARNING, about=("Conversation", sample_id("conversation", "sian-missed")),
    )  # fmt: skip
    clinic.notify(
        _NORA, "ConsentRequested", "A form is late", f"{sunita.name}’s treatment was planned for yesterday.",
        ago=0.3, severity=Severity.URGENT, about=("ConsentForm", sample_id("consent", "background-30")),
    )  # fmt: skip
    prospect = clinic.session.get_one(Prospect, sample_id("prospect", "tomasz"))
    clinic.notify(
        _COLIN, "ProspectReceived", "A referral came in", "Two earlier cycles elsewhere. Prefers a phone call.",
        ago=0.5, about=("Prospect", prospect.id), data=details_for_staff(prospect),
    )  # fmt: skip


def _messages(clinic: Clinic, sian: Patient, zofia: Patient) -> None:
    hers = Somebody(sian.id, sian.name, "patient")
    clinic.conversation(
        "sian-missed", "Text messages", [hers, _COLIN],
        [
            (_COLIN, 2.5, "Riverside Fertility: scan tomorrow 08:40. Reply 1 to confirm."),
            (hers, 0.6, "So sorry, my train was cancelled. Can I still come today?"),
        ],
        channel=Channel.SMS, unread_by=[_COLIN], patient_id=sian.id,
    )  # fmt: skip
    hers = Somebody(zofia.id, zofia.name, "patient")
    clinic.conversation(
        "zofia-renewal", "Keeping my embryos for longer", [hers, _ELIF],
        [(hers, 1.4, "The storage letter came. What do I have to do to keep all six for another year?")],
        channel=Channel.EMAIL, unread_by=[_ELIF], patient_id=zofia.id, episode_id=EPISODE,
    )  # fmt: skip
