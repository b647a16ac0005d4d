"""Withdrawing a consent form, and its effect on the embryos stored under it."""

from __future__ import annotations

from sqlalchemy import or_, select
from sqlalchemy.orm import Session

from portal.careservice.clock import now
from portal.careservice.domain.actor import Actor
from portal.careservice.domain.consents import kinds, notices
from portal.careservice.domain.consents.forms import ConsentForm, require_not_ended
from portal.careservice.domain.consents.parties import PATIENTS_SIDE
from portal.careservice.domain.embryos import FINAL_WISHES, EmbryoStorage, HoldCause, hold
from portal.careservice.domain.enumerations import ConsentStatus, Disposition, EmbryoStatus, Severity
from portal.careservice.domain.rules import Refused, Rule, require_stamp

_HOLDS = kinds.STORES | kinds.DECIDES
"""Forms whose withdrawal puts the embryos that they name on hold; that of a Treatment form does not."""


def revoke(session: Session, actor: Actor, form: ConsentForm, reason: str, stamp: str) -> ConsentForm:
    """Withdraw a form, put embryos stored under it on hold and notify its signers; raises Refused."""
    status = form.status_at(now())
    require_not_ended(status)
    if status == ConsentStatus.DRAFT:
        raise Refused(Rule.FORM_NOT_SENT)
    if not _may_withdraw(form, actor):
        raise Refused(Rule.NOT_A_SIGNER)
    embryos = _embryos_under(session, form)
    if any(
        embryo.status == EmbryoStatus.TRANSFERRED and embryo.consent_form_id == form.id for embryo in embryos
    ):
        raise Refused(Rule.FORM_ACTED_UPON)
    require_stamp(form.concurrency_stamp, stamp)
    decided = status == ConsentStatus.SIGNED and form.folded_kind in kinds.DECIDES
    form.status = ConsentStatus.REVOKED
    form.revoked_at = now()
    form.revoke_reason = reason
    form.revoked_by_id = actor.sub
    form.touch(actor.sub)
    for embryo in embryos:
        hold(embryo, HoldCause.WITHDRAWAL, actor)
        if decided and embryo.disposition == form.disposition and embryo.disposition in FINAL_WISHES:
            embryo.disposition = Disposition.UNDECIDED
    notices.tell_signers(session, form, "ConsentRevoked", Severity.WARNING)
    return form


def _may_withdraw(form: ConsentForm, actor: Actor) -> bool:
    if actor.is_staff or form.patient.is_about(actor):
        return True
    return any(
        signer.person_id == actor.person_id and signer.role in PATIENTS_SIDE
        for signer in form.required_signers
    )


def _embryos_under(session: Session, form: ConsentForm) -> list[EmbryoStorage]:
    """The embryos that go on hold when the form is withdrawn."""
    is_in_force = form.status == ConsentStatus.SIGNED and form.folded_kind in _HOLDS
    named = form.embryo_storage_ids if is_in_force else None
    found = session.scalars(
        select(EmbryoStorage)
        .where(or_(EmbryoStorage.consent_form_id == form.id, EmbryoStorage.id.in_(named or ())))
        .order_by(EmbryoStorage.id)
    )
    return list(found)
