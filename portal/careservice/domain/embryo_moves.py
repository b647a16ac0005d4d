"""What a change of an embryo's status needs: a signed form, a matching wish, no hold, and a second person."""

from __future__ import annotations

from collections.abc import Iterable

from sqlalchemy import select
from sqlalchemy.orm import Session

from portal.careservice.domain.actor import Actor
from portal.careservice.domain.consents import kinds, parties
from portal.careservice.domain.consents.forms import ConsentForm, with_people
from portal.careservice.domain.consents.names import has_words
from portal.careservice.domain.embryos import BY_THE_PATIENT, MOVES, EmbryoStorage
from portal.careservice.domain.enumerations import (
    CareStatus,
    ConsentStatus,
    Disposition,
    EmbryoStatus,
    SignerRole,
)
from portal.careservice.domain.episodes import Episode
from portal.careservice.domain.rules import Invalid, Refused, Rule

_S = EmbryoStatus
_USES = frozenset({_S.THAWED, _S.TRANSFERRED})
_WISHES_BY_END: dict[EmbryoStatus, frozenset[Disposition]] = {
    _S.DISCARDED: frozenset({Disposition.DISCARD}),
    _S.DONATED: frozenset({Disposition.DONATE_RESEARCH, Disposition.DONATE_PATIENT}),
    _S.SHIPPED_OUT: frozenset({Disposition.TRANSPORT}),
}
"""The wishes that each final status fulfils."""
_UNDER_WAY = frozenset({CareStatus.PLANNED, CareStatus.ACTIVE, CareStatus.ON_HOLD})
_WISHES_ALLOWING_USE = frozenset({Disposition.UNDECIDED, Disposition.CONTINUE_STORAGE})
_SECOND_PERSON_ROLES = frozenset({SignerRole.WITNESS, SignerRole.CLINICIAN})


def require(session: Session, actor: Actor, embryo: EmbryoStorage, wanted: EmbryoStatus) -> str | None:
    """Return the id of the form that allows the new status, None if it needs none; raises Refused."""
    if _is_on_hold(embryo) and _is_prevented_by_hold(embryo, wanted):
        raise Refused(Rule.ON_HOLD)
    if wanted not in MOVES[embryo.status]:
        raise Refused(Rule.ILLEGAL_TRANSITION)
    if wanted in _USES:
        found = _treatments_of(session, embryo)
        wish_agrees = embryo.disposition in _WISHES_ALLOWING_USE
    elif wanted in _WISHES_BY_END:
        found = [
            form for form in decisions_about(session, embryo) if form.disposition in _WISHES_BY_END[wanted]
        ]
        wish_agrees = any(form.disposition == embryo.disposition for form in found)
        found = [form for form in found if form.disposition == embryo.disposition] or found
    else:
        return None
    if not found:
        raise Refused(Rule.FORM_MISSING)
    if not wish_agrees:
        raise Refused(Rule.WISH_DIFFERS)
    return _require_second_person(actor, found).id


def require_lost(session: Session, actor: Actor, embryo: EmbryoStorage, notes: str | None) -> None:
    """Require, to discard an embryo lost in thawing, the form that allowed the thaw, and `notes` on what was seen.

    Raises Refused or Invalid.
    """
    if _is_on_hold(embryo):
        raise Refused(Rule.ON_HOLD)
    found = [
        form
        for form in _signed(session, embryo)
        if form.id == embryo.thaw_form_id and parties.are_complete(session, form, form.signatures)
    ]
    if not found:
        raise Refused(Rule.FORM_MISSING)
    _require_second_person(actor, found)
    if notes is None or not has_words(notes):
        raise Invalid("Say what was seen after warming.", "notes")


def decisions_about(session: Session, embryo: EmbryoStorage) -> list[ConsentForm]:
    """The Signed forms that decide what happens to the embryo and are still valid."""
    return [
        form
        for form in _signed(session, embryo)
        if form.folded_kind in kinds.DECIDES
        and form.is_about(embryo.id)
        and form.wish_taken_back_at is None
        and parties.is_signed_since(form, embryo.stopped_at)
        and parties.are_complete(session, form, form.signatures)
    ]


def _treatments_of(session: Session, embryo: EmbryoStorage) -> list[ConsentForm]:
    return [
        form
        for form in _signed(session, embryo)
        if form.folded_kind == kinds.TREATMENT
        and form.is_about(embryo.id)
        and _is_under_way(session, form)
        and parties.are_complete(session, form, form.signatures)
    ]


def _signed(session: Session, embryo: EmbryoStorage) -> list[ConsentForm]:
    found = session.scalars(
        with_people(
            select(ConsentForm)
            .where(
                ConsentForm.tenant_id == embryo.tenant_id,
                ConsentForm.patient_id == embryo.patient_id,
                ConsentForm.status == ConsentStatus.SIGNED,
            )
            .order_by(ConsentForm.creation_time.desc(), ConsentForm.id)
        )
    )
    return list(found)


def _is_under_way(session: Session, form: ConsentForm) -> bool:
    episode = session.get(Episode, form.episode_id) if form.episode_id else None
    return episode is not None and episode.status in _UNDER_WAY


def _require_second_person(actor: Actor, found: Iterable[ConsentForm]) -> ConsentForm:
    for form in found:
        for signature in form.signatures:
            if signature.role in _SECOND_PERSON_ROLES and signature.person_id != actor.sub:
                return form
    raise Refused(Rule.SECOND_PERSON_MISSING)


def _is_on_hold(embryo: EmbryoStorage) -> bool:
    return embryo.status == EmbryoStatus.ON_HOLD or embryo.hold_cause is not None


def _is_prevented_by_hold(embryo: EmbryoStorage, wanted: EmbryoStatus) -> bool:
    """Whether a hold prevents the change: always, except refreezing and, after the clinic's own hold, returning."""
    if wanted in _USES or wanted in _WISHES_BY_END:
        return True
    return embryo.status == EmbryoStatus.ON_HOLD and embryo.hold_cause in BY_THE_PATIENT
