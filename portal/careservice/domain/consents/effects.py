"""The effects of a form once its last signer has signed."""

from __future__ import annotations

from sqlalchemy import select
from sqlalchemy.orm import Session

from portal.careservice.clock import now
from portal.careservice.domain.actor import Actor
from portal.careservice.domain.consents import ends, kinds
from portal.careservice.domain.consents.forms import ConsentForm, with_people
from portal.careservice.domain.consents.parties import is_signed_since
from portal.careservice.domain.consents.storage_consents import is_agreed_by_all
from portal.careservice.domain.embryos import MOVES, EmbryoStorage, end_hold
from portal.careservice.domain.enumerations import CareStatus, ConsentStatus
from portal.careservice.domain.episodes import Episode


def take_effect(session: Session, actor: Actor, form: ConsentForm) -> None:
    """End the form that this one supersedes, and apply what was signed to the embryos that it names."""
    old = session.get(ConsentForm, form.supersedes_id) if form.supersedes_id else None
    if old is not None and old.status == ConsentStatus.SIGNED and ends.is_open(session, old):
        ends.leave_force(session, actor, old, ConsentStatus.SUPERSEDED, successor=form)
    kind = form.folded_kind
    if kind == kinds.TREATMENT:
        _resume_treatment(session, actor, form)
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
        if not is_signed_since(form, embryo.stopped_at):
            # The patient's side stopped it after signing this: their latest decision counts.
            if kind in kinds.DECIDES:
                form.wish_taken_back_at = now()
            continue
        if kind in kinds.STORES and embryo.stopped_at and not is_agreed_by_all(session, embryo):
            continue
        end_hold(embryo, actor)
        if kind == kinds.STORAGE_RENEWAL:
            embryo.storage_consented_until = (
                None  # the earlier date no longer holds, and the form has no new one
            )
        if form.disposition is not None:
            embryo.disposition = form.disposition
        if kind in kinds.STORES and not _is_stored_under_another(session, embryo):
            embryo.consent_form_id = form.id
        embryo.touch(actor.sub)


def _is_stored_under_another(session: Session, embryo: EmbryoStorage) -> bool:
    other = session.get(ConsentForm, embryo.consent_form_id) if embryo.consent_form_id else None
    return other is not None and other.status == ConsentStatus.SIGNED


def _resume_treatment(session: Session, actor: Actor, form: ConsentForm) -> None:
    """End the hold of an episode whose consent was withdrawn, once each form withdrawn since then is signed anew.

    A new one is of the same title, and the patient's side has signed it since.
    """
    episode = session.get(Episode, form.episode_id) if form.episode_id else None
    if episode is None or episode.stopped_at is None:
        return
    treatments = [
        one
        for one in session.scalars(
            with_people(select(ConsentForm).where(ConsentForm.episode_id == episode.id))
        ).all()
        if one.folded_kind == kinds.TREATMENT
    ]
    in_force = [one for one in treatments if one.status == ConsentStatus.SIGNED]
    for withdrawn in treatments:
        if (
            withdrawn.revoked_at is not None
            and withdrawn.revoked_at >= episode.stopped_at
            and withdrawn.effective_at is not None
            and not any(_is_anew(one, withdrawn) for one in in_force)
        ):
            return
    episode.stopped_at = None
    if episode.status == CareStatus.ON_HOLD:
        episode.status = CareStatus.ACTIVE
    episode.touch(actor.sub)


def _is_anew(form: ConsentForm, withdrawn: ConsentForm) -> bool:
    return kinds.folded(form.title) == kinds.folded(withdrawn.title) and is_signed_since(
        form, withdrawn.revoked_at
    )
