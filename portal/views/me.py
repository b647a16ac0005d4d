"""My details: contact details, the people on my record, devices, notifications, language."""

from __future__ import annotations

from flask import Blueprint, Response, url_for
from msgspec.structs import replace

from portal.i18n.gettext import _
from portal.services.episodes import Episode
from portal.services.errors import CareError, NotFound, Unavailable
from portal.services.found_episodes import read_episodes
from portal.services.gather import attempt
from portal.services.patients import Patient, update_patient
from portal.services.relationships import Relationship
from portal.values import Value
from portal.views.episodes.lookup import find_embedded, reachable
from portal.views.patients.contact import CONTACT, check_contact, contact_fields
from portal.web import preferred_name
from portal.web.edit_form import Edit, Saved
from portal.web.editing import EDIT_FORM, Editing, open_form, save_edit
from portal.web.handlers import Care, Page, Person, Side, audit, redirect_to, render, signed_in, toast, wants
from portal.web.unsent import typed_text

bp = Blueprint("me", __name__, url_prefix="/me")


@bp.get("")
@signed_in(Side.PATIENT, Side.STAFF)
def show(care: Care, person: Person) -> Response:
    """Show my details, the fields that I may change as a form."""
    if person.is_staff:
        return render(StaffPage())
    mine = attempt(lambda: _mine(care, person))
    if isinstance(mine, CareError):
        return _page(mine, None)
    audit.shown("patient.read", "patient", mine.patient.id)
    return _page(mine, open_form(_editing(care, person), mine.patient))


@bp.post("")
@signed_in(Side.PATIENT)
@typed_text(*EDIT_FORM, *CONTACT)
def save(care: Care, person: Person) -> Response:
    """Save my contact details, or show what someone else changed meanwhile."""
    mine = _mine(care, person)
    result = save_edit(_editing(care, person), mine.patient)
    if not isinstance(result, Saved):
        return _page(mine, result)
    preferred_name.learn(result.record)
    mine = replace(mine, patient=result.record)
    toast(_("Your details are saved.") if result.is_changed else _("Nothing was changed."))
    if wants("details"):
        return _page(mine, open_form(_editing(care, person), result.record))
    return redirect_to(url_for(".show"))


class Related(Value, frozen=True):
    """Someone on my record, and the episode through which they are removed."""

    relationship: Relationship
    episode_id: str


class Mine(Value, frozen=True):
    patient: Patient
    related: tuple[Related, ...]


def _mine(care: Care, person: Person) -> Mine:
    """My record, from my episodes, which all contain it. Raises NotFound if none does."""
    found = read_episodes(care, reachable(care, person))
    held = [(e, patient) for e in found.newest_first if (patient := e.patient_of(person.sub))]
    if not held:
        raise Unavailable("an episode can't be read") if found.is_incomplete else NotFound
    patient = held[0][1]
    preferred_name.learn(patient)
    related = {
        relationship.id: Related(relationship, episode.id)
        for episode, _patient in held
        for relationship in episode.relationships
        if relationship.patient_id in (patient.id, None)
    }
    return Mine(patient, tuple(related.values()))


def _editing(care: Care, person: Person) -> Editing[Patient]:
    def of_mine(episode: Episode) -> Patient | None:
        return episode.patient_of(person.sub)

    return Editing(
        owner=person.sub,
        event="patient.update",
        fields=contact_fields,
        read=lambda: find_embedded(care, person, of_mine, within="Episode.patient")[1],
        write=lambda patient, read: update_patient(care, read.id, patient, before=read),
        check=lambda patient, form: check_contact(form),
    )


class StaffPage(Page, template="me/staff.html"):
    """My identity at the clinic, and my account."""


class DetailsPage(Page, template="me/show.html"):
    """My details as a form; if my record is missing or can't be read, everything else."""

    mine: Mine | CareError
    is_missing: bool
    edit: Edit | None


def _page(mine: Mine | CareError, edit: Edit | None) -> Response:
    """My details; if my record doesn't exist yet or can't be read now, everything else is still shown."""
    page = DetailsPage(mine=mine, is_missing=isinstance(mine, NotFound), edit=edit)
    return render(page, fragment="details", status=edit.status if edit else 200)
