"""ConsentForm: list, create, read, sign, revoke (care API specification §4)."""

from __future__ import annotations

from datetime import date, datetime
from typing import Annotated

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
from portal.careservice.domain.consents.forms import ConsentForm
from portal.careservice.domain.consents.signing import NewSignature
from portal.careservice.domain.enumerations import (
    ConsentStatus,
    Disposition,
    SignatureMethod,
    SignerRole,
    SigningOrder,
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
    """Who signed what, and when."""

    role: SignerRole
    person_id: str
    name: str
    signed_at: datetime
    method: SignatureMethod
    language: str | None
    content_hash: str


class ConsentFormRecord(AuditedRecord, kw_only=True):
    """A consent form; lists leave its `body` out.

    `embryoStorageIds` (the embryos that it is about) and `disposition` (what it decides about them) are left out
    if the form has none; otherwise `contentHash` covers them. `seal`, on Signed forms, is
    the SHA-256 of the canonical JSON of `{id, version, patientId, contentHash, signatures[{role, personId, name,
    signedAt, method}]}`: it lets two copies be compared.
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
    revoke_reason: str | None
    revoked_by_id: str | None
    expires_at: datetime | None
    supersedes_id: str | None
    superseded_by_id: str | None
    procedure_date: date | None
    embryo_storage_ids: list[str] | msgspec.UnsetType = msgspec.UNSET
    disposition: Disposition | msgspec.UnsetType = msgspec.UNSET
    seal: str | msgspec.UnsetType = msgspec.UNSET


class Revocation(msgspec.Struct, rename="camel", kw_only=True):
    """Why a form is withdrawn."""

    reason: Annotated[str, msgspec.Meta(min_length=1, max_length=2000, pattern=r"\S")]


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
    "patientName": Patient.last_name,
}


@api.get("/api/care/consent-forms")
@endpoint(Act.READ_CONSENTS, MODULE)
def list_consent_forms(caller: Caller) -> Page[ConsentFormRecord]:
    """The forms that the caller may see, by PatientId, CaseId, EpisodeId, Status and Filter."""
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
    searched = (ConsentForm.title, ConsentForm.kind, Patient.first_name, Patient.last_name)
    if caller.is_staff:
        searched = (*searched, Patient.mrn)  # a match would reveal it
    chosen = filtered(chosen, query, searched)
    total, found = paginate(
        database.session(),
        query,
        forms.without_body(forms.with_people(chosen)),
        sortable={**SORTABLE, "status": forms.status_column(moment)},
        default=(ConsentForm.creation_time.desc(), ConsentForm.id),
    )
    return Page(total_count=total, items=[_record(form, with_body=False) for form in found])


@api.post("/api/care/consent-forms")
@endpoint(Act.CREATE_CONSENT, MODULE, idempotent=True)
def create_consent_form(caller: Caller) -> ConsentFormRecord:
    """A new form, immediately sent to its signers."""
    new = payload.body(NewForm)
    new.expires_at = payload.utc(new.expires_at)
    new.embryo_storage_ids = [
        payload.identifier(given, f"embryoStorageIds[{index}]")
        for index, given in enumerate(new.embryo_storage_ids or ())
    ]
    form = creation.create(database.session(), caller.actor, new)
    return _saved(form)


@api.get("/api/care/consent-forms/<form_id>")
@endpoint(Act.READ_CONSENTS, MODULE)
def get_consent_form(caller: Caller, form_id: str) -> ConsentFormRecord:
    """One form, with its body."""
    return _record(forms.find(database.session(), caller.actor, form_id))


@api.post("/api/care/consent-forms/<form_id>/sign")
@endpoint(Act.SIGN_CONSENT, MODULE, idempotent=True, checks_sign_in_age=False)
def sign_consent_form(caller: Caller, form_id: str) -> ConsentFormRecord:
    """The form with the caller's signature."""
    session = database.session()
    form = forms.find(session, caller.actor, form_id)
    new, stamp = payload.stamped(NewSignature)
    for_the_clinic = new.signer_role in (SignerRole.CLINICIAN, SignerRole.WITNESS)
    caller.require_sign_in_within(MAX_AGE_FOR_THE_CLINIC if for_the_clinic else MAX_AGE[Act.SIGN_CONSENT])
    return _saved(signing.sign(session, caller.actor, form, new, stamp))


@api.post("/api/care/consent-forms/<form_id>/revoke")
@endpoint(Act.REVOKE_CONSENT, MODULE, idempotent=True)
def revoke_consent_form(caller: Caller, form_id: str) -> ConsentFormRecord:
    """The withdrawn form."""
    session = database.session()
    form = forms.find(session, caller.actor, form_id)
    revocation, stamp = payload.stamped(Revocation)
    return _saved(withdrawal.revoke(session, caller.actor, form, revocation.reason, stamp))


def _saved(form: ConsentForm) -> ConsentFormRecord:
    session = database.session()
    session.flush()
    return _record(form)


def _record(form: ConsentForm, *, with_body: bool = True) -> ConsentFormRecord:
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
        status=form.status_at(clock.now()),
        body=form.body if with_body else msgspec.UNSET,
        statements=form.statements,
        required_signers=[as_record(signer, SignerRecord) for signer in form.required_signers],
        signing_order=form.signing_order,
        signatures=[as_record(signature, SignatureRecord) for signature in form.signatures],
        content_hash=form.content_hash,
        file_id=form.file_id,
        sent_at=form.sent_at,
        effective_at=form.effective_at,
        revoked_at=form.revoked_at,
        revoke_reason=form.revoke_reason,
        revoked_by_id=form.revoked_by_id,
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
