"""What a person can do with a form now, or why not, in words."""

from __future__ import annotations

from portal.i18n.gettext import _, ngettext
from portal.services.consents.forms import ConsentForm, Signature, Signer, SignerRole, TextGap
from portal.services.episodes import Episode
from portal.services.rules.ending import Ending, ending_of, obstacle_to_ending
from portal.services.rules.signing import (
    CANCELLED,
    DECLINED,
    OTHER_ACCOUNT,
    OTHERS_FIRST,
    SIGNERS_UNKNOWN,
    STATUS_UNKNOWN,
    TEXT_MISSING,
    Obstacle,
    obstacle_to_signing,
    open_role,
    signed_in_another_role,
)
from portal.state.session_records import Person
from portal.values import Value
from portal.views.consents.labels import names_of, text_gap_words
from portal.views.consents.missing import missing_words
from portal.web.permissions import may
from portal.web.refusals import refusal_message


class SignerRow(Value, frozen=True):
    """A row of the list of signers: name, role, and whether they have signed or can sign now."""

    signer: Signer
    signature: Signature | None
    is_turn: bool
    is_me: bool


class Eligibility(Value, frozen=True):
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
    turns = [signer for signer in form.whose_turn() if signer not in signed_in_another_role(form)]
    return Eligibility(
        role=role,
        cannot_sign=None if role else why_not_sign(form, person),
        cannot_revoke=why_not_revoke(form, person, episode),
        signature=form.signature_of(person.sub),
        signers=tuple(
            SignerRow(
                signer, signature, signature is None and signer in turns, signer.person_id == person.sub
            )
            for signer, signature in sorted(form.asked, key=lambda asked: asked[0].order)
        ),
        can_copy=may(person, "consent.create") and form.text_gap is None,
        ending=ending_of(form, person),
        missing=missing_words(form, person),
        text_gap=form.text_gap,
    )


def why_not_sign(form: ConsentForm, person: Person) -> str:
    """Say why `person` can't sign now."""
    return _words(form, person, obstacle_to_signing(form, person))


def why_not_revoke(form: ConsentForm, person: Person, episode: Episode | None = None) -> str | None:
    """Say why `person` can't end this form; None if they can. `episode`, if read, shows what has been carried out."""
    obstacle = obstacle_to_ending(form, person, episode)
    return _words(form, person, obstacle) if obstacle else None


def _words(form: ConsentForm, person: Person, obstacle: Obstacle) -> str:
    signers = obstacle.signers
    if obstacle.code == CANCELLED:
        return _("The clinic has cancelled this form.")
    if obstacle.code == DECLINED:
        return _("Someone who was asked to sign this form didn’t want to, so it is closed.")
    if obstacle.code == TEXT_MISSING and form.text_gap:
        return text_gap_words(form.text_gap)
    if obstacle.code == OTHERS_FIRST:
        return ngettext(
            "%(names)s signs first; then it is your turn.",
            "%(names)s sign first; then it is your turn.",
            len(signers),
            names=names_of(signers),
        )
    if obstacle.code == OTHER_ACCOUNT:
        return _(
            "This form asks %(name)s as a patient. If that is you, sign in with your patient account to sign it.",
            name=signers[0].name,
        )
    if obstacle.code == SIGNERS_UNKNOWN and person.is_staff:
        return _("The clinic’s system doesn’t say whether this form asks you. Look there who has to sign it.")
    if obstacle.code == SIGNERS_UNKNOWN:
        return _(
            "The clinic’s system doesn’t say whether this form asks you. If you expect to sign it, ask the clinic."
        )
    if obstacle.code == STATUS_UNKNOWN and person.is_staff:
        return _(
            "The portal doesn’t know the state of this form, so it can be neither signed nor withdrawn here. Look it up in the clinic’s system."
        )
    if obstacle.code == STATUS_UNKNOWN:
        return _(
            "The portal doesn’t know the state of this form, so it can be neither signed nor withdrawn here. Ask the clinic."
        )
    return refusal_message(obstacle.code)
