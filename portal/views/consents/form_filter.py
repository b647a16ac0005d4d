"""The filter of staff's work lists, in the address: by whom a form waits for, by its kind, and by its patient."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from enum import StrEnum
from urllib.parse import urlencode

from flask import url_for
from msgspec.structs import replace

from portal.config.modules import Module
from portal.i18n.gettext import _
from portal.parse import record_id
from portal.services.consents.forms import CLINIC_ROLES, ConsentForm, ConsentKind, Signer, SignerRole
from portal.services.rules.signing import (
    same_name,
    signed_in_another_role,
    still_to_sign,
    told_without_account,
    without_account,
)
from portal.state.session_records import Person
from portal.values import Value
from portal.web.choice_names import choice_name
from portal.web.modules import has_module


class WaitsFor(StrEnum):
    """Whose signature is missing, by its name in the query."""

    THEM = "patients"
    PARTNER = "partners"
    US = "us"
    NO_ACCOUNT = "no-account"


class FormFilter(Value, frozen=True):
    """Which forms of a list are shown: all, or only those that wait for somebody, of a kind, or of a patient."""

    waits_for: WaitsFor | None = None
    kind: ConsentKind | None = None
    patient_id: str | None = None

    @staticmethod
    def read(args: Mapping[str, str]) -> FormFilter:
        """Parse the parameters `waits`, `kind` and `patient`; what isn't known is left out."""
        waits, kind = args.get("waits", ""), ConsentKind(args.get("kind") or "none")
        return FormFilter(
            WaitsFor(waits) if waits in set(WaitsFor) else None,
            kind if kind.known else None,
            record_id(args.get("patient")),
        )

    @property
    def query(self) -> dict[str, str]:
        named = {"waits": self.waits_for, "kind": self.kind, "patient": self.patient_id}
        return {name: str(value) for name, value in named.items() if value is not None}

    @property
    def of_everybody(self) -> FormFilter:
        return replace(self, patient_id=None)

    def address(self, **parameters: str | int) -> str:
        return url_for("consents.list") + "?" + urlencode({**parameters, **self.query})

    def __bool__(self) -> bool:
        return any((self.waits_for, self.kind, self.patient_id))

    @property
    def is_about_people(self) -> bool:
        """Whether it asks for people outside the clinic, who can be called."""
        return self.waits_for in (WaitsFor.THEM, WaitsFor.PARTNER, WaitsFor.NO_ACCOUNT)

    def doubt(self, forms: Iterable[ConsentForm], person: Person) -> str:
        """Why open forms may be missing here: the API doesn't say of each whether it fits; empty if it does."""
        forms = tuple(forms)
        if self.waits_for and any(not form.required_signers for form in forms if self._is_of_kind(form)):
            return _(
                "The clinic’s system doesn’t say of every form who signs it, so forms may be missing here."
            )
        asks = self.waits_for == WaitsFor.NO_ACCOUNT
        if asks and any(told_without_account(form, person) is None for form in forms):
            return _(
                "The clinic’s system doesn’t say of everybody whether they have an account, "
                "so forms may be missing here."
            )
        return ""

    def _is_of_kind(self, form: ConsentForm) -> bool:
        return self.kind is None or form.kind == self.kind

    def fits(self, form: ConsentForm, person: Person) -> bool:
        """Whether the form is shown to this person."""
        if not self._is_of_kind(form):
            return False
        if self.patient_id is not None and form.patient_id != self.patient_id:
            return False
        return self.waits_for is None or _WAITS[self.waits_for](form, person)


EVERYTHING = FormFilter()
_EITHER = (SignerRole.GAMETE_PROVIDER, SignerRole.INTENDED_PARENT)
"""Roles in which either of a couple signs."""


def waits_choices() -> list[tuple[str, str]]:
    """The choices of whom a form waits for, with their words."""
    return [
        ("", _("Anybody")),
        (WaitsFor.THEM, _("Patients and partners")),
        (WaitsFor.PARTNER, _("Partners")),
        (WaitsFor.US, _("The clinic")),
        (WaitsFor.NO_ACCOUNT, _("People without an account")),
    ]


def kind_choices(forms: Iterable[ConsentForm], chosen: ConsentKind | None) -> list[tuple[str, str]]:
    """The choices of a kind: those of the forms that wait, and the chosen one; not what the clinic has switched off."""
    found = {form.kind for form in forms} | {chosen}
    if not has_module(Module.RESULTS):
        found -= {ConsentKind.GENETIC_TESTING}
    return [("", _("All kinds")), *((str(kind), choice_name(kind)) for kind in ConsentKind if kind in found)]


def _is_partner(signer: Signer, form: ConsentForm) -> bool:
    """Whether a signer is the patient's partner: by their role, or in a form of which each of the two has their own."""
    if signer.role not in _EITHER:
        return signer.role == SignerRole.PARTNER
    return signer.person_id != form.patient_id and not same_name(signer.name, form.patient_name)


def _waits_outside(form: ConsentForm, _person: Person) -> bool:
    return any(signer.role not in CLINIC_ROLES for signer in still_to_sign(form))


def _waits_for_partner(form: ConsentForm, _person: Person) -> bool:
    return any(_is_partner(signer, form) for signer in still_to_sign(form))


def _waits_for_clinic(form: ConsentForm, _person: Person) -> bool:
    """Whether the clinic has to sign, or to record what somebody can't sign in a second role."""
    is_clinics = any(signer.role in CLINIC_ROLES for signer in form.missing_signers)
    return is_clinics or bool(signed_in_another_role(form))


_WAITS: Mapping[WaitsFor, Callable[[ConsentForm, Person], bool]] = {
    WaitsFor.THEM: _waits_outside,
    WaitsFor.PARTNER: _waits_for_partner,
    WaitsFor.US: _waits_for_clinic,
    WaitsFor.NO_ACCOUNT: lambda form, person: bool(without_account(form, person)),
}
