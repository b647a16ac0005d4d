"""What a consent form's signatures cover: its text in canonical form, and the hashes of that and of the signed form."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec
import rfc8785

from portal.services.consents.forms import Clause, ConsentDraft, ConsentForm, Statement
from portal.services.decoding import fields_of


def content_hash(form: ConsentForm | ConsentDraft) -> str:
    """The portal's hash of a form's signed content: SHA-256, lower-case hex, of its canonical JSON (RFC 8785).

    Compare it only between forms read individually, since lists omit the text.
    """
    return hashlib.sha256(signed_text(form)).hexdigest()


def signed_text(form: ConsentForm | ConsentDraft) -> bytes:
    """A form's signed content as canonical JSON (RFC 8785).

    Contains title, kind, version, body and statements, and embryoStorageIds and disposition if the form has them;
    members without a value are omitted.
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
    """Whether a form from a list, which omits the body, has no clauses according to the API's hash of it."""
    return form.body is None and form.content_hash == content_hash(msgspec.structs.replace(form, body=()))


def seal(form: ConsentForm) -> str:
    """The portal's seal of a fully signed form: SHA-256, lower-case hex, of canonical JSON (RFC 8785).

    Covers id, version, patientId and contentHash, and for each signature role, personId, name, signedAt and method. It
    shows whether two records are the same, not where they come from.
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


def _all_given(parts: Iterable[Clause | Statement] | None) -> list[dict[str, Any]] | None:
    return None if parts is None else [_given(fields_of(part)) for part in parts]


def _given(members: Mapping[str, object]) -> dict[str, Any]:
    return {name: value for name, value in members.items() if value is not None}
