"""Labels for consent forms' statuses, roles and kinds, registered as template filters."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TypeVar
from unicodedata import bidirectional

from flask import Blueprint

from portal.i18n.gettext import _, for_each_language
from portal.services.consents.forms import (
    ConsentForm,
    ConsentKind,
    ConsentStatus,
    Signer,
    SignerRole,
    SigningMethod,
    TextGap,
)
from portal.services.decoding import Choice
from portal.web.explanations import is_staff
from portal.web.filters import in_a_row
from portal.web.labels import spaced
from portal.web.opened_forms import first_opened

ChoiceT = TypeVar("ChoiceT", bound=Choice)


def register(bp: Blueprint) -> None:
    """Register the labels as template filters."""
    bp.add_app_template_filter(status_word, "consent_status")
    bp.add_app_template_filter(state_word, "consent_state")
    bp.add_app_template_filter(status_tone, "consent_tone")
    bp.add_app_template_filter(role_word, "signer_role")
    bp.add_app_template_filter(kind_word, "consent_kind")
    bp.add_app_template_filter(short_name, "consent_short")
    bp.add_app_template_filter(method_word, "signing_method")
    bp.add_app_template_filter(names_of, "names")
    bp.add_app_template_filter(signer_name, "signer_name")
    bp.add_app_template_filter(listed, "listed")
    bp.add_app_template_filter(text_direction, "text_direction")
    bp.add_app_template_filter(text_gap_words, "text_gap")
    bp.add_app_template_filter(first_opened, "first_opened")


def status_word(status: ConsentStatus) -> str:
    """`Partly signed`; an unknown status is split into words."""
    return _word(_status_words(), status)


def state_word(form: ConsentForm) -> str:
    """The form's status; `Declined` if a signer declined, `Cancelled` if the clinic ended it unsigned."""
    if form.is_cancelled:
        return _("Cancelled")
    return _("Declined") if form.declined_by else status_word(form.status)


@for_each_language
def _status_words() -> dict[ConsentStatus, str]:
    return {
        ConsentStatus.DRAFT: _("Draft"),
        ConsentStatus.PENDING: _("Unsigned"),
        ConsentStatus.PARTIALLY_SIGNED: _("Partly signed"),
        ConsentStatus.SIGNED: _("Signed"),
        ConsentStatus.REVOKED: _("Withdrawn"),
        ConsentStatus.EXPIRED: _("Expired"),
        ConsentStatus.SUPERSEDED: _("Replaced"),
    }


def status_tone(status: ConsentStatus) -> str:
    """The status's tone; a patient's withdrawn form is no alarm to them."""
    if status == ConsentStatus.REVOKED and not is_staff():
        return "neutral"
    return _STATUS_TONES.get(status, "neutral")


_STATUS_TONES = {
    ConsentStatus.PENDING: "info",
    ConsentStatus.PARTIALLY_SIGNED: "info",
    ConsentStatus.SIGNED: "success",
    ConsentStatus.REVOKED: "urgent",
}


def role_word(role: SignerRole) -> str:
    """A signer's role, such as `Patient`."""
    return _word(_role_words(), role)


@for_each_language
def _role_words() -> dict[SignerRole, str]:
    return {
        SignerRole.PATIENT: _("Patient"),
        SignerRole.PARTNER: _("Partner"),
        SignerRole.GAMETE_PROVIDER: _("Gamete provider"),
        SignerRole.DONOR: _("Donor"),
        SignerRole.SURROGATE: _("Surrogate"),
        SignerRole.INTENDED_PARENT: _("Intended parent"),
        SignerRole.WITNESS: _("Witness"),
        SignerRole.INTERPRETER: _("Interpreter"),
        SignerRole.CLINICIAN: _("Clinician"),
    }


def kind_word(kind: ConsentKind | None) -> str:
    """A form's kind, such as `Genetic testing`."""
    return "" if kind is None else _word(_kind_words(), kind)


@for_each_language
def _kind_words() -> dict[ConsentKind, str]:
    return {
        ConsentKind.TREATMENT: _("Treatment"),
        ConsentKind.STORAGE: _("Storage"),
        ConsentKind.STORAGE_RENEWAL: _("Storage renewal"),
        ConsentKind.DISPOSITION: _("Disposition"),
        ConsentKind.GENETIC_TESTING: _("Genetic testing"),
        ConsentKind.DONATION: _("Donation"),
        ConsentKind.SURROGACY: _("Surrogacy"),
        ConsentKind.LEGAL_PARENTHOOD: _("Legal parenthood"),
        ConsentKind.DISCLOSURE: _("Sharing information"),
        ConsentKind.RESEARCH: _("Research"),
    }


def method_word(method: SigningMethod | None) -> str:
    """How a signature was given."""
    words = {
        SigningMethod.TYPED_NAME: _("Name typed in the portal"),
        SigningMethod.DRAWN: _("Drawn on a screen"),
        SigningMethod.PAPER: _("Signed on paper"),
    }
    return _("Not recorded") if method is None else _word(words, method)


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
    """A signer's name, or the role if nobody is named yet."""
    return signer.name or role_word(signer.role)


def names_of(signers: tuple[Signer, ...]) -> str:
    """`Daniel Hart and Nora Lindqvist`."""
    return listed([signer_name(signer) for signer in signers])


def listed(names: list[str]) -> str:
    """Names joined into a list, with "and" before the last."""
    if len(names) < 2:
        return in_a_row(names)
    return _("%(first)s and %(last)s", first=in_a_row(names[:-1]), last=in_a_row(names[-1:]))


def text_direction(text: str) -> str:
    """`rtl` if the first letter is right-to-left, else `ltr`: a form's text keeps its own direction."""
    strong = next((kind for letter in text if (kind := bidirectional(letter)) in ("L", "R", "AL")), "L")
    return "ltr" if strong == "L" else "rtl"


def _word(words: Mapping[ChoiceT, str], value: ChoiceT) -> str:
    return words.get(value) or spaced(str(value))


_ABBREVIATION = re.compile(r"\(([^()]{2,8})\)\s*$")


def short_name(form: ConsentForm) -> str:
    """`Genetic testing · PGT-A`: its kind, and the abbreviation at the end of its title."""
    known = form.kind is not None and form.kind.known
    found = _ABBREVIATION.search(form.title)
    parts = [kind_word(form.kind) if known else "", found[1] if found else ""]
    return in_a_row([part for part in parts if part], " · ") or form.title
