"""Consent forms (care API specification §4, group ConsentForm).

After a lost answer nothing is sent again: the form is read, and `signed_by`, `is_revoked` or
`find_created` say whether the act took place.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec
import rfc8785

from portal.services.client import Care
from portal.services.decoding import Page, fields_of
from portal.services.endpoints import (
    CREATE_CONSENT,
    LIST_CONSENTS,
    READ_CONSENT,
    REVOKE_CONSENT,
    SIGN_CONSENT,
)
from portal.services.paging import CAP, page_query, read_every_page, requested_page
from portal.services.read_back import read_back
from portal.services.records.consents import (
    Clause,
    ConsentDraft,
    ConsentForm,
    ConsentStatus,
    SignerRole,
    SigningMethod,
    Statement,
)
from portal.services.sign_in_age import FRESH, FRESH_AT_WORK

OPEN_STATUSES = (ConsentStatus.PENDING, ConsentStatus.PARTIALLY_SIGNED)
"""Where a form stands that waits for signatures."""


def list_consents(
    care: Care,
    *,
    skip: int = 0,
    limit: int = 20,
    sorting: str | None = None,
    text: str | None = None,
    patient_id: str | None = None,
    case_id: str | None = None,
    episode_id: str | None = None,
    status: str | None = None,
) -> Page[ConsentForm]:
    """One page of forms without their text; a patient's own and those that name them as a signer.

    GET /api/care/consent-forms (care API specification §4). `sorting` is a field, or "field desc".
    """
    query = page_query(
        skip,
        limit,
        Sorting=sorting,
        Filter=text,
        PatientId=patient_id,
        CaseId=case_id,
        EpisodeId=episode_id,
        Status=status,
    )
    return requested_page(care.read(LIST_CONSENTS, Page[ConsentForm], query=query), skip, limit)


def all_consents(
    care: Care, *, patient_id: str | None = None, episode_id: str | None = None, status: str | None = None
) -> tuple[ConsentForm, ...]:
    """Every form in reach, at most 1000, without their text: for pages that group the whole.

    GET /api/care/consent-forms, page by page (care API specification §4).
    """

    def read(skip: int, limit: int) -> Page[ConsentForm]:
        return list_consents(
            care, skip=skip, limit=limit, patient_id=patient_id, episode_id=episode_id, status=status
        )

    return read_every_page(read)


def list_open_consents(care: Care, status: ConsentStatus) -> Page[ConsentForm]:
    """The forms of one of `OPEN_STATUSES`, at most 1000, those needed first at the top; without their text.

    GET /api/care/consent-forms (care API specification §4).
    """
    return list_consents(care, status=status, sorting="procedureDate", limit=CAP)


def create_consent(care: Care, draft: ConsentDraft, *, operation: str | None = None) -> ConsentForm | None:
    """The new form, pending; None when the API tells nothing and no such form is to be found.

    POST /api/care/consent-forms (care API specification §4). `operation` makes a repeat harmless where the
    API honours it.
    """
    form = care.act(CREATE_CONSENT, ConsentForm, body=draft, operation=operation)
    return form or read_back(lambda: find_created(all_consents(care, patient_id=draft.patient_id), draft))


def get_consent(care: Care, consent_id: str) -> ConsentForm:
    """The whole form with its text.

    GET /api/care/consent-forms/{id} (care API specification §4).
    """
    return care.read(READ_CONSENT, ConsentForm, id=consent_id)


def sign_consent(
    care: Care,
    consent_id: str,
    *,
    role: SignerRole,
    signature: str,
    acknowledged: Sequence[str],
    content_hash: str,
    stamp: str | None,
    language: str | None = None,
    operation: str | None = None,
) -> ConsentForm:
    """The form with the signature on it; `acknowledged` holds the ids of all its statements.

    POST /api/care/consent-forms/{id}/sign (care API specification §4). `content_hash` is the API's own, as
    it came with the form that was shown; `signature` is the name as typed. Raises `Refused`, e.g. out of
    order, signed already, or not of this version; `Conflict` when the form changed meanwhile.
    """
    body = {
        "signerRole": role,
        "method": SigningMethod.TYPED_NAME,
        "signature": signature,
        "acknowledgedStatementIds": list(acknowledged),
        "contentHash": content_hash,
        "language": language,
        "concurrencyStamp": stamp,
    }
    form = care.act(
        SIGN_CONSENT,
        ConsentForm,
        body=body,
        operation=operation,
        max_age=signing_max_age(role),
        id=consent_id,
    )
    return form or read_back(lambda: get_consent(care, consent_id))


def signing_max_age(role: SignerRole) -> int:
    """How many seconds ago a person may have signed in at most to sign in this role."""
    return FRESH_AT_WORK if role in (SignerRole.CLINICIAN, SignerRole.WITNESS) else FRESH


def revoke_consent(
    care: Care, consent_id: str, *, reason: str, stamp: str | None, operation: str | None = None
) -> ConsentForm:
    """The form, revoked; embryos stored under it go on hold and its signers are told.

    POST /api/care/consent-forms/{id}/revoke (care API specification §4). Raises `Refused` when it has been
    acted upon already.
    """
    body = {"reason": reason, "concurrencyStamp": stamp}
    form = care.act(REVOKE_CONSENT, ConsentForm, body=body, operation=operation, id=consent_id)
    return form or read_back(lambda: get_consent(care, consent_id))


def content_hash(form: ConsentForm | ConsentDraft) -> str:
    """The portal's own hash of what is signed of a form: SHA-256, lower-case hex, of its canonical JSON (RFC 8785).

    Compare it only between forms read whole, since lists leave the text out.
    """
    return hashlib.sha256(signed_text(form)).hexdigest()


def signed_text(form: ConsentForm | ConsentDraft) -> bytes:
    """What is signed of a form, as canonical JSON (RFC 8785).

    Holds title, kind, version, body and statements, and embryoStorageIds and disposition where the form has them;
    members without a value are left out.
    """
    content: dict[str, object] = {
        "title": form.title,
        "kind": None if form.kind is None else str(form.kind),
        "version": form.version,
        "body": _all_given(form.body),
        "statements": _all_given(form.statements),
        "embryoStorageIds": list(form.embryo_storage_ids or ()) or None,
        "disposition": str(form.disposition) if form.disposition else None,
    }
    return rfc8785.dumps(_given(content))


def is_known_empty(form: ConsentForm) -> bool:
    """Whether a form from a list, which leaves the body out, has no clauses by the API's own hash of it."""
    return form.body is None and form.content_hash == content_hash(msgspec.structs.replace(form, body=()))


def seal(form: ConsentForm) -> str:
    """The portal's own seal of a form that everyone has signed: SHA-256, lower-case hex, of canonical JSON (RFC 8785).

    Holds id, version, patientId and contentHash, and of each signature role, personId, name, signedAt and method. It
    tells whether two records say the same, not where they come from.
    """
    signatures = [
        {
            "role": str(signature.role),
            "personId": signature.person_id,
            "name": signature.name,
            "signedAt": msgspec.to_builtins(signature.signed_at),
            "method": None if signature.method is None else str(signature.method),
        }
        for signature in form.signatures
    ]
    content = {
        "id": form.id,
        "version": form.version,
        "patientId": form.patient_id,
        "contentHash": form.content_hash,
        "signatures": [_given(signature) for signature in signatures],
    }
    return hashlib.sha256(rfc8785.dumps(_given(content))).hexdigest()


def signed_by(form: ConsentForm, sub: str, role: SignerRole | None = None) -> bool:
    """Whether `sub` has signed the form (in that role, if given): tells how a lost signing ended."""
    return any(s.person_id == sub and role in (None, s.role) for s in form.signatures)


def is_revoked(form: ConsentForm) -> bool:
    """Whether the form is revoked: tells how a lost revoking ended."""
    return form.is_revoked


def find_created(forms: Iterable[ConsentForm], draft: ConsentDraft) -> ConsentForm | None:
    """The newest live form that `draft` may have become: tells how a lost creating ended.

    Compares patient, title, kind, version, day of procedure, episode and signers, since lists leave the
    text out. A form that was there before looks the same: leave out those known already.
    """
    alike = [form for form in forms if not form.is_ended and _likeness(form) == _likeness(draft)]
    return max(
        alike, key=lambda form: form.creation_time.timestamp() if form.creation_time else 0, default=None
    )


def find_alike(forms: Iterable[ConsentForm], draft: ConsentDraft) -> tuple[ConsentForm, ...]:
    """The live forms that `draft` would stand beside as another of the same, which the API refuses.

    Compares kind and title without case and spaces, patient, episode (or case) and embryos.
    """
    live = (form for form in forms if form.is_open or form.is_signed)
    return tuple(form for form in live if _matter(form) == _matter(draft))


def _matter(form: ConsentForm | ConsentDraft) -> tuple[object, ...]:
    kind, title = ("".join(text.split()).casefold() for text in (str(form.kind or ""), form.title))
    about = form.episode_id or ("case", form.case_id)
    return kind, title, form.patient_id, about, frozenset(form.embryo_storage_ids or ())


def _likeness(form: ConsentForm | ConsentDraft) -> tuple[object, ...]:
    signers = sorted((str(s.role), s.person_id or "") for s in form.required_signers)
    named = (form.patient_id, form.title.strip(), form.kind, form.version.strip())
    return (*named, form.procedure_date, form.episode_id, signers)


def _all_given(parts: Iterable[Clause | Statement] | None) -> list[dict[str, Any]] | None:
    return None if parts is None else [_given(fields_of(part)) for part in parts]


def _given(members: Mapping[str, object]) -> dict[str, Any]:
    return {name: value for name, value in members.items() if value is not None}
