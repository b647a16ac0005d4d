"""The tables of consent forms, and which forms a person may see."""

from __future__ import annotations

import hashlib
from datetime import date, datetime
from typing import Any

import msgspec
import rfc8785
from sqlalchemy import JSON, ForeignKey, Index, String, UniqueConstraint, and_, case, or_, select
from sqlalchemy.orm import (
    Mapped,
    Session,
    aliased,
    defer,
    joinedload,
    mapped_column,
    relationship,
    selectinload,
)
from sqlalchemy.sql import ColumnElement, Select

from portal.careservice.database import Base, Id
from portal.careservice.domain.actor import Actor
from portal.careservice.domain.columns import Audited, Structs, one_of
from portal.careservice.domain.consents import kinds
from portal.careservice.domain.consents.content import Clause, Statement
from portal.careservice.domain.consents.passkey_proofs import PasskeyProof
from portal.careservice.domain.enumerations import (
    ConsentStatus,
    Disposition,
    ReadingMode,
    SignatureMethod,
    SignerRole,
    SigningOrder,
    ToldBy,
)
from portal.careservice.domain.folding import folded_from
from portal.careservice.domain.patients import Patient, is_mine
from portal.careservice.domain.rules import NotThere, Refused, Rule
from portal.careservice.ids import new_id

OPEN = (ConsentStatus.PENDING, ConsentStatus.PARTIALLY_SIGNED)
"""The statuses in which a form is waiting for signatures and can expire."""
IN_USE = (*OPEN, ConsentStatus.SIGNED)
"""The statuses of a form that was sent and hasn't ended."""


class ConsentForm(Audited, Base):
    """One version of a form, sent to the people who have to sign it.

    `status` is the stored one; the form may have expired since, so use `status_at`. `embryo_storage_ids` are the
    embryos that it is about, None if it names none; `language` is its text's (BCP 47), None if not
    known. From `wish_taken_back_at` on it no longer allows anything. Staff
    recorded its withdrawal for the signer `on_behalf_of`, who told them at `told_at` by `told_by`.
    """

    __tablename__ = "consent_forms"
    __table_args__ = (Index("ix_consent_forms_list", "tenant_id", "creation_time"),)

    id: Mapped[Id] = mapped_column(primary_key=True)
    tenant_id: Mapped[str] = mapped_column(String(36))
    patient_id: Mapped[str] = mapped_column(ForeignKey("patients.id"), index=True)
    partner_id: Mapped[str | None] = mapped_column(ForeignKey("patients.id"), index=True)
    case_id: Mapped[str | None] = mapped_column(String(36), index=True)
    episode_id: Mapped[str | None] = mapped_column(String(36), index=True)
    title: Mapped[str]
    kind: Mapped[str]
    folded_title: Mapped[str] = folded_from("title", "kind")
    version: Mapped[str]
    language: Mapped[str | None] = mapped_column(String(35))
    status: Mapped[ConsentStatus] = mapped_column(one_of(ConsentStatus))
    body: Mapped[list[Clause]] = mapped_column(Structs(list[Clause]))
    statements: Mapped[list[Statement]] = mapped_column(Structs(list[Statement]))
    signing_order: Mapped[SigningOrder] = mapped_column(one_of(SigningOrder))
    content_hash: Mapped[str] = mapped_column(String(64))
    file_id: Mapped[str | None] = mapped_column(String(36))
    sent_at: Mapped[datetime | None]
    effective_at: Mapped[datetime | None]
    revoked_at: Mapped[datetime | None]
    revoke_reason: Mapped[str | None]
    revoked_by_id: Mapped[str | None] = mapped_column(String(36))
    revoked_by_name: Mapped[str | None]
    on_behalf_of: Mapped[str | None] = mapped_column(String(36))
    told_at: Mapped[datetime | None]
    told_by: Mapped[ToldBy | None] = mapped_column(one_of(ToldBy))
    expires_at: Mapped[datetime | None]
    supersedes_id: Mapped[str | None] = mapped_column(String(36))
    superseded_by_id: Mapped[str | None] = mapped_column(String(36))
    procedure_date: Mapped[date | None] = mapped_column(index=True)
    embryo_storage_ids: Mapped[list[str] | None] = mapped_column(JSON(none_as_null=True))
    disposition: Mapped[Disposition | None] = mapped_column(one_of(Disposition))
    wish_taken_back_at: Mapped[datetime | None]

    patient: Mapped[Patient] = relationship(foreign_keys=[patient_id])
    required_signers: Mapped[list[Signer]] = relationship(order_by="Signer.position")
    signatures: Mapped[list[Signature]] = relationship(order_by="Signature.signed_at")

    @property
    def patient_name(self) -> str:
        """The name of the patient whom the form is about."""
        return self.patient.name

    @property
    def folded_kind(self) -> str:
        """The kind in the form in which it is compared."""
        return kinds.folded(self.kind)

    def is_about(self, embryo_id: str) -> bool:
        """Whether the form names this embryo."""
        return embryo_id in (self.embryo_storage_ids or ())

    def seal(self) -> str | None:
        """SHA-256 (lower-case hex) of the canonical JSON (RFC 8785) of what was signed, by whom and when.

        None unless the form is Signed. It lets two copies be compared; it doesn't prove their origin.
        """
        if self.status != ConsentStatus.SIGNED:
            return None
        sealed = {
            "id": self.id,
            "version": self.version,
            "patientId": self.patient_id,
            "contentHash": self.content_hash,
            "signatures": [
                {
                    "role": signature.role.value,
                    "personId": signature.person_id,
                    "name": signature.name,
                    "signedAt": msgspec.to_builtins(signature.signed_at),
                    "method": signature.method.value,
                }
                for signature in self.signatures
            ],
        }
        return hashlib.sha256(rfc8785.dumps(sealed)).hexdigest()

    def status_at(self, moment: datetime) -> ConsentStatus:
        """The status at `moment`: Expired if the form is still waiting for signatures past its expiry."""
        if self.status in OPEN and self.expires_at is not None and self.expires_at <= moment:
            return ConsentStatus.EXPIRED
        return self.status

    def has_signature_of(self, person_id: str) -> bool:
        """Whether this person has signed, in any role; with an account now, also as the record that they were then."""
        named = {
            (signer.role, signer.name) for signer in self.required_signers if signer.person_id == person_id
        }
        return any(
            signature.person_id == person_id
            or ((signature.role, signature.name) in named and not self.names(signature.person_id))
            for signature in self.signatures
        )

    def names(self, person_id: str) -> bool:
        """Whether this person has to sign, in any role."""
        return any(signer.person_id == person_id for signer in self.required_signers)

    def next_signers(self) -> list[Signer]:
        """Those whose turn it is: all who haven't signed or, if signing is sequential, the first among them."""
        waiting = [signer for signer in self.required_signers if not self.has_signature_of(signer.person_id)]
        if self.signing_order == SigningOrder.ANY or not waiting:
            return waiting
        first = min(signer.order for signer in waiting)
        return [signer for signer in waiting if signer.order == first]


class Signer(Base):
    """A person who has to sign a form; `order` counts only if the signing order is Sequential."""

    __tablename__ = "consent_signers"
    __table_args__ = (UniqueConstraint("form_id", "role", "person_id"),)

    id: Mapped[Id] = mapped_column(primary_key=True, default=new_id)
    form_id: Mapped[str] = mapped_column(ForeignKey("consent_forms.id"), index=True)
    position: Mapped[int]
    role: Mapped[SignerRole] = mapped_column(one_of(SignerRole))
    person_id: Mapped[str] = mapped_column(String(36), index=True)
    name: Mapped[str]
    order: Mapped[int]


class Signature(Base):
    """A given signature; the database enforces one per person and form.

    `language` is the text's. `screen_language` and `reading_mode` are set if the signer's screen was in another.
    `acr` and `amr` tell how the signer had signed in, if they signed here; `passkey` what their passkey confirmed, if one did.
    """

    __tablename__ = "consent_signatures"
    __table_args__ = (UniqueConstraint("form_id", "person_id"),)

    id: Mapped[Id] = mapped_column(primary_key=True, default=new_id)
    form_id: Mapped[str] = mapped_column(ForeignKey("consent_forms.id"), index=True)
    role: Mapped[SignerRole] = mapped_column(one_of(SignerRole))
    person_id: Mapped[str] = mapped_column(String(36))
    name: Mapped[str]
    signed_at: Mapped[datetime]
    method: Mapped[SignatureMethod] = mapped_column(one_of(SignatureMethod))
    language: Mapped[str | None]
    screen_language: Mapped[str | None] = mapped_column(String(35))
    reading_mode: Mapped[ReadingMode | None] = mapped_column(one_of(ReadingMode))
    content_hash: Mapped[str] = mapped_column(String(64))
    typed: Mapped[str]
    acr: Mapped[str | None]
    amr: Mapped[list[str] | None]
    passkey: Mapped[PasskeyProof | None] = mapped_column(Structs(PasskeyProof))


def status_column(moment: datetime) -> ColumnElement[Any]:
    """`ConsentForm.status_at(moment)` as an SQL expression."""
    ended_by_time = and_(ConsentForm.status.in_(OPEN), ConsentForm.expires_at <= moment)
    return case((ended_by_time, ConsentStatus.EXPIRED.value), else_=ConsentForm.status)


def waits_for(person_id: str, moment: datetime) -> ColumnElement[bool]:
    """The condition that selects the forms that at `moment` lack this person's signature, whosever turn it is."""
    mine = aliased(Signer)
    named = select(Signer.person_id).where(Signer.form_id == Signature.form_id)
    as_record = and_(
        Signature.role == mine.role, Signature.name == mine.name, Signature.person_id.not_in(named)
    )
    signed = (
        select(Signature.id)
        .join(mine, and_(mine.form_id == Signature.form_id, mine.person_id == person_id))
        .where(Signature.form_id == ConsentForm.id, or_(Signature.person_id == person_id, as_record))
    )
    return and_(
        status_column(moment).in_(OPEN),
        ConsentForm.id.in_(select(Signer.form_id).where(Signer.person_id == person_id)),
        ~signed.exists(),
    )


def visible(actor: Actor) -> Select[ConsentForm]:
    """The forms that `actor` may see: staff all of their clinic's, patients those that are about or name them."""
    chosen = select(ConsentForm).where(ConsentForm.tenant_id == actor.tenant_id)
    if actor.is_staff:
        return chosen
    sub = actor.person_id
    return chosen.where(
        or_(
            ConsentForm.patient_id.in_(select(Patient.id).where(is_mine(sub))),
            ConsentForm.id.in_(select(Signer.form_id).where(Signer.person_id == sub)),
        )
    )


def with_people(chosen: Select[ConsentForm]) -> Select[ConsentForm]:
    """The same forms, loaded with patients, signers and signatures, in a fixed number of queries."""
    return chosen.options(
        joinedload(ConsentForm.patient),
        selectinload(ConsentForm.required_signers),
        selectinload(ConsentForm.signatures),
    )


def without_body(chosen: Select[ConsentForm]) -> Select[ConsentForm]:
    """The same forms, without loading their bodies."""
    return chosen.options(defer(ConsentForm.body, raiseload=True))


def find(session: Session, actor: Actor, form_id: str) -> ConsentForm:
    """The form, fully loaded, if `actor` may see it; raises NotThere."""
    form = session.scalars(with_people(visible(actor)).where(ConsentForm.id == form_id)).one_or_none()
    if form is None:
        raise NotThere
    return form


_ENDS: dict[ConsentStatus, Rule] = {
    ConsentStatus.REVOKED: Rule.FORM_REVOKED,
    ConsentStatus.EXPIRED: Rule.FORM_EXPIRED,
    ConsentStatus.SUPERSEDED: Rule.FORM_SUPERSEDED,
}


def require_not_ended(status: ConsentStatus) -> None:
    """Raise Refused if a form was revoked, has expired or was superseded."""
    if status in _ENDS:
        raise Refused(_ENDS[status])
