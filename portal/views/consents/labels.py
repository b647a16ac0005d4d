"""Labels for consent forms' statuses, roles and kinds, registered as template filters."""

from __future__ import annotations

import re
from datetime import datetime
from unicodedata import bidirectional

from flask import Blueprint

from portal.i18n.gettext import _
from portal.request_values import reader_is_staff
from portal.services.consents.forms import ConsentForm, ConsentStatus, Signer, SigningMethod, TextGap
from portal.services.episodes import ConsentBrief
from portal.web.choice_names import choice_name, spaced
from portal.web.filters import in_a_row, local, now
from portal.web.opened_forms import first_opened


def register(bp: Blueprint) -> None:
    bp.add_app_template_filter(state_word, "consent_state")
    bp.add_app_template_filter(status_tone, "consent_tone")
    bp.add_app_template_filter(short_name, "consent_short")
    bp.add_app_template_filter(whose)
    bp.add_app_template_filter(brief_name)
    bp.add_app_template_filter(method_word, "signing_method")
    bp.add_app_template_filter(names_of, "names")
    bp.add_app_template_filter(signer_name, "signer_name")
    bp.add_app_template_filter(listed, "listed")
    bp.add_app_template_filter(text_direction, "text_direction")
    bp.add_app_template_filter(text_gap_words, "text_gap")
    bp.add_app_template_filter(in_force_word, "in_force")
    bp.add_app_template_filter(first_opened, "first_opened")


def state_word(form: ConsentForm) -> str:
    """The form's status; `Declined` if a signer declined, `Cancelled` if the clinic ended it unsigned."""
    if form.is_cancelled:
        return _("Cancelled")
    if form.is_signed_by_all:
        return _("Signed by everyone")
    return _("Declined") if form.declined_by else choice_name(form.status)


def status_tone(status: ConsentStatus) -> str:
    """The status's tone; a patient's withdrawn form is no alarm to them."""
    if status == ConsentStatus.REVOKED and not reader_is_staff():
        return "neutral"
    return _STATUS_TONES.get(status, "neutral")


_STATUS_TONES = {
    ConsentStatus.PENDING: "info",
    ConsentStatus.PARTIALLY_SIGNED: "info",
    ConsentStatus.SIGNED: "success",
    ConsentStatus.REVOKED: "urgent",
}


def method_word(method: SigningMethod | None) -> str:
    words = {
        SigningMethod.TYPED_NAME: _("Name typed in the portal"),
        SigningMethod.DRAWN: _("Drawn on a screen"),
        SigningMethod.PAPER: _("Signed on paper"),
    }
    return _("Not recorded") if method is None else words.get(method) or spaced(method)


def is_in_force_later(form: ConsentForm) -> bool:
    """Whether everyone has signed, and it comes into force at a moment that is still ahead."""
    return form.is_signed and _is_ahead(form.in_force_at)


def in_force_word(form: ConsentForm) -> str:
    """What stands before the moment from which it is or was in force; empty if it isn't and wasn't."""
    if form.in_force_at is None or (form.is_ended and _is_ahead(form.in_force_at)):
        return ""
    if form.is_ended:
        return _("Came into force")
    return _("In force from") if is_in_force_later(form) else _("In force since")


def _is_ahead(at: datetime | None) -> bool:
    return at is not None and local(at) > now()


def text_gap_words(gap: TextGap) -> str:
    """Say why a form with incomplete text can't be signed in the portal."""
    match gap:
        case TextGap.NOT_SENT:
            return _(
                "The text of this form didn’t come from the clinic’s system, so it can’t be signed here."
            )
        case TextGap.EMPTY:
            return _("This form has no text, so it can’t be signed.")
        case TextGap.PART_EMPTY:
            return _("A part of this form’s text is missing, so it can’t be signed.")
        case TextGap.ON_FILE:
            return _("This form is signed at the clinic.")


def signer_name(signer: Signer) -> str:
    return signer.name or choice_name(signer.role)


def names_of(signers: tuple[Signer, ...]) -> str:
    """`Daniel Hart and Nora Lindqvist`."""
    return listed([signer_name(signer) for signer in signers])


def whose(form: ConsentForm) -> str:
    """Whose a form is that is known to wait for nobody, as far as its signers are known: a couple has two of one title."""
    names = names_of(form.patients_side)
    if form.is_ended and names:
        return _("For %(name)s", name=names)
    if form.is_open and form.lacks_signatures and form.required_signers:
        return _("%(names)s: who has signed isn’t given", names=names_of(form.required_signers))
    is_signed = form.is_signed or form.is_signed_by_all
    return _("Signed by %(name)s", name=names) if is_signed and names else ""


def brief_name(form: ConsentBrief) -> str:
    """The title of a form in a treatment's list, and whose it is where that was read."""
    names = names_of(form.signers)
    whose_ = _("For %(name)s", name=names) if names else ""
    return in_a_row(filter(None, (form.title or _("Consent form"), whose_)), " · ")


def listed(names: list[str]) -> str:
    """Names joined into a list, with "and" before the last."""
    if len(names) < 2:
        return in_a_row(names)
    return _("%(first)s and %(last)s", first=in_a_row(names[:-1]), last=in_a_row(names[-1:]))


def text_direction(text: str) -> str:
    """`rtl` if the first letter is right-to-left, else `ltr`: a form's text keeps its own direction."""
    strong = next((kind for letter in text if (kind := bidirectional(letter)) in ("L", "R", "AL")), "L")
    return "ltr" if strong == "L" else "rtl"


_ABBREVIATION = re.compile(r"\(([^()]{2,8})\)\s*$")


def short_name(form: ConsentForm) -> str:
    """`Genetic testing · PGT-A`: its kind, and the abbreviation at the end of its title."""
    found = _ABBREVIATION.search(form.title)
    parts = [choice_name(form.kind) if form.kind and form.kind.known else "", found[1] if found else ""]
    return in_a_row([part for part in parts if part], " · ") or form.title
