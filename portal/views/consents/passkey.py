"""A signature that the signer confirms with a passkey, if the clinic offers or asks for it.

The passkey signs a statement of who signs what (`portal.services.rules.passkey_proof`), which is made of what the portal
holds, never of what the browser brings. So a confirmation counts for one person, form, text, role and operation, and for the
five minutes after the page was shown.
"""

from __future__ import annotations

from datetime import UTC, datetime
from hashlib import sha256

from flask import g

from portal.clock import age, lasts
from portal.context import context
from portal.services.consents.forms import PasskeyProof
from portal.services.rules.consent_text import content_hash
from portal.services.rules.passkey_proof import Statement, challenge_of
from portal.signin.passkeys import PasskeyRefused, proof_of, to_sign
from portal.values import Value
from portal.views.consents.signing import Signing
from portal.web import audit
from portal.web.passkeys import has_passkeys, known_here, needs_passkey, passkeys, relying_party

_SECONDS = 5 * 60
_ANEW_SECONDS = 60
"""From how old on a page's challenge isn't given to another one: its five minutes would soon be over."""


class Offer(Value, frozen=True):
    """How the signature can be confirmed; `options` is what the browser is asked for, None if the person has no passkey here."""

    is_required: bool
    options: str | None


def offer(signing: Signing) -> tuple[Signing, Offer | None]:
    """Return the signing with a challenge that is just made, and how it is confirmed; None if the clinic doesn't offer it."""
    if not has_passkeys(signing.person):
        return signing, None
    known, now = known_here(signing.person), context().clock()
    if known and age(signing.progress.asked_at, now) > _ANEW_SECONDS:
        signing = signing.enter(asked_at=now)
    options = to_sign(relying_party(), challenge_of(_statement(signing)), known) if known else None
    return signing, Offer(needs_passkey(signing.person), options)


def confirm(signing: Signing, credential: str) -> Signing:
    """Return the signing with what the passkey confirmed, without it if none was used; raise PasskeyRefused."""
    person = signing.person
    if not has_passkeys(person) or not credential:
        if needs_passkey(person):
            raise PasskeyRefused("none")
        return signing.enter(passkey=None)
    if not lasts(signing.progress.asked_at + _SECONDS, _SECONDS, context().clock()):
        raise PasskeyRefused("too late")
    audit.assure()
    proof, count = proof_of(relying_party(), credential, _statement(signing), known_here(person))
    if not passkeys().use(person, proof.credential_id, count, sha256(proof.signature.encode()).digest()):
        raise PasskeyRefused("counted before")
    audit.note("consent.passkey", "done", id_=signing.form.id, also=_evidence(proof))
    return signing.enter(passkey=proof)


def _evidence(proof: PasskeyProof) -> dict[str, str]:
    """What the audit trail keeps: enough to verify it, together with the statement on the receipt, and no name."""
    return {
        "credential": proof.credential_id,
        "publicKey": proof.public_key,
        "authenticatorData": proof.authenticator_data,
        "clientData": proof.client_data_json,
        "signature": proof.signature,
    }


def _statement(signing: Signing) -> str:
    progress, form = signing.progress, signing.form
    return Statement(
        clinic=g.tenant.key,
        issuer=signing.person.issuer,
        person_id=signing.person.sub,
        form_id=form.id,
        version=form.version,
        content_hash=content_hash(form),
        role=str(signing.role),
        acknowledged_statement_ids=progress.acknowledged_ids,
        operation=signing.operation.id,
        asked_at=_moment(progress.asked_at),
        expires_at=_moment(progress.asked_at + _SECONDS),
    ).text()


def _moment(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).isoformat()
