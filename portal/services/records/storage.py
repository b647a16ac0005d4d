"""Embryos in storage, and the legal moves of their status."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, datetime

from portal.services.decoding import Choice, Id, Record
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
