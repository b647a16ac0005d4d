"""What a person can do with a form now, or why not."""

from __future__ import annotations

from dataclasses import dataclass

from portal.folding import folded
from portal.i18n.gettext import _, ngettext
from portal.services.consents import is_known_empty
from portal.services.records.consents import (
    CLINIC_ROLES,
    COUPLE_KINDS,
    ONE_PERSON_KINDS,
    PATIENT_ROLES,
    ConsentForm,
    ConsentStatus,
    Signature,
    Signer,
    SignerRole,
    TextGap,
)
from portal.services.records.episodes import Episode
from portal.state.session_records import Person
from portal.views.consents.ending import Ending, ending_of, is_carried_out
from portal.views.consents.labels import names_of, text_gap_words
from portal.views.consents.missing import missing_words
from portal.web.refusals import refusal_message

CREATORS = frozenset({"nurse", "physician", "coordinator", "admin"})
"""The roles that create forms; the API decides in the end."""


@dataclass(frozen=True, slots=True)
class SignerRow:
    """A row of the list of signers: name, role, and whether they have signed or can sign now."""

    signer: Signer
    signature: Signature | None
    is_turn: bool
    is_me: bool


@dataclass(frozen=True, slots=True)
class Eligibility:
    """What a person can do with a form. Exactly one of `role` and `cannot_sign` is set."""

    role: SignerRole | None
    cannot_sign: str | None
    cannot_revoke: str | None
    signature: Signature | None
    signers: tuple[SignerRow, ...]
    can_copy: bool
    ending: Ending | None
    missing: list[str]
    text_gap: TextGap | None

    @property
    def is_signed_on_paper(self) -> bool:
        """Whether its text is a file, so that it can't be signed in the portal."""
        return self.text_gap is TextGap.ON_FILE

    @property
    def can_revoke(self) -> bool:
        """Whether withdrawing (or, before signing, declining) may be offered."""
        return self.cannot_revoke is None


def eligibility_of(form: ConsentForm, person: Person, episode: Episode | None = None) -> Eligibility:
    """Return what `person` can do with `form`; `episode` is its own, if it was read."""
    role = open_role(form, person)
    return Eligibility(
        role=role,
        cannot_sign=None if role else why_not_sign(form, person),
        cannot_revoke=why_not_revoke(form, person, episode),
        signature=form.signature_of(person.sub),
        signers=tuple(_row(form, signer, person) for signer in _in_order(form)),
        can_copy=may_create(person) and form.text_gap is None,
        ending=ending_of(form, person),
        missing=missing_words(form, person),
        text_gap=form.text_gap,
    )


def open_role(form: ConsentForm, person: Person) -> SignerRole | None:
    """The role in which `person` can now sign a form read individually; None if its text is incomplete."""
    return None if form.text_gap else _role_in_turn(form, person)


def listed_role(form: ConsentForm, person: Person) -> SignerRole | None:
    """The same for a form from a list, which omits the body; None if its text is known to be incomplete."""
    role = _role_in_turn(form, person)
    return None if role is None or listed_gap(form) else role


def listed_gap(form: ConsentForm) -> TextGap | None:
    """What is missing from the text of a form from a list, as far as can be told without the body."""
    if form.body is not None:
        return form.text_gap
    if not is_known_empty(form):
        return None
    return TextGap.ON_FILE if form.file_id else TextGap.EMPTY


def is_awaited(form: ConsentForm, person: Person) -> bool:
    """Whether the form waits for `person`, now or later."""
    return form.is_open and any(_may_sign_as(form, s, person) for s in form.missing_signers)


def why_not_sign(form: ConsentForm, person: Person) -> str:
    """Say why `person` can't sign now."""
    if refusal := _ended(form):
        return refusal
    if form.is_draft:
        return refusal_message("FormNotSent")
    if form.signature_of(person.sub):
        return refusal_message("AlreadySigned")
    if form.text_gap and (form.is_signer(person.sub) or is_awaited(form, person)):
        return text_gap_words(form.text_gap)
    if missing := missing_party(form):
        return refusal_message(missing)
    if waiting := _before(form, person):
        return ngettext(
            "%(names)s signs first; then it is your turn.",
            "%(names)s sign first; then it is your turn.",
            len(waiting),
            names=names_of(waiting),
        )
    if not form.is_signer(person.sub) and person.is_staff and (asked := _namesake(form, person)):
        return _(
            "This form asks %(name)s as a patient. If that is you, sign in with your patient account to sign it.",
            name=asked.name,
        )
    return refusal_message("RoleNotYours" if form.is_signer(person.sub) else "NotASigner")


def missing_party(form: ConsentForm) -> str | None:
    """The rule that the form's signers violate, as far as can be told; then nobody can sign it."""
    people = [signer for signer in form.required_signers if signer.role not in CLINIC_ROLES]
    if people and form.kind in ONE_PERSON_KINDS:
        return None
    if form.required_signers and not any(s.role in PATIENT_ROLES or not s.role.known for s in people):
        return "PatientMustSign"
    if form.partner_id and form.kind in COUPLE_KINDS and len({s.person_id for s in people}) < 2:
        return "PartnerMustSign"
    return None


def why_not_revoke(form: ConsentForm, person: Person, episode: Episode | None = None) -> str | None:
    """Say why `person` can't end this form; None if they can. `episode`, if read, shows what has been carried out."""
    if refusal := _ended(form):
        return refusal
    if not form.is_revocable:
        return refusal_message("FormNotSent")
    if ending_of(form, person) is None:
        return refusal_message("WithdrawalNotYours")
    return refusal_message("ConsentActedUpon") if is_carried_out(form, episode) else None


def may_create(person: Person) -> bool:
    """Whether the person's role allows creating forms."""
    return person.is_staff and not CREATORS.isdisjoint(person.roles)


def expected_name(form: ConsentForm, person: Person, role: SignerRole) -> str:
    """The name of `person` on the form, which they sign with."""
    signer = next((s for s in form.required_signers if s.role == role and s.person_id == person.sub), None)
    return (signer.name if signer else "") or person.name


def same_name(one: str, other: str) -> bool:
    """Whether two names are equal, ignoring case, spaces, accents and punctuation."""
    return _folded(one) == _folded(other) != ""


def _namesake(form: ConsentForm, person: Person) -> Signer | None:
    """The signer on the patient's side with the person's name: possibly the same person's other account."""
    asked = (signer for signer in form.missing_signers if signer.role not in CLINIC_ROLES)
    return next((signer for signer in asked if same_name(signer.name, person.name)), None)


def _role_in_turn(form: ConsentForm, person: Person) -> SignerRole | None:
    if missing_party(form):
        return None
    return next((s.role for s in form.whose_turn() if _may_sign_as(form, s, person)), None)


def _may_sign_as(form: ConsentForm, signer: Signer, person: Person) -> bool:
    """Whether `person` may sign in this role: only staff sign for the clinic, and a witness in no other role."""
    if person.is_staff != (signer.role in CLINIC_ROLES) or form.signature_of(person.sub):
        return False
    others = {s.role for s in form.required_signers if s.person_id == person.sub and s != signer}
    if signer.role == SignerRole.WITNESS and others:
        return False
    # A signer without a person may be any member of staff.
    return signer.person_id == person.sub if signer.person_id is not None else not form.is_signer(person.sub)


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
    if form.is_cancelled:
        return _("The clinic has cancelled this form.")
    if form.declined_by:
        return _("Someone who was asked to sign this form didn’t want to, so it is closed.")
    return refusal_message(codes[form.status]) if form.status in codes else None


def _row(form: ConsentForm, signer: Signer, person: Person) -> SignerRow:
    given = form.signature_for(signer)
    return SignerRow(signer, given, signer in form.whose_turn(), signer.person_id == person.sub)


def _in_order(form: ConsentForm) -> list[Signer]:
    return sorted(form.required_signers, key=lambda signer: signer.order)


def _folded(name: str) -> str:
    return "".join(letter for letter in folded(name) if letter.isalnum())
