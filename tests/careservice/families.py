"""Patients, with or without a partner, and their embryos, inserted into the database because no endpoint creates them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any

from sqlalchemy import select

from portal.careservice import database
from portal.careservice.domain.cases import CareCase
from portal.careservice.domain.consents.content import Clause, content_hash
from portal.careservice.domain.consents.forms import ConsentForm, Signature, Signer
from portal.careservice.domain.embryos import EmbryoStorage
from portal.careservice.domain.enumerations import (
    CareStatus,
    ConsentStatus,
    Disposition,
    EmbryoStatus,
    ProtocolType,
    RelationshipType,
    SignatureMethod,
    SignerRole,
    SigningOrder,
    Stage,
)
from portal.careservice.domain.episodes import Episode
from portal.careservice.domain.patients import Patient, Relationship
from portal.careservice.domain.storage_ends import StorageEnd
from portal.careservice.identity.tables import Person
from portal.careservice.ids import new_id, sample_id
from portal.careservice.sample.people import PEOPLE

RIVERSIDE = sample_id("tenant", "riverside")


@dataclass(frozen=True)
class Family:
    """A patient's record, the partner's, and what they have at the clinic: ids all."""

    patient: str
    partner: str | None
    case: str
    episode: str
    embryos: tuple[str, ...]


class Families:
    """Makes them in the database at `url`."""

    def __init__(self, url: str) -> None:
        self._engine = database.connect(url)

    def add(
        self,
        patient: str | None = "grace",
        partner: str | None = None,
        *,
        has_partner: bool | None = None,
        status: CareStatus = CareStatus.ACTIVE,
        embryos: int = 1,
        **of_embryos: Any,
    ) -> Family:
        """A family of the sample people `patient` and `partner`; a partner without account where only `has_partner`."""
        with database.new_session(self._engine) as session:
            couple = [_patient(patient)]
            if partner is not None or has_partner:
                couple.append(_patient(partner))
            session.add_all(couple)
            session.flush()
            first, second = couple[0].id, couple[1].id if len(couple) == 2 else None
            case = CareCase(
                id=new_id(), tenant_id=RIVERSIDE, case_number="C", patient_id=first, partner_id=second,
                title="A case", treatment_type=ProtocolType.FET_MEDICATED, status=CareStatus.ACTIVE,
                opened_at=datetime.now(UTC),
            )  # fmt: skip
            session.add(case)
            session.flush()
            episode = Episode(
                id=new_id(), tenant_id=RIVERSIDE, number="E", type=ProtocolType.FET_MEDICATED, status=status,
                stage=Stage.PLANNED, start_date=date(2026, 1, 5), patient_id=first, partner_id=second,
                case_id=case.id,
            )  # fmt: skip
            session.add(episode)
            if second is not None:
                session.add(
                    Relationship(
                        id=new_id(), tenant_id=RIVERSIDE, patient_id=first, related_patient_id=second,
                        related_name="Partner", type=RelationshipType.PARTNER, is_portal_shared=True,
                        start_date=date(2020, 1, 1),
                    )
                )  # fmt: skip
            kept = [
                EmbryoStorage(
                    id=new_id(), tenant_id=RIVERSIDE, patient_id=first, episode_id=episode.id,
                    embryo_code=f"X-{number}", day=5, grade="4AA", grading_system="Gardner",
                    cryopreserved_at=datetime.now(UTC) - timedelta(days=90), method="Vitrification",
                    **{"status": EmbryoStatus.STORED, "disposition": Disposition.UNDECIDED, **of_embryos},
                )
                for number in range(1, embryos + 1)
            ]  # fmt: skip
            session.add_all(kept)
            session.commit()
            return Family(first, second, case.id, episode.id, tuple(embryo.id for embryo in kept))

    def add_account(self) -> tuple[str, str]:
        """A patient's account that no record is bound to: its id and its verified e-mail."""
        id_ = new_id()
        account = Person(
            id=id_, tenant_id=RIVERSIDE, username=f"free-{id_}", password_hash="-", given_name="Free", family_name="One",
            email=f"{id_}@patients.example", email_verified=True, locale="en",
            roles=["patient"],
        )  # fmt: skip
        with database.new_session(self._engine) as session:
            session.add(account)
            session.commit()
        return id_, f"{id_}@patients.example"

    def older_form(
        self,
        family: Family,
        kind: str,
        *,
        signed_by: str | None = None,
        embryos: tuple[str, ...] = (),
        texts: tuple[str, ...] = ("What was agreed.",),
    ) -> str:
        """A form as one could be made before the rules were kept: only a clinician is to sign it. Returns its id."""
        clinician = sample_id("person", "victor")
        body = [Clause(id=str(number), heading="What", text=text) for number, text in enumerate(texts)]
        digest = content_hash(
            title="Older", kind=kind, version="1", body=body, statements=[],
            embryo_storage_ids=embryos, disposition=Disposition.DISCARD if signed_by else None,
        )  # fmt: skip
        with database.new_session(self._engine) as session:
            form = ConsentForm(
                id=new_id(), tenant_id=RIVERSIDE, patient_id=family.patient, episode_id=family.episode,
                title="Older", kind=kind, version="1", body=body, statements=[], content_hash=digest,
                status=ConsentStatus.SIGNED if signed_by else ConsentStatus.PENDING,
                signing_order=SigningOrder.ANY, embryo_storage_ids=list(embryos) or None,
                disposition=Disposition.DISCARD if signed_by else None,
                required_signers=[
                    Signer(position=0, role=SignerRole.CLINICIAN, person_id=clinician, name="Victor Castellanos", order=1)
                ],
                signatures=[
                    Signature(
                        role=SignerRole.CLINICIAN, person_id=sample_id("person", signed_by), name="V",
                        signed_at=datetime.now(UTC), method=SignatureMethod.TYPED_NAME, content_hash=digest,
                        typed="V",
                    )
                ] if signed_by else [],
            )  # fmt: skip
            session.add(form)
            session.commit()
            return form.id

    def begin(self, family: Family) -> None:
        """Let a planned treatment begin, which no endpoint does."""
        with database.new_session(self._engine) as session:
            session.get_one(Episode, family.episode).status = CareStatus.ACTIVE
            session.commit()

    def let_expire(self, form_id: str) -> None:
        """Let the time to sign a form be over."""
        with database.new_session(self._engine) as session:
            session.get_one(ConsentForm, form_id).expires_at = datetime.now(UTC) - timedelta(minutes=1)
            session.commit()

    def store_under(self, embryo_id: str, form_id: str) -> None:
        """Let an embryo be stored under a form, as records made elsewhere can say before it is signed."""
        with database.new_session(self._engine) as session:
            session.get_one(EmbryoStorage, embryo_id).consent_form_id = form_id
            session.commit()

    def ends_of(self, embryo_id: str) -> list[tuple[str, ...]]:
        """What the operator's command wrote down about an embryo."""
        with database.new_session(self._engine, writes=False) as session:
            found = session.scalars(select(StorageEnd).where(StorageEnd.embryo_id == embryo_id))
            return [
                (end.status, end.reason, end.explanation, end.first_name, end.second_name) for end in found
            ]

    def close(self) -> None:
        """Let go of the database."""
        self._engine.dispose()


def _patient(username: str | None) -> Patient:
    person = next((person for person in PEOPLE if person.username == username), None)
    return Patient(
        id=new_id(),
        tenant_id=RIVERSIDE,
        user_id=person.id if person else None,
        mrn=f"T-{new_id()[:8]}",
        first_name=person.given_name if person else "Zoë",
        last_name=person.family_name if person else "O’Neil-Łuka",
        date_of_birth=date(1990, 1, 1),
    )
