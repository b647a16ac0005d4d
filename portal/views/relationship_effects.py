"""The page that asks before someone is removed from a patient's record, with what stays: the forms and embryos of both."""

from __future__ import annotations

from functools import partial

from flask import Response

from portal.services.consents import all_consents
from portal.services.consents.forms import ConsentForm
from portal.services.episodes import Episode
from portal.services.gather import gather_all, merged
from portal.services.listed import Listed
from portal.services.relationships import Relationship
from portal.state.operations import Operation
from portal.web.handlers import Care, Page, render
from portal.web.labels import with_record


class RemovePage(Page, template="relationships/remove.html", about="episode"):
    """The consequences of removing someone, and the form; `note` says why nothing was removed.

    `forms` name both people and stay unchanged; `stored` are the couple's embryos.
    """

    episode: Episode
    relationship: Relationship
    forms: Listed[ConsentForm]
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


def _forms_of_both(care: Care, episode: Episode, relationship: Relationship) -> Listed[ConsentForm]:
    """The active forms that name both people, those of the one and those of the other; not whole unless all were read."""
    other = relationship.related_patient_id
    if other is None:
        return Listed()
    owner = relationship.patient_id or episode.patient.id
    whose = (None,) if care.by_patient else (owner, other)  # patients are given whatever names them
    read = merged(gather_all([partial(all_consents, care, patient_id=id_) for id_ in whose]))
    ids = {id_: {id_, *_accounts(episode, id_)} for id_ in (owner, other)}
    return read.where(
        lambda form: (
            (form.is_open or form.is_signed)
            and all(
                id_ in (form.patient_id, form.partner_id) or any(map(form.is_signer, signs_as))
                for id_, signs_as in ids.items()
            )
        )
    )


def _embryos_of_both(episode: Episode, relationship: Relationship) -> list[str]:
    """The codes of the couple's stored embryos, as far as this episode shows."""
    if episode.partner is None or relationship.related_patient_id not in (
        episode.partner.id,
        episode.patient.id,
    ):
        return []
    return [
        with_record(embryo.embryo_code, episode.owner_of(embryo))
        for embryo in episode.embryos
        if embryo.is_in_storage
    ]


def _accounts(episode: Episode, patient_id: str) -> set[str]:
    people = (
        patient for patient in (episode.patient, episode.partner) if patient and patient.id == patient_id
    )
    return {person.user_id for person in people if person.user_id}
