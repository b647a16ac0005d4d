"""Binding a patient's record to that person's account."""

from __future__ import annotations

import msgspec
from sqlalchemy import func, or_, select, update
from sqlalchemy.orm import Session

from portal.careservice.domain.actor import Actor
from portal.careservice.domain.consents.parties import rename_signers
from portal.careservice.domain.conversations import Message, Participant
from portal.careservice.domain.notifications import Notification
from portal.careservice.domain.patients import Patient
from portal.careservice.domain.permissions import PATIENT
from portal.careservice.domain.rules import Invalid, Refused, Rule
from portal.careservice.identity.tables import Person


def bind(session: Session, actor: Actor, patient: Patient, user_id: str | msgspec.UnsetType | None) -> None:
    """Bind the record to the account `user_id` permanently; does nothing if that is unset or unchanged.

    What the record was told, sent and took part in is the account's from then on; signatures stay as they were given.
    The account's owner can then read the record, so this needs an administrator who wasn't the last to change the
    record's e-mail, and an account that isn't bound yet, is only a patient's, and has the same e-mail, verified.
    """
    if user_id is msgspec.UNSET or user_id == patient.user_id:
        return
    if patient.user_id is not None:
        raise Refused(Rule.ACCOUNT_BOUND)
    if not actor.is_admin or user_id is None:
        raise Refused(Rule.FIELD_NOT_YOURS)
    if patient.email_changed_by_id == actor.sub:
        raise Refused(Rule.EMAIL_CHANGED_BY_YOU)
    account = session.get(Person, user_id, with_for_update=True)
    if account is None or not _fits(session, patient, account):
        # One answer for all cases, so that it doesn't reveal whether the account exists elsewhere.
        raise Invalid("No free account of a patient here has this e-mail verified.", "userId")
    patient.user_id = account.id
    patient.email_verified = True  # it is the account's
    patient.touch(actor.sub)
    session.flush()
    rename_signers(session, actor, patient, patient.id)
    for changed in (
        update(Notification).where(Notification.person_id == patient.id).values(person_id=account.id),
        update(Participant).where(Participant.person_id == patient.id).values(person_id=account.id),
        update(Message).where(Message.sender_id == patient.id).values(sender_id=account.id),
    ):
        session.execute(changed)


def _fits(session: Session, patient: Patient, account: Person) -> bool:
    taken = select(Patient.id).where(
        or_(Patient.user_id == account.id, (Patient.id == account.id) & Patient.user_id.is_(None)),
        Patient.id != patient.id,
    )
    return (
        account.tenant_id == patient.tenant_id
        and account.is_active
        and frozenset(account.roles) == PATIENT
        and account.email_verified
        and patient.email is not None
        and account.email.casefold() == patient.email.casefold()
        and session.scalar(select(func.count()).select_from(taken.subquery())) == 0
    )
