"""Episodes of treatment (care API specification §4, group PatientPortal).

No endpoint lists them: an episode is found by an id in another record.
"""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Set as AbstractSet
from datetime import date, datetime, timedelta
from functools import partial
from typing import Annotated, ClassVar

from msgspec import field, structs
from msgspec.structs import force_setattr, replace

from portal.config.modules import Module
from portal.config.visits import folded_kind, is_settled
from portal.dates import later
from portal.services import consents
from portal.services.api import Group
from portal.services.cases import CareStatus, Case
from portal.services.client import Care
from portal.services.consents.forms import (
    ONE_PERSON_KINDS,
    OPEN_STATUSES,
    STEPS_REST_ON,
    TREATMENT_RESTS_ON,
    ConsentForm,
    ConsentKind,
    ConsentStatus,
    Signer,
)
from portal.services.conversations import Conversation
from portal.services.decoding import Choice, Day, Id, Measure, Record, Timed
from portal.services.directories import Documents
from portal.services.gather import gather_all, known
from portal.services.notifications import Notification, Severity
from portal.services.patient_ref import PatientRef
from portal.services.patients import Patient
from portal.services.pgt_results import PgtBrief, known_only
from portal.services.protocols import Protocol
from portal.services.relationships import Relationship
from portal.services.storage import EmbryoStorage


class EpisodeStage(Choice):
    """The part of a treatment cycle that an episode is in."""

    PLANNED = "Planned"
    BASELINE = "Baseline"
    STIMULATION = "Stimulation"
    TRIGGER = "Trigger"
    RETRIEVAL = "Retrieval"
    FERTILISATION = "Fertilisation"
    CULTURE = "Culture"
    BIOPSY = "Biopsy"
    FREEZE = "Freeze"
    TRANSFER = "Transfer"
    LUTEAL_SUPPORT = "LutealSupport"
    PREGNANCY_TEST = "PregnancyTest"
    EARLY_SCAN = "EarlyScan"
    ENDED = "Ended"


class Outcome(Choice):
    """How an episode ended."""

    PREGNANCY = "Pregnancy"
    NO_PREGNANCY = "NoPregnancy"
    NO_TRANSFER = "NoTransfer"
    CANCELLED = "Cancelled"
    COMPLETED = "Completed"
    ENTERED_IN_ERROR = "EnteredInError"


class ConsentBrief(Record, frozen=True, kw_only=True):
    """A consent form in an episode's list."""

    shown_on: ClassVar = ("episodes",)

    id: Id
    title: Annotated[str, "form title"] = ""
    kind: Annotated[ConsentKind | None, "subject of the consent"] = None
    status: Annotated[ConsentStatus | None, "whether it awaits signatures"] = None
    signers: tuple[Signer, ...] = field(default=(), name="(portal) signers")
    """The patient's side of a form of one person, where that was read: a couple has two of one title."""

    @property
    def whose(self) -> frozenset[str]:
        """By whom it is signed, or is to be; empty where that isn't known."""
        ids = [signer.person_id for signer in self.signers]
        return frozenset(id_ for id_ in ids if id_) if all(ids) else frozenset()

    @property
    def subject(self) -> tuple[ConsentKind | None, str]:
        """What it is about: forms of one kind and title take each other's place."""
        return self.kind, self.title.strip().casefold()


class Follicles(Record, frozen=True, kw_only=True):
    """The follicles of each ovary, by diameter in millimetres."""

    shown_on: ClassVar = ("episodes",)

    left: Annotated[tuple[Measure, ...], "sizes in the left ovary, in mm"] = ()
    right: Annotated[tuple[Measure, ...], "sizes in the right ovary, in mm"] = ()


class HormoneUnits(Record, frozen=True, kw_only=True):
    """The units of a day's hormones, where the laboratory named them."""

    shown_on: ClassVar = ("episodes",)

    e2: Annotated[str | None, "unit of oestradiol"] = None
    lh: Annotated[str | None, "unit of luteinising hormone"] = None
    p4: Annotated[str | None, "unit of progesterone"] = None


class MonitoringDay(Timed, frozen=True, kw_only=True):
    """A day of monitoring: follicles and lining in millimetres; hormones, where `unit` is oestradiol's.

    An API may send no `units`. A value without its unit means nothing: `readable` leaves it out for patients.
    """

    shown_on: ClassVar = ("episodes",)

    date: Annotated[date, "date"]
    cycle_day: Annotated[Day | None, "day of the cycle"] = None
    follicles: Annotated[Follicles, "follicle sizes: the chart"] = Follicles()
    endometrium_mm: Annotated[Measure | None, "thickness of the lining"] = None
    endometrium_pattern: Annotated[str | None, "pattern of the lining"] = None
    e2: Annotated[Measure | None, "oestradiol"] = None
    lh: Annotated[Measure | None, "luteinising hormone"] = None
    p4: Annotated[Measure | None, "progesterone"] = None
    unit: Annotated[str, "unit of oestradiol"] = ""
    units: Annotated[
        HormoneUnits, "units of the hormones; without its unit a value isn't shown to patients"
    ] = HormoneUnits()
    verified: Annotated[bool, "whether it was checked"] = False

    @property
    def e2_unit(self) -> str:
        """Oestradiol's unit, or empty."""
        return self.units.e2 or self.unit

    @property
    def readable(self) -> MonitoringDay:
        """The day without the hormones whose unit isn't given."""
        return structs.replace(
            self,
            e2=self.e2 if self.e2_unit else None,
            lh=self.lh if self.units.lh else None,
            p4=self.p4 if self.units.p4 else None,
        )

    @property
    def sizes(self) -> tuple[float, ...]:
        """All follicles of both ovaries, the largest first."""
        return tuple(sorted((*self.follicles.left, *self.follicles.right), reverse=True))

    @property
    def largest(self) -> float | None:
        """The leading follicle, or None."""
        return next(iter(self.sizes), None)

    @property
    def cohorts(self) -> tuple[int, int, int, int]:
        """The numbers of follicles under 10 mm, from 10, from 14, and from 17 mm; halves are rounded down."""
        from_10, from_14, from_17 = (self.count_from(edge) for edge in (10, 14, 17))
        return len(self.sizes) - from_10, from_10 - from_14, from_14 - from_17, from_17

    def count_from(self, millimetres: float) -> int:
        """The number of follicles of at least that size."""
        return sum(size >= millimetres for size in self.sizes)


class TimelineEvent(Timed, frozen=True, kw_only=True):
    """An event in an episode; only verified ones are certain."""

    shown_on: ClassVar = ("episodes",)

    id: Id
    kind: Annotated[str, "kind of event"] = ""
    stage: Annotated[EpisodeStage | None, "step of the treatment"] = None
    title: Annotated[str, "what happened"] = ""
    note: Annotated[str | None, "note"] = None
    occurred_at: Annotated[datetime | None, "when it happened"] = None
    verified: Annotated[bool, "whether it is confirmed"] = False


_USUAL_LENGTH = timedelta(minutes=30)
_NOT_HELD = frozenset(
    {"noshow", "enteredinerror", "declined", "rejected", "refused", "denied", "deleted", "void"}
)


class Appointment(Timed, frozen=True, kw_only=True):
    """An appointment; `time_zone` is the location's IANA name. An `end` that isn't after the start counts as not given."""

    shown_on: ClassVar = ("home", "episodes")

    id: Id
    start: Annotated[datetime, "start time: next appointment, list, calendar file"]
    end: Annotated[datetime | None, "end time"] = None
    kind: Annotated[str, "kind of visit"] = ""
    physician_id: Annotated[Id | None, "physician, named from the care team"] = None
    time_zone: Annotated[str | None, "time zone in which it is shown"] = None
    location: Annotated[str | None, "location"] = None
    status: Annotated[str, "whether it was cancelled"] = ""

    def __post_init__(self) -> None:
        Timed.__post_init__(self)
        if self.end is not None and self.end <= self.start:
            force_setattr(self, "end", None)

    @property
    def ends(self) -> datetime:
        """When it is over, if need be by its usual length."""
        return self.end or later(self.start, _USUAL_LENGTH)

    @property
    def is_cancelled(self) -> bool:
        """Whether it doesn't take place; statuses are also written as FHIR does: `entered-in-error`."""
        status = folded_kind(self.status)
        return status.startswith("cancel") or status in _NOT_HELD

    @property
    def is_tentative(self) -> bool:
        """Whether the clinic hasn't confirmed it yet, or has moved it: some systems keep its former time under such a status.
        A status that the portal doesn't know may say that, too.
        """
        return not (self.is_cancelled or is_settled(self.status))


class CareTeamMember(Record, frozen=True, kw_only=True):
    """A member of an episode's care team."""

    shown_on: ClassVar = ("episodes", "cases")

    physician_id: Annotated[Id | None, "matches physicians' ids with names"] = None
    name: Annotated[str, "name"] = ""
    role: Annotated[str, "role"] = ""


class Alert(Timed, frozen=True, kw_only=True):
    """A warning, shown until the given time; `creation_time` is when it was written, if the API says so."""

    shown_on: ClassVar = ("home", "episodes")
    vital: ClassVar = frozenset({"text"})

    severity: Annotated[Severity, "the warning's severity"] = Severity.INFO
    text: Annotated[str, "the warning at the top of the page"] = ""
    until: Annotated[datetime | None, "when the warning disappears"] = None
    creation_time: Annotated[datetime | None, "when it was written, for words such as tomorrow"] = None


class Episode(Timed, frozen=True, kw_only=True):
    """One treatment cycle and everything in it; most other records are found through it."""

    shown_on: ClassVar = ("episodes", "home", "storage")
    vital: ClassVar = frozenset({"partner"})
    separable: ClassVar = frozenset(
        {
            "relationships",
            "pgt_results",
            "monitoring",
            "timeline",
            "appointments",
            "care_team",
            "conversation_ids",
            "alerts",
        }
    )

    id: Id
    status: Annotated[CareStatus, "whether the treatment is under way"]
    patient: Annotated[Patient, "patient"]
    number: Annotated[str, "treatment number, for staff"] = ""
    type: Annotated[str, "kind of treatment"] = ""
    stage: Annotated[EpisodeStage | None, "current step"] = None
    outcome: Annotated[Outcome | None, "outcome"] = None
    start_date: Annotated[date | None, "start date, from which days are counted"] = None
    end_date: Annotated[date | None, "end date"] = None
    partner: Annotated[Patient | None, "partner"] = None
    relationships: Annotated[tuple[Relationship, ...], "who it is shared with, and ending the sharing"] = ()
    case: Annotated[Case | None, "case it belongs to"] = None
    protocol: Annotated[Protocol | None, "medicines and days"] = None
    embryos: Annotated[tuple[EmbryoStorage, ...], "embryos; without it, storage is empty"] = ()
    pgt_results: Annotated[tuple[PgtBrief, ...], "genetic tests"] = ()
    consent_forms: Annotated[tuple[ConsentBrief, ...], "the treatment's consent forms"] = ()
    monitoring: Annotated[tuple[MonitoringDay, ...], "scans and blood tests"] = ()
    timeline: Annotated[tuple[TimelineEvent, ...], "events"] = ()
    appointments: Annotated[tuple[Appointment, ...], "appointments"] = ()
    care_team: Annotated[tuple[CareTeamMember, ...], "care team"] = ()
    documents: Annotated[Documents, "folders and files"] = Documents()
    conversation_ids: Annotated[
        tuple[Id, ...], "whether a patient’s list of conversations is whole, for staff"
    ] = ()
    alerts: Annotated[tuple[Alert, ...], "warnings; without it, none are shown"] = ()
    signed_anew: frozenset[str] = field(default=frozenset(), name="(portal) signedAnew")
    steps_withdrawn: frozenset[str] = field(default=frozenset(), name="(portal) stepsWithdrawn")
    """The forms on which single steps rest (`STEPS_REST_ON`) and that were withdrawn, not declined; read for staff alone."""

    @property
    def patient_ref(self) -> PatientRef:
        return PatientRef(self.patient.id, self.patient.full_name, self.id)

    @property
    def unsigned_before_transfer(self) -> tuple[ConsentBrief, ...]:
        """The forms that a transfer has to wait for, as far as the episode lists them."""
        return tuple(
            form
            for form in self.consent_forms
            if form.kind in (ConsentKind.TREATMENT, ConsentKind.LEGAL_PARENTHOOD)
            and (form.status == ConsentStatus.DRAFT or form in self.unsigned)
        )

    @property
    def unsigned(self) -> tuple[ConsentBrief, ...]:
        """The forms that wait for signatures, and those that a treatment under way rests on and that expired before they had
        them, unless others have taken their place."""
        return tuple(
            form for form in self.consent_forms if form.status in OPEN_STATUSES or self._is_lacking(form)
        )

    def _is_lacking(self, form: ConsentBrief) -> bool:
        """Whether it expired and isn't there anew: storage and parenthood are one form for each person. Where it isn't known whose
        they are, there have to be two."""
        if form.status != ConsentStatus.EXPIRED or form.kind not in TREATMENT_RESTS_ON or self.is_ended:
            return False
        anew = self._live_like(form)
        if form.kind == ConsentKind.TREATMENT or self.partner is None:
            return not anew
        if form.whose and all(other.whose for other in anew):
            return all(other.whose != form.whose for other in anew)
        return len(anew) < 2 or all(other.subject != form.subject for other in anew)

    def _live_like(self, form: ConsentBrief) -> list[ConsentBrief]:
        """The open and signed forms that may be in the place of this one; titles of parenthood may differ."""
        of_kind = (other for other in self.consent_forms if other.kind == form.kind)
        is_by_kind = form.kind == ConsentKind.LEGAL_PARENTHOOD and self.partner is not None
        return [
            other
            for other in of_kind
            if other.status in (*OPEN_STATUSES, ConsentStatus.SIGNED)
            and (is_by_kind or other.subject == form.subject)
        ]

    @property
    def in_doubt(self) -> tuple[ConsentBrief, ...]:
        """The forms of one person of which one expired and others may be in its place, if that is this person's."""
        found = [
            (form, *anew)
            for form in self.consent_forms
            if self.partner
            and not self.is_ended
            and form.status == ConsentStatus.EXPIRED
            and form.kind in ONE_PERSON_KINDS
            and (anew := self._live_like(form))
        ]
        return tuple({form.id: form for forms in found for form in forms}.values())

    @property
    def withdrawn(self) -> tuple[ConsentBrief, ...]:
        """The forms that a treatment under way rests on and that were withdrawn or declined.

        None is told any longer once it was signed anew: one of a kind of which there is one form for both, once one of its title is
        signed; storage and parenthood are one form for each person, so that these are read to see whose they are (`signed_anew`).
        """
        if self.is_ended:
            return ()
        signed = {form.subject for form in self.consent_forms if form.status == ConsentStatus.SIGNED}
        return tuple(
            form
            for form in self._revoked
            if (form.kind in TREATMENT_RESTS_ON or form.id in self.steps_withdrawn)
            and not (form.kind not in ONE_PERSON_KINDS and form.subject in signed)
            and form.id not in self.signed_anew
        )

    @property
    def steps_ended(self) -> tuple[ConsentBrief, ...]:
        """The forms on which single steps of a treatment under way rest and that were withdrawn or declined."""
        return () if self.is_ended else tuple(form for form in self._revoked if form.kind in STEPS_REST_ON)

    @property
    def _revoked(self) -> tuple[ConsentBrief, ...]:
        return tuple(form for form in self.consent_forms if form.status == ConsentStatus.REVOKED)

    def owner_of(self, record: EmbryoStorage | Protocol) -> Patient | None:
        """Whose embryo or plan it is: a treatment may use the partner's. None if its record names neither of the two."""
        if record.patient_id is None:
            return self.patient
        people = (person for person in (self.patient, self.partner) if person is not None)
        return next((person for person in people if person.id == record.patient_id), None)

    def is_further_plan(self, plan: Protocol) -> bool:
        """Whether it is a plan of this treatment besides the one that its record holds; one that names no treatment may be its
        patient's or partner's while it is under way."""
        if self.protocol and plan.id == self.protocol.id:
            return False
        if plan.episode_id is None:
            return plan.patient_id is not None and not self.is_ended and self.owner_of(plan) is not None
        return plan.episode_id == self.id

    def tests_of(self, embryo: EmbryoStorage) -> list[PgtBrief]:
        """The genetic tests of an embryo: the one that its record names first, then others of its code, such as one before
        a repeated biopsy, but for those that another embryo's record names: each of a couple may have an embryo of one code."""
        others = {other.pgt_result_id for other in self.embryos if other.id != embryo.id}
        found = [
            test
            for test in self.pgt_results
            if test.id == embryo.pgt_result_id
            or (test.embryo_code and test.embryo_code == embryo.embryo_code and test.id not in others)
        ]
        return sorted(found, key=lambda test: test.id != embryo.pgt_result_id)

    @property
    def is_ended(self) -> bool:
        """Whether it is completed, cancelled or entered in error."""
        return self.status in (CareStatus.FINISHED, CareStatus.CANCELLED, CareStatus.ENTERED_IN_ERROR)

    def patient_of(self, sub: str) -> Patient | None:
        """The record of `sub` in this episode, as patient or partner, or None."""
        people = (p for p in (self.patient, self.partner) if p is not None)
        return next((p for p in people if p.is_me(sub)), None)

    def upcoming(self, now: datetime) -> tuple[Appointment, ...]:
        """Appointments that aren't over or cancelled, the next one first."""
        ahead = (a for a in self.appointments if a.ends > now and not a.is_cancelled)
        return tuple(sorted(ahead, key=lambda appointment: appointment.start))

    def alerts_at(self, now: datetime) -> tuple[Alert, ...]:
        """The alerts that still apply."""
        return tuple(a for a in self.alerts if a.until is None or a.until > now)


READ_EPISODE = Group("PatientPortal").get(
    "/api/patient-portal/episodes/{episodeId}", Episode, shows="episode"
)


def get_episode(care: Care, episode_id: str) -> Episode:
    read = _without(read_with_accounts(care, episode_id), care.modules_off)
    episode = _with_withdrawals_read(care, read)
    if not episode.pgt_results:
        return episode
    return replace(episode, pgt_results=tuple(known_only(brief) for brief in episode.pgt_results))


def read_with_accounts(care: Care, episode_id: str) -> Episode:
    """Read an episode, and learn whose accounts its people have where the API names signers by another number."""
    episode = care.read(READ_EPISODE, episodeId=episode_id)
    if by := care.adapter.signers_by:
        people = (person for person in (episode.patient, episode.partner) if person and person.user_id)
        care.accounts.update((getattr(person, by), person.user_id) for person in people)
    return episode


def _with_withdrawals_read(care: Care, episode: Episode) -> Episode:
    """The episode without the forms that the clinic ended before anybody had signed, for nobody withdrew those, and with those
    known that one person has signed anew, and to staff those of single steps that were withdrawn.

    Its briefs tell none of it, so that each that counts as withdrawn or may be expired is read, with what may be in its place.
    """
    withdrawn, steps = episode.withdrawn, () if care.by_patient else episode.steps_ended
    kinds = ONE_PERSON_KINDS.intersection(form.kind for form in withdrawn)
    signed = [
        form for form in episode.consent_forms if form.status == ConsentStatus.SIGNED and form.kind in kinds
    ]
    asked = dict.fromkeys(form.id for form in (*withdrawn, *steps, *signed, *episode.in_doubt))
    found = gather_all([partial(consents.get_consent, care, id_) for id_ in asked])
    read = [form for form in map(known, found) if form]
    cancelled = {form.id for form in read if form.is_cancelled}
    anew = {form.id for form in read if any(consents.is_signed_anew(form, other) for other in read)}
    of_one = {form.id: form.patients_side for form in read if form.kind in ONE_PERSON_KINDS}
    ended = {form.id for form in steps} - {form.id for form in read if not form.is_withdrawn}
    if not (cancelled or anew or of_one or ended):
        return episode
    forms = tuple(
        replace(form, signers=of_one.get(form.id, ()))
        for form in episode.consent_forms
        if form.id not in cancelled
    )
    return replace(
        episode, consent_forms=forms, signed_anew=frozenset(anew), steps_withdrawn=frozenset(ended)
    )


def episode_ids(
    consents: Iterable[ConsentForm] = (),
    conversations: Iterable[Conversation] = (),
    notifications: Iterable[Notification] = (),
    claimed: Iterable[str] = (),
) -> tuple[str, ...]:
    """The distinct ids of all episodes mentioned, those from the sign-in's claims first."""
    mentioned = (
        *claimed,
        *(form.episode_id for form in consents),
        *(conversation.episode_id for conversation in conversations),
        *(n.entity_id for n in notifications if n.is_about("Episode")),
    )
    return tuple(dict.fromkeys(episode_id for episode_id in mentioned if episode_id))


def _without(episode: Episode, off: AbstractSet[Module]) -> Episode:
    """The episode as if the clinic's system had nothing of these modules: what isn't there is shown nowhere."""
    if not off:
        return episode
    embryos = () if Module.STORAGE in off else episode.embryos
    if Module.RESULTS in off:
        embryos = tuple(replace(embryo, pgt_result_id=None) for embryo in embryos)
    return replace(
        episode,
        embryos=embryos,
        protocol=None if Module.MEDICINES in off else episode.protocol,
        monitoring=() if Module.CHARTS in off else episode.monitoring,
        pgt_results=() if Module.RESULTS in off else episode.pgt_results,
    )
