"""The care API's records and enumerations, and what follows from a record alone.

Only what a record is meaningless without is required; the rest is None, empty or "" when not given.
Members, enumerations and moves: docs in README: assumptions.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, datetime, time

import msgspec

from portal.services.wire import Choice, Id, Record, Timed

# ── enumerations, each in its integer order from 0 ──────────────────────────────────────────────────────


class ConsentStatus(Choice):
    """Where a consent form stands; Revoked, Expired and Superseded are its ends."""

    DRAFT = "Draft"
    PENDING = "Pending"
    PARTIALLY_SIGNED = "PartiallySigned"
    SIGNED = "Signed"
    REVOKED = "Revoked"
    EXPIRED = "Expired"
    SUPERSEDED = "Superseded"


class ConsentKind(Choice):
    """What a consent form is about; a clinic may have kinds of its own."""

    TREATMENT = "Treatment"
    STORAGE = "Storage"
    STORAGE_RENEWAL = "StorageRenewal"
    DISPOSITION = "Disposition"
    GENETIC_TESTING = "GeneticTesting"
    DONATION = "Donation"
    SURROGACY = "Surrogacy"
    LEGAL_PARENTHOOD = "LegalParenthood"
    DISCLOSURE = "Disclosure"
    RESEARCH = "Research"


class SignerRole(Choice):
    """In what capacity a person signs."""

    PATIENT = "Patient"
    PARTNER = "Partner"
    GAMETE_PROVIDER = "GameteProvider"
    DONOR = "Donor"
    SURROGATE = "Surrogate"
    INTENDED_PARENT = "IntendedParent"
    WITNESS = "Witness"
    INTERPRETER = "Interpreter"
    CLINICIAN = "Clinician"


class SigningOrder(Choice):
    """Whether signers wait for one another."""

    ANY = "Any"
    SEQUENTIAL = "Sequential"


class SigningMethod(Choice):
    """How a signature was given."""

    TYPED_NAME = "TypedName"
    DRAWN = "Drawn"
    PAPER = "Paper"


class CareStatus(Choice):
    """Where a case or an episode stands."""

    PLANNED = "Planned"
    WAITLIST = "Waitlist"
    ACTIVE = "Active"
    ON_HOLD = "OnHold"
    FINISHED = "Finished"
    CANCELLED = "Cancelled"
    ENTERED_IN_ERROR = "EnteredInError"


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


class ProtocolType(Choice):
    """The kind of treatment plan."""

    ANTAGONIST = "Antagonist"
    LONG_AGONIST = "LongAgonist"
    SHORT_FLARE = "ShortFlare"
    PPOS = "Ppos"
    MILD_STIMULATION = "MildStimulation"
    NATURAL_CYCLE = "NaturalCycle"
    FET_NATURAL = "FetNatural"
    FET_MEDICATED = "FetMedicated"
    IUI = "Iui"
    EGG_FREEZING = "EggFreezing"
    DONOR_CYCLE = "DonorCycle"


class ProtocolStatus(Choice):
    """Where a protocol stands; Completed and Cancelled are its ends."""

    DRAFT = "Draft"
    ACTIVE = "Active"
    ON_HOLD = "OnHold"
    COMPLETED = "Completed"
    CANCELLED = "Cancelled"


class EmbryoStatus(Choice):
    """Where an embryo is; Transferred, Discarded, Donated and ShippedOut are final."""

    STORED = "Stored"
    RESERVED = "Reserved"
    ON_HOLD = "OnHold"
    THAWED = "Thawed"
    TRANSFERRED = "Transferred"
    DISCARDED = "Discarded"
    DONATED = "Donated"
    SHIPPED_OUT = "ShippedOut"


class Disposition(Choice):
    """What the people whose embryo it is want done with it."""

    UNDECIDED = "Undecided"
    CONTINUE_STORAGE = "ContinueStorage"
    DISCARD = "Discard"
    DONATE_RESEARCH = "DonateResearch"
    DONATE_PATIENT = "DonatePatient"
    TRANSPORT = "Transport"


class PgtType(Choice):
    """What a genetic test of an embryo looks for."""

    PGT_A = "PgtA"
    PGT_M = "PgtM"
    PGT_SR = "PgtSr"
    PGT_P = "PgtP"


class PgtStatus(Choice):
    """How far a genetic test has come; patients see it from Released on."""

    ORDERED = "Ordered"
    IN_LAB = "InLab"
    REPORTED = "Reported"
    RELEASED = "Released"
    AMENDED = "Amended"


class PgtCall(Choice):
    """What the laboratory made of a genetic test."""

    EUPLOID = "Euploid"
    LOW_MOSAIC = "LowMosaic"
    HIGH_MOSAIC = "HighMosaic"
    ANEUPLOID = "Aneuploid"
    SEGMENTAL = "Segmental"
    NO_RESULT = "NoResult"
    INCONCLUSIVE = "Inconclusive"
    UNAFFECTED = "Unaffected"
    CARRIER = "Carrier"
    AFFECTED = "Affected"
    BALANCED = "Balanced"
    UNBALANCED = "Unbalanced"


class RelationshipType(Choice):
    """What another person is to a patient."""

    PARTNER = "Partner"
    SPOUSE = "Spouse"
    EGG_DONOR = "EggDonor"
    SPERM_DONOR = "SpermDonor"
    EMBRYO_DONOR = "EmbryoDonor"
    GESTATIONAL_CARRIER = "GestationalCarrier"
    INTENDED_PARENT = "IntendedParent"
    EMERGENCY_CONTACT = "EmergencyContact"
    PROXY = "Proxy"


class MessageSide(Choice):
    """Inbound is towards the clinic, Outbound from it."""

    INBOUND = "Inbound"
    OUTBOUND = "Outbound"


class Channel(Choice):
    """By what way words travel."""

    PORTAL = "Portal"
    EMAIL = "Email"
    SMS = "Sms"
    PHONE = "Phone"


class Severity(Choice):
    """How much a notice or an alert presses."""

    INFO = "Info"
    SUCCESS = "Success"
    WARNING = "Warning"
    URGENT = "Urgent"


class ProspectStatus(Choice):
    """How far a person who asked about treatment has come."""

    NEW = "New"
    CONTACTED = "Contacted"
    QUALIFIED = "Qualified"
    WINDOW_BOOKED = "WindowBooked"
    CONVERTED = "Converted"
    LOST = "Lost"
    MERGED = "Merged"


# ── state moves: what a person may change a status to ───────────────────────────────────────────────────

CARE_MOVES: Mapping[CareStatus, tuple[CareStatus, ...]] = {
    CareStatus.PLANNED: (
        CareStatus.WAITLIST,
        CareStatus.ACTIVE,
        CareStatus.CANCELLED,
        CareStatus.ENTERED_IN_ERROR,
    ),
    CareStatus.WAITLIST: (CareStatus.ACTIVE, CareStatus.CANCELLED, CareStatus.ENTERED_IN_ERROR),
    CareStatus.ACTIVE: (
        CareStatus.ON_HOLD,
        CareStatus.FINISHED,
        CareStatus.CANCELLED,
        CareStatus.ENTERED_IN_ERROR,
    ),
    CareStatus.ON_HOLD: (
        CareStatus.ACTIVE,
        CareStatus.FINISHED,
        CareStatus.CANCELLED,
        CareStatus.ENTERED_IN_ERROR,
    ),
    CareStatus.FINISHED: (CareStatus.ENTERED_IN_ERROR,),
    CareStatus.CANCELLED: (CareStatus.ENTERED_IN_ERROR,),
    CareStatus.ENTERED_IN_ERROR: (),
}

PROTOCOL_MOVES: Mapping[ProtocolStatus, tuple[ProtocolStatus, ...]] = {
    ProtocolStatus.DRAFT: (ProtocolStatus.ACTIVE, ProtocolStatus.CANCELLED),
    ProtocolStatus.ACTIVE: (ProtocolStatus.ON_HOLD, ProtocolStatus.COMPLETED, ProtocolStatus.CANCELLED),
    ProtocolStatus.ON_HOLD: (ProtocolStatus.ACTIVE, ProtocolStatus.COMPLETED, ProtocolStatus.CANCELLED),
    ProtocolStatus.COMPLETED: (),
    ProtocolStatus.CANCELLED: (),
}

_LEAVING_STORAGE = (
    EmbryoStatus.THAWED,
    EmbryoStatus.DISCARDED,
    EmbryoStatus.DONATED,
    EmbryoStatus.SHIPPED_OUT,
)
EMBRYO_MOVES: Mapping[EmbryoStatus, tuple[EmbryoStatus, ...]] = {
    EmbryoStatus.STORED: (EmbryoStatus.RESERVED, EmbryoStatus.ON_HOLD, *_LEAVING_STORAGE),
    EmbryoStatus.RESERVED: (EmbryoStatus.STORED, EmbryoStatus.ON_HOLD, *_LEAVING_STORAGE),
    EmbryoStatus.ON_HOLD: (EmbryoStatus.STORED, EmbryoStatus.RESERVED),
    EmbryoStatus.THAWED: (EmbryoStatus.TRANSFERRED, EmbryoStatus.DISCARDED, EmbryoStatus.STORED),
    EmbryoStatus.TRANSFERRED: (),
    EmbryoStatus.DISCARDED: (),
    EmbryoStatus.DONATED: (),
    EmbryoStatus.SHIPPED_OUT: (),
}


# ── what every editable record carries ──────────────────────────────────────────────────────────────────


class Audited(Timed, frozen=True, kw_only=True):
    """Who made and changed a record, and the stamp that an update must send back."""

    creation_time: datetime | None = None
    creator_id: Id | None = None
    last_modification_time: datetime | None = None
    last_modifier_id: Id | None = None
    concurrency_stamp: str | None = None


AUDIT_MEMBERS = frozenset({"id", "creationTime", "creatorId", "lastModificationTime", "lastModifierId"})
"""Members of a record that the API alone sets: left out when the record is sent back."""


# ── consent forms ───────────────────────────────────────────────────────────────────────────────────────


class Clause(Record, frozen=True, kw_only=True):
    """One part of a consent form's text, with a plain summary where the clinic wrote one."""

    id: Id
    heading: str = ""
    text: str = ""
    summary: str | None = None


class Statement(Record, frozen=True, kw_only=True):
    """A sentence that every signer acknowledges by itself."""

    id: Id
    text: str


class Signer(Record, frozen=True, kw_only=True):
    """A person whose signature a form needs; `person_id` is their `sub`, None where not yet known."""

    role: SignerRole
    person_id: Id | None = None
    name: str = ""
    order: int = 0


class Signature(Timed, frozen=True, kw_only=True):
    """A signature that was given, with the hash of the text that it was given to."""

    role: SignerRole
    person_id: Id | None = None
    name: str = ""
    signed_at: datetime | None = None
    method: SigningMethod | None = None
    language: str | None = None
    content_hash: str = ""


class ConsentForm(Audited, frozen=True, kw_only=True):
    """A consent form; `body` is empty in lists. `content_hash` is the API's own and is sent back as it came."""

    id: Id
    title: str
    status: ConsentStatus
    patient_id: Id | None = None
    patient_name: str = ""
    partner_id: Id | None = None
    case_id: Id | None = None
    episode_id: Id | None = None
    kind: ConsentKind | None = None
    version: str = ""
    body: tuple[Clause, ...] = ()
    statements: tuple[Statement, ...] = ()
    required_signers: tuple[Signer, ...] = ()
    signing_order: SigningOrder = SigningOrder.ANY
    signatures: tuple[Signature, ...] = ()
    content_hash: str = ""
    file_id: Id | None = None
    sent_at: datetime | None = None
    effective_at: datetime | None = None
    revoked_at: datetime | None = None
    revoke_reason: str | None = None
    revoked_by_id: Id | None = None
    expires_at: datetime | None = None
    supersedes_id: Id | None = None
    superseded_by_id: Id | None = None
    procedure_date: date | None = None

    @property
    def is_ended(self) -> bool:
        """Revoked, expired or superseded: nothing more happens to it."""
        return self.status in (ConsentStatus.REVOKED, ConsentStatus.EXPIRED, ConsentStatus.SUPERSEDED)

    @property
    def is_signed(self) -> bool:
        """Everyone has signed."""
        return self.status == ConsentStatus.SIGNED

    @property
    def is_open(self) -> bool:
        """Signatures are still being given."""
        return self.status in (ConsentStatus.PENDING, ConsentStatus.PARTIALLY_SIGNED)

    @property
    def is_revocable(self) -> bool:
        """Whether its state allows to revoke it; the API may still refuse, e.g. after a transfer."""
        return self.is_open or self.is_signed

    @property
    def missing_signers(self) -> tuple[Signer, ...]:
        """Those who haven't signed yet, in signing order."""
        missing = (s for s in self.required_signers if not self._has_signature_of(s))
        return tuple(sorted(missing, key=lambda signer: signer.order))

    def whose_turn(self) -> tuple[Signer, ...]:
        """Those who can sign now: the first missing in a sequential form, all missing in another."""
        if not self.is_open:
            return ()
        missing = self.missing_signers
        if self.signing_order != SigningOrder.SEQUENTIAL:
            return missing
        return tuple(signer for signer in missing if signer.order == missing[0].order)

    def my_open_role(self, sub: str) -> SignerRole | None:
        """The role in which `sub` can sign now, or None."""
        return next((s.role for s in self.whose_turn() if s.person_id == sub), None)

    def waiting_for(self, sub: str) -> tuple[Signer, ...]:
        """Those who must sign before `sub` can; empty when it is their turn, or never will be."""
        mine = next((s for s in self.missing_signers if s.person_id == sub), None)
        if mine is None or not self.is_open or self.signing_order != SigningOrder.SEQUENTIAL:
            return ()
        return tuple(s for s in self.missing_signers if s.order < mine.order)

    def is_signer(self, sub: str) -> bool:
        """Whether `sub` is asked to sign, or has."""
        return any(s.person_id == sub for s in (*self.required_signers, *self.signatures))

    def signature_of(self, sub: str) -> Signature | None:
        """What `sub` has signed, or None."""
        return next((s for s in self.signatures if s.person_id == sub), None)

    def _has_signature_of(self, signer: Signer) -> bool:
        return any(
            given.role == signer.role and signer.person_id in (None, given.person_id)
            for given in self.signatures
        )


class ConsentDraft(Timed, frozen=True, kw_only=True):
    """What a new consent form is made from (care API specification §4, POST /api/care/consent-forms)."""

    patient_id: Id
    title: str
    kind: ConsentKind
    version: str
    body: tuple[Clause, ...]
    statements: tuple[Statement, ...]
    required_signers: tuple[Signer, ...]
    signing_order: SigningOrder = SigningOrder.ANY
    partner_id: Id | None = None
    case_id: Id | None = None
    episode_id: Id | None = None
    procedure_date: date | None = None
    supersedes_id: Id | None = None
    expires_at: datetime | None = None


# ── protocols ───────────────────────────────────────────────────────────────────────────────────────────


class Medication(Record, frozen=True, kw_only=True):
    """A medicine from `start_day` to `end_day`, both included, or until `stop_rule` holds; `time` is HH:MM."""

    drug: str
    start_day: int
    id: Id | None = None
    drug_class: str = ""
    dose: float | None = None
    unit: str = ""
    route: str = ""
    end_day: int | None = None
    stop_rule: str | None = None
    time: str | None = None
    instructions: str | None = None

    def is_due_on(self, day: int) -> bool:
        """Whether it is taken on that day of the protocol, as far as the days alone tell."""
        return self.start_day <= day and (self.end_day is None or day <= self.end_day)


class Check(Record, frozen=True, kw_only=True):
    """Something that is looked at on a day of the protocol, such as a scan."""

    day: int
    kind: str = ""
    note: str | None = None


class ProtocolDraft(Timed, frozen=True, kw_only=True):
    """What a new protocol is made from: a plan for a patient, or a clinic's own without one."""

    name: str
    status: ProtocolStatus
    type: ProtocolType | None = None
    description: str | None = None
    patient_id: Id | None = None
    episode_id: Id | None = None
    physician_id: Id | None = None
    start_date: date | None = None
    medications: tuple[Medication, ...] = ()
    monitoring: tuple[Check, ...] = ()


class Protocol(ProtocolDraft, frozen=True, kw_only=True):
    """A plan of treatment; its day 1 is `start_date`."""

    id: Id
    creation_time: datetime | None = None
    creator_id: Id | None = None
    last_modification_time: datetime | None = None
    last_modifier_id: Id | None = None
    concurrency_stamp: str | None = None

    @property
    def is_ended(self) -> bool:
        """Completed or cancelled: it can't be changed any more."""
        return self.status in (ProtocolStatus.COMPLETED, ProtocolStatus.CANCELLED)

    @property
    def is_followed(self) -> bool:
        """Whether its days are dates on which somebody takes something now."""
        return bool(self.status == ProtocolStatus.ACTIVE and self.start_date and self.medications)

    @property
    def next_statuses(self) -> tuple[ProtocolStatus, ...]:
        """The statuses that it may be moved to."""
        return PROTOCOL_MOVES.get(self.status, ())

    def day_on(self, today: date) -> int | None:
        """Which day of the protocol `today` is (0 and below before it starts); None without a start."""
        return None if self.start_date is None else (today - self.start_date).days + 1

    def medications_on(self, today: date) -> tuple[Medication, ...]:
        """What is taken on that date while the protocol is active, by time of day."""
        day = self.day_on(today)
        if day is None or self.status != ProtocolStatus.ACTIVE:
            return ()
        due = (m for m in self.medications if m.is_due_on(day))
        return tuple(sorted(due, key=lambda medication: medication.time or "~"))


# ── patients, cases, relationships ──────────────────────────────────────────────────────────────────────


class Address(Record, frozen=True, kw_only=True):
    """Where a patient lives."""

    line1: str = ""
    line2: str | None = None
    city: str = ""
    region: str | None = None
    postal_code: str = ""
    country: str = ""


class EmergencyContact(Record, frozen=True, kw_only=True):
    """Whom to call for a patient."""

    name: str = ""
    phone_number: str = ""
    relation: str = ""


class Patient(Audited, frozen=True, kw_only=True):
    """A patient's record; whose it is tells `is_me`."""

    id: Id
    user_id: Id | None = None
    mrn: str = ""
    first_name: str = ""
    last_name: str = ""
    preferred_name: str | None = None
    date_of_birth: date | None = None
    email: str | None = None
    phone_number: str | None = None
    address: Address | None = None
    language: str | None = None
    preferred_channel: Channel | None = None
    emergency_contact: EmergencyContact | None = None
    is_active: bool = True

    @property
    def full_name(self) -> str:
        """First and last name, as far as given."""
        return f"{self.first_name} {self.last_name}".strip()

    @property
    def called(self) -> str:
        """What to call them: the preferred name, or the first."""
        return self.preferred_name or self.first_name or self.last_name

    def is_me(self, sub: str) -> bool:
        """Whether this is the record of the person `sub`: by `user_id`, or without one by `id`."""
        return (self.user_id or self.id) == sub


class Relationship(Record, frozen=True, kw_only=True):
    """Another person in a patient's care, and what they share."""

    id: Id
    patient_id: Id | None = None
    related_patient_id: Id | None = None
    related_name: str = ""
    type: RelationshipType | None = None
    is_portal_shared: bool = False
    start_date: date | None = None
    end_date: date | None = None


class Case(Audited, frozen=True, kw_only=True):
    """A course of care: what one or more episodes belong to."""

    id: Id
    status: CareStatus
    case_number: str = ""
    patient_id: Id | None = None
    partner_id: Id | None = None
    title: str = ""
    treatment_type: str = ""
    physician_id: Id | None = None
    coordinator_id: Id | None = None
    diagnosis: str | None = None
    notes: str | None = None
    opened_at: datetime | None = None
    closed_at: datetime | None = None
    closed_reason: str | None = None

    @property
    def next_statuses(self) -> tuple[CareStatus, ...]:
        """The statuses that it may be moved to."""
        return CARE_MOVES.get(self.status, ())


# ── embryos ─────────────────────────────────────────────────────────────────────────────────────────────


class StorageLocation(Record, frozen=True, kw_only=True):
    """Where an embryo lies; shown to staff alone."""

    facility: str = ""
    tank: str = ""
    canister: str = ""
    cane: str = ""
    position: str = ""


class EmbryoStorage(Audited, frozen=True, kw_only=True):
    """A stored embryo: consented until, paid until (`storage_expires_at`) and the law's limit apart."""

    id: Id
    embryo_code: str
    status: EmbryoStatus
    patient_id: Id | None = None
    episode_id: Id | None = None
    day: int | None = None
    grade: str = ""
    grading_system: str = ""
    cryopreserved_at: datetime | None = None
    method: str = ""
    location: StorageLocation | None = None
    hold_reason: str | None = None
    pgt_result_id: Id | None = None
    consent_form_id: Id | None = None
    storage_consented_until: date | None = None
    storage_expires_at: datetime | None = None
    statutory_limit: date | None = None
    disposition: Disposition = Disposition.UNDECIDED
    notes: str | None = None

    @property
    def is_terminal(self) -> bool:
        """Transferred, discarded, donated or shipped out: it isn't here any more."""
        return self.status.known and not self.next_statuses

    @property
    def is_on_hold(self) -> bool:
        """Nothing may be done with it until the hold ends."""
        return self.status == EmbryoStatus.ON_HOLD

    @property
    def next_statuses(self) -> tuple[EmbryoStatus, ...]:
        """The statuses that it may be moved to."""
        return EMBRYO_MOVES.get(self.status, ())

    @staticmethod
    def is_final(status: EmbryoStatus) -> bool:
        """Whether a move to `status` can't be undone."""
        return EMBRYO_MOVES.get(status) == ()


class Thresholds(Record, frozen=True, kw_only=True):
    """The laboratory's own cut-offs, in percent of abnormal cells."""

    euploid_below: float | None = None
    aneuploid_above: float | None = None


class Abnormality(Record, frozen=True, kw_only=True):
    """What differs on a chromosome."""

    chromosome: str = ""
    change: str = ""


class PgtResult(Timed, frozen=True, kw_only=True):
    """The genetic test of one embryo."""

    id: Id
    embryo_code: str
    status: PgtStatus
    embryo_storage_id: Id | None = None
    episode_id: Id | None = None
    test_type: PgtType | None = None
    laboratory: str = ""
    biopsied_at: datetime | None = None
    reported_at: datetime | None = None
    call: PgtCall | None = None
    mosaic_percent: float | None = None
    thresholds: Thresholds = Thresholds()
    abnormalities: tuple[Abnormality, ...] = ()
    condition: str | None = None
    sex_disclosed: bool = False
    sex: str | None = None
    comment: str | None = None
    report_file_id: Id | None = None
    released_at: datetime | None = None

    @property
    def is_released(self) -> bool:
        """Whether patients may see it."""
        return self.status in (PgtStatus.RELEASED, PgtStatus.AMENDED)

    @property
    def is_mosaic(self) -> bool:
        """Whether the laboratory calls it a mosaic."""
        return self.call in (PgtCall.LOW_MOSAIC, PgtCall.HIGH_MOSAIC)


# ── episodes ────────────────────────────────────────────────────────────────────────────────────────────


class PgtBrief(Record, frozen=True, kw_only=True):
    """A genetic test as an episode lists it."""

    id: Id
    embryo_code: str = ""
    status: PgtStatus | None = None
    call: PgtCall | None = None


class ConsentBrief(Record, frozen=True, kw_only=True):
    """A consent form as an episode lists it."""

    id: Id
    title: str = ""
    kind: ConsentKind | None = None
    status: ConsentStatus | None = None


class Follicles(Record, frozen=True, kw_only=True):
    """The follicles of each ovary, by diameter in millimetres."""

    left: tuple[float, ...] = ()
    right: tuple[float, ...] = ()


class MonitoringDay(Record, frozen=True, kw_only=True):
    """A day of monitoring: follicles and lining in millimetres; hormones, `unit` being oestradiol's."""

    date: date
    cycle_day: int | None = None
    follicles: Follicles = Follicles()
    endometrium_mm: float | None = None
    endometrium_pattern: str | None = None
    e2: float | None = None
    lh: float | None = None
    p4: float | None = None
    unit: str = ""
    verified: bool = False

    @property
    def sizes(self) -> tuple[float, ...]:
        """All follicles of both ovaries, the largest first."""
        return tuple(sorted((*self.follicles.left, *self.follicles.right), reverse=True))

    @property
    def largest(self) -> float | None:
        """The leading follicle, or None when there was none."""
        return next(iter(self.sizes), None)

    def count_from(self, millimetres: float) -> int:
        """How many follicles have reached that size."""
        return sum(size >= millimetres for size in self.sizes)


class TimelineEvent(Timed, frozen=True, kw_only=True):
    """Something that happened in an episode; only verified ones are certain."""

    id: Id
    kind: str = ""
    stage: EpisodeStage | None = None
    title: str = ""
    note: str | None = None
    occurred_at: datetime | None = None
    verified: bool = False


class Appointment(Timed, frozen=True, kw_only=True):
    """A visit; `time_zone` is the place's, by its IANA name."""

    id: Id
    start: datetime
    end: datetime | None = None
    kind: str = ""
    physician_id: Id | None = None
    time_zone: str | None = None
    location: str | None = None
    status: str = ""

    @property
    def is_cancelled(self) -> bool:
        """Whether it won't take place."""
        return self.status.casefold() in ("cancelled", "canceled", "noshow", "enteredinerror")


class CareTeamMember(Record, frozen=True, kw_only=True):
    """Someone who looks after the patient in an episode."""

    physician_id: Id | None = None
    name: str = ""
    role: str = ""


class Directory(Record, frozen=True, kw_only=True):
    """A folder; `parent_id` None is the root's."""

    id: Id
    name: str = ""
    parent_id: Id | None = None
    concurrency_stamp: str | None = None


class File(Timed, frozen=True, kw_only=True):
    """A document's name, media type and size in bytes; its bytes are read by its id."""

    id: Id
    name: str = ""
    directory_id: Id | None = None
    media_type: str = ""
    size: int | None = None
    creation_time: datetime | None = None


class Documents(Record, frozen=True, kw_only=True):
    """The folders and files of an episode, flat; the tree follows from the parents."""

    directories: tuple[Directory, ...] = ()
    files: tuple[File, ...] = ()

    def directories_in(self, parent_id: Id | None) -> tuple[Directory, ...]:
        """The folders right below one, by name; a folder whose parent isn't there counts as at the root."""
        known = {directory.id for directory in self.directories}
        below = (d for d in self.directories if (d.parent_id if d.parent_id in known else None) == parent_id)
        return tuple(sorted(below, key=lambda directory: directory.name.casefold()))

    def files_in(self, directory_id: Id | None) -> tuple[File, ...]:
        """The files right in a folder, by name; a file whose folder isn't there counts as at the root."""
        known = {directory.id for directory in self.directories}
        here = (
            f for f in self.files if (f.directory_id if f.directory_id in known else None) == directory_id
        )
        return tuple(sorted(here, key=lambda file: file.name.casefold()))

    def within(self, directory_id: Id) -> frozenset[Id]:
        """The ids of a folder and all below it: where it can't be moved to."""
        inside = {directory_id}
        while found := {d.id for d in self.directories if d.parent_id in inside} - inside:
            inside |= found
        return frozenset(inside)


class Alert(Timed, frozen=True, kw_only=True):
    """Something to know now, until then."""

    severity: Severity = Severity.INFO
    text: str = ""
    until: datetime | None = None


class Episode(Timed, frozen=True, kw_only=True):
    """One treatment cycle and everything in it: the hub from which other records are reached."""

    id: Id
    status: CareStatus
    patient: Patient
    number: str = ""
    type: str = ""
    stage: EpisodeStage | None = None
    outcome: Outcome | None = None
    start_date: date | None = None
    end_date: date | None = None
    partner: Patient | None = None
    relationships: tuple[Relationship, ...] = ()
    case: Case | None = None
    protocol: Protocol | None = None
    embryos: tuple[EmbryoStorage, ...] = ()
    pgt_results: tuple[PgtBrief, ...] = ()
    consent_forms: tuple[ConsentBrief, ...] = ()
    monitoring: tuple[MonitoringDay, ...] = ()
    timeline: tuple[TimelineEvent, ...] = ()
    appointments: tuple[Appointment, ...] = ()
    care_team: tuple[CareTeamMember, ...] = ()
    documents: Documents = Documents()
    conversation_ids: tuple[Id, ...] = ()
    alerts: tuple[Alert, ...] = ()

    @property
    def is_ended(self) -> bool:
        """Finished, cancelled or entered in error."""
        return self.status in (CareStatus.FINISHED, CareStatus.CANCELLED, CareStatus.ENTERED_IN_ERROR)

    def patient_of(self, sub: str) -> Patient | None:
        """The record of the person `sub` in this episode, be it as patient or as partner; else None."""
        people = (p for p in (self.patient, self.partner) if p is not None)
        return next((p for p in people if p.is_me(sub)), None)

    def upcoming(self, now: datetime) -> tuple[Appointment, ...]:
        """The appointments not over and not cancelled, the next first."""
        ahead = (a for a in self.appointments if (a.end or a.start) > now and not a.is_cancelled)
        return tuple(sorted(ahead, key=lambda appointment: appointment.start))

    def alerts_at(self, now: datetime) -> tuple[Alert, ...]:
        """The alerts that still hold."""
        return tuple(a for a in self.alerts if a.until is None or a.until > now)


# ── calendar ────────────────────────────────────────────────────────────────────────────────────────────

_DAYS = ("sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday")


class WorkingHours(Record, frozen=True, kw_only=True):
    """From `start` to `end` (HH:MM, physician's zone) each week; `day_of_week` is a name or 0 for Sunday."""

    day_of_week: int | str
    start: str
    end: str

    @property
    def weekday(self) -> int | None:
        """The day as Python counts it, Monday being 0; None if it is no day."""
        day = self.day_of_week
        if isinstance(day, str):
            day = _DAYS.index(day.casefold()) if day.casefold() in _DAYS else -1
        return (day - 1) % 7 if 0 <= day <= 6 else None

    @property
    def opens(self) -> time | None:
        """`start` as a time of day, or None if it is none."""
        return _time_of_day(self.start)

    @property
    def closes(self) -> time | None:
        """`end` as a time of day, or None if it is none."""
        return _time_of_day(self.end)


def _time_of_day(text: str) -> time | None:
    try:
        return time.fromisoformat(text)
    except ValueError:
        return None


class Busy(Timed, frozen=True, kw_only=True):
    """A stretch of time that is taken."""

    start: datetime
    end: datetime


class Physician(Record, frozen=True, kw_only=True):
    """A physician as a resource of the calendar; `time_zone` is an IANA name."""

    id: Id
    name: str
    title: str = ""
    specialty: str = ""
    location_id: Id | None = None
    location_name: str | None = None
    time_zone: str | None = None
    color: str | None = None
    is_active: bool = True
    working_hours: tuple[WorkingHours, ...] = ()
    busy: tuple[Busy, ...] = ()


# ── messaging ───────────────────────────────────────────────────────────────────────────────────────────


class Participant(Record, frozen=True, kw_only=True):
    """Someone in a conversation; `id` is their `sub`."""

    id: Id | None = None
    name: str = ""
    role: str = ""


class ReplyAddress(Record, frozen=True, kw_only=True):
    """Where an answer is sent, since the API takes none."""

    email: str | None = None
    sms: str | None = None


class Attachment(Record, frozen=True, kw_only=True):
    """A file that came with a message."""

    file_id: Id
    name: str = ""
    media_type: str = ""
    size: int | None = None


class Message(Timed, frozen=True, kw_only=True):
    """One message; `is_archived` is each person's own choice."""

    id: Id
    conversation_id: Id | None = None
    sender_id: Id | None = None
    sender_name: str = ""
    side: MessageSide | None = None
    channel: Channel | None = None
    body: str = ""
    sent_at: datetime | None = None
    read_at: datetime | None = None
    is_archived: bool = False
    attachments: tuple[Attachment, ...] = ()


class Conversation(Timed, frozen=True, kw_only=True):
    """A thread with its newest messages (50 at most)."""

    id: Id
    subject: str = ""
    patient_id: Id | None = None
    prospect_id: Id | None = None
    episode_id: Id | None = None
    channel: Channel | None = None
    participants: tuple[Participant, ...] = ()
    reply_address: ReplyAddress = ReplyAddress()
    is_archived: bool = False
    unread_count: int = 0
    last_message_at: datetime | None = None
    messages: tuple[Message, ...] = ()

    @property
    def in_order(self) -> tuple[Message, ...]:
        """The messages, the oldest first; those without a time at the start."""
        return tuple(sorted(self.messages, key=lambda message: _seconds(message.sent_at)))

    @property
    def latest(self) -> Message | None:
        """The newest message that isn't archived, or None."""
        return next((m for m in reversed(self.in_order) if not m.is_archived), None)


def _seconds(at: datetime | None) -> float:
    return float("-inf") if at is None else at.timestamp()


# ── notifications ───────────────────────────────────────────────────────────────────────────────────────


class Notification(Timed, frozen=True, kw_only=True):
    """A notice, and the record that it is about (`entity_type`, `entity_id`)."""

    id: Id
    type: str = ""
    title: str = ""
    body: str = ""
    severity: Severity = Severity.INFO
    is_read: bool = False
    read_at: datetime | None = None
    entity_type: str | None = None
    entity_id: Id | None = None
    data: dict[str, object] = msgspec.field(default_factory=dict[str, object])
    creation_time: datetime | None = None

    def is_about(self, entity_type: str, entity_id: Id | None = None) -> bool:
        """Whether it is about a record of that type (in any case), and about that one if it is given."""
        same_type = (self.entity_type or "").casefold() == entity_type.casefold()
        return same_type and (entity_id is None or self.entity_id == entity_id)

    def datum(self, name: str) -> str | None:
        """A text or number of `data`, as text; None if it isn't there."""
        value = self.data.get(name)
        return str(value) if isinstance(value, str | int) and value != "" else None


class NotificationChoice(Record, frozen=True, kw_only=True):
    """By which ways one type of notice comes; a `locked` one can't be switched off."""

    type: str
    email: bool = False
    sms: bool = False
    push: bool = False
    in_app: bool = False
    locked: bool = False


class QuietHours(Record, frozen=True, kw_only=True):
    """From when to when (HH:MM in `time_zone`) nothing is sent that can wait."""

    start: str = ""
    end: str = ""
    time_zone: str | None = None


class NotificationSettings(Record, frozen=True, kw_only=True):
    """A person's choices: type by way, quiet hours, language."""

    items: tuple[NotificationChoice, ...] = ()
    quiet_hours: QuietHours | None = None
    language: str | None = None
    concurrency_stamp: str | None = None


class NotificationCounts(Record, frozen=True, kw_only=True):
    """What an update of notifications did: how many changed, how many are unread now."""

    updated_count: int | None = None
    unread_count: int | None = None


class ArchivedCount(Record, frozen=True, kw_only=True):
    """How many conversations were archived."""

    archived_count: int | None = None


# ── prospects ───────────────────────────────────────────────────────────────────────────────────────────


class Prospect(Audited, frozen=True, kw_only=True):
    """A person who asked about treatment."""

    id: Id
    first_name: str = ""
    last_name: str = ""
    email: str | None = None
    phone_number: str | None = None
    source: str = ""
    status: ProspectStatus | None = None
    interest: str | None = None
    patient_id: Id | None = None
    merged_into_id: Id | None = None

    @property
    def full_name(self) -> str:
        """First and last name, as far as given."""
        return f"{self.first_name} {self.last_name}".strip()


class Booking(Timed, frozen=True, kw_only=True):
    """A window that was booked for a prospect."""

    booking_id: Id
    prospect_id: Id | None = None
    physician_id: Id | None = None
    start: datetime | None = None
    end: datetime | None = None
    status: str = ""
