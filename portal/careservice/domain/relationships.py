"""Removing what another person is to a patient."""

from __future__ import annotations

from sqlalchemy import select
from sqlalchemy.orm import Session

from portal.careservice.clock import now
from portal.careservice.domain.actor import Actor
from portal.careservice.domain.consents.forms import ConsentForm, live_at
from portal.careservice.domain.embryos import EmbryoStorage
from portal.careservice.domain.enumerations import ConsentStatus, EmbryoStatus
from portal.careservice.domain.episodes import Episode
from portal.careservice.domain.patients import Patient, Relationship
from portal.careservice.domain.rules import NotThere, Refused, Rule


def remove(session: Session, actor: Actor, relationship_id: str) -> None:
    """Delete a relationship, unless a live shared consent or a stored embryo of the two depends on it."""
    relationship = session.get(Relationship, relationship_id)
    if relationship is None or relationship.tenant_id != actor.tenant_id:
        raise NotThere
    owner = session.get_one(Patient, relationship.patient_id)
    if not actor.is_staff and not owner.is_about(actor):
        raise NotThere
    if _is_in_use(session, relationship):
        raise Refused(Rule.RELATIONSHIP_IN_USE)
    session.delete(relationship)


def _is_in_use(session: Session, relationship: Relationship) -> bool:
    if relationship.related_patient_id is None:
        return False
    pair = (relationship.patient_id, relationship.related_patient_id)
    shared_consent = (
        select(ConsentForm.id)
        .where(
            ConsentForm.patient_id.in_(pair),
            ConsentForm.partner_id.in_(pair),
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
