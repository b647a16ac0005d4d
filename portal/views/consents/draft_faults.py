"""What is wrong with the draft of a form."""

from __future__ import annotations

from portal.i18n.gettext import _
from portal.parse import calendar_date, whole_number
from portal.services import errors
from portal.services.consents.forms import (
    CLINIC_ROLES,
    COUPLE_KINDS,
    ONE_PERSON_KINDS,
    PATIENT_ROLES,
    ConsentKind,
)
from portal.services.rules.signing import missing_party
from portal.views.consents.begin_draft import PARTNER_PLACE, PATIENT_PLACE, words_of
from portal.views.consents.labels import names_of, text_gap_words
from portal.views.consents.new_form import NewForm
from portal.views.consents.signers import LEFT_OUT
from portal.web.choice_names import choice_name
from portal.web.filters import today
from portal.web.refusals import refusal_message

_LONGEST_TITLE, _LONGEST_VERSION = 300, 32


def faults_of(new_form: NewForm) -> list[tuple[str, str]]:
    """The errors as (field id, sentence) pairs, in the order of the page."""
    found: list[tuple[str, str]] = []
    if not new_form.title or len(new_form.title) > _LONGEST_TITLE:
        found.append(("title", _("Give the form a title of at most %(num)s characters", num=_LONGEST_TITLE)))
    if not new_form.version or len(new_form.version) > _LONGEST_VERSION:
        found.append(
            ("version", _("Give a version of at most %(num)s characters, such as 2.1", num=_LONGEST_VERSION))
        )
    if new_form.procedure_date and calendar_date(new_form.procedure_date) is None:
        found.append(("procedure_date", _("Give the procedure’s date as a date, such as 2026-11-27")))
    elif (planned := calendar_date(new_form.procedure_date)) and planned < today():
        found.append(("procedure_date", _("The procedure’s date is over already; choose a later one")))
    expires = calendar_date(new_form.expires_on)
    if new_form.expires_on and expires is None:
        found.append(("expires_on", _("Give the last day for signing as a date, such as 2026-11-27")))
    elif expires and expires < today():
        found.append(("expires_on", _("The last day for signing is over already; choose a later one")))
    if new_form.disposition and new_form.disposition not in new_form.decisions:
        found.append(("disposition", _("Choose one of the decisions listed")))
    elif new_form.decisions and new_form.embryo_ids and not new_form.disposition:
        found.append(("disposition", _("Choose what is decided about these embryos")))
    if words := _unnamed(new_form):
        found.append(("title", words))
    if signer_faults := _signer_faults(new_form):
        return [*found, *signer_faults]
    if (
        new_form.earlier
        and new_form.replaces
        and (missing := new_form.earlier.signers_without(new_form.signers()))
    ):
        names = names_of(tuple(missing))
        found.append(
            ("replaces", _("To replace it, this form needs the signature of %(names)s too", names=names))
        )
    gap = new_form.preview().text_gap if not found else None
    return [("title", text_gap_words(gap))] if gap else found


def _unnamed(new_form: NewForm) -> str:
    """Whose name the text has a place for that isn't known; empty if there is none."""
    text = words_of(new_form)
    if PARTNER_PLACE in text:
        return _("The text of this template names the partner, and none is known here. Choose another one.")
    if PATIENT_PLACE in text:
        return _("The text of this template names the patient, whose name isn’t known here.")
    return ""


def _signer_faults(new_form: NewForm) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    taken = {row.person_id for row in new_form.rows if row.is_fixed}
    for index, row in enumerate(new_form.rows):
        if row.is_fixed or row.person_id == LEFT_OUT:
            continue
        if row.person_id is None:
            found.append(
                (
                    f"signer-{index}",
                    _("Choose who signs as %(role)s, or leave it out", role=choice_name(row.role)),
                )
            )
        elif row.person_id not in {candidate.person_id for candidate in new_form.candidates_for(row)}:
            found.append((f"signer-{index}", _("Choose one of the people listed")))
        elif row.person_id in taken:
            found.append((f"signer-{index}", _("This person signs already; each person signs once")))
        taken.add(row.person_id)
    return found or _party_faults(new_form)


def _party_faults(new_form: NewForm) -> list[tuple[str, str]]:
    """Errors about required signatures without a signer."""
    first = next((index for index, row in enumerate(new_form.rows) if not row.is_fixed), 0)
    if ConsentKind(new_form.kind) in ONE_PERSON_KINDS:
        return [(f"signer-{first}", words)] if (words := _own_fault(new_form)) else []
    missing = missing_party(new_form.preview())
    signing = {(signer.role, signer.person_id) for signer in new_form.signers()}
    if new_form.about.patient and not any((r, new_form.about.patient) in signing for r in PATIENT_ROLES):
        missing = "PatientMustSign"
    elif (
        new_form.about.partner
        and ConsentKind(new_form.kind) in COUPLE_KINDS
        and not any(id_ == new_form.about.partner and role not in CLINIC_ROLES for role, id_ in signing)
    ):
        missing = "PartnerMustSign"
    return [(f"signer-{first}", refusal_message(missing))] if missing else []


def _own_fault(new_form: NewForm) -> str:
    """Why a form of which each of the two has their own isn't one person's; empty if it is."""
    people = [signer.person_id for signer in new_form.signers() if signer.role not in CLINIC_ROLES]
    if len(people) > 1:
        return refusal_message("OnePersonEach")
    couple = {new_form.about.patient, new_form.about.partner} - {None}
    if not people or (couple and people[0] not in couple):
        return _("Choose whose form this is: the patient’s or the partner’s.")
    return ""


_FIELDS = {
    "title": "title",
    "version": "version",
    "procedure_date": "procedure_date",
    "expires_at": "expires_on",
    "embryo_storage_ids": "embryos",
    "disposition": "disposition",
}
"""The API's members of a new form, and the page's fields for them."""


def faults_named_by(error: errors.Invalid, new_form: NewForm) -> list[tuple[str, str]]:
    """The API's errors by field of this page; those about anything else are shown at the title."""
    found: list[tuple[str, str]] = []
    for name in error.fields:
        path = name.split(".")
        field = _FIELDS.get(path[0], name)
        if path[0] == "required_signers":
            chosen = [str(place) for place, row in enumerate(new_form.rows) if row.person_id != LEFT_OUT]
            place = whole_number(path[1], most=len(chosen) - 1) if len(path) > 1 else None
            field = f"signer-{chosen[place or 0] if chosen else 0}"
        elif field not in _FIELDS.values():
            field = "title"
        found.append((field, _("The clinic’s system doesn’t accept this; please check it")))
    return list(dict.fromkeys(found)) or [
        ("title", _("The clinic’s system didn’t accept the form; please check it"))
    ]
