"""The passkeys of the signed-in person at this clinic's portal."""

from __future__ import annotations

from flask import g, request

from portal.config.tenants import PasskeySignatures
from portal.context import context
from portal.signin.passkeys import RelyingParty
from portal.state.session_records import Person
from portal.state.signing_passkeys import SigningPasskey, SigningPasskeys


def are_offered() -> bool:
    """Whether the clinic lets patients confirm signatures with passkeys."""
    return _policy() is not PasskeySignatures.OFF


def has_passkeys(person: Person | None) -> bool:
    """Whether the person may confirm signatures with a passkey: a patient, if their clinic offers it."""
    return person is not None and person.is_patient and are_offered()


def needs_passkey(person: Person) -> bool:
    """Whether the person's signatures have to be confirmed with one."""
    return person.is_patient and _policy() is PasskeySignatures.REQUIRED


def passkeys() -> SigningPasskeys:
    """The passkeys of this clinic's people."""
    return SigningPasskeys(context().vault, context().clock, g.tenant.key)


def relying_party() -> RelyingParty:
    """Whose passkeys are used on this page: those of the clinic's domain that the page is on."""
    host = request.host.lower()
    return RelyingParty(host.rpartition(":")[0] or host, f"{request.scheme}://{host}", g.tenant.name)


def known_here(person: Person) -> list[SigningPasskey]:
    """The person's passkeys for this domain: a clinic may have several, and browsers use only a page's own."""
    return [passkey for passkey in passkeys().of(person) if passkey.domain == relying_party().domain]


def _policy() -> PasskeySignatures:
    policy: PasskeySignatures = g.tenant.passkey_signatures
    return policy
