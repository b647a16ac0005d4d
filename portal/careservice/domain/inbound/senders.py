"""Senders of messages: the patients or prospects that a telephone number or an e-mail address belongs to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from portal.careservice.domain import clinics, notifications, people
from portal.careservice.domain.conversations import Conversation
from portal.careservice.domain.enumerations import ProspectStatus
from portal.careservice.domain.patients import Patient
from portal.careservice.domain.permissions import ALLOWED, Act
from portal.careservice.domain.prospects import Prospect, details_for_staff
from portal.careservice.ids import new_id

Sender = Patient | Prospect


def by_number(session: Session, tenant_id: str, number: str) -> list[Sender]:
    """Those who have this telephone number (given without spaces), also in E.164 as dialled in the clinic's country."""
    written = {number, clinics.telephone(session, tenant_id, number) or number}

    def same(column: Any) -> Any:
        for character in " -()./":
            column = func.replace(column, character, "")
        return column.in_(written)

    return _known(session, tenant_id, same(Patient.phone_number), same(Prospect.phone_number))


def by_email(session: Session, tenant_id: str, address: str) -> list[Sender]:
    """Those who have this e-mail address, given in lower case."""
    return _known(
        session, tenant_id, func.lower(Patient.email) == address, func.lower(Prospect.email) == address
    )


def _known(session: Session, tenant_id: str, patient_is: Any, prospect_is: Any) -> list[Sender]:
    """The patients that match, or else the prospects, newest first; several may share a number."""
    patients = session.scalars(
        select(Patient)
        .where(Patient.tenant_id == tenant_id, Patient.is_active, patient_is)
        .order_by(Patient.creation_time.desc(), Patient.id)
    ).all()
    if patients:
        return list(patients)
    prospects = session.scalars(
        select(Prospect)
        .where(Prospect.tenant_id == tenant_id, Prospect.status != ProspectStatus.MERGED, prospect_is)
        .order_by(Prospect.creation_time.desc(), Prospect.id)
    )
    return list(prospects)


def enquiry(session: Session, tenant_id: str, *, source: str, last_name: str, **known: str) -> Prospect:
    """A new prospect; those who may merge prospects are notified."""
    prospect = Prospect(
        id=new_id(),
        tenant_id=tenant_id,
        **{"first_name": "", **known},
        last_name=last_name,
        source=source,
        status=ProspectStatus.NEW,
    )
    session.add(prospect)
    session.flush()
    notifications.announce(
        session,
        tenant_id=tenant_id,
        who=people.staff_with(session, tenant_id, ALLOWED[Act.MERGE_PROSPECTS]),
        kind="ProspectReceived",
        notice="EnquiryReceived",
        entity=("Prospect", prospect.id),
        data=details_for_staff(prospect),
    )
    return prospect


def person_id(sender: Sender) -> str:
    """The `sub` of a sender with an account, else the id of the record."""
    return (sender.user_id or sender.id) if isinstance(sender, Patient) else sender.id


class Writer:
    """The writer of a message, as the message names one."""

    def __init__(self, sender: Sender) -> None:
        self.person_id = person_id(sender)
        self.name = (
            sender.name if isinstance(sender, Patient) else f"{sender.first_name} {sender.last_name}".strip()
        )
        self.role = "patient" if isinstance(sender, Patient) else "prospect"


def writer_of(conversation: Conversation, sender: Sequence[Sender]) -> Writer | None:
    """The first of `sender` who takes part in the conversation, else the first of all; None if `sender` is empty."""
    inside = _people_of(conversation)
    found = next((one for one in sender if not inside.isdisjoint({one.id, person_id(one)})), None)
    return Writer(found or sender[0]) if sender else None


def _people_of(conversation: Conversation) -> set[str | None]:
    named = {participant.person_id for participant in conversation.participants}
    return named | {conversation.patient_id, conversation.prospect_id}
