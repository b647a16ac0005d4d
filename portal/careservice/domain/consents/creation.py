"""Making a consent form and putting it to its signers."""

from __future__ import annotations

from datetime import date, datetime
from typing import Annotated

import msgspec
from sqlalchemy.orm import Session

from portal.careservice.clock import now
from portal.careservice.domain import people
from portal.careservice.domain.actor import Actor
from portal.careservice.domain.cases import CareCase
from portal.careservice.domain.consents import notices
from portal.careservice.domain.consents.content import Clause, ShortText, Statement, content_hash
from portal.careservice.domain.consents.forms import ConsentForm, Signer, require_not_ended
from portal.careservice.domain.enumerations import ConsentStatus, SignerRole, SigningOrder
from portal.careservice.domain.episodes import Episode
from portal.careservice.domain.patients import Patient
from portal.careservice.domain.rules import Invalid, Refused, Rule, require_of_clinic
from portal.careservice.ids import new_id


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
    notices.ask_next_signers(session, form)
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
    require_not_ended(form.status_at(now()))
    return form
