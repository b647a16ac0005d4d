"""What a consent form's signatures cover: its text in canonical form, and the hashes of that and of the signed form."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

import msgspec
import rfc8785
from msgspec import UnsetType

from portal.services.consents.forms import Clause, ConsentDraft, ConsentForm, ConsentKind, Statement
from portal.services.decoding import fields_of
from portal.services.storage import Disposition


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
    return _signed_text(form.body, *_without_body(form))


def is_known_empty(form: ConsentForm) -> bool:
    """Whether a form from a list, which omits the body, has no clauses according to the API's hash of it."""
    return form.body is None and form.content_hash == _hash_of_empty(*_without_body(form))


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


def _without_body(form: ConsentForm | ConsentDraft) -> tuple[Any, ...]:
    """What a form's signatures cover besides its clauses, in the order that `_signed_text` takes."""
    return form.title, form.kind, form.version, form.statements, form.embryo_storage_ids, form.disposition


@lru_cache(maxsize=1024)
def _hash_of_empty(*without_body: Any) -> str:
    """The hash without a clause, kept because lists ask it of the same forms at every page."""
    return hashlib.sha256(_signed_text((), *without_body)).hexdigest()


def _signed_text(
    body: Iterable[Clause] | None,
    title: str,
    kind: ConsentKind | None,
    version: str,
    statements: Iterable[Statement] | None,
    embryo_storage_ids: Iterable[str] | UnsetType | None,
    disposition: Disposition | UnsetType | None,
) -> bytes:
    content: dict[str, object] = {
        "title": title,
        "kind": None if kind is None else str(kind),
        "version": version,
        "body": _all_given(body),
        "statements": _all_given(statements),
        "embryoStorageIds": list(embryo_storage_ids or ()) or None,
        "disposition": str(disposition) if disposition else None,
    }
    return rfc8785.dumps(_given(content))


def _all_given(parts: Iterable[Clause | Statement] | None) -> list[dict[str, Any]] | None:
    return None if parts is None else [_given(fields_of(part)) for part in parts]


def _given(members: Mapping[str, object]) -> dict[str, Any]:
    return {name: value for name, value in members.items() if value is not None}
