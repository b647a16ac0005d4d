"""Whoever reads an inbound message is its sender or staff, and it never stands under another's name.

The exception is what its sender was told: an answer to a conversation is read by those who share it now.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine, select
from sqlalchemy.orm import Session

from portal.careservice import database, migrations
from portal.careservice.domain import conversations
from portal.careservice.domain.actor import Actor
from portal.careservice.domain.conversations import Conversation, Message, Participant
from portal.careservice.domain.enumerations import Channel, MessageSide, RelationshipType
from portal.careservice.domain.inbound.addresses import AddressKind, InboundAddress
from portal.careservice.domain.inbound.email import take_mail
from portal.careservice.domain.inbound.placing import for_stranger
from portal.careservice.domain.inbound.senders import by_number, enquiry
from portal.careservice.domain.inbound.sms import take_text_message
from portal.careservice.domain.patients import Patient, Relationship, person_id
from portal.careservice.identity.tables import Person, Tenant
from portal.careservice.ids import new_id
from portal.careservice.webhooks.payloads import Mail, TextMessage
from tests.support.full import FULL
from tests.support.postgres import database_url

NUMBER, ADDRESS, CLINICS_NUMBER = "+447700900811", "hannah@home.example", "+447700900321"
ELSEWHERE = "+447700900899", "work@elsewhere.example"

WAYS = ("sms", "mail", "mail to the reply address", "mail in reply")
ANSWERED = ("own", "own with partner", "partner's with me", "nobody's with both", "partner's alone")
DETAILS = ("account", "confirmed", "claimed", "unknown")
PROOFS = ("genuine", "unverified", "forged")
SHARING = ("none", "by me", "by partner", "ended", "not yet")
OTHERS = ("nobody", "claims the same", "confirmed the same", "not active, the same")
BOUND = (True, False)
EVERY = tuple(itertools.product(WAYS, ANSWERED, DETAILS, PROOFS, SHARING, OTHERS, BOUND))
CASES = EVERY if FULL else random.Random(11).sample(EVERY, 250)


@dataclass
class Couple:
    """Hannah, who writes, her partner Ben, and Grace, who has nothing to do with them."""

    hannah: Patient
    ben: Patient
    grace: Patient

    def all(self) -> list[Patient]:
        return [self.hannah, self.ben, self.grace]


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    folder: Path = tmp_path_factory.mktemp("inbound")
    made = database.connect(database_url(folder / "care.db"))
    migrations.upgrade(made)
    yield made
    made.dispose()


def person(session: Session, tenant: Tenant, name: str, role: str, email: str = "") -> Person:
    made = Person(
        id=new_id(), tenant_id=tenant.id, username=name, password_hash="", given_name=name, family_name="X",
        email=email or f"{name}@accounts.example", email_verified=True, locale="en", roles=[role],
    )  # fmt: skip
    session.add(made)
    session.flush()
    return made


def patient(session: Session, tenant: Tenant, name: str, *, bound: bool = True, **details: Any) -> Patient:
    account = person(session, tenant, name, "patient", details.pop("account", "")) if bound else None
    made = Patient(
        id=new_id(), tenant_id=tenant.id, user_id=account.id if account else None, mrn=name, first_name=name,
        last_name="X", date_of_birth=date(1990, 1, 1), **details,
    )  # fmt: skip
    session.add(made)
    session.flush()
    return made


def couple(session: Session, tenant: Tenant, detail: str, others: str, *, bound: bool) -> Couple:
    has = {"email": ADDRESS, "phone_number": NUMBER}
    confirmed = {"email_verified": True, "phone_number_verified": True}
    hers: dict[str, Any] = {
        "account": {"account": ADDRESS},
        "confirmed": has | confirmed,
        "claimed": has,
        "unknown": {},
    }[detail]
    if not bound:
        hers.pop("account", None)
    theirs: dict[str, Any] = {
        "nobody": {},
        "claims the same": has,
        "confirmed the same": has | confirmed,
        "not active, the same": has | confirmed | {"is_active": False},
    }[others]
    return Couple(
        patient(session, tenant, "hannah", bound=bound, **hers),
        patient(session, tenant, "ben", account="ben@home.example"),
        patient(session, tenant, "grace", **theirs),
    )


def share(session: Session, people: Couple, sharing: str) -> None:
    today = datetime.now(UTC).date()
    by, to = (people.ben, people.hannah) if sharing == "by partner" else (people.hannah, people.ben)
    if sharing != "none":
        session.add(
            Relationship(
                id=new_id(), tenant_id=by.tenant_id, patient_id=by.id, related_patient_id=to.id,
                related_name=to.name, type=RelationshipType.PARTNER, is_portal_shared=True,
                start_date=today + timedelta(days=30) if sharing == "not yet" else None,
                end_date=today if sharing == "ended" else None,
            )
        )  # fmt: skip


def conversation(
    session: Session, about: Patient | None, people: list[str], tenant: Tenant, age: int
) -> Conversation:
    identity = new_id()
    made = Conversation(
        id=identity, tenant_id=tenant.id, subject="s", patient_id=about.id if about else None,
        channel=Channel.EMAIL, reply_email=f"hello+{identity}@clinic.example",
        last_message_at=datetime.now(UTC) - timedelta(days=age),
        participants=[
            Participant(position=position, person_id=one, name="", role="patient")
            for position, one in enumerate(people)
        ],
    )  # fmt: skip
    session.add(made)
    session.flush()
    session.add(
        Message(
            id=new_id(), conversation_id=identity, tenant_id=tenant.id, sender_name="Nora", body="b",
            side=MessageSide.OUTBOUND, channel=Channel.EMAIL, sent_at=made.last_message_at,
            external_id=f"{identity}@clinic.example",
        )
    )  # fmt: skip
    session.flush()
    return made


def threads(session: Session, tenant: Tenant, people: Couple, nurse: str) -> dict[str, Conversation]:
    """A conversation of each kind; those that others read are newer than one's own."""
    hannah, ben = person_id(people.hannah), person_id(people.ben)
    conversation(session, people.grace, [person_id(people.grace), nurse], tenant, 0)
    return {
        "own": conversation(session, people.hannah, [hannah, nurse], tenant, 5),
        "own with partner": conversation(session, people.hannah, [hannah, ben, nurse], tenant, 1),
        "partner's with me": conversation(session, people.ben, [ben, hannah, nurse], tenant, 1),
        "nobody's with both": conversation(session, None, [hannah, ben], tenant, 1),
        "partner's alone": conversation(session, people.ben, [ben, nurse], tenant, 1),
    }


def received(session: Session, way: str, answered: Conversation, address: str, proof: str) -> str | None:
    if way == "sms":
        text = TextMessage(sid=new_id(), sender=address, to=CLINICS_NUMBER, body="Hello", media=0)
        return take_text_message(session, text)
    is_reply = way == "mail to the reply address"
    mail = Mail(
        sender=address, sender_name="grace X", is_verified=proof == "genuine", subject="s", text="t",
        to=(answered.reply_email or "" if is_reply else "hello@clinic.example",),
        message_id=None, uploads=(),
        answers=(f"{answered.id}@clinic.example",) if way == "mail in reply" else (),
    )  # fmt: skip
    return take_mail(session, mail)


def readers(session: Session, people: list[Patient], conversation_id: str) -> set[str]:
    def sees(one: Patient) -> bool:
        actor = Actor(sub=person_id(one), tenant_id=one.tenant_id, is_staff=False)
        found = conversations.visible(session, actor).where(Conversation.id == conversation_id)
        return session.scalars(found).first() is not None

    return {person_id(one) for one in people if sees(one)}


def judge(
    session: Session, way: str, answered: str, detail: str, proof: str, sharing: str, others: str, bound: bool
) -> None:
    tenant = Tenant(id=new_id(), name=new_id(), display_name="Clinic", accent="#000000", country="GB")
    session.add(tenant)
    session.flush()
    nurse = person(session, tenant, "nora", "nurse").id
    for kind, address in ((AddressKind.SMS, CLINICS_NUMBER), (AddressKind.EMAIL, "hello@clinic.example")):
        session.add(InboundAddress(kind=kind, address=address, tenant_id=tenant.id))
    people = couple(session, tenant, detail, others, bound=bound)
    share(session, people, sharing)
    found = threads(session, tenant, people, nurse)
    is_on_record = detail in ("confirmed", "claimed") or (detail == "account" and bound and way != "sms")
    address = ((NUMBER, ADDRESS) if is_on_record else ELSEWHERE)[way != "sms"]
    # A forger is the partner, who knows the addresses of the conversations that he takes part in.
    author = people.ben if proof == "forged" and way != "sms" else people.hannah
    message_id = received(session, way, found[answered], address, proof)
    session.flush()
    message = session.scalars(select(Message).where(Message.id == message_id)).one()
    me = person_id(author)
    reading = readers(session, people.all(), message.conversation_id)
    answers = way.startswith("mail ") and message.conversation_id == found[answered].id
    allowed = {me}
    if answers and sharing in ("by me", "by partner") and author is people.hannah:
        allowed.add(person_id(people.ben))
    assert reading <= allowed
    thread = session.get_one(Conversation, message.conversation_id)
    assert message.sender_id in {None, me, thread.prospect_id}
    assert message.sender_name == ("hannah X" if message.sender_id == me else address)
    is_surely_hers = (
        others != "confirmed the same"
        and ((detail == "account" and bound and way != "sms") or detail == "confirmed")
        and (proof == "genuine" or way == "sms")
    )
    assert (message.sender_id == me and me in reading) == is_surely_hers
    if not reading and detail in ("confirmed", "claimed"):
        assert people.hannah.id in (thread.possible_sender_ids or [])


def is_possible(case: tuple[Any, ...]) -> bool:
    """A forger knows no reply address of a conversation in which he has no part; what is Grace's isn't Hannah's."""
    _way, answered, detail, proof, _sharing, others, _bound = case
    is_graces = detail == "claimed" and others == "confirmed the same"
    return not is_graces and not (proof == "forged" and answered in ("own", "partner's alone"))


def test_nobody_reads_it_but_its_sender_and_staff(engine: Engine) -> None:
    for case in filter(is_possible, CASES):
        with database.new_session(engine) as session:
            try:
                judge(session, *case)
            except AssertionError as error:
                raise AssertionError(f"{case}: {error}") from error
            session.rollback()


def test_a_strangers_message_joins_no_conversation_that_is_a_patients_by_now(engine: Engine) -> None:
    with database.new_session(engine) as session:
        tenant = Tenant(id=new_id(), name=new_id(), display_name="Clinic", accent="#000000", country="GB")
        session.add(tenant)
        session.flush()
        theirs = conversation(session, None, [], tenant, 0)
        theirs.stranger = ELSEWHERE[0]
        session.flush()
        sender = by_number(session, tenant.id, ELSEWHERE[0])
        assert for_stranger(session, tenant.id, sender) is theirs
        theirs.patient_id = patient(session, tenant, "grace").id
        session.flush()
        assert for_stranger(session, tenant.id, sender) is None
        session.rollback()


@pytest.mark.parametrize("written", ["+44 7700 900-877", "+44(7700)900877", "+44/7700.900877"])
def test_an_enquirys_number_is_recognised_however_it_was_written(engine: Engine, written: str) -> None:
    with database.new_session(engine) as session:
        tenant = Tenant(id=new_id(), name=new_id(), display_name="Clinic", accent="#000000", country="GB")
        session.add(tenant)
        session.flush()
        earlier = enquiry(session, tenant.id, source="Website", last_name="Reed", phone_number=written)
        found = by_number(session, tenant.id, "07700 900877")
        assert (found.key, found.prospect) == ("+447700900877", earlier)
        assert by_number(session, tenant.id, "07700 900878").prospect is None
        session.rollback()
