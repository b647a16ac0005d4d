"""A patient's record: patients edit their contact details, staff all of it."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from babel import Locale
from flask import Blueprint, Response, g, url_for
from msgspec.structs import replace

from portal.config.tenants import Side
from portal.i18n.collation import sort_key
from portal.i18n.gettext import _
from portal.i18n.locale import language
from portal.parse import calendar_date
from portal.services.client import Care
from portal.services.conversations import Channel
from portal.services.episodes import Episode
from portal.services.patients import Address, EmergencyContact, Patient, update_patient
from portal.state.session_records import Person
from portal.views.episodes.lookup import find_embedded
from portal.web import audit
from portal.web.conflicts import EDIT_FORM, Editing, Filled, Saved, open_form, save_edit
from portal.web.filters import dialled, telephone
from portal.web.forms import Fields, Form, Values, a_date, a_phone_number, an_email, choice, text
from portal.web.guard import signed_in
from portal.web.htmx import redirect_to, render, toast
from portal.web.locale_selector import NAMES
from portal.web.pages import Page
from portal.web.permissions import EDIT_PATIENT, may
from portal.web.three_way_merge import Comparison
from portal.web.unsent import typed_text

bp = Blueprint("patients", __name__, url_prefix="/patients")
bp.add_app_template_global(may, "may")

IDENTITY = ("first_name", "last_name", "date_of_birth", "mrn", "is_active")
CONTACT = (
    *("preferred_name", "email", "phone_number", "preferred_channel", "language"),
    *("address_*", "emergency_contact_*"),
)
"""The names of the fields whose unsent input is kept."""

CONFIRMED = {"email": "email_verified", "phone_number": "phone_number_verified"}
"""By contact detail, the field that says whether the patient has confirmed it."""


@bp.get("/<record:patient_id>/edit")
@signed_in(Side.STAFF, roles=EDIT_PATIENT)
def edit(care: Care, person: Person, patient_id: str) -> Response:
    """Show a patient's record as a form."""
    episode, patient = find_embedded(care, person, of_id(patient_id))
    audit.shown("patient.read", "patient", patient.id)
    return _page(episode, patient, open_form(_editing(care, person, patient_id), patient))


@bp.post("/<record:patient_id>/edit")
@signed_in(Side.STAFF, roles=EDIT_PATIENT)
@typed_text(*EDIT_FORM, *IDENTITY, *CONTACT, *CONFIRMED.values(), "user_id")
def save(care: Care, person: Person, patient_id: str) -> Response:
    """Save it, or show what someone else changed meanwhile."""
    episode, patient = find_embedded(care, person, of_id(patient_id))
    result = save_edit(_editing(care, person, patient_id), patient)
    if not isinstance(result, Saved):
        return _page(episode, patient, result)
    toast(_("The patient’s record is saved.") if result.is_changed else _("Nothing was changed."))
    return redirect_to(url_for("episodes.show", episode_id=episode.id))


def of_id(patient_id: str) -> Callable[[Episode], Patient | None]:
    """Return a function that picks the patient with this id from an episode."""
    return lambda episode: next(
        (p for p in (episode.patient, episode.partner) if p and p.id == patient_id), None
    )


class EditPage(Page, template="patients/edit.html"):
    """A patient's record as a form, or two conflicting versions of it."""

    episode: Episode
    patient: Patient
    edit: Filled | Comparison


def _page(episode: Episode, patient: Patient, edit: Filled | Comparison) -> Response:
    return render(EditPage(episode=episode, patient=patient, edit=edit), fragment="edit", status=edit.status)


def _editing(care: Care, person: Person, patient_id: str) -> Editing[Patient]:
    return Editing(
        owner=person.sub,
        event="patient.update",
        kind="patient",
        read=lambda: find_embedded(care, person, of_id(patient_id))[1],
        values=lambda patient: {
            **identity_values(patient),
            **contact_values(patient),
            **_confirmed_values(patient),
            **({"user_id": ""} if _may_bind(person, patient) else {}),
        },
        fields=lambda patient: {
            **_identity_fields(),
            **contact_fields(patient),
            **_confirmed_fields(patient),
            **(_account_field() if _may_bind(person, patient) else {}),
        },
        check=lambda patient, form: _check_confirmed(form),
        tidy=tidy_contact,
        write=lambda patient, values: update_patient(
            care, patient.id, patient=_with_identity(_with_confirmed(patient, values), values)
        ),
    )


def _may_bind(person: Person, patient: Patient) -> bool:
    """Whether an administrator may link the record to an account, which is done once."""
    return "admin" in person.roles and patient.user_id is None


def _account_field() -> Fields:
    return {"user_id": text(_("Account"), longest=100)}


# ── identity ──────────────────────────────────────────────────────────────────────────────────


def identity_values(patient: Patient) -> Values:
    """The patient's identity as text."""
    return {
        "first_name": patient.first_name,
        "last_name": patient.last_name,
        "date_of_birth": patient.date_of_birth.isoformat() if patient.date_of_birth else "",
        "mrn": patient.mrn,
        "is_active": "yes" if patient.is_active else "no",
    }


def _identity_fields() -> Fields:
    return {
        "first_name": text(_("First name"), required=_("Enter the first name.")),
        "last_name": text(_("Last name"), required=_("Enter the last name.")),
        "date_of_birth": text(
            _("Date of birth"), required=_("Enter the date of birth."), kind="date", check=a_date
        ),
        "mrn": text(_("MRN"), required=_("Enter the medical record number.")),
        "is_active": choice(_("Record"), [("yes", _("Active")), ("no", _("Not active"))]),
    }


def _with_identity(patient: Patient, values: Values) -> Patient:
    return replace(
        patient,
        first_name=values["first_name"],
        last_name=values["last_name"],
        date_of_birth=calendar_date(values["date_of_birth"]),
        mrn=values["mrn"],
        is_active=values["is_active"] == "yes",
        user_id=patient.user_id or values.get("user_id") or None,
    )


# ── confirmed contact details ─────────────────────────────────────────────────────────────────────────


def _confirmed_values(patient: Patient) -> Values:
    """Which contact details are confirmed, of those of which the API says it."""
    said = {field: getattr(patient, field) for field in CONFIRMED.values()}
    return {field: "yes" if value else "no" for field, value in said.items() if value is not None}


def _confirmed_fields(patient: Patient) -> Fields:
    hint = _("Messages count as the patient’s only from what is confirmed. Check it with the patient first.")
    labels = {"email": _("E-mail address confirmed"), "phone_number": _("Telephone number confirmed")}
    return {
        field: choice(labels[detail], [("no", _("Not confirmed")), ("yes", _("Confirmed"))], hint=hint)
        for detail, field in CONFIRMED.items()
        if field in _confirmed_values(patient)
    }


def _check_confirmed(form: Form) -> None:
    check_contact(form)
    for detail, field in CONFIRMED.items():
        if field in form and form.value(field) == "yes" and not form.value(detail):
            form.add_error(field, _("There is nothing to confirm."))


def _with_confirmed(patient: Patient, values: Values) -> Patient:
    """The record with these contact details; a changed one isn't confirmed any more, unless it wasn't before."""
    changed = with_contact(patient, values)
    given = {
        field: values[field] == "yes"
        and not (getattr(patient, field) and getattr(changed, detail) != getattr(patient, detail))
        for detail, field in CONFIRMED.items()
        if field in values
    }
    return replace(changed, **given)


# ── contact details ───────────────────────────────────────────────────────────────────────────────────

_ADDRESS = {
    "address_line1": "line1",
    "address_line2": "line2",
    "address_city": "city",
    "address_region": "region",
    "address_postal_code": "postal_code",
    "address_country": "country",
}
_EMERGENCY = {
    "emergency_contact_name": "name",
    "emergency_contact_phone_number": "phone_number",
    "emergency_contact_relation": "relation",
}
_THEIR_PHONE = "emergency_contact_phone_number"
_MAY_BE_NONE = ("line2", "region")


def contact_values(patient: Patient) -> Values:
    """The patient's contact details as text."""
    return {
        "preferred_name": patient.preferred_name or "",
        "email": patient.email or "",
        "phone_number": telephone(patient.phone_number),
        "preferred_channel": str(patient.preferred_channel or ""),
        "language": patient.language or "",
        **{field: getattr(patient.address, member, None) or "" for field, member in _ADDRESS.items()},
        **{
            field: getattr(patient.emergency_contact, member, None) or ""
            for field, member in _EMERGENCY.items()
        },
        _THEIR_PHONE: telephone(
            patient.emergency_contact.phone_number if patient.emergency_contact else None
        ),
    }


def tidy_contact(values: Values) -> Values:
    """The input, with telephone numbers formatted like the record's."""
    return {
        name: telephone(value) if name in ("phone_number", _THEIR_PHONE) else value
        for name, value in values.items()
    }


def contact_fields(patient: Patient) -> dict[str, Any]:
    """The form for it; the record's current values count as valid."""
    emergency = patient.emergency_contact or EmergencyContact()
    return {
        "preferred_name": text(_("Preferred name"), autocomplete=_for_own("nickname")),
        "email": text(
            _("E-mail address"),
            kind="email",
            longest=254,
            autocomplete=_for_own("email"),
            check=_unless(patient.email, an_email),
        ),
        "phone_number": text(
            _("Telephone number"),
            kind="tel",
            longest=40,
            autocomplete=_for_own("tel"),
            check=_unless(telephone(patient.phone_number), a_phone_number),
        ),
        "preferred_channel": choice(_("Preferred way to be contacted"), _channels(patient)),
        "language": choice(_("Language for letters"), _languages(patient)),
        "address_line1": text(_("Street and number"), autocomplete=_for_own("address-line1")),
        "address_line2": text(_("Second address line"), autocomplete=_for_own("address-line2")),
        "address_city": text(_("Town or city"), autocomplete=_for_own("address-level2")),
        "address_region": text(_("County or region"), autocomplete=_for_own("address-level1")),
        "address_postal_code": text(_("Postcode"), longest=20, autocomplete=_for_own("postal-code")),
        "address_country": choice(_("Country"), _countries(patient), autocomplete=_for_own("country")),
        "emergency_contact_name": text(_("Name of the emergency contact")),
        "emergency_contact_phone_number": text(
            _("Their telephone number"),
            kind="tel",
            longest=40,
            check=_unless(telephone(emergency.phone_number), a_phone_number),
        ),
        "emergency_contact_relation": text(_("What they are to you") if _is_own() else _("Relation")),
    }


def check_contact(form: Form) -> None:
    """Errors for fields that require another one."""
    if any(form.value(name) for name in _ADDRESS):
        for name, missing in (
            ("address_line1", _("Enter the street and number, or leave the whole address empty.")),
            ("address_city", _("Enter the town or city.")),
            ("address_country", _("Choose the country.")),
        ):
            if not form.value(name):
                form.add_error(name, missing)
    if any(form.value(name) for name in _EMERGENCY):
        for name, missing in (
            ("emergency_contact_name", _("Enter the name of the emergency contact.")),
            ("emergency_contact_phone_number", _("Enter the emergency contact’s telephone number.")),
        ):
            if not form.value(name):
                form.add_error(name, missing)
    channel = form.value("preferred_channel")
    if channel == Channel.EMAIL and not form.value("email"):
        form.add_error("email", _("Enter an e-mail address, or choose another way of contact."))
    if channel in (Channel.SMS, Channel.PHONE) and not form.value("phone_number"):
        form.add_error("phone_number", _("Enter a telephone number, or choose another way of contact."))


def with_contact(patient: Patient, values: Values) -> Patient:
    """The record with these contact details; an empty address or emergency contact becomes None."""
    address = {member: values[field] for field, member in _ADDRESS.items()}
    emergency = {member: values[field] for field, member in _EMERGENCY.items()}
    emergency["phone_number"] = dialled(emergency["phone_number"])
    channel = values["preferred_channel"]
    return replace(
        patient,
        preferred_name=values["preferred_name"] or None,
        email=values["email"] or None,
        phone_number=dialled(values["phone_number"]) or None,
        preferred_channel=Channel(channel) if channel else None,
        language=values["language"] or None,
        address=Address(**{k: v or (None if k in _MAY_BE_NONE else "") for k, v in address.items()})  # pyright: ignore[reportArgumentType]
        if any(address.values())
        else None,
        emergency_contact=EmergencyContact(**emergency) if any(emergency.values()) else None,
    )


def _unless(current: str | None, check: Callable[[str], str | None]) -> Callable[[str], str | None]:
    """A validator that accepts the record's current value."""
    return lambda value: None if value == current else check(value)


def _for_own(purpose: str) -> str | None:
    """What a field is for, where people fill in their own details (WCAG 2.2, success criterion 1.3.5)."""
    return purpose if _is_own() else None


def _is_own() -> bool:
    return bool(g.person.is_patient)


def _channels(patient: Patient) -> list[tuple[str, str]]:
    words = {
        Channel.PORTAL: _("Message in the portal"),
        Channel.EMAIL: _("E-mail"),
        Channel.SMS: _("Text message"),
        Channel.PHONE: _("Telephone call"),
    }
    return _with_current([(str(one), words[one]) for one in words], str(patient.preferred_channel or ""))


def _languages(patient: Patient) -> list[tuple[str, str]]:
    codes: tuple[str, ...] = g.tenant.languages
    offered = [(code, NAMES.get(code) or code) for code in codes]
    return _with_current(offered, patient.language or "")


def _countries(patient: Patient) -> list[tuple[str, str]]:
    current = patient.address.country if patient.address else ""
    return _with_current([("", _("Choose a country")), *_all_countries(language())], current)


def _with_current(choices: list[tuple[str, str]], current: str) -> list[tuple[str, str]]:
    """The choices, including the record's value if it is missing."""
    if current in (value for value, _words in choices):
        return choices
    return [(current, current or _("Not given")), *choices]


@cache
def _all_countries(locale: str) -> list[tuple[str, str]]:
    """ISO 3166-1 codes with their names in a language, in its alphabetical order."""
    names: dict[str, str] = dict(Locale.parse(locale).territories)
    beyond = {"ZZ", "EU", "EZ", "UN", "QO", "XA", "XB"}
    found = [(c, name) for c, name in names.items() if len(c) == 2 and c.isalpha() and c not in beyond]
    return sorted(found, key=lambda pair: sort_key(pair[1], locale))
