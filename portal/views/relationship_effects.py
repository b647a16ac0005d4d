"""The page that asks before someone is removed from a patient's record, with what stays: the forms and embryos of both."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from flask import Response

from portal.i18n.gettext import _
from portal.request_values import reader_is_staff
from portal.services.consents import all_consents
from portal.services.consents.forms import ConsentForm
from portal.services.episodes import Episode
from portal.services.gather import gather_all, merged
from portal.services.listed import Listed
from portal.services.relationships import Relationship
from portal.state.operations import Operation
from portal.views.embryo_view import told_apart
from portal.web.choice_names import choice_name
from portal.web.filters import day, today
from portal.web.handlers import Care, Page, render
from portal.web.not_given import not_given


class RemovePage(Page, template="relationships/remove.html", about="episode"):
    """The consequences of removing someone, and the form; `note` says why nothing was removed.

    `stops_sharing` is false while another relationship shares with the same person; `sharing` says what they see afterwards.
    `forms` name both people and stay unchanged; `stored` are the couple's embryos.
    """

    episode: Episode
    relationship: Relationship
    stops_sharing: bool
    sharing: list[str]
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
        stops_sharing=stops_sharing(relationship, episode.relationships),
        sharing=_sharing_afterwards(episode, relationship),
        forms=_forms_of_both(care, episode, relationship),
        stored=_embryos_of_both(episode, relationship),
        operation=operation,
        note=note,
    )
    return render(page, status=status)


def stops_sharing(relationship: Relationship, relationships: Iterable[Relationship]) -> bool:
    """Whether the patient's treatment is shared with the person until this relationship is removed, and no longer."""
    return relationship.shares_on(today()) and not also_shared(relationship, relationships)


def also_shared(
    relationship: Relationship, relationships: Iterable[Relationship]
) -> tuple[Relationship, ...]:
    """The other relationships that share the same patient's treatment with the same person, now or from their start on."""
    return tuple(
        other
        for other in relationships
        if other.id != relationship.id
        and other.is_between_same_people(relationship)
        and not other.is_ended(today())
        and (other.may_share or not_given("Relationship.isPortalShared"))
    )


def _sharing_afterwards(episode: Episode, relationship: Relationship) -> list[str]:
    """What the person sees in the portal once the relationship is removed."""
    name = relationship.related_name or _("This person")
    if also := also_shared(relationship, episode.relationships):
        return [_still_seen(name, other) for other in also]
    if not (relationship.may_share or not_given("Relationship.isPortalShared")):
        return [_("%(name)s doesn’t see the treatment in the portal, so nothing changes there.", name=name)]
    if not relationship.has_begun(today()):
        return [_("%(name)s doesn’t see the treatment in the portal, and won’t later either.", name=name)]
    if not reader_is_staff():
        return [_("%(name)s no longer sees your treatment in the portal.", name=name)]
    if relationship.patient_id in (episode.patient.id, None):
        return [_("%(name)s no longer sees this treatment in the portal.", name=name)]
    if episode.partner is None or episode.partner.id != relationship.patient_id:
        return [
            _(
                "%(name)s no longer sees, in the portal, the treatments of whoever’s record this is on.",
                name=name,
            )
        ]
    owner = episode.partner.full_name
    return [_("%(name)s no longer sees %(owner)s’s own treatments in the portal.", name=name, owner=owner)]


def _still_seen(name: str, other: Relationship) -> str:
    if other.start_date and not other.has_begun(today()):
        return _(
            "%(name)s sees the treatment in the portal from %(day)s on, through another entry. To stop that, remove it too.",
            name=name,
            day=day(other.start_date),
        )
    if other.type is None:
        return _(
            "%(name)s still sees the treatment in the portal through another entry. To stop that, remove it too.",
            name=name,
        )
    return _(
        "%(name)s still sees the treatment in the portal, as %(type)s. To stop that, remove that entry too.",
        name=name,
        type=choice_name(other.type).lower(),
    )


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
        view.code
        for view in told_apart((embryo, episode) for embryo in episode.embryos)
        if view.embryo.is_in_storage
    ]


def _accounts(episode: Episode, patient_id: str) -> set[str]:
    people = (
        patient for patient in (episode.patient, episode.partner) if patient and patient.id == patient_id
    )
    return {person.user_id for person in people if person.user_id}
