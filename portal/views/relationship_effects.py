"""The page that asks before someone is removed from a patient's record, with what stays: the forms and embryos of both."""

from __future__ import annotations

from flask import Response

from portal.services.consents import all_consents
from portal.services.consents.forms import ConsentForm
from portal.services.episodes import Episode
from portal.services.gather import attempt, known
from portal.services.relationships import Relationship
from portal.state.operations import Operation
from portal.web.handlers import Care, Page, render
from portal.web.labels import with_record


class RemovePage(Page, template="relationships/remove.html", about="episode"):
    """The consequences of removing someone, and the form; `note` says why nothing was removed.

    `forms` name both people and stay unchanged, None if they can't be read; `stored` are the couple's embryos.
    """

    episode: Episode
    relationship: Relationship
    forms: list[ConsentForm] | None
    stored: list[str]
    operation: Operation
    note: str


def ask(
    care: Care,
    episode: Episode,
    relationship: Relationship,
    operation: Operation,
    *,
    status: int = 200,
    note: str = "",
) -> Response:
    """Show the consequences, and ask; `note` says why nothing was removed."""
    page = RemovePage(
        episode=episode,
        relationship=relationship,
        forms=_forms_of_both(care, episode, relationship),
        stored=_embryos_of_both(episode, relationship),
        operation=operation,
        note=note,
    )
    return render(page, status=status)


def _forms_of_both(care: Care, episode: Episode, relationship: Relationship) -> list[ConsentForm] | None:
    """The active forms that name both people; None if they can't be read."""
    other = relationship.related_patient_id
    if other is None:
        return []
    owner = relationship.patient_id or episode.patient.id
    forms = attempt(lambda: all_consents(care, patient_id=owner))
    found = known(forms)
    if found is None:
        return None
    persons = {other, *_accounts(episode, other)}
    return [
        form
        for form in found
        if (form.is_open or form.is_signed)
        and (form.partner_id == other or any(form.is_signer(person_id) for person_id in persons))
    ]


def _embryos_of_both(episode: Episode, relationship: Relationship) -> list[str]:
    """The codes of the couple's stored embryos, as far as this episode shows."""
    if episode.partner is None or relationship.related_patient_id not in (
        episode.partner.id,
        episode.patient.id,
    ):
        return []
    return [
        with_record(embryo.embryo_code, episode.patient) for embryo in episode.embryos if embryo.is_in_storage
    ]


def _accounts(episode: Episode, patient_id: str) -> set[str]:
    people = (
        patient for patient in (episode.patient, episode.partner) if patient and patient.id == patient_id
    )
    return {person.user_id for person in people if person.user_id}
