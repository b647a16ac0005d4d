"""ConsentForm: list, create, read, sign, revoke (care API specification §4)."""

from __future__ import annotations

from datetime import date, datetime

import msgspec

from portal.careservice import clock, database
from portal.careservice.api import payload
from portal.careservice.api.caller import Caller
from portal.careservice.api.endpoint import api, endpoint
from portal.careservice.api.paging import Page, filtered, paginate
from portal.careservice.api.records import AuditedRecord, Record, as_record
from portal.careservice.domain.consents import creation, forms, signing, withdrawal
from portal.careservice.domain.consents.content import Clause, Statement
from portal.careservice.domain.consents.creation import NewForm
from portal.careservice.domain.consents.forms import ConsentForm, Signature
from portal.careservice.domain.consents.passkey_proofs import PasskeyProof
from portal.careservice.domain.consents.signing import NewSignature
from portal.careservice.domain.consents.withdrawal import Withdrawal
from portal.careservice.domain.enumerations import (
    ConsentStatus,
    Disposition,
    ReadingMode,
    SignatureMethod,
    SignerRole,
    SigningOrder,
    ToldBy,
)
from portal.careservice.domain.patients import Patient
from portal.careservice.domain.permissions import MAX_AGE, MAX_AGE_FOR_THE_CLINIC, Act

MODULE = "ConsentForm"


class SignerRecord(Record, kw_only=True):
    """Who has to sign."""

    role: SignerRole
    person_id: str
    name: str
    order: int


class SignatureRecord(Record, kw_only=True):
    """Who signed what, and when; `language` is the text's.

    `screenLanguage` and `readingMode` are left out unless the signer's screen was in another language than the text.
    `acr` and `amr` tell how the signer had signed in, if the token did; `passkey` what their passkey confirmed, if one did.
    """

    role: SignerRole
    person_id: str
    name: str
    signed_at: datetime
    method: SignatureMethod
    language: str | None
    screen_language: str | msgspec.UnsetType = msgspec.UNSET
    reading_mode: ReadingMode | msgspec.UnsetType = msgspec.UNSET
    content_hash: str
    acr: str | msgspec.UnsetType = msgspec.UNSET
    amr: list[str] | msgspec.UnsetType = msgspec.UNSET
    passkey: PasskeyProof | msgspec.UnsetType = msgspec.UNSET


class ConsentFormRecord(AuditedRecord, kw_only=True):
    """A consent form; lists leave its `body` out.

    `language` is the text's, as BCP 47 writes it; null if it isn't known. `embryoStorageIds` (the embryos
    that it is about) and `disposition` (what it decides about them) are left out if the form has none; otherwise `contentHash` covers them. `seal`, on Signed forms, is
    the SHA-256 of the canonical JSON of `{id, version, patientId, contentHash, signatures[{role, personId, name,
    signedAt, method}]}`: it lets two copies be compared. `revokeReason` is left out except for staff and whoever
    wrote it. `revokedByName` is who withdrew the form; if that was staff, for the signer `onBehalfOf`, `toldAt` and
    `toldBy` say when and how that signer told them.
    """

    id: str
    patient_id: str
    patient_name: str
    partner_id: str | None
    case_id: str | None
    episode_id: str | None
    title: str
    kind: str
    version: str
    language: str | None
    status: ConsentStatus
    body: list[Clause] | msgspec.UnsetType = msgspec.UNSET
    statements: list[Statement]
    required_signers: list[SignerRecord]
    signing_order: SigningOrder
    signatures: list[SignatureRecord]
    content_hash: str
    file_id: str | None
    sent_at: datetime | None
    effective_at: datetime | None
    revoked_at: datetime | None
    revoke_reason: str | msgspec.UnsetType | None = msgspec.UNSET
    revoked_by_id: str | None
    revoked_by_name: str | msgspec.UnsetType = msgspec.UNSET
    on_behalf_of: str | msgspec.UnsetType = msgspec.UNSET
    told_at: datetime | msgspec.UnsetType = msgspec.UNSET
    told_by: ToldBy | msgspec.UnsetType = msgspec.UNSET
    expires_at: datetime | None
    supersedes_id: str | None
    superseded_by_id: str | None
    procedure_date: date | None
    embryo_storage_ids: list[str] | msgspec.UnsetType = msgspec.UNSET
    disposition: Disposition | msgspec.UnsetType = msgspec.UNSET
    seal: str | msgspec.UnsetType = msgspec.UNSET


SORTABLE = {
    "title": ConsentForm.title,
    "kind": ConsentForm.kind,
    "status": ConsentForm.status,
    "version": ConsentForm.version,
    "creationTime": ConsentForm.creation_time,
    "sentAt": ConsentForm.sent_at,
    "effectiveAt": ConsentForm.effective_at,
    "expiresAt": ConsentForm.expires_at,
    "procedureDate": ConsentForm.procedure_date,
    "revokedAt": ConsentForm.revoked_at,
    "patientName": Patient.last_name,
}


@api.get("/api/care/consent-forms")
@endpoint(Act.READ_CONSENTS, MODULE)
def list_consent_forms(caller: Caller) -> Page[ConsentFormRecord]:
    """The forms that the caller may see, by PatientId, CaseId, EpisodeId, Status, WaitsFor, DueFrom, DueTo and Filter.

    WaitsFor is the person whose signature a form lacks; DueFrom and DueTo bound `procedureDate`, both inclusive.
    """
    query = payload.query()
    moment = clock.now()
    # Forms belong to their patient's clinic, but the database doesn't know that and would read every clinic's patients.
    chosen = (
        forms.visible(caller.actor).join(ConsentForm.patient).where(Patient.tenant_id == caller.tenant_id)
    )
    for name, column in (
        ("PatientId", ConsentForm.patient_id),
        ("CaseId", ConsentForm.case_id),
        ("EpisodeId", ConsentForm.episode_id),
    ):
        wanted = query.identifier(name)
        if wanted is not None:
            chosen = chosen.where(column == wanted)
    status = query.choice("Status", ConsentStatus)
    if status is not None:
        chosen = chosen.where(forms.status_column(moment) == status.value)
    awaited = query.identifier("WaitsFor")
    if awaited is not None:
        chosen = chosen.where(forms.waits_for(awaited, moment))
    due_from, due_to = query.day("DueFrom"), query.day("DueTo")
    if due_from is not None:
        chosen = chosen.where(ConsentForm.procedure_date >= due_from)
    if due_to is not None:
        chosen = chosen.where(ConsentForm.procedure_date <= due_to)
    searched = (Patient.mrn,) if caller.is_staff else ()  # a match would reveal it
    chosen = filtered(chosen, query, searched, folded_to=(ConsentForm.folded_title, Patient.folded_name))
    total, found = paginate(
        database.session(),
        query,
        forms.without_body(forms.with_people(chosen)),
        sortable={**SORTABLE, "status": forms.status_column(moment)},
        default=(ConsentForm.creation_time.desc(), ConsentForm.id),
    )
    return Page(total_count=total, items=[_record(form, caller, with_body=False) for form in found])


@api.post("/api/care/consent-forms")
@endpoint(Act.CREATE_CONSENT, MODULE, idempotent=True)
def create_consent_form(caller: Caller) -> ConsentFormRecord:
    """A new form, immediately sent to its signers."""
    new = payload.body(NewForm)
    new.expires_at = payload.utc(new.expires_at)
    form = creation.create(database.session(), caller.actor, new)
    return _saved(form, caller)


@api.get("/api/care/consent-forms/<form_id>")
@endpoint(Act.READ_CONSENTS, MODULE)
def get_consent_form(caller: Caller, form_id: str) -> ConsentFormRecord:
    """One form, with its body."""
    return _record(forms.find(database.session(), caller.actor, form_id), caller)


@api.post("/api/care/consent-forms/<form_id>/sign")
@endpoint(Act.SIGN_CONSENT, MODULE, idempotent=True, checks_sign_in_age=False)
def sign_consent_form(caller: Caller, form_id: str) -> ConsentFormRecord:
    """The form with the caller's signature."""
    session = database.session()
    form = forms.find(session, caller.actor, form_id)
    new, stamp = payload.stamped(NewSignature)
    for_the_clinic = new.signer_role in (SignerRole.CLINICIAN, SignerRole.WITNESS)
    caller.require_sign_in_within(MAX_AGE_FOR_THE_CLINIC if for_the_clinic else MAX_AGE[Act.SIGN_CONSENT])
    return _saved(signing.sign(session, caller.actor, form, new, stamp), caller)


@api.post("/api/care/consent-forms/<form_id>/revoke")
@endpoint(Act.REVOKE_CONSENT, MODULE, idempotent=True)
def revoke_consent_form(caller: Caller, form_id: str) -> ConsentFormRecord:
    """The withdrawn form."""
    session = database.session()
    form = forms.find(session, caller.actor, form_id)
    given, stamp = payload.stamped(Withdrawal)
    given.told_at = payload.utc(given.told_at)
    return _saved(withdrawal.revoke(session, caller.actor, form, given, stamp), caller)


def _saved(form: ConsentForm, caller: Caller) -> ConsentFormRecord:
    session = database.session()
    session.flush()
    return _record(form, caller)


def _signature(signature: Signature) -> SignatureRecord:
    return SignatureRecord(
        role=signature.role,
        person_id=signature.person_id,
        name=signature.name,
        signed_at=signature.signed_at,
        method=signature.method,
        language=signature.language,
        screen_language=signature.screen_language or msgspec.UNSET,
        reading_mode=signature.reading_mode or msgspec.UNSET,
        content_hash=signature.content_hash,
        acr=signature.acr or msgspec.UNSET,
        amr=signature.amr or msgspec.UNSET,
        passkey=signature.passkey or msgspec.UNSET,
    )


def _record(form: ConsentForm, caller: Caller, *, with_body: bool = True) -> ConsentFormRecord:
    may_read_reason = caller.is_staff or form.revoked_by_id == caller.actor.sub
    return ConsentFormRecord(
        id=form.id,
        patient_id=form.patient_id,
        patient_name=form.patient_name,
        partner_id=form.partner_id,
        case_id=form.case_id,
        episode_id=form.episode_id,
        title=form.title,
        kind=form.kind,
        version=form.version,
        language=form.language,
        status=form.status_at(clock.now()),
        body=form.body if with_body else msgspec.UNSET,
        statements=form.statements,
        required_signers=[as_record(signer, SignerRecord) for signer in form.required_signers],
        signing_order=form.signing_order,
        signatures=[_signature(signature) for signature in form.signatures],
        content_hash=form.content_hash,
        file_id=form.file_id,
        sent_at=form.sent_at,
        effective_at=form.effective_at,
        revoked_at=form.revoked_at,
        revoke_reason=form.revoke_reason if may_read_reason else msgspec.UNSET,
        revoked_by_id=form.revoked_by_id,
        revoked_by_name=form.revoked_by_name or msgspec.UNSET,
        on_behalf_of=form.on_behalf_of or msgspec.UNSET,
        told_at=form.told_at or msgspec.UNSET,
        told_by=form.told_by or msgspec.UNSET,
        expires_at=form.expires_at,
        supersedes_id=form.supersedes_id,
        superseded_by_id=form.superseded_by_id,
        procedure_date=form.procedure_date,
        embryo_storage_ids=form.embryo_storage_ids or msgspec.UNSET,
        disposition=form.disposition or msgspec.UNSET,
        seal=form.seal() or msgspec.UNSET,
        creation_time=form.creation_time,
        creator_id=form.creator_id,
        last_modification_time=form.last_modification_time,
        last_modifier_id=form.last_modifier_id,
        concurrency_stamp=form.concurrency_stamp,
    )
