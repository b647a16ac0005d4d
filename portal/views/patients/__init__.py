"""Patients as staff see them: the list, one patient's page, and the record, of which patients edit their contact details in
`portal.views.me`."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from flask import Blueprint, Response, request, url_for
from msgspec.structs import replace

from portal.i18n.gettext import _
from portal.parse import calendar_date, page_number
from portal.services.episodes import Episode
from portal.services.patient_ref import PatientRef
from portal.services.patients import Patient, update_patient
from portal.services.people import newest_people
from portal.views.episodes.lookup import find_embedded
from portal.views.patients import overview
from portal.views.patients.contact import CONFIRMED, CONTACT, check_contact, contact_fields
from portal.views.patients.list import list_page
from portal.views.recent import name_opened
from portal.web.edit_form import Edit, EditForm, Saved
from portal.web.editing import EDIT_FORM, Editing, open_form, save_edit, tell_saved
from portal.web.fields import Fields, member
from portal.web.forms import a_date, choice, text
from portal.web.handlers import Care, Page, Person, Side, audit, redirect_to, render, signed_in, toast
from portal.web.known_people import known_people
from portal.web.permissions import EDIT_PATIENT, may
from portal.web.unsent import typed_text

bp = Blueprint("patients", __name__, url_prefix="/patients")
bp.register_blueprint(overview.bp)
bp.add_app_template_global(may, "may")

_IDENTITY = ("first_name", "last_name", "date_of_birth", "mrn", "is_active", "user_id")


class EditPage(Page, template="patients/edit.html"):
    """A patient's record as a form, or two conflicting versions of it."""

    episode: Episode
    patient: Patient
    edit: Edit

    @property
    def patient_ref(self) -> PatientRef:
        """The person whose record it is, patient or partner."""
        return PatientRef(self.patient.id, self.patient.full_name, self.episode.id)


@bp.get("", endpoint="list")
@signed_in(Side.STAFF)
def list_(care: Care, person: Person) -> Response:
    """Show the patients about whom there is something new."""
    page = list_page(newest_people(care), known_people(), page_number(request.args.get("page")))
    return render(page, fragment="results")


@bp.get("/<record:patient_id>/edit")
@signed_in(Side.STAFF, roles=EDIT_PATIENT)
def edit(care: Care, person: Person, patient_id: str) -> Response:
    episode, patient = find_embedded(care, person, _of_id(patient_id), within="Episode.patient")
    audit.shown("patient.read", "patient", patient.id)
    return _page(episode, patient, open_form(_editing(care, person, patient_id), patient))


@bp.post("/<record:patient_id>/edit")
@signed_in(Side.STAFF, roles=EDIT_PATIENT)
@typed_text(*EDIT_FORM, *_IDENTITY, *CONTACT, *CONFIRMED.values())
def save(care: Care, person: Person, patient_id: str) -> Response:
    """Save it, or show what someone else changed meanwhile."""
    episode, patient = find_embedded(care, person, _of_id(patient_id), within="Episode.patient")
    result = save_edit(_editing(care, person, patient_id), patient)
    if not isinstance(result, Saved):
        return _page(episode, patient, result)
    if (
        patient.user_id is None and result.record.user_id
    ):  # the account's address is confirmed, and so is the record's
        result = replace(
            result, unlike=tuple(label for label in result.unlike if label != _("E-mail address confirmed"))
        )
    tell_saved(result, _("The patient’s record is saved."))
    if any(
        request.form.get(field) == "yes" and getattr(result.record, field) is False
        for field in CONFIRMED.values()
    ):
        toast(
            _("What was changed isn’t confirmed any more. Check it with the patient, then confirm it."),
            tone="attention",
        )
    return redirect_to(url_for("episodes.show", episode_id=episode.id))


def _page(episode: Episode, patient: Patient, edit: Edit) -> Response:
    name_opened(patient.full_name)
    return render(EditPage(episode=episode, patient=patient, edit=edit), fragment="edit", status=edit.status)


def _editing(care: Care, person: Person, patient_id: str) -> Editing[Patient]:
    return Editing(
        owner=person.sub,
        event="patient.update",
        fields=lambda patient: _fields(patient, person),
        read=lambda: find_embedded(care, person, _of_id(patient_id), within="Episode.patient")[1],
        write=partial(update_patient, care, patient_id),
        check=_check,
    )


def _of_id(patient_id: str) -> Callable[[Episode], Patient | None]:
    return lambda episode: next(
        (p for p in (episode.patient, episode.partner) if p and p.id == patient_id), None
    )


def _fields(patient: Patient, person: Person) -> Fields[Patient]:
    return [
        *_identity_fields(),
        *contact_fields(patient),
        *_confirmed_fields(patient),
        *(_account_fields(patient) if "admin" in person.roles else []),
    ]


def _account_fields(patient: Patient) -> Fields[Patient]:
    """The account, which is linked once; also where one is asked for of a record that somebody else linked meanwhile."""
    if (bound := patient.user_id) is None:
        return [member("user_id", text(_("Account"), longest=100))]
    if not request.form.get("user_id"):
        return []
    taken = _("This record belongs to an account already; that is set once.")
    return [member("user_id", choice(_("Account"), [(bound, bound)], wrong=taken))]


def _identity_fields() -> Fields[Patient]:
    born = text(_("Date of birth"), required=_("Enter the date of birth."), kind="date", check=a_date)
    active = choice(_("Record"), [("yes", _("Active")), ("no", _("Not active"))])
    return [
        member("first_name", text(_("First name"), required=_("Enter the first name.")), value=str),
        member("last_name", text(_("Last name"), required=_("Enter the last name.")), value=str),
        member("date_of_birth", born, value=calendar_date),
        member("mrn", text(_("MRN"), required=_("Enter the medical record number.")), value=str),
        member("is_active", active, text=_yes_or_no, value=_is_yes),
    ]


def _confirmed_fields(patient: Patient) -> Fields[Patient]:
    """Which contact details are confirmed, of those of which the API says it."""
    hint = _("Messages count as the patient’s only from what is confirmed. Check it with the patient first.")
    labels = {"email": _("E-mail address confirmed"), "phone_number": _("Telephone number confirmed")}
    choices = [("no", _("Not confirmed")), ("yes", _("Confirmed"))]
    return [
        member(field, choice(labels[detail], choices, hint=hint), text=_yes_or_no, value=_is_yes)
        for detail, field in CONFIRMED.items()
        if getattr(patient, field) is not None
    ]


def _check(patient: Patient, form: EditForm) -> None:
    check_contact(form)
    for detail, field in CONFIRMED.items():
        if field not in form or form.value(field) != "yes":
            continue
        if not form.value(detail):
            form.add_error(field, _("There is nothing to confirm."), [detail])
        elif detail in form.theirs and not getattr(patient, field):
            form[field].data = "no"
            form.add_error(
                field, _("This was changed meanwhile: check the new one with the patient, then confirm it.")
            )


def _yes_or_no(value: object) -> str:
    return "yes" if value else "no"


def _is_yes(typed: str) -> bool:
    return typed == "yes"
