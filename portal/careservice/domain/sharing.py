"""Which patients share their care with whom: with partners, while a shared relationship lasts."""

from __future__ import annotations

from datetime import date

from sqlalchemy import Select, or_, select
from sqlalchemy.orm import Session

from portal.careservice.domain import clinics
from portal.careservice.domain.actor import Actor
from portal.careservice.domain.enumerations import RelationshipType
from portal.careservice.domain.patients import Patient, Relationship, is_mine

PARTNERS = (RelationshipType.PARTNER, RelationshipType.SPOUSE, RelationshipType.INTENDED_PARENT)
"""The relationships that can open a patient's care to another person."""


def sharing_with(session: Session, actor: Actor) -> Select[str]:
    """The ids of the patients who share their care with `actor` today.

    A relationship shares its patient's records only, not the related person's. It counts from its start date to the
    day before its end date, in the clinic's time zone.
    """
    day = clinics.today(session, actor.tenant_id)
    return select(Relationship.patient_id).where(
        Relationship.tenant_id == actor.tenant_id,
        Relationship.related_patient_id.in_(own_records(actor)),
        Relationship.type.in_(PARTNERS),
        Relationship.is_portal_shared,
        or_(Relationship.start_date.is_(None), Relationship.start_date <= day),
        or_(Relationship.end_date.is_(None), Relationship.end_date > day),
    )


def is_shared_on(relationship: Relationship, day: date) -> bool:
    """Whether the relationship shares its patient's care on `day`, as `sharing_with` selects."""
    return (
        relationship.is_portal_shared
        and relationship.type in PARTNERS
        and relationship.related_patient_id is not None
        and (relationship.start_date is None or relationship.start_date <= day)
        and (relationship.end_date is None or relationship.end_date > day)
    )


def own_records(actor: Actor) -> Select[str]:
    """The ids of the actor's own patient records."""
    return select(Patient.id).where(Patient.tenant_id == actor.tenant_id, is_mine(actor.person_id))
