"""A clinic's people by their `sub`: patients and staff."""

from __future__ import annotations

from collections.abc import Iterable

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from portal.careservice.domain.patients import Patient
from portal.careservice.domain.permissions import STAFF
from portal.careservice.identity.tables import Person


def locales(session: Session, ids: Iterable[str]) -> dict[str, str]:
    """The language (such as `en`) of each of `ids`: its account's, or that of its letters where a patient has no account."""
    wanted = list(ids)
    letters = session.execute(select(Patient.id, Patient.language).where(Patient.id.in_(wanted)))
    accounts = session.execute(select(Person.id, Person.locale).where(Person.id.in_(wanted)))
    return {person_id: locale.partition("-")[0] for person_id, locale in (*letters, *accounts)}


def staff_with(session: Session, tenant_id: str, roles: frozenset[str]) -> list[str]:
    """The ids of the clinic's active people with one of `roles`."""
    rows = session.execute(
        select(Person.id, Person.roles).where(Person.tenant_id == tenant_id, Person.is_active)
    )
    return [person_id for person_id, held in rows if not roles.isdisjoint(held)]


def all_staff(session: Session, tenant_id: str) -> set[str]:
    """The ids of the clinic's staff, also of those whose accounts are disabled."""
    rows = session.execute(select(Person.id, Person.roles).where(Person.tenant_id == tenant_id))
    return {person_id for person_id, held in rows if not STAFF.isdisjoint(held)}


def is_known_as(session: Session, tenant_id: str, name: str) -> bool:
    """Whether a patient or an account of the clinic has this name; strangers may not be shown under it."""
    wanted = " ".join(name.split()).lower()
    patients = select(Patient.id).where(
        Patient.tenant_id == tenant_id, func.lower(Patient.first_name + " " + Patient.last_name) == wanted
    )
    accounts = select(Person.id).where(
        Person.tenant_id == tenant_id, func.lower(Person.given_name + " " + Person.family_name) == wanted
    )
    return session.scalar(patients.union_all(accounts).limit(1)) is not None
