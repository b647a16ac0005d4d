"""Passkeys (WebAuthn Level 2): what browsers are asked for, and what they bring back."""

from __future__ import annotations

import ipaddress
from hashlib import sha256
from typing import Any
from urllib.parse import urlsplit

import cbor2
import msgspec
import webauthn
from flask import request
from sqlalchemy.orm import Session
from webauthn.helpers import bytes_to_base64url, parse_authentication_credential_json
from webauthn.helpers.exceptions import WebAuthnException
from webauthn.helpers.structs import (
    AuthenticatorSelectionCriteria,
    CredentialDeviceType,
    PublicKeyCredentialDescriptor,
    ResidentKeyRequirement,
    UserVerificationRequirement,
)

from portal.careservice.clock import now
from portal.careservice.identity.tables import Passkey, Person
from portal.careservice.settings import current_settings

MOST = 10
"""How many passkeys one person may have."""

_LOOPBACK = "localhost"
_MALFORMED = (WebAuthnException, cbor2.CBORError, ValueError, TypeError, KeyError, AttributeError, IndexError)
_OVERFLOWS = (OverflowError, RecursionError)


class PasskeyRefused(Exception):
    """What the browser brought isn't a passkey that counts here."""


def name() -> str | None:
    """The domain that passkeys are made for, the issuer's; None if it has none, for addresses can't have passkeys.

    A loopback address goes by the name `localhost`, so that they can be tried on one's own machine.
    """
    host = urlsplit(current_settings().issuer).hostname or ""
    try:
        return _LOOPBACK if ipaddress.ip_address(host).is_loopback else None
    except ValueError:
        return host


def origin() -> str:
    """Where passkeys are used: the issuer's origin, by the name that they are made for."""
    parts = urlsplit(current_settings().issuer)
    port = f":{parts.port}" if parts.port else ""
    return f"{parts.scheme}://{name()}{port}"


def is_here() -> bool:
    """Whether the page is at the name that passkeys are made for, so that the browser will use them on it."""
    is_by_name = name() == urlsplit(current_settings().issuer).hostname
    return is_by_name or request.host.partition(":")[0] == name()


def challenge(purpose: str, secret: str) -> bytes:
    """The challenge for one use: what only this browser and this server know, until the sign-in that it belongs to is over."""
    return sha256(f"passkey {purpose} {secret}".encode()).digest()


def asked_to_sign_in(challenge: bytes) -> dict[str, Any]:
    """The options of `navigator.credentials.get()`, as JSON: any passkey of this server, by whoever unlocks it."""
    options = webauthn.generate_authentication_options(
        rp_id=name() or "", challenge=challenge, user_verification=UserVerificationRequirement.REQUIRED
    )
    return msgspec.json.decode(webauthn.options_to_json(options))


def asked_to_register(person: Person, challenge: bytes) -> dict[str, Any]:
    """The options of `navigator.credentials.create()`, as JSON: a passkey that knows its owner and checks who holds it."""
    options = webauthn.generate_registration_options(
        rp_id=name() or "",
        rp_name=person.tenant.display_name,
        user_id=sha256(f"passkey user {person.id}".encode()).digest(),
        user_name=person.username,
        user_display_name=person.name,
        challenge=challenge,
        exclude_credentials=[
            PublicKeyCredentialDescriptor(id=webauthn.base64url_to_bytes(passkey.credential_id))
            for passkey in person.passkeys
        ],
        authenticator_selection=AuthenticatorSelectionCriteria(
            resident_key=ResidentKeyRequirement.REQUIRED,
            user_verification=UserVerificationRequirement.REQUIRED,
        ),
    )
    return msgspec.json.decode(webauthn.options_to_json(options))


def register(session: Session, person: Person, credential: str, challenge: bytes) -> Passkey:
    """Store the passkey that a browser made for the person; raises PasskeyRefused."""
    try:
        verified = webauthn.verify_registration_response(
            credential=credential,
            expected_challenge=challenge,
            expected_rp_id=name() or "",
            expected_origin=origin(),
            require_user_verification=True,
        )
    except (*_MALFORMED, *_OVERFLOWS) as error:
        raise PasskeyRefused("not a passkey for this server") from error
    credential_id = bytes_to_base64url(verified.credential_id)
    if len(credential_id) > 1400 or session.get(Passkey, credential_id) is not None:
        raise PasskeyRefused("known already")
    if len(person.passkeys) >= MOST:
        raise PasskeyRefused("too many")
    passkey = Passkey(
        credential_id=credential_id,
        person_id=person.id,
        public_key=bytes_to_base64url(verified.credential_public_key),
        sign_count=verified.sign_count,
        is_synced=verified.credential_device_type is CredentialDeviceType.MULTI_DEVICE,
        created_at=now(),
    )
    session.add(passkey)
    return passkey


def owner(session: Session, credential: str, challenge: bytes, tenant_id: str) -> tuple[Person, Passkey]:
    """The active person of the clinic whose passkey the browser used, and the passkey; raises PasskeyRefused.

    A signature counts once where the passkey counts them (WebAuthn §6.1.1).
    """
    try:
        given = parse_authentication_credential_json(credential)
        passkey = session.get(Passkey, given.id, with_for_update=True) if given.id.isprintable() else None
    except (*_MALFORMED, *_OVERFLOWS) as error:
        raise PasskeyRefused("not readable") from error
    person = session.get(Person, passkey.person_id) if passkey else None
    if passkey is None or person is None or person.tenant_id != tenant_id or not person.is_active:
        raise PasskeyRefused("unknown")
    try:
        verified = webauthn.verify_authentication_response(
            credential=given,
            expected_challenge=challenge,
            expected_rp_id=name() or "",
            expected_origin=origin(),
            credential_public_key=webauthn.base64url_to_bytes(passkey.public_key),
            credential_current_sign_count=passkey.sign_count,
            require_user_verification=True,
        )
    except (*_MALFORMED, *_OVERFLOWS) as error:
        raise PasskeyRefused("not its signature") from error
    passkey.sign_count = verified.new_sign_count
    passkey.used_at = now()
    return person, passkey
