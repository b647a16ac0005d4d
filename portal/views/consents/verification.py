"""Whether the text of a form is still the one that was signed."""

from __future__ import annotations

from functools import partial

from flask import Blueprint

from portal.services.client import Care
from portal.services.consents import get_consent, list_consents
from portal.services.consents.forms import ConsentForm, Signature
from portal.services.gather import attempt, gather_all, known
from portal.services.rules.consent_text import content_hash, seal
from portal.services.rules.passkey_proof import is_about
from portal.signin.passkeys import domain_of, fingerprint, is_signed
from portal.state.session_records import Person
from portal.values import Value
from portal.views.consents.sign_in_method import with_own_sign_in

_OTHERS = 5
"""How many other forms are read to find out how the clinic's system computes its hashes."""


class Check(Value, frozen=True):
    """The result of comparing one signature's hash with the current text.

    `matches` is None if the clinic's system computes hashes differently: the portal can't recompute this one, and only
    knows that the record still contains it. `is_compared` is False where the text or the hash didn't come. `is_confirmed` says
    whether a passkey signed this text in this role; None without one.
    """

    signature: Signature
    matches: bool | None
    is_confirmed: bool | None
    is_compared: bool = True


class SealCheck(Value, frozen=True):
    """The record's seal over form, signers and times, and the one that the portal computes from the same record.

    `is_comparable` is False where a member that it covers didn't come.
    """

    given: str
    own: str
    is_comparable: bool

    @property
    def matches(self) -> bool:
        return self.given.strip().casefold() == self.own


def register(bp: Blueprint) -> None:
    bp.add_app_template_filter(is_confirmed, "is_confirmed_in")
    bp.add_app_template_filter(domain_of, "passkey_site")
    bp.add_app_template_filter(fingerprint, "passkey_fingerprint")


def check_seal(form: ConsentForm) -> SealCheck | None:
    """Compare the seal of a fully signed form; None if it isn't fully signed or has no seal."""
    if not form.is_signed or not form.seal:
        return None
    covered = [form.patient_id, form.version, form.content_hash]
    covered += [
        part
        for signature in form.signatures
        for part in (signature.person_id, signature.name, signature.method)
    ]
    is_comparable = all(covered) and all(signature.signed_at for signature in form.signatures)
    return SealCheck(form.seal, seal(form), is_comparable)


def checks(care: Care, form: ConsentForm, person: Person) -> list[Check]:
    """Compare each signature's hash with one recomputed from the current record."""
    now = content_hash(form)
    marks = {form.content_hash, *(signature.content_hash for signature in form.signatures)}
    is_ours = now in marks or _marks_as_we_do(care, form)
    return [
        Check(
            signature,
            _matches(signature, form, now, is_ours) if is_compared else None,
            is_confirmed(signature, form),
            is_compared,
        )
        for signature in in_order(form, person)
        for is_compared in [_has_text(form) and bool(signature.content_hash)]
    ]


def in_order(form: ConsentForm, person: Person) -> list[Signature]:
    """The signatures, the reader's own first, then in order of time."""
    return sorted(
        with_own_sign_in(form, person),
        key=lambda s: (s.person_id != person.sub, s.signed_at.timestamp() if s.signed_at else 0),
    )


def _matches(signature: Signature, form: ConsentForm, now: str, is_ours: bool) -> bool | None:
    if signature.content_hash == now:
        return True
    return False if is_ours or signature.content_hash != form.content_hash else None


def _has_text(form: ConsentForm) -> bool:
    return form.body is not None and form.statements is not None


def is_confirmed(signature: Signature, form: ConsentForm) -> bool | None:
    """Whether a passkey confirmed this text in the signer's role; None if the record doesn't say that one did, or has no text."""
    proof = signature.passkey
    return (
        None
        if proof is None or not _has_text(form)
        else is_about(proof, form, signature) and is_signed(proof)
    )


def _marks_as_we_do(care: Care, form: ConsentForm) -> bool:
    """Whether the clinic's system computes hashes like the portal, which one other form with a matching hash shows.

    The form itself can't show it: if its hash differs, either the system computes it differently, or someone changed the
    text but not the hash.
    """
    page = attempt(lambda: list_consents(care, limit=_OTHERS + 1))
    listed = known(page)
    ids = [other.id for other in listed.items if other.id != form.id] if listed else []
    others = gather_all([partial(get_consent, care, id_) for id_ in ids[:_OTHERS]])
    return any(whole.content_hash == content_hash(whole) for whole in map(known, others) if whole)
