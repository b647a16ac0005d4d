"""Signing a consent form."""

from __future__ import annotations

from typing import Annotated

import msgspec
from sqlalchemy.orm import Session

from portal.careservice.clock import now
from portal.careservice.domain.actor import Actor
from portal.careservice.domain.consents import notices
from portal.careservice.domain.consents.forms import ConsentForm, Signature, Signer, require_not_ended
from portal.careservice.domain.enumerations import ConsentStatus, Severity, SignatureMethod, SignerRole
from portal.careservice.domain.rules import Invalid, Refused, Rule, require_stamp


class NewSignature(msgspec.Struct, rename="camel", kw_only=True):
    """What signing says: as whom, by which method, to which statements and to which content."""

    signer_role: SignerRole
    method: SignatureMethod
    signature: Annotated[str, msgspec.Meta(max_length=200)]
    acknowledged_statement_ids: Annotated[list[str], msgspec.Meta(max_length=200)]
    content_hash: Annotated[str, msgspec.Meta(max_length=200)]
    language: Annotated[str, msgspec.Meta(max_length=35)] | None = None


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
        notices.ask_next_signers(session, form, but=turns_before)
        return form
    form.status = ConsentStatus.SIGNED
    form.effective_at = moment
    notices.tell_signers(session, form, "ConsentCompleted", Severity.SUCCESS)
    return form


def _require_open(status: ConsentStatus) -> None:
    require_not_ended(status)
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
