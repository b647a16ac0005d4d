"""Episodes of treatment: a person's list, and one episode with its tabs, each an address of its own.

No endpoint lists episodes. The ids come from what mentions them (consent forms, conversations, notifications) and
are remembered in the session; staff see those that they opened last.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any, cast
from zoneinfo import ZoneInfo

from babel.numbers import format_decimal
from flask import Blueprint, Response, g, make_response, url_for
from flask_babel import get_locale
from markupsafe import Markup

from portal.parts import session
from portal.services.client import Care
from portal.services.consents import list_consents
from portal.services.conversations import list_conversations
from portal.services.episodes import episode_ids, get_episode
from portal.services.errors import CareError, NotFound
from portal.services.gather import gather, gather_all, known
from portal.services.notifications import list_notifications
from portal.services.records import (
    Appointment,
    CareStatus,
    ConsentForm,
    Conversation,
    Episode,
    EpisodeStage,
    File,
    Medication,
    Notification,
    Outcome,
    PgtBrief,
    Protocol,
    ProtocolType,
    TimelineEvent,
)
from portal.services.wire import Page
from portal.sessions import Person
from portal.tenants import Side
from portal.views.consents.standing import open_role
from portal.views.consents.words import listed, status_tone, status_word
from portal.web import audit, clinical, language
from portal.web.drawings.monitoring import monitoring_chart
from portal.web.drawings.schedule import medication_grid, written_dose
from portal.web.extensions import limit_files, limiter, person_or_address
from portal.web.filters import in_a_row, local, now, today
from portal.web.guard import signed_in
from portal.web.htmx import render, wants
from portal.words import _, for_each_language

bp = Blueprint("episodes", __name__, url_prefix="/episodes")
clinical.register(bp)

_REMEMBERED = 12
_RECENT = 4


# ── pages ───────────────────────────────────────────────────────────────────────────────────────────────


@bp.get("")
@signed_in(Side.PATIENT, Side.STAFF)
def index(care: Care, person: Person) -> Response:
    """List the person's episodes, the newest first; for staff those that they opened last."""
    ids = reachable(care, person)
    found = read_episodes(care, ids[: _RECENT if person.is_staff else _REMEMBERED])
    return render(
        "episodes/index.html",
        fragment="results",
        episodes=[EpisodeView(episode, person) for episode in found.newest_first],
        is_incomplete=found.is_incomplete,
    )


@bp.get("/<record:episode_id>")
@signed_in(Side.PATIENT, Side.STAFF)
def show(care: Care, person: Person, episode_id: str) -> Response:
    """Show where the treatment stands: today at the centre, before it what happened, after it what comes."""
    return _tab(care, person, episode_id, "overview")


@bp.get("/<record:episode_id>/timeline")
@signed_in(Side.PATIENT, Side.STAFF)
def timeline(care: Care, person: Person, episode_id: str) -> Response:
    """Show all that happened and all that is planned."""
    return _tab(care, person, episode_id, "timeline")


@bp.get("/<record:episode_id>/monitoring")
@signed_in(Side.PATIENT, Side.STAFF)
def monitoring(care: Care, person: Person, episode_id: str) -> Response:
    """Show scans and blood tests as a picture and as a table."""
    return _tab(care, person, episode_id, "monitoring")


@bp.get("/<record:episode_id>/medication")
@signed_in(Side.PATIENT, Side.STAFF)
def medication(care: Care, person: Person, episode_id: str) -> Response:
    """Show today's medicines and the whole plan."""
    return _tab(care, person, episode_id, "medication")


@bp.get("/<record:episode_id>/embryos")
@signed_in(Side.PATIENT, Side.STAFF)
def embryos(care: Care, person: Person, episode_id: str) -> Response:
    """Show each embryo with its grade, its state and its three dates."""
    return _tab(care, person, episode_id, "embryos")


@bp.get("/<record:episode_id>/appointments")
@signed_in(Side.PATIENT, Side.STAFF)
def appointments(care: Care, person: Person, episode_id: str) -> Response:
    """Show the visits, those to come first."""
    return _tab(care, person, episode_id, "appointments")


@bp.get("/<record:episode_id>/appointments.ics")
@limiter.limit(limit_files, key_func=person_or_address)
@signed_in(Side.PATIENT, Side.STAFF)
def calendar(care: Care, person: Person, episode_id: str) -> Response:
    """Answer with all visits as a calendar file (RFC 5545)."""
    return _calendar_file(get_episode(care, episode_id).appointments, episode_id, person)


@bp.get("/<record:episode_id>/appointments/<record:appointment_id>.ics")
@limiter.limit(limit_files, key_func=person_or_address)
@signed_in(Side.PATIENT, Side.STAFF)
def calendar_entry(care: Care, person: Person, episode_id: str, appointment_id: str) -> Response:
    """Answer with one visit as a calendar file (RFC 5545)."""
    chosen = [a for a in get_episode(care, episode_id).appointments if a.id == appointment_id]
    if not chosen:
        raise NotFound
    return _calendar_file(chosen, episode_id, person)


@bp.get("/<record:episode_id>/documents")
@signed_in(Side.PATIENT, Side.STAFF)
def documents(care: Care, person: Person, episode_id: str) -> Response:
    """Show the folders and their files."""
    return _tab(care, person, episode_id, "documents")


@bp.get("/<record:episode_id>/consents")
@signed_in(Side.PATIENT, Side.STAFF)
def consents(care: Care, person: Person, episode_id: str) -> Response:
    """Show the consent forms of this episode."""
    episode, forms = gather(
        lambda: get_episode(care, episode_id),
        lambda: list_consents(care, episode_id=episode_id, limit=100),
    )
    if isinstance(episode, CareError):
        raise episode
    awaited = () if isinstance(forms, CareError) else forms.items
    return _render(person, episode, "consents", forms=consent_rows(episode, awaited, person), awaited=forms)


@bp.get("/<record:episode_id>/team")
@signed_in(Side.PATIENT, Side.STAFF)
def team(care: Care, person: Person, episode_id: str) -> Response:
    """Show who looks after the patient."""
    return _tab(care, person, episode_id, "team")


# ── reading episodes ────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Found:
    """Episodes as far as they could be read; `is_incomplete` when one couldn't."""

    episodes: tuple[Episode, ...]
    is_incomplete: bool = False

    @property
    def newest_first(self) -> list[Episode]:
        """Those that go on first, then by their start, the newest first."""
        by_start = sorted(self.episodes, key=lambda e: e.start_date or date.min, reverse=True)
        return sorted(by_start, key=lambda e: e.is_ended)


def remembered() -> list[str]:
    """Return the ids that the session remembers."""
    record = session().record
    return list(record.episode_ids) if record else []


def reachable(care: Care, person: Person) -> list[str]:
    """Return the ids of a person's episodes: those remembered; for a patient without any, those mentioned."""
    ids = remembered()
    return ids if ids or person.is_staff else _find(care)


def read_episodes(care: Care, ids: Sequence[str]) -> Found:
    """Read these episodes side by side; one that isn't there (any more) is left out.

    None there of several that were is no answer to build "you have none" upon.
    """
    answers = gather_all([_reading(care, id_) for id_ in ids])
    read = tuple(answer for answer in answers if isinstance(answer, Episode))
    failed = any(isinstance(a, CareError) and not isinstance(a, NotFound) for a in answers)
    return Found(read, is_incomplete=failed or (bool(answers) and not read))


def remember(found: Found, ids: Iterable[str] = ()) -> None:
    """Remember the episodes that were read, the most pressing first, and after them the other ids."""
    if not found.is_incomplete:
        pressing = sorted(found.newest_first, key=lambda e: (e.is_ended, not _has_stored(e)))
        ordered = dict.fromkeys([*(episode.id for episode in pressing), *ids])
        session().remember_episodes(list(ordered)[:_REMEMBERED])


def _has_stored(episode: Episode) -> bool:
    return any(not embryo.is_terminal for embryo in episode.embryos)


def _reading(care: Care, episode_id: str) -> Callable[[], Episode]:
    return lambda: get_episode(care, episode_id)


def mentioned(
    forms: Page[ConsentForm] | CareError,
    talks: Page[Conversation] | CareError,
    news: Page[Notification] | CareError,
) -> list[str]:
    """Return the ids of the episodes that these mention; what couldn't be read mentions none."""
    consents, conversations, notifications = known(forms), known(talks), known(news)
    ids = episode_ids(
        consents.items if consents else (),
        conversations.items if conversations else (),
        notifications.items if notifications else (),
    )
    return list(ids)


def _find(care: Care) -> list[str]:
    """The ids in all that may mention an episode, remembered from now on."""
    forms, talks, news = gather(
        lambda: list_consents(care, limit=100),
        lambda: list_conversations(care, limit=50, include_archived=True),
        lambda: list_notifications(care, limit=100),
    )
    if isinstance(forms, CareError) and isinstance(talks, CareError) and isinstance(news, CareError):
        raise forms
    ids = mentioned(forms, talks, news)
    session().remember_episodes(ids[:_REMEMBERED])
    return ids


def _tab(care: Care, person: Person, episode_id: str, tab: str) -> Response:
    return _render(person, get_episode(care, episode_id), tab)


def _render(person: Person, episode: Episode, tab: str, **more: Any) -> Response:
    audit.note("episode.read", "done", kind="episode", id_=episode.id)
    if person.is_staff:
        session().remember_episodes([episode.id, *(i for i in remembered() if i != episode.id)][:_RECENT])
    view = EpisodeView(episode, person)
    return render(
        f"episodes/{tab}.html",
        fragment="tab",
        view=view,
        episode=episode,
        tabs=_tabs(view, tab),
        tab=next(label for name, label in _tab_names() if name == tab),
        is_part=wants("tab"),
        **more,
    )


# ── what the templates show ─────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Tab:
    """A part of the episode at an address of its own."""

    name: str
    label: str
    href: str
    current: bool
    count: int = 0


@dataclass(frozen=True, slots=True)
class Stage:
    """A step of the ribbon; `state` is done, now or next."""

    label: str
    state: str


@dataclass(frozen=True, slots=True)
class Dose:
    """A medicine that is due: when, what, how much, how."""

    time: str
    drug: str
    amount: str
    note: str


@dataclass(frozen=True, slots=True)
class ConsentRow:
    """A consent form of the episode; `is_mine_to_sign` when it waits for the person who looks."""

    id: str
    title: str
    status: str
    tone: str
    is_mine_to_sign: bool
    procedure_date: date | None


@dataclass(frozen=True, slots=True)
class Folder:
    """A folder with its path and its files."""

    name: str
    depth: int
    files: tuple[FileRow, ...]


@dataclass(frozen=True, slots=True)
class FileRow:
    """A file: what it is in words, and whether it can be looked at in place."""

    id: str
    name: str
    kind: str
    size: str
    made: datetime | None
    has_preview: bool


@dataclass(frozen=True, slots=True)
class EpisodeView:
    """An episode as one person sees it."""

    episode: Episode
    person: Person

    @property
    def title(self) -> str:
        """What kind of treatment it is: plain for patients, the protocol's name for staff."""
        return clinical.treatment_name(self.episode.type, plain=self.person.is_patient)

    @property
    def heading(self) -> str:
        """The page's heading: the treatment for patients, the patient for staff."""
        return self.title if self.person.is_patient else self.episode.patient.full_name

    @property
    def people(self) -> str:
        """Whose treatment it is, by full names."""
        names = [p.full_name for p in (self.episode.patient, self.episode.partner) if p and p.full_name]
        return listed(names)

    @property
    def is_own(self) -> bool:
        """Whether the person who looks is the one who is treated (and not the partner, or staff)."""
        return self.episode.patient.is_me(self.person.sub)

    @property
    def patient_called(self) -> str:
        """What the one who is treated is called."""
        return self.episode.patient.called

    @property
    def href(self) -> str:
        """The episode's address."""
        return url_for("episodes.show", episode_id=self.episode.id)

    @property
    def protocol(self) -> Protocol | None:
        """The plan that is followed, if there is one."""
        return self.episode.protocol

    @property
    def protocol_day(self) -> int | None:
        """Which day of the plan today is, while the plan is followed."""
        plan = self.protocol
        if plan is None or plan.is_ended or self.episode.is_ended:
            return None
        day = plan.day_on(today())
        return day if day is not None and day >= 1 else None

    @property
    def day_note(self) -> str | None:
        """`Day 8`, while the plan is followed."""
        return _("Day %(day)s", day=number(self.protocol_day)) if self.protocol_day else None

    @property
    def stages(self) -> list[Stage]:
        """The steps of this treatment for the ribbon; none once it has ended."""
        current = self.episode.stage
        if self.episode.is_ended or current is None or not current.known:
            return []
        steps = _steps(self.episode)
        order = list(EpisodeStage)
        place = order.index(current)
        return [
            Stage(
                clinical.stage_name(step),
                "now" if step == current else "done" if order.index(step) < place else "next",
            )
            for step in steps
        ]

    @property
    def doses(self) -> list[Dose]:
        """The medicines of today, by time."""
        if self.protocol is None or self.episode.is_ended:
            return []
        return [_dose(medication) for medication in self.protocol.medications_on(today())]

    @property
    def visits_today(self) -> list[Appointment]:
        """The visits of today that take place or took place."""
        found = [
            a for a in self.episode.appointments if local(a.start).date() == today() and not a.is_cancelled
        ]
        return sorted(found, key=lambda appointment: appointment.start)

    @property
    def upcoming(self) -> list[Appointment]:
        """The visits to come, the next first."""
        return list(self.episode.upcoming(now()))

    @property
    def later(self) -> list[Appointment]:
        """The visits after today."""
        return [a for a in self.upcoming if local(a.start).date() > today()]

    @property
    def past_visits(self) -> list[Appointment]:
        """The visits that are over or cancelled, the last first."""
        ahead = {appointment.id for appointment in self.upcoming}
        gone = (a for a in self.episode.appointments if a.id not in ahead)
        return sorted(gone, key=lambda appointment: appointment.start, reverse=True)

    @property
    def events(self) -> list[TimelineEvent]:
        """What happened, the earliest first; events without a time come before all others."""
        events = (e for e in self.episode.timeline if e.occurred_at is None or e.occurred_at <= now())
        return sorted(events, key=lambda e: e.occurred_at.timestamp() if e.occurred_at else float("-inf"))

    @property
    def alerts(self) -> list[tuple[str, str]]:
        """What to know now: tone and text, the most pressing first."""
        tones = {"Info": "info", "Success": "success", "Warning": "attention", "Urgent": "urgent"}
        order = ["urgent", "attention", "info", "success"]
        found = [
            (tones.get(str(a.severity), "info"), a.text) for a in self.episode.alerts_at(now()) if a.text
        ]
        return sorted(found, key=lambda alert: order.index(alert[0]))

    @property
    def ending(self) -> tuple[str, str] | None:
        """How it ended, in words that leave room: a short line and a longer one; None while it goes on."""
        return _ending(self.episode) if self.episode.is_ended else None

    @property
    def chart(self) -> Markup | None:
        """The monitoring chart, or None when nothing was measured."""
        return monitoring_chart(
            self.episode.monitoring, number=number, today=today(), rtl=is_rtl(), id_="monitoring-chart"
        )

    @property
    def grid(self) -> Markup | None:
        """The plan as a grid of days, or None when there is none."""
        plan = self.protocol
        if plan is None:
            return None
        return medication_grid(
            plan.medications, plan.monitoring, today=self.protocol_day, number=number, rtl=is_rtl()
        )

    @property
    def folders(self) -> list[Folder]:
        """The folders from the root down, each with its files; empty ones are left out."""
        tree = self.episode.documents
        found: list[Folder] = []

        def walk(parent_id: str | None, name: str, depth: int) -> None:
            files = tuple(_file_row(file) for file in tree.files_in(parent_id))
            below = tree.directories_in(parent_id)
            found.append(Folder(name, depth, files))
            for directory in below if depth < 20 else ():
                walk(directory.id, directory.name, depth + 1)

        walk(None, _("Not in a folder"), 0)
        return [folder for folder in found if folder.files]

    def physician(self, physician_id: str | None) -> str | None:
        """The name of a member of the care team."""
        team = self.episode.care_team
        return next((m.name for m in team if physician_id and m.physician_id == physician_id), None)

    def pgt(self, embryo_code: str) -> PgtBrief | None:
        """The genetic test of an embryo, as far as the person may see it."""
        return next(
            (result for result in self.episode.pgt_results if result.embryo_code == embryo_code), None
        )

    def amount(self, medication: Medication) -> str:
        """`225 IU`."""
        return written_dose(medication, number)

    def number(self, value: float | None) -> str | None:
        """A number in the person's language."""
        return None if value is None else number(value)

    def sizes(self, sizes: Sequence[float]) -> str:
        """Follicle sizes of one ovary, the largest first; Spanish numbers have commas of their own, as in 4,5."""
        between = "; " if str(get_locale()).startswith("es") else ""
        return in_a_row((number(size) for size in sorted(sizes, reverse=True)), between) or "–"

    def date_of(self, day: int) -> date | None:
        """The date of a day of the plan."""
        start = self.protocol.start_date if self.protocol else None
        return start + timedelta(days=day - 1) if start and abs(day) < 10000 else None


def consent_rows(episode: Episode, forms: Sequence[ConsentForm], person: Person) -> list[ConsentRow]:
    """Return the episode's forms, those that wait for this person first."""
    read = {form.id: form for form in forms}
    rows: list[ConsentRow] = []
    for brief in episode.consent_forms:
        form = read.get(brief.id)
        status = form.status if form else brief.status
        rows.append(
            ConsentRow(
                brief.id,
                brief.title or _("Consent form"),
                status_word(status) if status else "",
                status_tone(status) if status else "neutral",
                bool(form and open_role(form, person)),
                form.procedure_date if form else None,
            )
        )
    return sorted(rows, key=lambda row: not row.is_mine_to_sign)


def number(value: float) -> str:
    """Return a number in the person's language."""
    return format_decimal(value, locale=get_locale() or "en")


def is_rtl() -> bool:
    """Whether the person's language runs from right to left."""
    return language.direction(str(get_locale() or "en")) == "rtl"


@bp.app_template_filter("file_size")
def file_size(size: int | None) -> str:
    """Return `3.1 MB`, or nothing when it isn't known."""
    if size is None or size < 0:
        return ""
    if size < 1000:
        return _("%(number)s bytes", number=number(size))
    if size < 1_000_000:
        return _("%(number)s kB", number=number(round(size / 1000)))
    return _("%(number)s MB", number=number(round(size / 1_000_000, 1)))


@for_each_language
def _tab_names() -> list[tuple[str, str]]:
    return [
        ("overview", _("Today")),
        ("timeline", _("Timeline")),
        ("monitoring", _("Monitoring")),
        ("medication", _("Medicines")),
        ("appointments", _("Appointments")),
        ("embryos", _("Embryos")),
        ("documents", _("Documents")),
        ("consents", _("Consents")),
        ("team", _("Care team")),
    ]


def _tabs(view: EpisodeView, current: str) -> list[Tab]:
    counts = {
        "appointments": len(view.upcoming),
        "embryos": len(view.episode.embryos),
        "documents": len(view.episode.documents.files),
        "consents": len(view.episode.consent_forms),
    }
    return [
        Tab(
            name,
            label,
            view.href if name == "overview" else url_for(f"episodes.{name}", episode_id=view.episode.id),
            name == current,
            counts.get(name, 0),
        )
        for name, label in _tab_names()
    ]


_FROZEN = (ProtocolType.FET_NATURAL, ProtocolType.FET_MEDICATED)
_IN_EVERY_CYCLE = (
    EpisodeStage.BASELINE,
    EpisodeStage.STIMULATION,
    EpisodeStage.TRIGGER,
    EpisodeStage.RETRIEVAL,
    EpisodeStage.FERTILISATION,
    EpisodeStage.CULTURE,
)
_FROM_TRANSFER = (EpisodeStage.TRANSFER, EpisodeStage.PREGNANCY_TEST, EpisodeStage.EARLY_SCAN)


def _steps(episode: Episode) -> list[EpisodeStage]:
    """The stages that belong to this kind of treatment, and those that it went through all the same."""
    kind = ProtocolType(episode.type) if episode.type else None
    if kind in _FROZEN:
        usual = (EpisodeStage.BASELINE, *_FROM_TRANSFER)
    elif kind == ProtocolType.EGG_FREEZING:
        usual = (*_IN_EVERY_CYCLE[:4], EpisodeStage.FREEZE)
    elif kind == ProtocolType.IUI:
        usual = (*_IN_EVERY_CYCLE[:3], EpisodeStage.PREGNANCY_TEST, EpisodeStage.EARLY_SCAN)
    else:
        usual = (*_IN_EVERY_CYCLE, *_FROM_TRANSFER)
    seen = {event.stage for event in episode.timeline} | {episode.stage}
    return [
        stage for stage in EpisodeStage if stage in usual or (stage in seen and stage != EpisodeStage.PLANNED)
    ]


def _dose(medication: Medication) -> Dose:
    how = [clinical.route_name(medication.route), medication.instructions or ""]
    return Dose(
        medication.time or _("Any time"),
        medication.drug,
        written_dose(medication, number),
        in_a_row((part for part in how if part), " · "),
    )


def _ending(episode: Episode) -> tuple[str, str]:
    if episode.outcome == Outcome.ENTERED_IN_ERROR or episode.status == CareStatus.ENTERED_IN_ERROR:
        return _("Entered by mistake"), _("This record was made by mistake. Nothing in it concerns you.")
    match episode.outcome:
        case Outcome.PREGNANCY:
            return _("This treatment has ended"), _("You left our care pregnant. We wish you all the best.")
        case Outcome.NO_PREGNANCY:
            return (
                _("This treatment has ended"),
                _("We are sorry that it didn’t lead to a pregnancy. There is no hurry; whenever you want to talk, "
                  "your care team is there."),
            )  # fmt: skip
        case Outcome.NO_TRANSFER:
            return (
                _("This treatment has ended"),
                _("There was no transfer this time, and we know how hard that is. Your care team will talk the next "
                  "steps through with you when you are ready."),
            )  # fmt: skip
        case Outcome.CANCELLED:
            return (
                _("This treatment was stopped early"),
                _("That is disappointing, and it was decided with care. Your care team will go through what comes "
                  "next with you."),
            )  # fmt: skip
        case _ if episode.status == CareStatus.CANCELLED:
            return (
                _("This treatment was stopped early"),
                _("Your care team will go through what comes next with you."),
            )
        case _:
            return _("This treatment is complete"), _("Everything from it stays here for you to look up.")


_KINDS = {
    "application/pdf": "PDF",
    "image/png": "PNG",
    "image/jpeg": "JPEG",
    "text/plain": "TXT",
}
_WITH_PREVIEW = frozenset(_KINDS)


def _file_row(file: File) -> FileRow:
    kind = file.media_type.partition(";")[0].strip().lower()
    return FileRow(
        file.id,
        file.name or _("Document"),
        _KINDS.get(kind, ""),
        file_size(file.size),
        file.creation_time,
        kind in _WITH_PREVIEW,
    )


# ── the calendar file ───────────────────────────────────────────────────────────────────────────────────


def _calendar_file(visits: Sequence[Appointment], episode_id: str, person: Person) -> Response:
    audit.note("appointments.download", "done", kind="episode", id_=episode_id)
    return make_response(
        calendar_of(visits, zone=g.tenant.time_zone, clinic=g.tenant.key, made_at=now()),
        {
            "Content-Type": "text/calendar; charset=utf-8",
            "Content-Disposition": 'attachment; filename="appointments.ics"',
        },
    )


def calendar_of(visits: Sequence[Appointment], *, zone: ZoneInfo, clinic: str, made_at: datetime) -> bytes:
    """Return the visits as an iCalendar object (RFC 5545) in the clinic's zone.

    The titles say nothing of a treatment, since calendars are shared and shown on lock screens. A visit keeps its
    UID, so that importing the file again moves the entry instead of doubling it.
    """
    import icalendar  # a tenth of a start, for a file that few download

    made = cast("Any", icalendar)
    calendar = made.Calendar()
    calendar.add("prodid", "-//Clinic portal//Appointments//EN")
    calendar.add("version", "2.0")
    calendar.add("method", "PUBLISH")
    for visit in visits:
        event = made.Event()
        event.add("uid", f"{visit.id}@{clinic}.appointments")
        event.add("dtstamp", made_at)
        event.add("summary", _("Appointment"))
        event.add("dtstart", visit.start.astimezone(zone))
        event.add("dtend", (visit.end or visit.start + timedelta(minutes=30)).astimezone(zone))
        event.add("class", "PRIVATE")
        event.add("status", _calendar_status(visit))
        if visit.location:
            event.add("location", visit.location)
        calendar.add_component(event)
    calendar.add_missing_timezones()
    return calendar.to_ical()


def _calendar_status(visit: Appointment) -> str:
    if visit.is_cancelled:
        return "CANCELLED"
    return "TENTATIVE" if visit.status.casefold() in ("tentative", "proposed", "pending") else "CONFIRMED"
