"""A patient's contact details: the fields that they and the clinic edit."""

from __future__ import annotations

from functools import cache
from typing import Any

from babel import Locale
from flask import g
from msgspec.structs import replace

from portal.i18n.collation import sort_key
from portal.i18n.gettext import _
from portal.i18n.locale import language
from portal.services.conversations import Channel
from portal.services.patients import NO_ADDRESS, NO_EMERGENCY_CONTACT, Address, EmergencyContact, Patient
from portal.web.fields import Field, given, member, part
from portal.web.filters import dialled, telephone
from portal.web.forms import Form, a_phone_number, an_email, choice, text
from portal.web.locale_selector import NAMES

CONTACT = (
    *("preferred_name", "email", "phone_number", "preferred_channel", "language"),
    *("address_*", "emergency_contact_*"),
)
"""The names of the fields whose unsent input is kept."""

CONFIRMED = {"email": "email_verified", "phone_number": "phone_number_verified"}
"""By contact detail, the member that says whether the patient has confirmed it."""

_ADDRESS = tuple(f"address_{name}" for name in Address.__struct_fields__)
_EMERGENCY = tuple(f"emergency_contact_{name}" for name in EmergencyContact.__struct_fields__)


def contact_fields(patient: Patient) -> list[Field[Patient]]:
    """The fields of the contact details; a changed one isn't confirmed."""
    fields = [
        member("preferred_name", text(_("Preferred name"), autocomplete=_for_own("nickname"))),
        member(
            "email",
            text(
                _("E-mail address"), kind="email", longest=254, autocomplete=_for_own("email"), check=an_email
            ),
        ),
        member(
            "phone_number",
            _a_phone(_("Telephone number"), autocomplete=_for_own("tel")),
            text=telephone,
            value=lambda typed: dialled(typed) or None,
            tidy=telephone,
        ),
        member(
            "preferred_channel",
            choice(_("Preferred way to be contacted"), _channels(patient)),
            value=lambda typed: Channel(typed) if typed else None,
        ),
        member("language", choice(_("Language for letters"), _languages(patient))),
        *_address_fields(patient),
        *_emergency_contact_fields(patient),
    ]
    return [_unconfirming(field) for field in fields]


def _unconfirming(field: Field[Patient]) -> Field[Patient]:
    """The field of a contact detail, which isn't confirmed any more once it is changed."""
    confirmed = CONFIRMED.get(field.name, "")

    def onto(patient: Patient, typed: str) -> Patient:
        changed = field.onto(patient, typed)
        return replace(changed, **{confirmed: False}) if getattr(patient, confirmed) else changed

    return replace(field, onto=onto) if confirmed else field


def _address_fields(patient: Patient) -> list[Field[Patient]]:
    countries = choice(_("Country"), _countries(patient), autocomplete=_for_own("country"))
    postcode = text(_("Postcode"), longest=20, autocomplete=_for_own("postal-code"))
    second_line = text(_("Second address line"), autocomplete=_for_own("address-line2"))
    region = text(_("County or region"), autocomplete=_for_own("address-level1"))
    return [
        part(
            "address",
            NO_ADDRESS,
            "line1",
            text(_("Street and number"), autocomplete=_for_own("address-line1")),
        ),
        part("address", NO_ADDRESS, "line2", second_line, value=given),
        part("address", NO_ADDRESS, "city", text(_("Town or city"), autocomplete=_for_own("address-level2"))),
        part("address", NO_ADDRESS, "region", region, value=given),
        part("address", NO_ADDRESS, "postal_code", postcode),
        part("address", NO_ADDRESS, "country", countries),
    ]


def _emergency_contact_fields(patient: Patient) -> list[Field[Patient]]:
    of, empty = "emergency_contact", NO_EMERGENCY_CONTACT
    relation = text(_("What they are to you") if _is_own() else _("Relation"))
    return [
        part(of, empty, "name", text(_("Name of the emergency contact"))),
        part(
            of,
            empty,
            "phone_number",
            _a_phone(_("Their telephone number")),
            text=telephone,
            value=dialled,
            tidy=telephone,
        ),
        part(of, empty, "relation", relation),
    ]


def _a_phone(label: str, *, autocomplete: str | None = None) -> Any:
    return text(label, kind="tel", longest=40, autocomplete=autocomplete, check=a_phone_number)


def check_contact(form: Form) -> None:
    """Errors for fields that require another one."""
    if any(form.value(name) for name in _ADDRESS):
        for name, missing in (
            ("address_line1", _("Enter the street and number, or leave the whole address empty.")),
            ("address_city", _("Enter the town or city.")),
            ("address_country", _("Choose the country.")),
        ):
            if not form.value(name):
                form.add_error(name, missing, _ADDRESS)
    if any(form.value(name) for name in _EMERGENCY):
        for name, missing in (
            ("emergency_contact_name", _("Enter the name of the emergency contact.")),
            ("emergency_contact_phone_number", _("Enter the emergency contact’s telephone number.")),
        ):
            if not form.value(name):
                form.add_error(name, missing, _EMERGENCY)
    channel = form.value("preferred_channel")
    if channel == Channel.EMAIL and not form.value("email"):
        missing = _("Enter an e-mail address, or choose another way of contact.")
        form.add_error("email", missing, ["preferred_channel"])
    if channel in (Channel.SMS, Channel.PHONE) and not form.value("phone_number"):
        missing = _("Enter a telephone number, or choose another way of contact.")
        form.add_error("phone_number", missing, ["preferred_channel"])


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
    return _with_current([(str(word), words[word]) for word in words], str(patient.preferred_channel or ""))


def _languages(patient: Patient) -> list[tuple[str, str]]:
    codes: tuple[str, ...] = g.tenant.languages
    offered = [(code, NAMES.get(code) or code) for code in codes]
    return _with_current(offered, patient.language or "")


def _countries(patient: Patient) -> list[tuple[str, str]]:
    current = (patient.address and patient.address.country) or ""
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
