"""The effects of a form once its last signer has signed."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import select
from sqlalchemy.orm import Session

from portal.careservice.clock import now
from portal.careservice.domain.actor import Actor
from portal.careservice.domain.consents import kinds
from portal.careservice.domain.consents.forms import LIVE, ConsentForm
from portal.careservice.domain.consents.parties import PATIENTS_SIDE
from portal.careservice.domain.embryos import MOVES, EmbryoStorage, end_hold
from portal.careservice.domain.enumerations import ConsentStatus


def take_effect(session: Session, actor: Actor, form: ConsentForm) -> None:
    """End the form that this one supersedes, and apply what was signed to the embryos that it names."""
    old = session.get(ConsentForm, form.supersedes_id) if form.supersedes_id else None
    if old is not None and old.status in LIVE:
        old.status = ConsentStatus.SUPERSEDED
        old.superseded_by_id = form.id
        old.touch(actor.sub)
    kind = form.folded_kind
    if kind not in kinds.DECIDES | kinds.STORES:
        return
    named = session.scalars(
        select(EmbryoStorage)
        .where(
            EmbryoStorage.id.in_(form.embryo_storage_ids or ()),
            EmbryoStorage.tenant_id == form.tenant_id,
            EmbryoStorage.patient_id == form.patient_id,
        )
        .order_by(EmbryoStorage.id)
    ).all()
    for embryo in named:
        if not MOVES[embryo.status]:
            continue
        if not _is_signed_since(form, embryo.stopped_at):
            # The patient's side stopped it after signing this: their latest decision counts.
            if kind in kinds.DECIDES:
                form.wish_taken_back_at = now()
            continue
        end_hold(embryo, actor)
        if form.disposition is not None:
            embryo.disposition = form.disposition
        if kind in kinds.STORES and (
            embryo.consent_form_id is None or embryo.consent_form_id == form.supersedes_id
        ):
            embryo.consent_form_id = form.id
        embryo.touch(actor.sub)


def _is_signed_since(form: ConsentForm, moment: datetime | None) -> bool:
    """Whether all signatures of the patient's side were given after `moment`."""
    return moment is None or all(
        signature.signed_at > moment for signature in form.signatures if signature.role in PATIENTS_SIDE
    )
