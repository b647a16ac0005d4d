"""Ending a patient's relationship with another person, and with it what is shared with them."""

from __future__ import annotations

from sqlalchemy import or_, select
from sqlalchemy.orm import Session

from portal.careservice.clock import now
from portal.careservice.domain import clinics
from portal.careservice.domain.actor import Actor
from portal.careservice.domain.consents.forms import ConsentForm, Signer, live_at
from portal.careservice.domain.embryos import EmbryoStorage
from portal.careservice.domain.enumerations import ConsentStatus, EmbryoStatus
from portal.careservice.domain.episodes import Episode
from portal.careservice.domain.patients import Patient, Relationship
from portal.careservice.domain.rules import NotThere


def end(session: Session, actor: Actor, relationship_id: str) -> None:
    """End a relationship; its record is deleted, or kept with an end date if an open form or stored embryo needs it.

    Raises NotThere, also for one that has already ended.
    """
    relationship = session.get(Relationship, relationship_id)
    if relationship is None or relationship.tenant_id != actor.tenant_id:
        raise NotThere
    owner = session.get_one(Patient, relationship.patient_id)
    if not actor.is_staff and not owner.is_about(actor):
        raise NotThere
    today = clinics.today(session, relationship.tenant_id)
    if relationship.end_date is not None and relationship.end_date <= today:
        raise NotThere
    if _is_in_use(session, relationship):
        relationship.end_date = today
    else:
        session.delete(relationship)


def _is_in_use(session: Session, relationship: Relationship) -> bool:
    if relationship.related_patient_id is None:
        return False
    owner = session.get_one(Patient, relationship.patient_id)
    related = session.get_one(Patient, relationship.related_patient_id)
    pair = (owner.id, related.id)
    named = (related.user_id or related.id, owner.user_id or owner.id)
    other_signs = (
        (ConsentForm.patient_id == about)
        & ConsentForm.id.in_(select(Signer.form_id).where(Signer.person_id == signer))
        for about, signer in zip(pair, named, strict=True)
    )
    shared_consent = (
        select(ConsentForm.id)
        .where(
            or_(ConsentForm.patient_id.in_(pair) & ConsentForm.partner_id.in_(pair), *other_signs),
            ConsentForm.status != ConsentStatus.DRAFT,
            live_at(now()),
        )
        .limit(1)
    )
    stored_embryo = (
        select(EmbryoStorage.id)
        .join(Episode, Episode.id == EmbryoStorage.episode_id)
        .where(
            Episode.patient_id.in_(pair),
            Episode.partner_id.in_(pair),
            EmbryoStorage.status.in_((EmbryoStatus.STORED, EmbryoStatus.RESERVED, EmbryoStatus.ON_HOLD)),
        )
        .limit(1)
    )
    return session.scalar(shared_consent) is not None or session.scalar(stored_embryo) is not None
