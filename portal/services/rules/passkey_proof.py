"""What a signer's passkey confirms: a statement in canonical form, whose SHA-256 is the challenge (WebAuthn Level 2)."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from datetime import datetime

import msgspec
import rfc8785

from portal.services.consents.forms import ConsentForm, PasskeyProof, Signature
from portal.services.rules.consent_text import content_hash

PURPOSE = "sign a consent form, 1"
"""What the statement is for, and the version of its members."""


class Statement(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """Who signs which text of which form as what, having acknowledged which statements; in which clinic's portal, and when.

    `operation` is random, and signs once. `content_hash` is the portal's own (`portal.services.rules.consent_text`).
    """

    purpose: str = PURPOSE
    clinic: str
    issuer: str
    person_id: str
    form_id: str
    version: str
    content_hash: str
    role: str
    acknowledged_statement_ids: Sequence[str]
    operation: str
    asked_at: str
    expires_at: str

    def text(self) -> str:
        """It as canonical JSON (RFC 8785)."""
        return rfc8785.dumps(msgspec.to_builtins(self)).decode()


def challenge_of(statement: str) -> bytes:
    """The challenge that the authenticator signs: SHA-256 of the statement in canonical form."""
    return hashlib.sha256(statement.encode()).digest()


def is_about(proof: PasskeyProof, form: ConsentForm, signature: Signature) -> bool:
    """Whether the statement names this form, its present text, and who signed it in which role and when.

    It doesn't say whether a passkey signed it (`portal.signin.passkeys.is_signed`).
    """
    try:
        said = msgspec.json.decode(proof.statement, type=Statement)
        asked_at, expires_at = map(datetime.fromisoformat, (said.asked_at, said.expires_at))
    except (msgspec.DecodeError, ValueError):
        return False
    given = {statement.id for statement in form.statements or ()}
    return (
        proof.statement == said.text()
        and said.purpose == PURPOSE
        and (said.form_id, said.version, said.content_hash) == (form.id, form.version, content_hash(form))
        and (said.person_id, said.role) == (signature.person_id, str(signature.role))
        and given == set(said.acknowledged_statement_ids)
        and asked_at < expires_at
    )
