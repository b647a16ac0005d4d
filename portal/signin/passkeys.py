"""Passkeys for the pages of one domain: what a browser is asked for, and whether what it brings back counts (WebAuthn Level 2)."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable
from hashlib import sha256
from io import BytesIO
from typing import Any
from urllib.parse import urlsplit

import msgspec
from cryptography.exceptions import UnsupportedAlgorithm

from portal.services.consents.forms import PasskeyProof
from portal.services.rules.passkey_proof import challenge_of
from portal.state.signing_passkeys import SigningPasskey
from portal.values import Value

LONGEST = 8192
"""Characters of what a browser brings back; attestations may be longer than assertions."""

_ALGORITHMS = (-7, -8, -257)
"""ES256, EdDSA, RS256 (COSE)."""

_MILLISECONDS = 5 * 60 * 1000
_PRESENT, _VERIFIED = 0x01, 0x04
_MALFORMED = (
    ValueError,
    TypeError,
    KeyError,
    AttributeError,
    IndexError,
    OverflowError,
    RecursionError,
    UnsupportedAlgorithm,
)
"""What parsers raise for hostile bytes, besides errors of their own."""


class PasskeyRefused(Exception):
    """What the browser brought doesn't count; `args[0]` says why, for the audit trail."""


class RelyingParty(Value, frozen=True):
    """Whose passkeys they are: the domain and origin of a clinic's portal, and the clinic's name."""

    domain: str
    origin: str
    name: str


def to_create(
    party: RelyingParty, *, user: bytes, name: str, challenge: bytes, known: Iterable[SigningPasskey]
) -> str:
    """The options of `navigator.credentials.create()`, as JSON.

    The portal says which passkeys it knows, so that none has to be discoverable: a device's list of them doesn't name the
    clinic. Where a passkey comes from isn't asked, because nothing is decided by it.
    """
    options = {
        "rp": {"id": party.domain, "name": party.name},
        "user": {"id": encoded(user), "name": name, "displayName": name},
        "challenge": encoded(challenge),
        "pubKeyCredParams": [{"type": "public-key", "alg": algorithm} for algorithm in _ALGORITHMS],
        "excludeCredentials": _named(known),
        "authenticatorSelection": {"residentKey": "discouraged", "userVerification": "required"},
        "attestation": "none",
        "timeout": _MILLISECONDS,
    }
    return json.dumps(options)


def to_sign(party: RelyingParty, challenge: bytes, known: Iterable[SigningPasskey]) -> str:
    """The options of `navigator.credentials.get()`, as JSON: one of these passkeys, by whoever unlocks it."""
    options = {
        "rpId": party.domain,
        "challenge": encoded(challenge),
        "allowCredentials": _named(known),
        "userVerification": "required",
        "timeout": _MILLISECONDS,
    }
    return json.dumps(options)


def created(
    party: RelyingParty, credential: str, challenge: bytes, *, device: str, now: float
) -> SigningPasskey:
    """Return the passkey that a browser made; raise PasskeyRefused."""
    # These take 12 MB, which workers of clinics without passkeys don't need.
    import webauthn
    from cbor2 import CBORError
    from webauthn.helpers.exceptions import WebAuthnException
    from webauthn.helpers.structs import CredentialDeviceType

    given = _given(credential)
    try:
        verified = webauthn.verify_registration_response(
            credential=given,
            expected_challenge=challenge,
            expected_rp_id=party.domain,
            expected_origin=party.origin,
            require_user_verification=True,
        )
    except (*_MALFORMED, CBORError, WebAuthnException) as error:
        raise PasskeyRefused(_why(given, party, challenge, "webauthn.create")) from error
    return SigningPasskey(
        id=encoded(verified.credential_id),
        domain=party.domain,
        public_key=encoded(verified.credential_public_key),
        sign_count=verified.sign_count,
        is_synced=verified.credential_device_type is CredentialDeviceType.MULTI_DEVICE,
        device=device,
        added_at=now,
    )


def proof_of(
    party: RelyingParty, credential: str, statement: str, known: Iterable[SigningPasskey]
) -> tuple[PasskeyProof, int]:
    """Return the proof that one of these passkeys confirmed the statement, and its counter; raise PasskeyRefused."""
    given = _given(credential)
    passkey = next((passkey for passkey in known if passkey.id == given.get("id")), None)
    if passkey is None:
        raise PasskeyRefused("unknown passkey")
    part = given["response"]
    try:
        proof = PasskeyProof(
            statement=statement,
            credential_id=passkey.id,
            public_key=passkey.public_key,
            authenticator_data=encoded(_bytes(part["authenticatorData"])),
            client_data_json=encoded(_bytes(part["clientDataJSON"])),
            signature=encoded(_bytes(part["signature"])),
        )
        if given["rawId"] != passkey.id or given["type"] != "public-key":
            raise PasskeyRefused("unreadable")
    except (KeyError, TypeError, ValueError) as error:
        raise PasskeyRefused("unreadable") from error
    if not is_signed(proof, party):
        raise PasskeyRefused(_why(given, party, challenge_of(statement), "webauthn.get"))
    return proof, int.from_bytes(_bytes(proof.authenticator_data)[33:37], "big")


def is_signed(proof: PasskeyProof, party: RelyingParty | None = None) -> bool:
    """Whether the passkey signed the statement, its device having checked who held it, on a page of the party.

    Without a party it may have been any domain's: `domain_of` says which.
    """
    import webauthn
    from cbor2 import CBORDecoder, CBORError
    from webauthn.helpers.exceptions import WebAuthnException

    try:
        key, assertion = _bytes(proof.public_key), (proof.authenticator_data, proof.signature)
        read = BytesIO(key)
        CBORDecoder(read).decode()
        if read.tell() != len(key) or not all(map(_bytes, assertion)):
            return False
        origin = party.origin if party else _client_data(proof.client_data_json)["origin"]
        if _client_data(proof.client_data_json).get("crossOrigin") not in (None, False):
            return False
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
            expected_challenge=challenge_of(proof.statement),
            expected_rp_id=party.domain if party else domain_of(proof),
            expected_origin=origin,
            credential_public_key=key,
            credential_current_sign_count=0,
            require_user_verification=True,
        )
    except (*_MALFORMED, CBORError, WebAuthnException):
        return False
    return True


def domain_of(proof: PasskeyProof) -> str:
    """The domain of the page on which it was confirmed; empty if that can't be read."""
    try:
        return urlsplit(str(_client_data(proof.client_data_json)["origin"])).hostname or ""
    except (KeyError, TypeError, ValueError):
        return ""


def fingerprint(proof: PasskeyProof) -> str:
    """SHA-256 of the public key, in lower-case hex."""
    try:
        return sha256(_bytes(proof.public_key)).hexdigest()
    except ValueError:
        return ""


def encoded(value: bytes) -> str:
    """Base64url without padding."""
    return base64.urlsafe_b64encode(value).rstrip(b"=").decode()


def _named(passkeys: Iterable[SigningPasskey]) -> list[dict[str, str]]:
    return [{"type": "public-key", "id": passkey.id} for passkey in passkeys]


def _given(credential: str) -> dict[str, Any]:
    try:
        if len(credential) > LONGEST:
            raise PasskeyRefused("unreadable")
        given = msgspec.json.decode(credential, type=dict[str, Any])
        if not isinstance(given["response"], dict) or not isinstance(given["id"], str):
            raise PasskeyRefused("unreadable")
    except (msgspec.DecodeError, KeyError, RecursionError, UnicodeError) as error:
        raise PasskeyRefused("unreadable") from error
    return given


def _why(given: dict[str, Any], party: RelyingParty, challenge: bytes, kind: str) -> str:
    """Which of its parts is wrong, the first that is."""
    try:
        said = _client_data(given["response"]["clientDataJSON"])
        if said["type"] != kind:
            return "another type"
        if said["challenge"] != encoded(challenge):
            return "another challenge"
        if said["origin"] != party.origin or said.get("crossOrigin") not in (None, False):
            return "another origin"
        if kind == "webauthn.create":
            return "not a new passkey for this"
        data = _bytes(given["response"]["authenticatorData"])
        if data[:32] != sha256(party.domain.encode()).digest():
            return "another domain"
        if not data[32] & _PRESENT or not data[32] & _VERIFIED:
            return "nobody verified"
    except (KeyError, TypeError, ValueError, IndexError, RecursionError):
        return "unreadable"
    return "another signature"


def _client_data(client_data_json: str) -> dict[str, Any]:
    return msgspec.json.decode(_bytes(client_data_json), type=dict[str, Any])


def _bytes(text: str) -> bytes:
    """Raises ValueError unless it is base64url as WebAuthn writes it, so that one value has one form."""
    value = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    if encoded(value) != text:
        raise ValueError("not base64url")
    return value
