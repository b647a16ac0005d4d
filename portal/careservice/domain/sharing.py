"""Which patients share their care with whom: with partners, while a shared relationship lasts."""

from __future__ import annotations

from datetime import date

from sqlalchemy import Select, and_, or_, select
from sqlalchemy.orm import Session
from sqlalchemy.sql import ColumnElement

from portal.careservice.domain import clinics
from portal.careservice.domain.actor import Actor
from portal.careservice.domain.enumerations import RelationshipType
from portal.careservice.domain.patients import Patient, Relationship, is_mine

PARTNERS = (RelationshipType.PARTNER, RelationshipType.SPOUSE, RelationshipType.INTENDED_PARENT)
"""The relationships that can open a patient's care to another person."""


def sharing_with(session: Session, actor: Actor) -> Select[str]:
    """The ids of the patients who share their care with `actor` today.

    A relationship shares its patient's records only, not the related person's. Its days are the clinic's.
    """
    return select(Relationship.patient_id).where(
        Relationship.tenant_id == actor.tenant_id,
        Relationship.related_patient_id.in_(own_records(actor)),
        in_force(clinics.today(session, actor.tenant_id)),
    )


def shared_by(session: Session, actor: Actor) -> Select[str | None]:
    """The ids of the patients with whom `actor` shares their care today."""
    return select(Relationship.related_patient_id).where(
        Relationship.tenant_id == actor.tenant_id,
        Relationship.patient_id.in_(own_records(actor)),
        in_force(clinics.today(session, actor.tenant_id)),
    )


def in_force(day: date) -> ColumnElement[bool]:
    """The condition that selects the relationships that share their patient's care on `day`.

    From the start date to the day before the end date.
    """
    return and_(
        Relationship.related_patient_id.is_not(None),
        Relationship.type.in_(PARTNERS),
        Relationship.is_portal_shared,
        or_(Relationship.start_date.is_(None), Relationship.start_date <= day),
        or_(Relationship.end_date.is_(None), Relationship.end_date > day),
    )


def own_records(actor: Actor) -> Select[str]:
    """The ids of the actor's own patient records."""
    return select(Patient.id).where(Patient.tenant_id == actor.tenant_id, is_mine(actor.person_id))
