"""What a signer's passkey confirmed (WebAuthn Level 2 §7.2): kept with the signature if it is of this signer and text."""

from __future__ import annotations

import base64
import hashlib
import json
from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import urlsplit

import cbor2
import msgspec
import webauthn
from cryptography.exceptions import UnsupportedAlgorithm
from webauthn.helpers.exceptions import WebAuthnException

from portal.careservice.domain.rules import Invalid

if TYPE_CHECKING:
    from portal.careservice.domain.consents.forms import ConsentForm, Signer

_Text = Annotated[str, msgspec.Meta(max_length=4000)]
_MALFORMED = (WebAuthnException, cbor2.CBORError, UnsupportedAlgorithm, ValueError, TypeError, KeyError)
_OVERFLOWS = (AttributeError, IndexError, OverflowError, RecursionError)


class PasskeyProof(msgspec.Struct, rename="camel", kw_only=True, frozen=True):
    """The statement that a passkey signed (canonical JSON, whose SHA-256 is the challenge), and its assertion in base64url.

    The statement's `formId`, `contentHash`, `personId`, `role` and `acknowledgedStatementIds` are the signature's.
    """

    statement: _Text
    credential_id: _Text
    public_key: _Text
    authenticator_data: _Text
    client_data_json: _Text
    signature: _Text


def require_of(proof: PasskeyProof, form: ConsentForm, signer: Signer) -> None:
    """Raise Invalid unless the passkey signed this, its device having checked who held it."""
    try:
        said: dict[str, Any] = json.loads(proof.statement)
        is_of = (
            said["formId"] == form.id
            and said["contentHash"] == form.content_hash
            and (said["personId"], said["role"]) == (signer.person_id, signer.role.value)
            and set(said["acknowledgedStatementIds"]) == {statement.id for statement in form.statements}
        )
        if not is_of:
            raise ValueError("another statement")
        origin = str(json.loads(_decoded(proof.client_data_json))["origin"])
        webauthn.verify_authentication_response(
            credential={
                "id": proof.credential_id,
                "rawId": proof.credential_id,
                "type": "public-key",
                "response": {
                    "authenticatorData": proof.authenticator_data,
                    "clientDataJSON": proof.client_data_json,
                    "signature": proof.signature,
                },
            },
            expected_challenge=hashlib.sha256(proof.statement.encode()).digest(),
            expected_rp_id=urlsplit(origin).hostname or "",
            expected_origin=origin,
            credential_public_key=_decoded(proof.public_key),
            credential_current_sign_count=0,
            require_user_verification=True,
        )
    except (*_MALFORMED, *_OVERFLOWS) as error:
        raise Invalid("No passkey confirmed this signature.", "passkey") from error


def _decoded(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
