"""Twenty clinics with twenty thousand patients, inserted in bulk; none of these patients can sign in.

The first two clinics are the small sample's, so that its people see long lists; the others have only these records.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator
from datetime import UTC, date, datetime, timedelta
from typing import Any, cast

from sqlalchemy import Table, insert, text
from sqlalchemy.orm import Session

from portal.careservice.database import Base
from portal.careservice.domain.cases import CareCase
from portal.careservice.domain.consents.content import content_hash
from portal.careservice.domain.consents.forms import ConsentForm, Signature, Signer
from portal.careservice.domain.conversations import Conversation, Message, Participant
from portal.careservice.domain.embryos import EmbryoStorage, Location
from portal.careservice.domain.enumerations import (
    CareStatus,
    Channel,
    ConsentStatus,
    DayOfWeek,
    Disposition,
    EmbryoStatus,
    MessageSide,
    ProtocolStatus,
    ProtocolType,
    SignatureMethod,
    SignerRole,
    SigningOrder,
    Stage,
)
from portal.careservice.domain.episodes import Episode, TimelineEvent
from portal.careservice.domain.patients import Address, Patient
from portal.careservice.domain.physicians import Physician, WorkingHours
from portal.careservice.domain.protocols import FertilityProtocol, Medication, MonitoringDay
from portal.careservice.identity.tables import Tenant
from portal.careservice.ids import sample_id
from portal.careservice.sample import consent_texts as texts
from portal.careservice.sample.people import TENANTS

PATIENTS_PER_CLINIC = 1000
_MORE_CLINICS = (
    *("Aspen", "Birch", "Cedar", "Dogwood", "Elm", "Fir", "Ginkgo", "Hazel", "Ivy"),
    *("Juniper", "Larch", "Maple", "Oak", "Pine", "Rowan", "Sequoia", "Walnut", "Yew"),
)
_FIRST = (
    *("Anna", "Beatriz", "Chidinma", "Dorothea", "Elizabeth", "Farah", "Grace", "Hélène", "Ingrid", "Joanna"),
    *("Katarzyna", "Leilani", "Mei-Ling", "Nadia", "Olena", "Priyanka", "Rosa", "Siân", "Thandiwe", "Łucja"),
)
_LAST = (
    *("Abernathy", "Brzęczyszczykiewicz", "Clarke", "Dhomhnaill", "Ek", "Fernández", "Großmann", "Hương"),
    *("Ibáñez", "Kealoha", "Llewellyn", "Marchetti", "Nwachukwu", "Ó Briain", "Patel", "Sørensen", "Tanaka"),
)
_STIMULATED = (
    *(ProtocolType.ANTAGONIST, ProtocolType.LONG_AGONIST, ProtocolType.SHORT_FLARE),
    *(ProtocolType.PPOS, ProtocolType.MILD_STIMULATION),
)
_TEMPLATES = (texts.TREATMENT, texts.STORAGE, texts.GENETIC)
_HASHES = [
    content_hash(title=form.title, kind=form.kind, version="3.1", body=form.body, statements=form.statements)
    for form in _TEMPLATES
]
_STATUSES = (ConsentStatus.SIGNED, ConsentStatus.PENDING, ConsentStatus.REVOKED, ConsentStatus.PENDING)
_TABLES: tuple[type[Base], ...] = (
    *(Patient, CareCase, Episode, TimelineEvent, FertilityProtocol, EmbryoStorage),
    *(ConsentForm, Signer, Signature, Conversation, Participant, Message),
)

Row = tuple[type[Base], dict[str, Any]]


def add(session: Session, now: datetime) -> None:
    """Add the clinics that the small sample doesn't have, and the patients of all of them."""
    clinics = [tenant.name for tenant in TENANTS]
    for name in _MORE_CLINICS:
        clinics.append(name.lower())
        tenant_id = sample_id("tenant", name.lower())
        session.add(
            Tenant(
                id=tenant_id,
                name=name.lower(),
                display_name=f"{name} Fertility Clinic",
                accent="#0b6e4f",
                country="GB",
                time_zone="Europe/London",
            )
        )
        session.add(_physician(tenant_id, name))
    session.flush()
    for name in clinics:
        _write(session, _clinic(name, now.astimezone(UTC)))
    # Without it SQLite looks through all records of a clinic where an index finds those of a patient.
    session.execute(text("ANALYZE"))


def _write(session: Session, rows: Iterable[Row]) -> None:
    """Insert rows table by table, in the order in which they refer to one another."""
    by_table: dict[type[Base], list[dict[str, Any]]] = {table: [] for table in _TABLES}
    for table, row in rows:
        by_table[table].append(row)
    for table, many in by_table.items():
        session.execute(insert(cast("Table", table.__table__)), many)


def _physician(tenant_id: str, clinic: str) -> Physician:
    return Physician(
        id=sample_id("physician", f"large-{clinic}"),
        tenant_id=tenant_id,
        name=f"Dr {clinic} Example",
        title="Consultant",
        specialty="Reproductive medicine",
        time_zone="Europe/London",
        working_hours=[WorkingHours(day_of_week=DayOfWeek.MONDAY, start="09:00", end="17:00")],
    )


def _clinic(name: str, now: datetime) -> Iterator[Row]:
    chance = random.Random(name)
    tenant_id = sample_id("tenant", name)
    for number in range(PATIENTS_PER_CLINIC):
        yield from _patient(f"{name}-{number}", number, tenant_id, now, chance)


def _patient(key: str, number: int, tenant_id: str, now: datetime, chance: random.Random) -> Iterator[Row]:
    patient_id, case_id = sample_id("patient", key), sample_id("case", key)
    episode_id = sample_id("episode", key)
    begun = now - timedelta(days=chance.randrange(10, 900), minutes=number)
    first, last = chance.choice(_FIRST), chance.choice(_LAST)

    def audit(name: str) -> dict[str, Any]:
        return {"creation_time": begun, "concurrency_stamp": sample_id("stamp", f"{key}-{name}")}

    yield (
        Patient,
        {
            "id": patient_id,
            "tenant_id": tenant_id,
            "mrn": f"L-{number:05}",
            **audit("patient"),
            "first_name": first,
            "last_name": last,
            "email": f"{key}@patients.example",
            "date_of_birth": date(1975 + number % 25, 1 + number % 12, 1 + number % 28),
            "phone_number": f"+4477009{number % 100_000:05}",
            "email_verified": True,
            "phone_number_verified": number % 8 != 0,
            "address": Address(
                line1=f"{number} High Street", city="Anytown", postal_code="A1 1AA", country="GB"
            ),
        },
    )
    treatment = chance.choice(_STIMULATED)
    yield (
        CareCase,
        {
            "id": case_id,
            "tenant_id": tenant_id,
            "case_number": f"LC-{number:05}",
            **audit("case"),
            "patient_id": patient_id,
            "title": "Fertility treatment",
            "treatment_type": treatment,
            "status": CareStatus.ACTIVE,
            "opened_at": begun,
        },
    )
    yield (
        Episode,
        {
            "id": episode_id,
            "tenant_id": tenant_id,
            "number": f"LE-{number:05}",
            **audit("episode"),
            "type": treatment,
            "status": CareStatus.ACTIVE,
            "stage": Stage.STIMULATION,
            "start_date": begun.date(),
            "patient_id": patient_id,
            "case_id": case_id,
        },
    )
    yield (
        TimelineEvent,
        {
            "episode_id": episode_id,
            "kind": "Visit",
            "stage": Stage.PLANNED,
            "title": "Planning visit",
            "occurred_at": begun,
            "verified": True,
        },
    )
    for place in range(2):
        yield from _form(key, place, number, patient_id, f"{first} {last}", episode_id, tenant_id, begun)
    if number % 4 == 0:
        yield _protocol(key, patient_id, episode_id, tenant_id, treatment, begun)
        yield _embryo(key, number, patient_id, episode_id, tenant_id, begun)
    if number % 5 == 0:
        yield from _thread(key, patient_id, f"{first} {last}", episode_id, tenant_id, begun)


def _form(
    key: str,
    place: int,
    number: int,
    patient_id: str,
    patient_name: str,
    episode_id: str,
    tenant_id: str,
    begun: datetime,
) -> Iterator[Row]:
    form_id = sample_id("consent", f"{key}-{place}")
    kind = (number + place) % len(_TEMPLATES)
    template = _TEMPLATES[kind]
    status = _STATUSES[(number + place) % len(_STATUSES)]
    signed_at = begun + timedelta(days=1) if status != ConsentStatus.PENDING else None
    yield (
        ConsentForm,
        {
            "id": form_id,
            "tenant_id": tenant_id,
            "patient_id": patient_id,
            "episode_id": episode_id,
            "title": template.title,
            "kind": template.kind,
            "version": "3.1",
            "status": status,
            "body": template.body,
            "statements": template.statements,
            "content_hash": _HASHES[kind],
            "signing_order": SigningOrder.ANY,
            "sent_at": begun,
            "effective_at": signed_at,
            "creation_time": begun,
            "concurrency_stamp": sample_id("stamp", f"{key}-form-{place}"),
            "revoked_at": begun + timedelta(days=2) if status == ConsentStatus.REVOKED else None,
            "procedure_date": begun.date() + timedelta(days=30),
        },
    )
    who = {"form_id": form_id, "role": SignerRole.PATIENT, "person_id": patient_id, "name": patient_name}
    yield Signer, {**who, "position": 0, "order": 1}
    if signed_at is not None:
        yield (
            Signature,
            {
                **who,
                "signed_at": signed_at,
                "method": SignatureMethod.PAPER,
                "language": "en",
                "content_hash": _HASHES[kind],
                "typed": patient_name,
            },
        )


def _protocol(
    key: str, patient_id: str, episode_id: str, tenant_id: str, treatment: ProtocolType, begun: datetime
) -> Row:
    medication = Medication(
        id=sample_id("medication", key),
        drug="Follitropin alfa",
        drug_class="Gonadotropin",
        dose=225,
        unit="IU",
        route="Subcutaneous",
        start_day=1,
        stop_rule="Until trigger",
        time="19:00",
    )
    return (
        FertilityProtocol,
        {
            "id": sample_id("protocol", key),
            "tenant_id": tenant_id,
            "name": "Standard, 225 IU",
            "type": treatment,
            "status": ProtocolStatus.ACTIVE,
            "patient_id": patient_id,
            "episode_id": episode_id,
            "start_date": begun.date(),
            "medications": [medication],
            "monitoring": [MonitoringDay(day=5, kind="Scan")],
            "creation_time": begun,
            "concurrency_stamp": sample_id("stamp", f"{key}-protocol"),
        },
    )


def _embryo(key: str, number: int, patient_id: str, episode_id: str, tenant_id: str, begun: datetime) -> Row:
    return (
        EmbryoStorage,
        {
            "id": sample_id("embryo", key),
            "tenant_id": tenant_id,
            "patient_id": patient_id,
            "episode_id": episode_id,
            "embryo_code": f"L{number:04}-1",
            "day": 5,
            "grade": "4AB",
            "grading_system": "Gardner",
            "cryopreserved_at": begun,
            "method": "Vitrification",
            "status": EmbryoStatus.STORED,
            "disposition": Disposition.UNDECIDED,
            "location": Location(facility="Main", tank="T1", canister="C1", cane="1", position=str(number)),
            "storage_expires_at": begun + timedelta(days=730),
            "creation_time": begun,
            "concurrency_stamp": sample_id("stamp", f"{key}-embryo"),
        },
    )


def _thread(
    key: str, patient_id: str, patient_name: str, episode_id: str, tenant_id: str, begun: datetime
) -> Iterator[Row]:
    thread_id = sample_id("conversation", key)
    yield (
        Conversation,
        {
            "id": thread_id,
            "tenant_id": tenant_id,
            "subject": "A question about the plan",
            "patient_id": patient_id,
            "episode_id": episode_id,
            "channel": Channel.PORTAL,
            "last_message_at": begun + timedelta(hours=2),
        },
    )
    person = {"conversation_id": thread_id, "person_id": patient_id, "name": patient_name}
    yield Participant, {**person, "position": 0, "role": "patient"}
    for place, body in enumerate(("When do I start?", "Is the dose still right?", "Thank you.")):
        yield (
            Message,
            {
                "id": sample_id("message", f"{key}-{place}"),
                "conversation_id": thread_id,
                "tenant_id": tenant_id,
                "sender_id": patient_id,
                "sender_name": patient_name,
                "side": MessageSide.INBOUND,
                "channel": Channel.PORTAL,
                "body": body,
                "sent_at": begun + timedelta(hours=place),
            },
        )
