"""Withdrawing a consent form, and what follows for embryos stored under it."""

from __future__ import annotations

from sqlalchemy import select
from sqlalchemy.orm import Session

from portal.careservice.clock import now
from portal.careservice.domain.actor import Actor
from portal.careservice.domain.consents import notices
from portal.careservice.domain.consents.forms import ConsentForm, require_not_ended
from portal.careservice.domain.embryos import EmbryoStorage, hold
from portal.careservice.domain.enumerations import ConsentStatus, EmbryoStatus, Severity, SignerRole
from portal.careservice.domain.rules import Refused, Rule, require_stamp

_SIGNS_FOR_THE_CLINIC = frozenset({SignerRole.WITNESS, SignerRole.INTERPRETER, SignerRole.CLINICIAN})


def revoke(session: Session, actor: Actor, form: ConsentForm, reason: str, stamp: str) -> ConsentForm:
    """Withdraw a form; embryos stored under it go on hold and everybody named in it is told."""
    status = form.status_at(now())
    require_not_ended(status)
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
    notices.tell_signers(session, form, "ConsentRevoked", Severity.WARNING)
    return form


def _may_withdraw(form: ConsentForm, actor: Actor) -> bool:
    if actor.is_staff or form.patient.is_about(actor):
        return True
    return any(
        signer.person_id == actor.person_id and signer.role not in _SIGNS_FOR_THE_CLINIC
        for signer in form.required_signers
    )
