"""Consent forms: who signs in what order, what signing, revoking and superseding need, and what follows."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from datetime import date, datetime
from typing import Annotated, Any

import msgspec
import rfc8785
from sqlalchemy import ForeignKey, Index, String, UniqueConstraint, and_, case, or_, select
from sqlalchemy.orm import Mapped, Session, defer, joinedload, mapped_column, relationship, selectinload
from sqlalchemy.sql import ColumnElement, Select

from portal.careservice.clock import now
from portal.careservice.database import Base, Id
from portal.careservice.domain import notifications, people
from portal.careservice.domain.actor import Actor
from portal.careservice.domain.cases import CareCase
from portal.careservice.domain.columns import Audited, Structs, one_of
from portal.careservice.domain.embryos import EmbryoStorage, hold
from portal.careservice.domain.enumerations import (
    ConsentStatus,
    EmbryoStatus,
    Severity,
    SignatureMethod,
    SignerRole,
    SigningOrder,
)
from portal.careservice.domain.episodes import Episode
from portal.careservice.domain.patients import Patient, is_mine
from portal.careservice.domain.rules import Invalid, NotThere, Refused, Rule, require_of_clinic, require_stamp
from portal.careservice.ids import new_id

LIVE = (
    ConsentStatus.DRAFT,
    ConsentStatus.PENDING,
    ConsentStatus.PARTIALLY_SIGNED,
    ConsentStatus.SIGNED,
)
OPEN = (ConsentStatus.PENDING, ConsentStatus.PARTIALLY_SIGNED)
"""The states in which a form waits for signatures, and in which time can end it."""

_SIGNS_FOR_THE_CLINIC = frozenset({SignerRole.WITNESS, SignerRole.INTERPRETER, SignerRole.CLINICIAN})

ShortText = Annotated[str, msgspec.Meta(min_length=1, max_length=300)]
ClauseText = Annotated[str, msgspec.Meta(min_length=1, max_length=20_000)]


class Clause(msgspec.Struct, rename="camel", kw_only=True, omit_defaults=True):
    """One part of a form's body, with a summary in plain words where there is one."""

    id: ShortText
    heading: ShortText
    text: ClauseText
    summary: ClauseText | None = None


class Statement(msgspec.Struct, rename="camel", kw_only=True):
    """One thing that a signer says they have understood or agree to."""

    id: ShortText
    text: ClauseText


class ConsentForm(Audited, Base):
    """One version of a form, put to the people who have to sign it.

    `status` is as kept; time may have ended the form since, so ask `status_at`.
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
    version: Mapped[str]
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
    expires_at: Mapped[datetime | None]
    supersedes_id: Mapped[str | None] = mapped_column(String(36))
    superseded_by_id: Mapped[str | None] = mapped_column(String(36))
    procedure_date: Mapped[date | None] = mapped_column(index=True)

    patient: Mapped[Patient] = relationship(foreign_keys=[patient_id])
    required_signers: Mapped[list[Signer]] = relationship(order_by="Signer.position")
    signatures: Mapped[list[Signature]] = relationship(order_by="Signature.signed_at")

    @property
    def patient_name(self) -> str:
        """The name of the patient whom the form is about."""
        return self.patient.name

    def status_at(self, moment: datetime) -> ConsentStatus:
        """Where the form stands at `moment`: what waits for signatures past its expiry is Expired."""
        if self.status in OPEN and self.expires_at is not None and self.expires_at <= moment:
            return ConsentStatus.EXPIRED
        return self.status

    def has_signature_of(self, person_id: str) -> bool:
        """Whether this person has signed, in any role."""
        return any(signature.person_id == person_id for signature in self.signatures)

    def names(self, person_id: str) -> bool:
        """Whether this person is to sign, in any role."""
        return any(signer.person_id == person_id for signer in self.required_signers)

    def next_signers(self) -> list[Signer]:
        """Those whose turn it is: all who haven't signed or, in sequence, those who come first among them."""
        waiting = [signer for signer in self.required_signers if not self.has_signature_of(signer.person_id)]
        if self.signing_order == SigningOrder.ANY or not waiting:
            return waiting
        first = min(signer.order for signer in waiting)
        return [signer for signer in waiting if signer.order == first]


class Signer(Base):
    """A person who has to sign a form; `order` counts only where the order is Sequential."""

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
    """A signature given; one a person and form, which the database itself sees to."""

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
    content_hash: Mapped[str] = mapped_column(String(64))
    typed: Mapped[str]


class NewSigner(msgspec.Struct, rename="camel", kw_only=True):
    """A signer as a new form names one."""

    role: SignerRole
    person_id: str
    name: ShortText
    order: Annotated[int, msgspec.Meta(ge=0, le=1000)] = 1


class NewForm(msgspec.Struct, rename="camel", kw_only=True):
    """What a new form says."""

    patient_id: str
    partner_id: str | None = None
    case_id: str | None = None
    episode_id: str | None = None
    title: ShortText
    kind: Annotated[str, msgspec.Meta(min_length=1, max_length=64)]
    version: Annotated[str, msgspec.Meta(min_length=1, max_length=32)]
    body: Annotated[list[Clause], msgspec.Meta(min_length=1, max_length=100)]
    statements: Annotated[list[Statement], msgspec.Meta(max_length=100)]
    required_signers: Annotated[list[NewSigner], msgspec.Meta(min_length=1, max_length=20)]
    signing_order: SigningOrder
    procedure_date: date | None = None
    supersedes_id: str | None = None
    expires_at: datetime | None = None


class NewSignature(msgspec.Struct, rename="camel", kw_only=True):
    """What signing says: as whom, by which method, to which statements and to which content."""

    signer_role: SignerRole
    method: SignatureMethod
    signature: Annotated[str, msgspec.Meta(max_length=200)]
    acknowledged_statement_ids: Annotated[list[str], msgspec.Meta(max_length=200)]
    content_hash: Annotated[str, msgspec.Meta(max_length=200)]
    language: Annotated[str, msgspec.Meta(max_length=35)] | None = None


def content_hash(
    *, title: str, kind: str, version: str, body: Sequence[Clause], statements: Sequence[Statement]
) -> str:
    """SHA-256 (lower-case hex) of the canonical JSON (RFC 8785) of what a signer reads."""
    content: dict[str, Any] = {
        "title": title,
        "kind": kind,
        "version": version,
        "body": msgspec.to_builtins(body),
        "statements": msgspec.to_builtins(statements),
    }
    return hashlib.sha256(rfc8785.dumps(content)).hexdigest()


def status_column(moment: datetime) -> ColumnElement[Any]:
    """`ConsentForm.status_at(moment)` for the database."""
    ended_by_time = and_(ConsentForm.status.in_(OPEN), ConsentForm.expires_at <= moment)
    return case((ended_by_time, ConsentStatus.EXPIRED.value), else_=ConsentForm.status)


def live_at(moment: datetime) -> ColumnElement[bool]:
    """The condition that picks forms which no end has come to by `moment`."""
    ended_by_time = and_(ConsentForm.status.in_(OPEN), ConsentForm.expires_at <= moment)
    return and_(ConsentForm.status.in_(LIVE), or_(ConsentForm.expires_at.is_(None), ~ended_by_time))


def visible(actor: Actor) -> Select[ConsentForm]:
    """The forms that `actor` may see: staff their clinic's, patients those about or naming them."""
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
    """The same forms, their bodies left in the database."""
    return chosen.options(defer(ConsentForm.body, raiseload=True))


def find(session: Session, actor: Actor, form_id: str) -> ConsentForm:
    """The form with everything, if `actor` may see it."""
    form = session.scalars(with_people(visible(actor)).where(ConsentForm.id == form_id)).one_or_none()
    if form is None:
        raise NotThere
    return form


def create(session: Session, actor: Actor, new: NewForm) -> ConsentForm:
    """Put a new form to its signers: Pending at once, and those whose turn it is are told."""
    _require_known_records(session, actor, new)
    _require_sound(new)
    _require_signers(session, actor, new)
    superseded = _to_supersede(session, actor, new)
    moment = now()
    form = ConsentForm(
        id=new_id(),
        tenant_id=actor.tenant_id,
        patient_id=new.patient_id,
        partner_id=new.partner_id,
        case_id=new.case_id,
        episode_id=new.episode_id,
        title=new.title,
        kind=new.kind,
        version=new.version,
        status=ConsentStatus.PENDING,
        body=new.body,
        statements=new.statements,
        signing_order=new.signing_order,
        content_hash=content_hash(
            title=new.title, kind=new.kind, version=new.version, body=new.body, statements=new.statements
        ),
        sent_at=moment,
        expires_at=new.expires_at,
        supersedes_id=new.supersedes_id,
        procedure_date=new.procedure_date,
        creation_time=moment,
        creator_id=actor.sub,
        required_signers=[
            Signer(
                position=index,
                role=signer.role,
                person_id=signer.person_id,
                name=signer.name,
                order=signer.order,
            )
            for index, signer in enumerate(new.required_signers)
        ],
    )
    session.add(form)
    if superseded is not None:
        superseded.status = ConsentStatus.SUPERSEDED
        superseded.superseded_by_id = form.id
        superseded.touch(actor.sub)
    _tell_next(session, form)
    return form


def sign(session: Session, actor: Actor, form: ConsentForm, new: NewSignature, stamp: str) -> ConsentForm:
    """Add the actor's signature; the last one makes the form Signed and in force.

    What can't be undone by trying again is said first: the form's end, then the signer, then what was sent.
    """
    moment = now()
    _require_open(form.status_at(moment))
    signer = _signer(form, actor, new.signer_role)
    if form.has_signature_of(actor.person_id):
        raise Refused(Rule.ALREADY_SIGNED)
    _require_complete(form, new)
    if signer not in form.next_signers():
        raise Refused(Rule.OUT_OF_ORDER)
    if new.content_hash != form.content_hash:
        raise Refused(Rule.CONTENT_CHANGED)
    require_stamp(form.concurrency_stamp, stamp)
    turns_before = {waiting.person_id for waiting in form.next_signers()}
    form.signatures.append(
        Signature(
            role=signer.role,
            person_id=actor.person_id,
            name=signer.name,
            signed_at=moment,
            method=new.method,
            language=new.language,
            content_hash=form.content_hash,
            typed=new.signature,
        )
    )
    form.touch(actor.sub)
    if form.next_signers():
        form.status = ConsentStatus.PARTIALLY_SIGNED
        _tell_next(session, form, but=turns_before)
        return form
    form.status = ConsentStatus.SIGNED
    form.effective_at = moment
    _tell(session, form, "ConsentCompleted", Severity.SUCCESS)
    return form


def revoke(session: Session, actor: Actor, form: ConsentForm, reason: str, stamp: str) -> ConsentForm:
    """Withdraw a form; embryos stored under it go on hold and everybody named in it is told."""
    status = form.status_at(now())
    _require_not_ended(status)
    if status == ConsentStatus.DRAFT:
        raise Refused(Rule.FORM_NOT_SENT)
    if not _may_withdraw(form, actor):
        raise Refused(Rule.NOT_A_SIGNER)
    embryos = list(session.scalars(select(EmbryoStorage).where(EmbryoStorage.consent_form_id == form.id)))
    if any(embryo.status == EmbryoStatus.TRANSFERRED for embryo in embryos):
        raise Refused(Rule.FORM_ACTED_UPON)
    require_stamp(form.concurrency_stamp, stamp)
    form.status = ConsentStatus.REVOKED
    form.revoked_at = now()
    form.revoke_reason = reason
    form.revoked_by_id = actor.sub
    form.touch(actor.sub)
    for embryo in embryos:
        hold(embryo, "Consent withdrawn", actor)
    _tell(session, form, "ConsentRevoked", Severity.WARNING)
    return form


def _require_known_records(session: Session, actor: Actor, new: NewForm) -> None:
    require_of_clinic(session.get(Patient, new.patient_id), actor.tenant_id, "patientId")
    if new.partner_id is not None:
        require_of_clinic(session.get(Patient, new.partner_id), actor.tenant_id, "partnerId")
    if new.case_id is not None:
        care_case = session.get(CareCase, new.case_id)
        require_of_clinic(care_case, actor.tenant_id, "caseId")
        if care_case is not None and new.patient_id not in (care_case.patient_id, care_case.partner_id):
            raise Invalid("The case is not this patient's.", "caseId")
    if new.episode_id is not None:
        episode = session.get(Episode, new.episode_id)
        require_of_clinic(episode, actor.tenant_id, "episodeId")
        if episode is not None and new.patient_id not in (episode.patient_id, episode.partner_id):
            raise Invalid("The episode is not this patient's.", "episodeId")


def _require_sound(new: NewForm) -> None:
    if new.partner_id == new.patient_id:
        raise Invalid("A patient can't be their own partner.", "partnerId")
    if new.expires_at is not None and new.expires_at <= now():
        raise Invalid("The form would have expired already.", "expiresAt")
    for member, ids in (
        ("body", [clause.id for clause in new.body]),
        ("statements", [statement.id for statement in new.statements]),
    ):
        if len(ids) != len(set(ids)):
            raise Invalid("Ids have to differ.", member)


def _require_signers(session: Session, actor: Actor, new: NewForm) -> None:
    named: dict[str, SignerRole] = {}
    for index, signer in enumerate(new.required_signers):
        other = named.setdefault(signer.person_id, signer.role)
        if index and other != signer.role and SignerRole.WITNESS in (other, signer.role):
            raise Refused(Rule.WITNESS_IS_SIGNER)
    if len(named) != len(new.required_signers):
        raise Invalid("A person signs once.", "requiredSigners")
    known = people.known(session, actor.tenant_id, named)
    for index, signer in enumerate(new.required_signers):
        if signer.person_id not in known:
            raise Invalid("No such person at this clinic.", f"requiredSigners[{index}].personId")
        if signer.role == SignerRole.CLINICIAN and not known[signer.person_id].is_staff:
            raise Invalid("A clinician is one of the staff.", f"requiredSigners[{index}].personId")


def _to_supersede(session: Session, actor: Actor, new: NewForm) -> ConsentForm | None:
    if new.supersedes_id is None:
        return None
    form = session.get(ConsentForm, new.supersedes_id)
    if form is None or form.tenant_id != actor.tenant_id:
        raise Invalid("No such form at this clinic.", "supersedesId")
    if form.patient_id != new.patient_id:
        raise Invalid("The form is about another patient.", "supersedesId")
    _require_not_ended(form.status_at(now()))
    return form


_ENDS: dict[ConsentStatus, Rule] = {
    ConsentStatus.REVOKED: Rule.FORM_REVOKED,
    ConsentStatus.EXPIRED: Rule.FORM_EXPIRED,
    ConsentStatus.SUPERSEDED: Rule.FORM_SUPERSEDED,
}


def _require_not_ended(status: ConsentStatus) -> None:
    if status in _ENDS:
        raise Refused(_ENDS[status])


def _require_open(status: ConsentStatus) -> None:
    _require_not_ended(status)
    if status == ConsentStatus.DRAFT:
        raise Refused(Rule.FORM_NOT_SENT)


def _signer(form: ConsentForm, actor: Actor, role: SignerRole) -> Signer:
    if role == SignerRole.WITNESS and any(
        signer.person_id == actor.person_id and signer.role != SignerRole.WITNESS
        for signer in form.required_signers
    ):
        raise Refused(Rule.WITNESS_IS_SIGNER)
    for signer in form.required_signers:
        if signer.person_id == actor.person_id and signer.role == role:
            if role == SignerRole.CLINICIAN and not actor.is_staff:
                raise Refused(Rule.CLINICIAN_NOT_STAFF)
            return signer
    raise Refused(Rule.NOT_A_SIGNER)


def _require_complete(form: ConsentForm, new: NewSignature) -> None:
    if new.method != SignatureMethod.TYPED_NAME:
        raise Invalid("Only a typed name can be given here.", "method")
    if not new.signature.strip():
        raise Invalid("The typed name is missing.", "signature")
    wanted = {statement.id for statement in form.statements}
    given = set(new.acknowledged_statement_ids)
    if wanted - given:
        raise Invalid("Every statement has to be acknowledged.", "acknowledgedStatementIds")
    if given - wanted:
        raise Invalid("The form has no such statement.", "acknowledgedStatementIds")


def _may_withdraw(form: ConsentForm, actor: Actor) -> bool:
    if actor.is_staff or form.patient.is_about(actor):
        return True
    return any(
        signer.person_id == actor.person_id and signer.role not in _SIGNS_FOR_THE_CLINIC
        for signer in form.required_signers
    )


def _tell_next(session: Session, form: ConsentForm, but: set[str] | None = None) -> None:
    people_in_turn = {signer.person_id for signer in form.next_signers()} - (but or set())
    _announce(session, form, people_in_turn, "ConsentRequested", Severity.INFO)


def _tell(session: Session, form: ConsentForm, kind: str, severity: Severity) -> None:
    everybody = {signer.person_id for signer in form.required_signers}
    _announce(session, form, everybody, kind, severity)


def _announce(session: Session, form: ConsentForm, who: set[str], kind: str, severity: Severity) -> None:
    notifications.announce(
        session,
        tenant_id=form.tenant_id,
        who=who,
        kind=kind,
        entity=("ConsentForm", form.id),
        severity=severity,
        data={"episodeId": form.episode_id} if form.episode_id else {},
    )
