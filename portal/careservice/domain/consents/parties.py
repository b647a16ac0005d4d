"""Whose signatures a form needs, and how signers are matched with the clinic's records."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import or_, select
from sqlalchemy.orm import Session

from portal.careservice.domain.actor import Actor
from portal.careservice.domain.cases import CareCase
from portal.careservice.domain.consents import kinds
from portal.careservice.domain.consents.forms import ConsentForm, Signature, Signer, with_people
from portal.careservice.domain.embryos import EmbryoStorage
from portal.careservice.domain.enumerations import SignerRole
from portal.careservice.domain.episodes import Episode
from portal.careservice.domain.patients import Patient, is_mine
from portal.careservice.domain.permissions import STAFF
from portal.careservice.domain.rules import Refused, Rule
from portal.careservice.identity.tables import Person

CLINICS_SIDE = frozenset({SignerRole.WITNESS, SignerRole.INTERPRETER, SignerRole.CLINICIAN})
"""The roles in which only the clinic's staff sign."""

PATIENTS_SIDE = frozenset(SignerRole) - CLINICS_SIDE
_AS_PATIENT = PATIENTS_SIDE - {SignerRole.PARTNER}


@dataclass(frozen=True, kw_only=True)
class Matter:
    """The parts of a form that determine who has to sign it."""

    tenant_id: str
    kind: str
    patient_id: str
    partner_id: str | None
    case_id: str | None
    episode_id: str | None
    embryo_ids: Sequence[str]


def matter_of(form: ConsentForm) -> Matter:
    """The matter of an existing form."""
    return Matter(
        tenant_id=form.tenant_id,
        kind=form.kind,
        patient_id=form.patient_id,
        partner_id=form.partner_id,
        case_id=form.case_id,
        episode_id=form.episode_id,
        embryo_ids=form.embryo_storage_ids or (),
    )


def require_parties(session: Session, matter: Matter, signing: Iterable[tuple[SignerRole, str]]) -> None:
    """Raise Refused if somebody whose signature the form needs isn't among `signing` (role, person's id)."""
    given = list(signing)
    if kinds.folded(matter.kind) in kinds.ONE_PERSON_SIGNS:
        _require_one_of_the_couple(session, matter, given)
        return
    partners = _couple(session, matter) if kinds.folded(matter.kind) in kinds.PARTNER_SIGNS else set[str]()
    accounts = _ids_by_record(session, {matter.patient_id, *partners})
    if not _is_among(given, accounts[matter.patient_id], _AS_PATIENT):
        raise Refused(Rule.PATIENT_MUST_SIGN)
    for partner in partners:
        if not _is_among(given, accounts[partner], PATIENTS_SIDE):
            raise Refused(Rule.PARTNER_MUST_SIGN)


def _require_one_of_the_couple(
    session: Session, matter: Matter, given: Sequence[tuple[SignerRole, str]]
) -> None:
    partners = _couple(session, matter)
    accounts = _ids_by_record(session, {matter.patient_id, *partners})
    if _is_among(given, accounts[matter.patient_id], _AS_PATIENT):
        return
    if not any(_is_among(given, accounts[partner], PATIENTS_SIDE) for partner in partners):
        raise Refused(Rule.PATIENT_MUST_SIGN)


def require_own_form(matter: Matter, roles: Iterable[SignerRole]) -> None:
    """Raise Refused if several people of the patient's side would sign a form of which each has their own.

    Forms made jointly before, or elsewhere, stay as they are: this is about new ones.
    """
    is_ones_own = kinds.folded(matter.kind) in kinds.ONE_PERSON_SIGNS
    if is_ones_own and sum(role in PATIENTS_SIDE for role in roles) > 1:
        raise Refused(Rule.ONE_PERSON_EACH)


def are_complete(session: Session, form: ConsentForm, signatures: Iterable[Signature]) -> bool:
    """Whether everybody whose signature the form needs is among those who gave `signatures`."""
    try:
        require_parties(
            session, matter_of(form), [(signature.role, signature.person_id) for signature in signatures]
        )
    except Refused:
        return False
    return True


def covers_signers(session: Session, form: ConsentForm, signing: Collection[tuple[SignerRole, str]]) -> bool:
    """Whether everybody whom `form` requires is among `signing`; for the clinic, somebody in the same role."""
    patients = [signer.person_id for signer in form.required_signers if signer.role in PATIENTS_SIDE]
    rows = session.execute(
        select(Patient.id, Patient.user_id).where(
            or_(Patient.id.in_(patients), Patient.user_id.in_(patients))
        )
    )
    same = {
        sub: {record_id, user_id or record_id} for record_id, user_id in rows for sub in (record_id, user_id)
    }
    given = {person_id for role, person_id in signing if role in PATIENTS_SIDE}
    roles = {role for role, _ in signing}
    return all(not given.isdisjoint(same.get(patient, {patient})) for patient in patients) and all(
        signer.role in roles for signer in form.required_signers if signer.role in CLINICS_SIDE
    )


def is_signed_since(form: ConsentForm, moment: datetime | None) -> bool:
    """Whether all signatures of the patient's side were given after `moment`."""
    return moment is None or all(
        signature.signed_at > moment for signature in form.signatures if signature.role in PATIENTS_SIDE
    )


def name_of_record(session: Session, matter: Matter, role: SignerRole, person_id: str) -> str:
    """The name of a signer; raises Refused if the clinic's records don't have that person in that role."""
    if role in CLINICS_SIDE:
        person = session.get(Person, person_id)
        if person is None or person.tenant_id != matter.tenant_id or STAFF.isdisjoint(person.roles):
            raise Refused(Rule.SIGNER_NOT_OF_RECORD)
        return person.name
    found = session.scalars(
        select(Patient).where(Patient.tenant_id == matter.tenant_id, is_mine(person_id)).order_by(Patient.id)
    )
    for record in found:
        if record.id in _records_for(session, matter, role, record.id):
            return record.name
    raise Refused(Rule.SIGNER_NOT_OF_RECORD)


def rename_signers(session: Session, actor: Actor, patient: Patient, before: str) -> None:
    """Replace signer `before` by the patient's new account on all forms that name them; signatures are kept."""
    after = patient.user_id or patient.id
    naming = session.scalars(
        with_people(
            select(ConsentForm).where(
                ConsentForm.tenant_id == patient.tenant_id,
                ConsentForm.id.in_(select(Signer.form_id).where(Signer.person_id == before)),
            )
        )
    )
    for form in naming:
        for signer in form.required_signers:
            if signer.person_id == before and signer.role in PATIENTS_SIDE:
                signer.person_id = after
        if form.on_behalf_of == before:
            form.on_behalf_of = after
        form.touch(actor.sub)


def _records_for(session: Session, matter: Matter, role: SignerRole, record_id: str) -> Collection[str]:
    if role == SignerRole.PATIENT:
        return {matter.patient_id}
    if role == SignerRole.PARTNER:
        return _couple(session, matter)
    if kinds.folded(matter.kind) == kinds.DONATION:  # which names no recipient
        return set() if role == SignerRole.INTENDED_PARENT else {matter.patient_id, *_couple(session, matter)}
    return {record_id}


def _couple(session: Session, matter: Matter) -> set[str]:
    """The ids of the records of the patient's partners in the form, its episode, case or embryos."""
    embryos = session.scalars(select(EmbryoStorage).where(EmbryoStorage.id.in_(matter.embryo_ids))).all()
    episode_ids = {matter.episode_id, *(embryo.episode_id for embryo in embryos)}
    episodes = session.scalars(select(Episode).where(Episode.id.in_(episode_ids - {None}))).all()
    case_ids = {matter.case_id, *(episode.case_id for episode in episodes)}
    cases = session.scalars(select(CareCase).where(CareCase.id.in_(case_ids - {None}))).all()
    people = {matter.partner_id, *(embryo.patient_id for embryo in embryos)}
    for record in (*episodes, *cases):
        people |= {record.patient_id, record.partner_id}
    return {person for person in people if person is not None} - {matter.patient_id}


def _ids_by_record(session: Session, record_ids: set[str]) -> dict[str, set[str]]:
    rows = session.execute(select(Patient.id, Patient.user_id).where(Patient.id.in_(record_ids)))
    return {record_id: {record_id, user_id or record_id} for record_id, user_id in rows}


def _is_among(given: Sequence[tuple[SignerRole, str]], ids: set[str], roles: frozenset[SignerRole]) -> bool:
    return any(role in roles and person_id in ids for role, person_id in given)
