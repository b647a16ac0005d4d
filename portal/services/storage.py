"""Embryo storage (care API specification §4, group EmbryoStorage); read as part of an episode."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, datetime
from typing import Annotated, ClassVar

import msgspec
from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from portal.config.modules import Module
from portal.config.strong_sign_in import Act
from portal.config.visits import folded_kind
from portal.services.api import Group
from portal.services.client import Care
from portal.services.decoding import Choice, Day, Id, Record
from portal.services.demand import FRESH, Demand
from portal.services.stamped_record import StampedRecord
from portal.services.uses import NOT_SENT, STAFF


class EmbryoStatus(Choice):
    """The status of an embryo; Transferred, Discarded, Donated and ShippedOut are final."""

    STORED = "Stored"
    RESERVED = "Reserved"
    ON_HOLD = "OnHold"
    THAWED = "Thawed"
    TRANSFERRED = "Transferred"
    DISCARDED = "Discarded"
    DONATED = "Donated"
    SHIPPED_OUT = "ShippedOut"


class Disposition(Choice):
    """What the patient and partner have decided for their embryo."""

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
"""Dispositions that end an embryo's storage; only a signed form can set them."""

_BY_THE_PATIENT = ("Consent withdrawn", "Consent ended", "Decision taken back")
"""The API's reasons for a hold that only a new signed form ends; staff can't enter them (docs/assumptions.md)."""


def known_hold_reason(reason: str | None) -> str | None:
    """Return which of the API's own reasons it is, however it is spelt; None for the clinic's, and without one."""
    return next((known for known in _BY_THE_PATIENT if folded_kind(known) == folded_kind(reason or "")), None)


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
    """An embryo's storage location; shown only to staff."""

    shown_on: ClassVar = ("storage", "episodes")

    facility: Annotated[str | None, "facility", STAFF] = None
    tank: Annotated[str | None, "tank", STAFF] = None
    canister: Annotated[str | None, "canister", STAFF] = None
    cane: Annotated[str | None, "cane", STAFF] = None
    position: Annotated[str | None, "position", STAFF] = None

    @property
    def parts(self) -> tuple[str, str, str, str, str]:
        """The place from the facility inwards, "" for what isn't given."""
        return (
            self.facility or "",
            self.tank or "",
            self.canister or "",
            self.cane or "",
            self.position or "",
        )


NO_LOCATION = StorageLocation(facility="", tank="", canister="", cane="", position="")


class EmbryoStorage(StampedRecord, frozen=True, kw_only=True):
    """A stored embryo; consent, payment (`storage_expires_at`) and the statutory limit have separate end dates."""

    shown_on: ClassVar = ("storage", "episodes")
    vital: ClassVar = frozenset({"hold_reason"})

    id: Id
    embryo_code: Annotated[str, "embryo code"]
    status: Annotated[EmbryoStatus, "status, and which moves are offered"]
    patient_id: Annotated[Id | None, "patient"] = None
    episode_id: Annotated[Id | None, "treatment"] = None
    day: Annotated[Day | None, "day of development when frozen"] = None
    grade: Annotated[str, "grade"] = ""
    grading_system: Annotated[str, "grading system, for staff", STAFF] = ""
    cryopreserved_at: Annotated[datetime | None, "date frozen"] = None
    method: Annotated[str, "freezing method, for staff", STAFF] = ""
    location: Annotated[StorageLocation | None, "storage location, for staff", STAFF, NOT_SENT] = None
    hold_reason: Annotated[str | None, "why it is on hold; without it, no reason is shown"] = None
    pgt_result_id: Annotated[Id | None, "link to its genetic test", NOT_SENT] = None
    consent_form_id: Annotated[Id | None, "consent form for its storage"] = None
    storage_consented_until: Annotated[date | None, "end of consented storage"] = None
    storage_expires_at: Annotated[datetime | None, "end of paid storage"] = None
    statutory_limit: Annotated[date | None, "legal limit of storage"] = None
    disposition: Annotated[Disposition, "decision of patient and partner"] = Disposition.UNDECIDED
    notes: Annotated[str | None, "laboratory notes, for staff", STAFF, NOT_SENT] = None

    @property
    def is_terminal(self) -> bool:
        """Whether it is transferred, discarded, donated or shipped out, and so no longer at the clinic."""
        return self.status.known and not self.next_statuses

    @property
    def is_in_storage(self) -> bool:
        """Whether it is frozen at the clinic, including reserved and on hold."""
        return self.status in (EmbryoStatus.STORED, EmbryoStatus.RESERVED, EmbryoStatus.ON_HOLD)

    @property
    def is_on_hold(self) -> bool:
        """Whether it is on hold: nothing may be done with it until the hold ends."""
        return self.status == EmbryoStatus.ON_HOLD

    @property
    def is_stopped(self) -> bool:
        """Whether it is on hold, or was stopped by the patient or partner after thawing."""
        return self.is_on_hold or bool(self.hold_reason)

    @property
    def is_held_by_patient(self) -> bool:
        """Whether withdrawn consent or a revoked decision stopped it, which only a new signed form ends."""
        return self.is_stopped and known_hold_reason(self.hold_reason) is not None

    @property
    def is_slowly_frozen(self) -> bool:
        """Whether it is thawed to be used; vitrified embryos, and those of an unknown method, are warmed."""
        return "slow" in self.method.casefold()

    @property
    def has_final_wish(self) -> bool:
        """Whether a signed form has decided to end its storage."""
        return self.disposition in FINAL_WISHES

    @property
    def next_statuses(self) -> tuple[EmbryoStatus, ...]:
        return EMBRYO_MOVES.get(self.status, ())

    @staticmethod
    def is_irreversible(status: EmbryoStatus) -> bool:
        """Whether a change to `status` is irreversible: the final ones, and thawing."""
        return status == EmbryoStatus.THAWED or EmbryoStorage.is_final(status)

    @staticmethod
    def is_final(status: EmbryoStatus) -> bool:
        """Whether `status` is final: no other status can follow it."""
        return EMBRYO_MOVES.get(status) == ()


class EmbryoChange(Record, frozen=True, kw_only=True):
    """What is sent to change an embryo's storage: a patient's choice names `disposition` alone."""

    concurrency_stamp: str | None
    disposition: Disposition | UnsetType = UNSET
    status: EmbryoStatus | UnsetType = UNSET
    location: StorageLocation | UnsetType | None = UNSET
    storage_expires_at: datetime | UnsetType | None = UNSET
    notes: str | UnsetType | None = UNSET


MOVE = Demand(FRESH, Act.EMBRYOS)
"""What a move or a decision demands of the sign-in."""

UPDATE_EMBRYO_STORAGE = Group("EmbryoStorage", Module.STORAGE).put(
    "/api/care/embryo-storage/{id}", EmbryoStorage, EmbryoChange
)


def update_embryo_storage(
    care: Care, embryo_id: str, *, embryo: EmbryoStorage, before: EmbryoStorage
) -> EmbryoStorage | None:
    """Save staff's changes and return the record; None if the API returns no body: read its episode again.

    `embryo` is the record as it was read `before`, with the changes: what it didn't have isn't sent. A change of status
    makes the demand `MOVE`. Raises `Refused` for a status not in the embryo's `next_statuses`, on hold, or without the
    required consent; `Conflict` if it was changed meanwhile.
    """
    demand = MOVE if embryo.status != before.status else None
    return care.act(
        UPDATE_EMBRYO_STORAGE, _change(embryo), before=_change(before), demand=demand, id=embryo_id
    )


def _change(embryo: EmbryoStorage) -> EmbryoChange:
    """All that staff may write, and the wish, unless it is none: it may never have come, and none would take one back."""
    change = msgspec.convert(embryo, EmbryoChange, from_attributes=True)
    is_known = embryo.disposition is not Disposition.UNDECIDED
    return change if is_known else replace(change, disposition=UNSET)


def choose_disposition(
    care: Care, embryo_id: str, *, disposition: Disposition, stamp: str | None
) -> EmbryoStorage | None:
    """Save a patient's decision (`ContinueStorage` renews); nothing else of the record is sent.

    Returns the record, or None if the API returns no body: read its episode again. Raises `Refused` without the
    required signed consent.
    """
    choice = EmbryoChange(disposition=disposition, concurrency_stamp=stamp)
    return care.act(UPDATE_EMBRYO_STORAGE, choice, demand=MOVE, id=embryo_id)
