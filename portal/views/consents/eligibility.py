"""What one person can do with a form now or, in words, why not."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass

from portal.i18n.gettext import _, ngettext
from portal.services.consents import signed_by
from portal.services.records.consents import ConsentForm, ConsentStatus, Signature, Signer, SignerRole
from portal.state.sessions import Person
from portal.views.consents.labels import names_of
from portal.web.refusals import refusal_message

FOR_THE_CLINIC = frozenset({SignerRole.WITNESS, SignerRole.INTERPRETER, SignerRole.CLINICIAN})
"""Roles in which the clinic's own people sign, or others who decide nothing for themselves."""


CREATORS = frozenset({"nurse", "physician", "coordinator", "admin"})
"""Who puts forms to people; the API has the last word."""


@dataclass(frozen=True, slots=True)
class SignerRow:
    """A line of the list of signers: who, in which role, and whether they have signed or can now."""

    signer: Signer
    signature: Signature | None
    is_turn: bool
    is_me: bool


@dataclass(frozen=True, slots=True)
class Eligibility:
    """What one person can do with a form. Exactly one of `role` and `cannot_sign` is given."""

    role: SignerRole | None
    cannot_sign: str | None
    cannot_revoke: str | None
    signature: Signature | None
    signers: tuple[SignerRow, ...]
    can_copy: bool

    @property
    def can_revoke(self) -> bool:
        """Whether withdrawing may be offered."""
        return self.cannot_revoke is None


def eligibility_of(form: ConsentForm, person: Person) -> Eligibility:
    """Return what `person` can do with `form`."""
    role = open_role(form, person)
    return Eligibility(
        role=role,
        cannot_sign=None if role else why_not_sign(form, person),
        cannot_revoke=why_not_revoke(form, person),
        signature=form.signature_of(person.sub),
        signers=tuple(_row(form, signer, person) for signer in _in_order(form)),
        can_copy=may_create(person),
    )


def open_role(form: ConsentForm, person: Person) -> SignerRole | None:
    """The role in which `person` can sign now; with several, the first: the others follow one by one."""
    return next((s.role for s in form.whose_turn() if _may_sign_as(form, s, person)), None)


def is_awaited(form: ConsentForm, person: Person) -> bool:
    """Whether the form waits for `person`, now or later."""
    return form.is_open and any(_may_sign_as(form, s, person) for s in form.missing_signers)


def why_not_sign(form: ConsentForm, person: Person) -> str:
    """Say why `person` can't sign now."""
    if refusal := _ended(form):
        return refusal
    if form.status == ConsentStatus.DRAFT:
        return refusal_message("FormNotSent")
    if waiting := _before(form, person):
        return ngettext(
            "%(names)s signs first; then it is your turn.",
            "%(names)s sign first; then it is your turn.",
            len(waiting),
            names=names_of(waiting),
        )
    if signed_by(form, person.sub):
        return refusal_message("AlreadySigned")
    return refusal_message("NotASigner")


def why_not_revoke(form: ConsentForm, person: Person) -> str | None:
    """Say why `person` can't withdraw this consent, or return None when it may be offered."""
    if refusal := _ended(form):
        return refusal
    if not form.is_revocable:
        return refusal_message("FormNotSent")
    roles = {s.role for s in form.required_signers if s.person_id == person.sub}
    if not person.is_staff and roles and roles <= FOR_THE_CLINIC:
        return _("Those who sign for the clinic or as a witness can’t withdraw a consent.")
    return None


def may_create(person: Person) -> bool:
    """Whether the person's role at the clinic includes creating forms."""
    return person.is_staff and not CREATORS.isdisjoint(person.roles)


def expected_name(form: ConsentForm, person: Person, role: SignerRole) -> str:
    """The name that the form asks `person` to sign with."""
    signer = next((s for s in form.required_signers if s.role == role and s.person_id == person.sub), None)
    return (signer.name if signer else "") or person.name


def same_name(one: str, other: str) -> bool:
    """Whether two names are the same but for case, spaces, accents and punctuation."""
    return _folded(one) == _folded(other) != ""


_WITHOUT_ACCENT = str.maketrans({"ł": "l", "ø": "o", "đ": "d", "æ": "ae", "œ": "oe", "ı": "i"})
"""Letters that Unicode doesn't take apart into a plain one and its accent."""


def _may_sign_as(form: ConsentForm, signer: Signer, person: Person) -> bool:
    if signed_by(form, person.sub, signer.role):
        return False
    if signer.person_id is not None:
        return signer.person_id == person.sub
    # A role left open for whoever of the clinic does it; never someone who signs for themselves.
    return person.is_staff and signer.role in FOR_THE_CLINIC and not form.is_signer(person.sub)


def _before(form: ConsentForm, person: Person) -> tuple[Signer, ...]:
    if waiting := form.waiting_for(person.sub):
        return waiting
    return form.whose_turn() if is_awaited(form, person) else ()


def _ended(form: ConsentForm) -> str | None:
    codes = {
        ConsentStatus.REVOKED: "FormRevoked",
        ConsentStatus.EXPIRED: "FormExpired",
        ConsentStatus.SUPERSEDED: "FormSuperseded",
    }
    return refusal_message(codes[form.status]) if form.status in codes else None


def _row(form: ConsentForm, signer: Signer, person: Person) -> SignerRow:
    given = next(
        (s for s in form.signatures if s.role == signer.role and signer.person_id in (None, s.person_id)),
        None,
    )
    return SignerRow(signer, given, signer in form.whose_turn(), signer.person_id == person.sub)


def _in_order(form: ConsentForm) -> list[Signer]:
    return sorted(form.required_signers, key=lambda signer: signer.order)


def _folded(name: str) -> str:
    plain = unicodedata.normalize("NFKD", name.casefold().translate(_WITHOUT_ACCENT))
    return "".join(letter for letter in plain if letter.isalnum())
