"""Signing a consent form."""

from __future__ import annotations

from typing import Annotated

import msgspec
from sqlalchemy import select
from sqlalchemy.orm import Session

from portal.careservice.clock import now
from portal.careservice.domain.actor import Actor
from portal.careservice.domain.consents import effects, ends, notices
from portal.careservice.domain.consents.content import LanguageTag
from portal.careservice.domain.consents.forms import ConsentForm, Signature, Signer, require_not_ended
from portal.careservice.domain.consents.names import folded_name, has_words
from portal.careservice.domain.consents.parties import CLINICS_SIDE, matter_of, require_parties
from portal.careservice.domain.consents.passkey_proofs import PasskeyProof, require_of
from portal.careservice.domain.enumerations import (
    ConsentStatus,
    ReadingMode,
    Severity,
    SignatureMethod,
    SignerRole,
)
from portal.careservice.domain.patients import Patient, is_mine
from portal.careservice.domain.rules import Invalid, Refused, Rule, require_stamp
from portal.careservice.domain.texts import ONE_LINE
from portal.careservice.identity.tables import Person


class NewSignature(msgspec.Struct, rename="camel", kw_only=True):
    """A request to sign: in which role, by which method, acknowledging which statements of which content.

    Witness, Interpreter and Clinician acknowledge no statements, since these are the patient's. `language` is that of
    the text that was read; where the signer's screen was in another, `screenLanguage` says in which, and `readingMode`
    how the text was taken in. `passkey` is what the signer's passkey confirmed, if one did.
    """

    signer_role: SignerRole
    method: SignatureMethod
    signature: Annotated[str, msgspec.Meta(max_length=200), ONE_LINE]
    acknowledged_statement_ids: Annotated[list[str], msgspec.Meta(max_length=200)]
    content_hash: Annotated[str, msgspec.Meta(max_length=200)]
    language: LanguageTag | None = None
    screen_language: LanguageTag | None = None
    reading_mode: ReadingMode | None = None
    passkey: PasskeyProof | None = None


def sign(session: Session, actor: Actor, form: ConsentForm, new: NewSignature, stamp: str) -> ConsentForm:
    """Add the actor's signature; the last one makes the form Signed and effective. Raises Refused or Invalid.

    Reasons that retrying can't remedy are checked first: the form's end, then the signer, then what was sent.
    """
    moment = now()
    ends.expire_overdue(session, form.patient_id)
    _require_open(form.status)
    signer = _signer(form, actor, new.signer_role)
    if form.has_signature_of(actor.person_id):
        raise Refused(Rule.ALREADY_SIGNED)
    _require_complete(session, actor, form, new)
    require_parties(
        session, matter_of(form), [(waiting.role, waiting.person_id) for waiting in form.required_signers]
    )
    if signer not in form.next_signers():
        raise Refused(Rule.OUT_OF_ORDER)
    if new.content_hash != form.content_hash:
        raise Refused(Rule.CONTENT_CHANGED)
    require_stamp(form.concurrency_stamp, stamp)
    if new.passkey is not None:
        require_of(new.passkey, form, signer)
    turns_before = {waiting.person_id for waiting in form.next_signers()}
    form.signatures.append(
        Signature(
            role=signer.role,
            person_id=actor.person_id,
            name=signer.name,
            signed_at=moment,
            method=new.method,
            language=form.language or new.language,
            screen_language=new.screen_language,
            reading_mode=new.reading_mode,
            content_hash=form.content_hash,
            typed=new.signature,
            acr=actor.acr,
            amr=list(actor.amr),
            passkey=new.passkey,
        )
    )
    form.touch(actor.sub)
    if form.next_signers():
        form.status = ConsentStatus.PARTIALLY_SIGNED
        notices.ask_next_signers(session, form, already_asked=turns_before)
        return form
    form.status = ConsentStatus.SIGNED
    form.effective_at = moment
    effects.take_effect(session, actor, form)
    notices.tell_signers(session, form, "ConsentCompleted", Severity.SUCCESS)
    return form


def _require_open(status: ConsentStatus) -> None:
    require_not_ended(status)
    if status == ConsentStatus.DRAFT:
        raise Refused(Rule.FORM_NOT_SENT)


def _signer(form: ConsentForm, actor: Actor, role: SignerRole) -> Signer:
    if actor.is_staff != (role in CLINICS_SIDE):
        raise Refused(Rule.ROLE_NOT_YOURS)
    if role == SignerRole.WITNESS and any(
        signer.person_id == actor.person_id and signer.role != SignerRole.WITNESS
        for signer in form.required_signers
    ):
        raise Refused(Rule.WITNESS_IS_SIGNER)
    for signer in form.required_signers:
        if signer.person_id == actor.person_id and signer.role == role:
            return signer
    raise Refused(Rule.NOT_A_SIGNER)


def _require_complete(session: Session, actor: Actor, form: ConsentForm, new: NewSignature) -> None:
    if new.method != SignatureMethod.TYPED_NAME:
        raise Invalid("Only a typed name is accepted.", "method")
    typed = folded_name(new.signature)
    if not typed or typed not in map(folded_name, _names_of(session, actor)):
        raise Invalid("This is not the name on record.", "signature")
    if not form.body or not all(has_words(clause.text) for clause in form.body):
        raise Invalid("The form has no text that could be signed.", "body")
    _require_language_of_text(form, new)
    given = set(new.acknowledged_statement_ids)
    if new.signer_role in CLINICS_SIDE:
        if given:
            raise Invalid("The statements are the patient's to acknowledge.", "acknowledgedStatementIds")
        return
    wanted = {statement.id for statement in form.statements}
    if wanted - given:
        raise Invalid("Every statement has to be acknowledged.", "acknowledgedStatementIds")
    if given - wanted:
        raise Invalid("The form has no such statement.", "acknowledgedStatementIds")


def _require_language_of_text(form: ConsentForm, new: NewSignature) -> None:
    """Require that the text was read in its own language, and how, if the screen was in another."""
    if form.language and new.language and new.language.casefold() != form.language.casefold():
        raise Invalid("The form's text is in another language.", "language")
    if (new.screen_language is None) != (new.reading_mode is None):
        missing = "readingMode" if new.reading_mode is None else "screenLanguage"
        raise Invalid("The screen's language and how the text was read belong together.", missing)


def _names_of(session: Session, actor: Actor) -> list[str]:
    """The person's names on their account and on their own records."""
    records = session.scalars(
        select(Patient).where(Patient.tenant_id == actor.tenant_id, is_mine(actor.person_id))
    )
    account = session.get(Person, actor.person_id)
    return [*(record.name for record in records), *([account.name] if account else [])]
