"""Embryos in storage: what may become of them, and what that needs."""

from __future__ import annotations

from datetime import date, datetime
from typing import Annotated

import msgspec
from sqlalchemy import ForeignKey, String, select
from sqlalchemy.orm import Mapped, Session, mapped_column

from portal.careservice.database import Base, Id
from portal.careservice.domain import episodes, patients
from portal.careservice.domain.actor import Actor
from portal.careservice.domain.columns import Audited, Structs, one_of
from portal.careservice.domain.consents.forms import ConsentForm
from portal.careservice.domain.enumerations import ConsentStatus, Disposition, EmbryoStatus
from portal.careservice.domain.rules import NotThere, Refused, Rule, require_stamp

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
"""Where an embryo may go from where it is; Thawed to Stored only as re-cryopreservation."""

_FINAL_WISHES = frozenset({Disposition.DISCARD, Disposition.DONATE_RESEARCH, Disposition.DONATE_PATIENT})
"""Wishes that, like the acts themselves, need a signed form and no hold."""

_NEEDS_CONSENT = frozenset({_S.DISCARDED, _S.DONATED})


class Location(msgspec.Struct, rename="camel", kw_only=True):
    """Where in the laboratory an embryo lies; for staff alone."""

    facility: Annotated[str, msgspec.Meta(max_length=100)]
    tank: Annotated[str, msgspec.Meta(max_length=40)]
    canister: Annotated[str, msgspec.Meta(max_length=40)]
    cane: Annotated[str, msgspec.Meta(max_length=40)]
    position: Annotated[str, msgspec.Meta(max_length=40)]


class EmbryoStorage(Audited, Base):
    """One embryo, from freezing on.

    `storage_consented_until` is how far consent goes, `storage_expires_at` how far it is paid,
    `statutory_limit` how far the law goes: three dates that are never one another.
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
    pgt_result_id: Mapped[str | None] = mapped_column(String(36))
    consent_form_id: Mapped[str | None] = mapped_column(String(36), index=True)
    storage_consented_until: Mapped[date | None]
    storage_expires_at: Mapped[datetime | None]
    statutory_limit: Mapped[date | None]
    disposition: Mapped[Disposition] = mapped_column(one_of(Disposition))
    notes: Mapped[str | None]


class EmbryoChange(msgspec.Struct, rename="camel", kw_only=True):
    """What an update of an embryo may say; what is left out stays."""

    status: EmbryoStatus | msgspec.UnsetType = msgspec.UNSET
    location: Location | msgspec.UnsetType | None = msgspec.UNSET
    storage_expires_at: datetime | msgspec.UnsetType | None = msgspec.UNSET
    disposition: Disposition | msgspec.UnsetType = msgspec.UNSET
    notes: Annotated[str, msgspec.Meta(max_length=10000)] | msgspec.UnsetType | None = msgspec.UNSET


def find(session: Session, actor: Actor, embryo_id: str) -> EmbryoStorage:
    """The embryo as far as `actor` reaches: staff any of the clinic's, patients those of their episodes."""
    embryo = session.get(EmbryoStorage, embryo_id)
    if embryo is None or embryo.tenant_id != actor.tenant_id:
        raise NotThere
    if not actor.is_staff and embryo.patient_id not in patients.ids_of(session, actor):
        episodes.find(session, actor, embryo.episode_id)
    return embryo


def update(
    session: Session, actor: Actor, embryo: EmbryoStorage, change: EmbryoChange, stamp: str
) -> EmbryoStorage:
    """Change an embryo's record; patients may say its disposition alone."""
    require_stamp(embryo.concurrency_stamp, stamp)
    changes = {
        name: value
        for name, value in msgspec.structs.asdict(change).items()
        if value is not msgspec.UNSET and value != getattr(embryo, name)
    }
    if not actor.is_staff:
        for name in ("location", "notes"):
            if changes.get(name, embryo) is None:
                changes.pop(name)  # patients aren't shown it, so theirs comes back empty
        if not changes.keys() <= {"disposition"}:
            raise Refused(Rule.FIELD_NOT_YOURS)
    if changes and not MOVES[embryo.status]:
        raise Refused(Rule.ILLEGAL_TRANSITION)
    if "status" in changes:
        _require_move(session, embryo, changes["status"])
        if embryo.status == EmbryoStatus.ON_HOLD:
            embryo.hold_reason = None
    if changes.get("disposition") in _FINAL_WISHES:
        _require_final_wish(session, embryo)
    for name, value in changes.items():
        setattr(embryo, name, value)
    embryo.touch(actor.sub)
    return embryo


def is_choice(embryo: EmbryoStorage, change: EmbryoChange) -> bool:
    """Whether a change decides about the embryo: a move to another state, or another disposition."""
    return change.status not in (msgspec.UNSET, embryo.status) or change.disposition not in (
        msgspec.UNSET,
        embryo.disposition,
    )


def hold(embryo: EmbryoStorage, reason: str, actor: Actor) -> None:
    """Put an embryo on hold, if it lies in storage."""
    if embryo.status in (EmbryoStatus.STORED, EmbryoStatus.RESERVED):
        embryo.status = EmbryoStatus.ON_HOLD
        embryo.hold_reason = reason
        embryo.touch(actor.sub)


def _require_final_wish(session: Session, embryo: EmbryoStorage) -> None:
    if embryo.status == EmbryoStatus.ON_HOLD:
        raise Refused(Rule.EMBRYO_ON_HOLD)
    if not _has_disposition_consent(session, embryo):
        raise Refused(Rule.DISPOSITION_CONSENT_MISSING)


def _require_move(session: Session, embryo: EmbryoStorage, wanted: EmbryoStatus) -> None:
    if embryo.status == EmbryoStatus.ON_HOLD and wanted in _NEEDS_CONSENT:
        raise Refused(Rule.EMBRYO_ON_HOLD)
    if wanted not in MOVES[embryo.status]:
        raise Refused(Rule.ILLEGAL_TRANSITION)
    if wanted in _NEEDS_CONSENT and not _has_disposition_consent(session, embryo):
        raise Refused(Rule.DISPOSITION_CONSENT_MISSING)


def _has_disposition_consent(session: Session, embryo: EmbryoStorage) -> bool:
    signed = select(ConsentForm.id).where(
        ConsentForm.tenant_id == embryo.tenant_id,
        ConsentForm.patient_id == embryo.patient_id,
        ConsentForm.kind.in_(("Disposition", "Donation")),
        ConsentForm.status == ConsentStatus.SIGNED,
    )
    return session.scalar(signed.limit(1)) is not None
