"""Creating a consent form and sending it to its signers."""

from __future__ import annotations

from datetime import date, datetime
from typing import Annotated

import msgspec
from sqlalchemy import select
from sqlalchemy.orm import Session

from portal.careservice.clock import now
from portal.careservice.domain import clinics
from portal.careservice.domain.actor import Actor
from portal.careservice.domain.cases import CareCase
from portal.careservice.domain.consents import ends, kinds, notices
from portal.careservice.domain.consents.content import Clause, LanguageTag, ShortText, Statement, content_hash
from portal.careservice.domain.consents.forms import (
    IN_USE,
    ConsentForm,
    Signer,
    require_not_ended,
    status_column,
    without_body,
)
from portal.careservice.domain.consents.names import has_words
from portal.careservice.domain.consents.parties import (
    PATIENTS_SIDE,
    Matter,
    covers_signers,
    name_of_record,
    require_own_form,
    require_parties,
)
from portal.careservice.domain.embryos import EmbryoStorage
from portal.careservice.domain.enumerations import ConsentStatus, Disposition, SignerRole, SigningOrder
from portal.careservice.domain.episodes import Episode
from portal.careservice.domain.patients import Patient
from portal.careservice.domain.rules import Invalid, Refused, Rule, require_of_clinic
from portal.careservice.domain.texts import ONE_LINE
from portal.careservice.ids import GivenId, new_id


class NewSigner(msgspec.Struct, rename="camel", kw_only=True):
    """A signer of a new form; `name` is ignored in favour of the name on record."""

    role: SignerRole
    person_id: GivenId
    name: ShortText | None = None
    order: Annotated[int, msgspec.Meta(ge=0, le=1000)] = 1


class NewForm(msgspec.Struct, rename="camel", kw_only=True):
    """A new form; only Disposition and Donation forms may have a `disposition`. `language` is its text's."""

    patient_id: GivenId
    partner_id: GivenId | None = None
    case_id: GivenId | None = None
    episode_id: GivenId | None = None
    title: ShortText
    kind: Annotated[str, msgspec.Meta(min_length=1, max_length=64), ONE_LINE]
    version: Annotated[str, msgspec.Meta(min_length=1, max_length=32), ONE_LINE]
    body: Annotated[list[Clause], msgspec.Meta(min_length=1, max_length=100)]
    statements: Annotated[list[Statement], msgspec.Meta(max_length=100)]
    required_signers: Annotated[list[NewSigner], msgspec.Meta(min_length=1, max_length=20)]
    signing_order: SigningOrder
    procedure_date: date | None = None
    supersedes_id: GivenId | None = None
    expires_at: datetime | None = None
    embryo_storage_ids: Annotated[list[GivenId], msgspec.Meta(max_length=200)] | None = None
    disposition: Disposition | None = None
    language: LanguageTag | None = None


_DECISIONS: dict[str, frozenset[Disposition]] = {
    kinds.DISPOSITION: frozenset(Disposition) - {Disposition.UNDECIDED},
    kinds.DONATION: frozenset({Disposition.DONATE_RESEARCH, Disposition.DONATE_PATIENT}),
}
"""The dispositions that each kind of form can decide."""


def create(session: Session, actor: Actor, new: NewForm) -> ConsentForm:
    """Create a Pending form and notify those whose turn it is to sign; raises Refused or Invalid.

    An unsigned form that it supersedes ends now, a Signed one once this one is Signed.
    """
    _require_known_records(session, actor, new)
    _require_sound(session, actor, new)
    ends.expire_overdue(session, new.patient_id)
    matter = Matter(
        tenant_id=actor.tenant_id,
        kind=kinds.named(new.kind),
        patient_id=new.patient_id,
        partner_id=new.partner_id,
        case_id=new.case_id,
        episode_id=new.episode_id,
        embryo_ids=new.embryo_storage_ids or (),
    )
    names = _names_of_signers(session, matter, new)
    superseded = _to_supersede(session, actor, new)
    _require_no_duplicate(session, actor, new)
    moment = now()
    form = ConsentForm(
        id=new_id(),
        tenant_id=actor.tenant_id,
        patient_id=new.patient_id,
        partner_id=new.partner_id,
        case_id=new.case_id,
        episode_id=new.episode_id,
        title=new.title,
        kind=kinds.named(new.kind),
        version=new.version,
        language=new.language,
        status=ConsentStatus.PENDING,
        body=new.body,
        statements=new.statements,
        signing_order=new.signing_order,
        content_hash=content_hash(
            title=new.title,
            kind=kinds.named(new.kind),
            version=new.version,
            body=new.body,
            statements=new.statements,
            embryo_storage_ids=new.embryo_storage_ids,
            disposition=new.disposition,
        ),
        sent_at=moment,
        expires_at=new.expires_at,
        supersedes_id=new.supersedes_id,
        procedure_date=new.procedure_date,
        embryo_storage_ids=new.embryo_storage_ids or None,
        disposition=new.disposition,
        creation_time=moment,
        creator_id=actor.sub,
        required_signers=[
            Signer(
                position=index,
                role=signer.role,
                person_id=signer.person_id,
                name=names[index],
                order=signer.order,
            )
            for index, signer in enumerate(new.required_signers)
        ],
    )
    session.add(form)
    if superseded is not None and superseded.status != ConsentStatus.SIGNED:
        ends.leave_force(session, actor, superseded, ConsentStatus.SUPERSEDED, successor=form)
    notices.ask_next_signers(session, form)
    return form


def _require_known_records(session: Session, actor: Actor, new: NewForm) -> None:
    # The lock serializes the creation of forms for one patient, on databases that lock rows.
    patient = session.get(Patient, new.patient_id, with_for_update={"of": Patient})
    require_of_clinic(patient, actor.tenant_id, "patientId")
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
    for index, embryo_id in enumerate(new.embryo_storage_ids or ()):
        embryo = session.get(EmbryoStorage, embryo_id)
        member = f"embryoStorageIds[{index}]"
        require_of_clinic(embryo, actor.tenant_id, member)
        if embryo is not None and embryo.patient_id != new.patient_id:
            raise Invalid("The embryo is not this patient's.", member)


def _require_sound(session: Session, actor: Actor, new: NewForm) -> None:
    if new.partner_id == new.patient_id:
        raise Invalid("A patient can't be their own partner.", "partnerId")
    if new.expires_at is not None and new.expires_at <= now():
        raise Invalid("The form would already have expired.", "expiresAt")
    for member, ids in (
        ("body", [clause.id for clause in new.body]),
        ("statements", [statement.id for statement in new.statements]),
        ("embryoStorageIds", new.embryo_storage_ids or []),
    ):
        if len(ids) != len(set(ids)):
            raise Invalid("Ids have to be unique.", member)
    for index, clause in enumerate(new.body):
        if not has_words(clause.text):
            raise Invalid("A clause can't be empty.", f"body[{index}].text")
    if new.procedure_date is not None and new.procedure_date < clinics.today(session, actor.tenant_id):
        raise Invalid("That day has passed.", "procedureDate")
    if new.disposition is not None and new.disposition not in _DECISIONS.get(kinds.folded(new.kind), ()):
        raise Invalid("A form of this kind can't decide that.", "disposition")


def _names_of_signers(session: Session, matter: Matter, new: NewForm) -> list[str]:
    """Each signer's name on record; raises Refused or Invalid if a required signer is missing or one is named twice."""
    named: dict[str, SignerRole] = {}
    for signer in new.required_signers:
        other = named.setdefault(signer.person_id, signer.role)
        if other != signer.role and SignerRole.WITNESS in (other, signer.role):
            raise Refused(Rule.WITNESS_IS_SIGNER)
    if len(named) != len(new.required_signers):
        raise Invalid("A person can sign only once.", "requiredSigners")
    names = [
        name_of_record(session, matter, signer.role, signer.person_id) for signer in new.required_signers
    ]
    require_parties(session, matter, [(signer.role, signer.person_id) for signer in new.required_signers])
    require_own_form(matter, [signer.role for signer in new.required_signers])
    return names


def _require_no_duplicate(session: Session, actor: Actor, new: NewForm) -> None:
    moment = now()
    alike = select(ConsentForm).where(
        ConsentForm.tenant_id == actor.tenant_id,
        ConsentForm.patient_id == new.patient_id,
        ConsentForm.episode_id == new.episode_id,
        status_column(moment).in_(IN_USE),
    )
    if new.episode_id is None:
        alike = alike.where(ConsentForm.case_id == new.case_id)
    for form in session.scalars(without_body(alike)):
        if (
            form.id != new.supersedes_id
            and kinds.folded(form.kind) == kinds.folded(new.kind)
            and kinds.folded(form.title) == kinds.folded(new.title)
            and set(form.embryo_storage_ids or ()) == set(new.embryo_storage_ids or ())
            and not _is_anothers_own(form, new)
        ):
            raise Refused(Rule.FORM_ALREADY_OPEN)


def _is_anothers_own(form: ConsentForm, new: NewForm) -> bool:
    """Whether the form is the other person's own, of a kind of which each of a couple has one."""
    if form.folded_kind not in kinds.ONE_PERSON_SIGNS:
        return False
    mine = {signer.person_id for signer in new.required_signers if signer.role in PATIENTS_SIDE}
    return all(
        signer.person_id not in mine for signer in form.required_signers if signer.role in PATIENTS_SIDE
    )


def _to_supersede(session: Session, actor: Actor, new: NewForm) -> ConsentForm | None:
    if new.supersedes_id is None:
        return None
    form = session.get(ConsentForm, new.supersedes_id)
    if form is None or form.tenant_id != actor.tenant_id:
        raise Invalid("No such form at this clinic.", "supersedesId")
    require_not_ended(form.status)
    signing = [(signer.role, signer.person_id) for signer in new.required_signers]
    if (
        form.patient_id != new.patient_id
        or form.folded_kind != kinds.folded(new.kind)
        or not covers_signers(session, form, signing)
    ):
        raise Refused(Rule.SUPERSEDES_OTHER)
    ends.require_open(session, form)
    return form
