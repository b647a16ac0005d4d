"""My details: contact details, the people on my record, devices, notifications, language."""

from __future__ import annotations

from collections.abc import Sequence

from flask import Blueprint, Response, url_for
from msgspec.structs import replace

from portal.i18n.gettext import _
from portal.services.episodes import Episode
from portal.services.errors import CareError, NotFound, Unavailable
from portal.services.gather import attempt
from portal.services.patients import Patient, update_patient
from portal.services.relationships import Relationship
from portal.values import Value
from portal.views.episodes.lookup import find_embedded, reachable
from portal.views.patients.contact import CONTACT, check_contact, contact_fields
from portal.views.relationship_effects import also_shared, stops_sharing
from portal.web import preferred_name
from portal.web.edit_form import Edit, Saved
from portal.web.editing import EDIT_FORM, Editing, open_form, save_edit, tell_saved
from portal.web.filters import day, today
from portal.web.handlers import Care, Page, Person, Side, audit, redirect_to, render, signed_in, wants
from portal.web.not_given import not_given
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
    tell_saved(result, _("Your details are saved."))
    if wants("details"):
        return _page(mine, open_form(_editing(care, person), result.record))
    return redirect_to(url_for(".show"))


class Related(Value, frozen=True):
    """Someone on my record, the newest episode that has them, through which they are removed, and what they see of my treatment.

    `since` is the word before its start date.
    """

    relationship: Relationship
    episode_id: str
    since: str
    sharing: str
    stops_sharing: bool


class Mine(Value, frozen=True):
    patient: Patient
    related: tuple[Related, ...]


def _mine(care: Care, person: Person) -> Mine:
    """My record, from my episodes, which all contain it. Raises NotFound if none does."""
    found = reachable(care, person)
    held = [(e, patient) for e in found.newest_first if (patient := e.patient_of(person.sub))]
    if not held:
        raise Unavailable("an episode can't be read") if found.is_incomplete else NotFound
    patient = held[0][1]
    preferred_name.learn(patient)
    related: dict[str, tuple[Relationship, str]] = {}
    for episode, _patient in held:
        for relationship in episode.relationships:
            if relationship.patient_id in (patient.id, None):
                related.setdefault(relationship.id, (relationship, episode.id))
    on_record = [relationship for relationship, _episode_id in related.values()]
    return Mine(
        patient,
        tuple(
            Related(
                relationship,
                episode_id,
                since=_("since") if relationship.has_begun(today()) else _("from"),
                sharing=_sharing(relationship, also_shared(relationship, on_record)),
                stops_sharing=stops_sharing(relationship, on_record),
            )
            for relationship, episode_id in related.values()
        ),
    )


def _sharing(relationship: Relationship, also: Sequence[Relationship]) -> str:
    """What the person sees of the treatment, `also` through other relationships."""
    is_ended = relationship.is_ended(today())
    if relationship.shares_on(today()):
        return _("Sees your treatment in the portal.")
    if not is_ended and not_given("Relationship.isPortalShared"):
        return _(
            "The clinic’s system doesn’t say whether they see your treatment in the portal. Removing ends it."
        )
    if any(other.has_begun(today()) for other in also):
        return _("Sees your treatment in the portal through another entry on your record.")
    if relationship.may_share and relationship.start_date and not is_ended:
        return _("Will see your treatment in the portal from %(day)s on.", day=day(relationship.start_date))
    if is_ended:
        return _("Nothing is shared any more. What you both signed stays signed.")
    return _("Does not see your treatment in the portal.")


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
