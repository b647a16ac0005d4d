"""Updating an embryo's record: by staff, and the wish of the people whose embryo it is."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

import msgspec
from sqlalchemy.orm import Session

from portal.careservice.clock import now
from portal.careservice.domain import embryo_moves
from portal.careservice.domain.actor import Actor
from portal.careservice.domain.consents import ends
from portal.careservice.domain.embryos import (
    BY_THE_PATIENT,
    FINAL_WISHES,
    MOVES,
    EmbryoStorage,
    HoldCause,
    Location,
    hold,
    is_visible,
)
from portal.careservice.domain.enumerations import Disposition, EmbryoStatus
from portal.careservice.domain.rules import NotThere, Refused, Rule, require_stamp


class EmbryoChange(msgspec.Struct, rename="camel", kw_only=True):
    """An update of an embryo; members left out stay unchanged."""

    status: EmbryoStatus | msgspec.UnsetType = msgspec.UNSET
    location: Location | msgspec.UnsetType | None = msgspec.UNSET
    storage_expires_at: datetime | msgspec.UnsetType | None = msgspec.UNSET
    disposition: Disposition | msgspec.UnsetType = msgspec.UNSET
    notes: Annotated[str, msgspec.Meta(max_length=10000)] | msgspec.UnsetType | None = msgspec.UNSET


_HIDDEN_FROM_PATIENTS = ("location", "notes")


def update(
    session: Session, actor: Actor, embryo: EmbryoStorage, change: EmbryoChange, stamp: str
) -> EmbryoStorage:
    """Update an embryo; raises Refused, Invalid or NotThere. Without changes, nothing is written.

    Patients may change only its disposition, and nobody else may.
    Only a signed form can set a wish that ends its storage, never this. Patient or partner may take it back at any
    time, which puts the embryo on hold; so may a signer of that form who no longer has access to the embryo.
    """
    changes = {
        name: value
        for name, value in msgspec.structs.asdict(change).items()
        if value is not msgspec.UNSET and value != getattr(embryo, name)
    }
    if not actor.is_staff:
        for name in _HIDDEN_FROM_PATIENTS:
            if changes.get(name, embryo) is None:
                changes.pop(name)  # patients can't see it, so they send back an empty one
        if not is_visible(session, actor, embryo):
            if changes != {"disposition": Disposition.UNDECIDED} or not _is_signer_of_wish(
                session, actor, embryo
            ):
                raise NotThere
            stamp = embryo.concurrency_stamp  # which they can't know
    require_stamp(embryo.concurrency_stamp, stamp)
    if not changes:
        return embryo
    if not actor.is_staff and not changes.keys() <= {"disposition"}:
        raise Refused(Rule.FIELD_NOT_YOURS)
    if actor.is_staff and "disposition" in changes:
        raise Refused(Rule.WISH_NOT_YOURS)
    if not MOVES[embryo.status]:
        raise Refused(Rule.ILLEGAL_TRANSITION)
    if "disposition" in changes:
        _change_wish(session, actor, embryo, changes["disposition"])
    if "status" in changes:
        _change_status(session, actor, embryo, changes)
    for name, value in changes.items():
        setattr(embryo, name, value)
    embryo.touch(actor.sub)
    return embryo


def is_choice(embryo: EmbryoStorage, change: EmbryoChange) -> bool:
    """Whether the change is a decision about the embryo: a new status or disposition."""
    return change.status not in (msgspec.UNSET, embryo.status) or change.disposition not in (
        msgspec.UNSET,
        embryo.disposition,
    )


def _is_signer_of_wish(session: Session, actor: Actor, embryo: EmbryoStorage) -> bool:
    """Whether `actor` is a signer of a form that set the embryo's current wish, which ends its storage."""
    return any(
        form.disposition == embryo.disposition
        and any(signer.person_id == actor.person_id for signer in form.required_signers)
        for form in embryo_moves.decisions_about(session, embryo)
        if embryo.disposition in FINAL_WISHES
    )


def _change_wish(session: Session, actor: Actor, embryo: EmbryoStorage, wanted: Disposition) -> None:
    if wanted in FINAL_WISHES:
        raise Refused(Rule.FORM_MISSING)
    if embryo.disposition not in FINAL_WISHES:
        return
    for form in embryo_moves.decisions_about(session, embryo):
        form.wish_taken_back_at = now()
        form.touch(actor.sub)
    hold(embryo, HoldCause.WISH_TAKEN_BACK, actor.sub)


def _change_status(session: Session, actor: Actor, embryo: EmbryoStorage, changes: dict[str, Any]) -> None:
    wanted = EmbryoStatus(changes["status"])
    ends.expire_overdue(session, embryo.patient_id)
    if embryo.status == EmbryoStatus.THAWED and wanted == EmbryoStatus.DISCARDED:
        embryo_moves.require_lost(session, actor, embryo, changes.get("notes"))
        form_id = embryo.thaw_form_id
    else:
        form_id = embryo_moves.require(session, actor, embryo, wanted)
    if wanted == EmbryoStatus.THAWED:
        embryo.thaw_form_id = form_id
    elif not MOVES[wanted]:
        embryo.end_form_id = form_id
    if wanted == EmbryoStatus.ON_HOLD:
        embryo.hold_cause = HoldCause.CLINIC
    elif embryo.status == EmbryoStatus.THAWED and wanted == EmbryoStatus.STORED:
        if embryo.hold_cause in BY_THE_PATIENT:
            changes["status"] = EmbryoStatus.ON_HOLD  # refrozen, and still on hold
    elif embryo.status == EmbryoStatus.ON_HOLD:
        embryo.hold_cause = None
        embryo.hold_reason = None
