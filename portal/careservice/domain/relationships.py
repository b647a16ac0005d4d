"""Ending a patient's relationship with another person, and with it what is shared with them."""

from __future__ import annotations

from sqlalchemy import or_, select
from sqlalchemy.orm import Session

from portal.careservice.clock import now
from portal.careservice.domain import clinics, notifications, people, sharing
from portal.careservice.domain.actor import Actor
from portal.careservice.domain.consents.forms import (
    IN_USE,
    OPEN,
    ConsentForm,
    Signer,
    status_column,
    with_people,
)
from portal.careservice.domain.embryos import EmbryoStorage
from portal.careservice.domain.enumerations import CareStatus, EmbryoStatus, Severity
from portal.careservice.domain.episodes import Episode
from portal.careservice.domain.patients import Patient, Relationship, person_id
from portal.careservice.domain.permissions import STAFF
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
    was_shared = session.scalar(
        select(Relationship.id).where(Relationship.id == relationship.id, sharing.in_force(today))
    )
    if relationship.end_date is not None and relationship.end_date <= today:
        raise NotThere
    if was_shared:
        _tell_staff(session, relationship)
        if actor.is_staff:
            _tell_patient(session, owner)
    if _is_in_use(session, relationship):
        relationship.end_date = today
    else:
        session.delete(relationship)


def _tell_patient(session: Session, owner: Patient) -> None:
    """Notify the patient that somebody else has ended what they shared."""
    notifications.announce(
        session,
        tenant_id=owner.tenant_id,
        who=[person_id(owner)],
        kind="AccountSecurity",
        notice="SharingEndedByClinic",
        entity=("Patient", owner.id),
    )


def _tell_staff(session: Session, relationship: Relationship) -> None:
    """Notify staff of treatments under way that rest on the partner, and of the forms that wait for them."""
    under_way = session.scalars(
        select(Episode)
        .where(
            Episode.patient_id == relationship.patient_id,
            Episode.partner_id == relationship.related_patient_id,
            Episode.status.in_((CareStatus.PLANNED, CareStatus.ACTIVE, CareStatus.ON_HOLD)),
        )
        .order_by(Episode.id)
    ).all()
    if not under_way:
        return
    partner = session.get_one(Patient, relationship.related_patient_id)
    waiting = _forms_waiting_for(session, relationship.patient_id, partner)
    for episode in under_way:
        notifications.announce(
            session,
            tenant_id=episode.tenant_id,
            who=people.staff_with(session, episode.tenant_id, STAFF),
            kind="SharingEnded",
            entity=("Episode", episode.id),
            severity=Severity.WARNING,
            data={"episodeId": episode.id, "consentFormIds": waiting},
        )


def _forms_waiting_for(session: Session, patient_id: str, partner: Patient) -> list[str]:
    partner_id = person_id(partner)
    found = session.scalars(
        with_people(
            select(ConsentForm)
            .join(Signer, Signer.form_id == ConsentForm.id)
            .where(
                ConsentForm.patient_id == patient_id,
                status_column(now()).in_(OPEN),
                Signer.person_id == partner_id,
            )
            .order_by(ConsentForm.creation_time, ConsentForm.id)
        )
    )
    return [form.id for form in found if not form.has_signature_of(partner_id)]


def _is_in_use(session: Session, relationship: Relationship) -> bool:
    if relationship.related_patient_id is None:
        return False
    owner = session.get_one(Patient, relationship.patient_id)
    related = session.get_one(Patient, relationship.related_patient_id)
    pair = (owner.id, related.id)
    named = (person_id(related), person_id(owner))
    other_signs = (
        (ConsentForm.patient_id == about)
        & ConsentForm.id.in_(select(Signer.form_id).where(Signer.person_id == signer))
        for about, signer in zip(pair, named, strict=True)
    )
    shared_consent = (
        select(ConsentForm.id)
        .where(
            or_(ConsentForm.patient_id.in_(pair) & ConsentForm.partner_id.in_(pair), *other_signs),
            status_column(now()).in_(IN_USE),
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
