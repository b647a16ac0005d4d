"""Embryos in storage: their statuses, wishes and holds, and who may see them."""

from __future__ import annotations

from datetime import date, datetime
from enum import StrEnum
from typing import Annotated

import msgspec
from sqlalchemy import ForeignKey, String, select
from sqlalchemy.orm import Mapped, Session, mapped_column

from portal.careservice.clock import now
from portal.careservice.database import Base, Id
from portal.careservice.domain import episodes, patients
from portal.careservice.domain.actor import Actor
from portal.careservice.domain.columns import Audited, Structs, one_of
from portal.careservice.domain.consents.forms import ConsentForm, Signer
from portal.careservice.domain.enumerations import Disposition, EmbryoStatus
from portal.careservice.domain.rules import NotThere

_S = EmbryoStatus
MOVES: dict[EmbryoStatus, frozenset[EmbryoStatus]] = {
    _S.STORED: frozenset({_S.RESERVED, _S.ON_HOLD, _S.THAWED, _S.DISCARDED, _S.DONATED, _S.SHIPPED_OUT}),
    _S.RESERVED: frozenset({_S.STORED, _S.ON_HOLD, _S.THAWED, _S.DISCARDED, _S.DONATED, _S.SHIPPED_OUT}),
    _S.ON_HOLD: frozenset({_S.STORED, _S.RESERVED}),
    _S.THAWED: frozenset({_S.TRANSFERRED, _S.DISCARDED, _S.STORED}),
    _S.TRANSFERRED: frozenset(),
    _S.DISCARDED: frozenset(),
    _S.DONATED: frozenset(),
    _S.SHIPPED_OUT: frozenset(),
}
"""The statuses that each status may change to; Thawed to Stored is re-cryopreservation."""

FINAL_WISHES = frozenset(
    {Disposition.DISCARD, Disposition.DONATE_RESEARCH, Disposition.DONATE_PATIENT, Disposition.TRANSPORT}
)
"""Wishes that end an embryo's storage; only a signed form can set them."""


class HoldCause(StrEnum):
    """Why an embryo is on hold; the clinic can end only its own hold."""

    CLINIC = "Clinic"
    WITHDRAWAL = "Withdrawal"
    WISH_TAKEN_BACK = "WishTakenBack"
    CONSENT_ENDED = "ConsentEnded"


BY_THE_PATIENT = frozenset({HoldCause.WITHDRAWAL, HoldCause.WISH_TAKEN_BACK, HoldCause.CONSENT_ENDED})
"""Holds that end only when a new form that names the embryo is signed."""

_REASONS = {
    HoldCause.WITHDRAWAL: "Consent withdrawn",
    HoldCause.WISH_TAKEN_BACK: "Decision taken back",
    HoldCause.CONSENT_ENDED: "Consent ended",
}


class Location(msgspec.Struct, rename="camel", kw_only=True):
    """Where in the laboratory an embryo is stored; for staff only."""

    facility: Annotated[str, msgspec.Meta(max_length=100)]
    tank: Annotated[str, msgspec.Meta(max_length=40)]
    canister: Annotated[str, msgspec.Meta(max_length=40)]
    cane: Annotated[str, msgspec.Meta(max_length=40)]
    position: Annotated[str, msgspec.Meta(max_length=40)]


class EmbryoStorage(Audited, Base):
    """One embryo, from freezing on.

    `storage_consented_until`, `storage_expires_at` and `statutory_limit` are independent dates: until when storage
    is consented to (None once that was renewed), paid for, and legal. `stopped_at` is when the patient's side last put it on hold: forms signed
    before no longer decide anything. A thawed embryo can have a `hold_cause` too. `held_by_clinic` and
    `clinic_hold_reason` preserve the clinic's own hold while the patient's side holds the embryo as well.
    `thaw_form_id` is the form that allowed the thaw, `end_form_id` the one that allowed its final status.
    """

    __tablename__ = "embryo_storage"

    id: Mapped[Id] = mapped_column(primary_key=True)
    tenant_id: Mapped[str] = mapped_column(String(36), index=True)
    patient_id: Mapped[str] = mapped_column(ForeignKey("patients.id"), index=True)
    episode_id: Mapped[str] = mapped_column(String(36), index=True)
    embryo_code: Mapped[str]
    day: Mapped[int]
    grade: Mapped[str]
    grading_system: Mapped[str]
    cryopreserved_at: Mapped[datetime]
    method: Mapped[str]
    status: Mapped[EmbryoStatus] = mapped_column(one_of(EmbryoStatus))
    location: Mapped[Location | None] = mapped_column(Structs(Location))
    hold_reason: Mapped[str | None]
    hold_cause: Mapped[HoldCause | None] = mapped_column(one_of(HoldCause))
    held_by_clinic: Mapped[bool] = mapped_column(default=False)
    clinic_hold_reason: Mapped[str | None]
    stopped_at: Mapped[datetime | None]
    thaw_form_id: Mapped[str | None] = mapped_column(String(36))
    end_form_id: Mapped[str | None] = mapped_column(String(36))
    pgt_result_id: Mapped[str | None] = mapped_column(String(36))
    consent_form_id: Mapped[str | None] = mapped_column(String(36), index=True)
    storage_consented_until: Mapped[date | None]
    storage_expires_at: Mapped[datetime | None]
    statutory_limit: Mapped[date | None]
    disposition: Mapped[Disposition] = mapped_column(one_of(Disposition))
    notes: Mapped[str | None]


def find(session: Session, actor: Actor, embryo_id: str) -> EmbryoStorage:
    """The embryo: for staff any of the clinic's, for patients those of their episodes; raises NotThere.

    Signers of a form that names it find it too, so that they can take a decision back.
    """
    embryo = session.get(EmbryoStorage, embryo_id)
    if embryo is None or embryo.tenant_id != actor.tenant_id:
        raise NotThere
    if not is_visible(session, actor, embryo) and not _is_named_signer(session, actor, embryo):
        raise NotThere
    return embryo


def _is_named_signer(session: Session, actor: Actor, embryo: EmbryoStorage) -> bool:
    named = session.scalars(
        select(ConsentForm.embryo_storage_ids)
        .join(Signer, Signer.form_id == ConsentForm.id)
        .where(ConsentForm.tenant_id == embryo.tenant_id, Signer.person_id == actor.person_id)
    )
    return any(embryo.id in (ids or ()) for ids in named)


def is_visible(session: Session, actor: Actor, embryo: EmbryoStorage) -> bool:
    """Whether `actor` may read the embryo."""
    if actor.is_staff or embryo.patient_id in patients.ids_of(session, actor):
        return True
    return episodes.is_visible(session, actor, embryo.episode_id)


def hold(embryo: EmbryoStorage, cause: HoldCause, by: str | None) -> None:
    """Put an embryo on hold for the patient's side, unless its status is final; a thawed one stays Thawed."""
    if not MOVES[embryo.status]:
        return
    if embryo.status == EmbryoStatus.ON_HOLD and embryo.hold_cause not in BY_THE_PATIENT:
        embryo.held_by_clinic = True
        embryo.clinic_hold_reason = embryo.hold_reason
    if embryo.status in (EmbryoStatus.STORED, EmbryoStatus.RESERVED):
        embryo.status = EmbryoStatus.ON_HOLD
    embryo.hold_cause = cause
    embryo.hold_reason = _REASONS[cause]
    embryo.stopped_at = now()
    embryo.touch(by)


def end_hold(embryo: EmbryoStorage, actor: Actor) -> None:
    """End a hold of the patient's side; a hold of the clinic's own remains, or is restored."""
    if embryo.hold_cause not in BY_THE_PATIENT:
        return
    if embryo.held_by_clinic:
        embryo.hold_cause = HoldCause.CLINIC
        embryo.hold_reason = embryo.clinic_hold_reason
    else:
        if embryo.status == EmbryoStatus.ON_HOLD:
            embryo.status = EmbryoStatus.STORED
        embryo.hold_cause = None
        embryo.hold_reason = None
    embryo.held_by_clinic = False
    embryo.clinic_hold_reason = None
    embryo.touch(actor.sub)
