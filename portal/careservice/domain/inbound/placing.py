"""Which conversation an inbound message belongs to: one that nobody reads but its sender and staff.

What a sender may read is asked of `conversations.visible`, which also decides what is shown. A message that answers a
conversation goes there while all of the patients' side who read it share their care with the sender; any other goes
to one in which nobody but the sender and staff takes part. What isn't surely a patient's is seen by staff alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from sqlalchemy import or_, select
from sqlalchemy.orm import Session

from portal.careservice.domain import conversations, people, sharing
from portal.careservice.domain.actor import Actor
from portal.careservice.domain.conversations import Conversation, Participant
from portal.careservice.domain.inbound.senders import Sender
from portal.careservice.domain.patients import Patient, person_id


def for_patient(
    session: Session, patient: Patient, answered: Iterable[Conversation | None]
) -> Conversation | None:
    """The first of `answered` that the patient may add to, else the newest that nobody else takes part in."""
    for conversation in answered:
        if conversation is not None and _may_answer(session, patient, conversation):
            return conversation
    return _newest(session, _alone(session, patient))


def by_reply_address_alone(session: Session, patient: Patient, conversation: Conversation) -> bool:
    """Whether an unverified e-mail of `patient` may go there: only the patient and staff have ever known the address."""
    own = _alone(session, patient).where(Conversation.id == conversation.id)
    return session.scalars(own).first() is not None


def for_stranger(session: Session, tenant_id: str, sender: Sender) -> Conversation | None:
    """The newest conversation with this sender that staff alone see."""
    is_theirs = Conversation.stranger == sender.key
    own: list[str] = []
    if sender.prospect is not None:
        is_theirs = or_(is_theirs, Conversation.prospect_id == sender.prospect.id)
        own = [sender.prospect.id]
    chosen = select(Conversation).where(
        Conversation.tenant_id == tenant_id,
        Conversation.patient_id.is_(None),
        is_theirs,
        _without_others(session, tenant_id, own),
    )
    return _newest(session, chosen)


def _newest(session: Session, chosen: Any) -> Conversation | None:
    return session.scalars(
        chosen.order_by(Conversation.last_message_at.desc(), Conversation.id).limit(1)
    ).first()


def _actor(patient: Patient) -> Actor:
    return Actor(sub=person_id(patient), tenant_id=patient.tenant_id, is_staff=False)


def _alone(session: Session, patient: Patient) -> Any:
    """The conversations that the patient sees and in which nobody but the patient and staff takes part."""
    actor = _actor(patient)
    own = sharing.own_records(actor)
    mine = [actor.person_id, *session.scalars(own)]
    return conversations.visible(session, actor).where(
        or_(Conversation.patient_id.is_(None), Conversation.patient_id.in_(own)),
        _without_others(session, patient.tenant_id, mine),
    )


def _without_others(session: Session, tenant_id: str, mine: Sequence[str]) -> Any:
    inside = {*mine, *people.all_staff(session, tenant_id)}
    others = select(Participant.conversation_id).where(Participant.person_id.not_in(inside))
    return Conversation.id.not_in(others)


def _may_answer(session: Session, patient: Patient, conversation: Conversation) -> bool:
    actor = _actor(patient)
    if not _sees(session, actor, conversation):
        return False
    inside = {participant.person_id for participant in conversation.participants}
    others = inside - {actor.person_id} - people.all_staff(session, patient.tenant_id)
    return all(_may_read(session, actor, other, conversation) for other in others)


def _may_read(session: Session, actor: Actor, other_id: str, conversation: Conversation) -> bool:
    """Whether the other, if they see the conversation at all, has a part in the sender's care or the reverse."""
    other = Actor(sub=other_id, tenant_id=actor.tenant_id, is_staff=False)
    if not _sees(session, other, conversation):
        return True
    return _shares(session, actor, other) or _shares(session, other, actor)


def _sees(session: Session, actor: Actor, conversation: Conversation) -> bool:
    found = conversations.visible(session, actor).where(Conversation.id == conversation.id)
    return session.scalars(found).first() is not None


def _shares(session: Session, actor: Actor, with_actor: Actor) -> bool:
    shared = sharing.sharing_with(session, with_actor).where(
        sharing.Relationship.patient_id.in_(sharing.own_records(actor))
    )
    return session.scalars(shared.limit(1)).first() is not None
