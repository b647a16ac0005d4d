"""Embryos in storage, and the legal moves of their status."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, datetime

from portal.services.decoding import Choice, Day, Id, Record
from portal.services.records.base import Audited


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


FINAL_WISHES = (
    Disposition.DISCARD,
    Disposition.DONATE_RESEARCH,
    Disposition.DONATE_PATIENT,
    Disposition.TRANSPORT,
)
"""Wishes that end an embryo's storage: only a signed form makes one of them."""

_BY_THE_PATIENT = ("Consent withdrawn", "Decision taken back")
"""The reasons that the API gives for a hold that only a new signed form ends; staff can't write one (docs/assumptions.md)."""

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
    day: Day | None = None
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
    def is_in_storage(self) -> bool:
        """Frozen at the clinic, be it reserved or on hold."""
        return self.status in (EmbryoStatus.STORED, EmbryoStatus.RESERVED, EmbryoStatus.ON_HOLD)

    @property
    def is_on_hold(self) -> bool:
        """Nothing may be done with it until the hold ends."""
        return self.status == EmbryoStatus.ON_HOLD

    @property
    def is_stopped(self) -> bool:
        """On hold, or stopped on the patient's side after it was thawed."""
        return self.is_on_hold or bool(self.hold_reason)

    @property
    def is_held_by_patient(self) -> bool:
        """Whether a withdrawal or a decision taken back stopped it: only a new signed form ends that."""
        return self.is_stopped and self.hold_reason in _BY_THE_PATIENT

    @property
    def has_final_wish(self) -> bool:
        """Whether a signed form decided that its storage ends."""
        return self.disposition in FINAL_WISHES

    @property
    def next_statuses(self) -> tuple[EmbryoStatus, ...]:
        """The statuses that it may be moved to."""
        return EMBRYO_MOVES.get(self.status, ())

    @staticmethod
    def is_irreversible(status: EmbryoStatus) -> bool:
        """Whether a move to `status` can't be taken back: the final ones, and thawing."""
        return status == EmbryoStatus.THAWED or EmbryoStorage.is_final(status)

    @staticmethod
    def is_final(status: EmbryoStatus) -> bool:
        """Whether a move to `status` can't be undone."""
        return EMBRYO_MOVES.get(status) == ()
