"""The draft of a new protocol: for whom, and how it is found again among the clinic's."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import msgspec
from flask import request, url_for

from portal.i18n.gettext import _
from portal.services import errors
from portal.services.client import Care
from portal.services.episodes import Appointment, ConsentBrief, get_episode
from portal.services.listed import Listed
from portal.services.paging import read_every_page
from portal.services.patient_ref import PatientRef
from portal.services.protocols import Protocol, ProtocolDraft, get_protocol, list_protocols
from portal.values import Value
from portal.views.creation import Drafts, Search
from portal.views.episodes.egg_collection import collection_of_plan
from portal.views.episodes.lookup import episode_id_of
from portal.views.protocols.fields import draft_fields
from portal.views.protocols.plan import Plan
from portal.web import audit
from portal.web.editing import compared

_AT_ONCE = 100


class NewProtocol(msgspec.Struct, frozen=True):
    """The draft: the plan, whose it is, the forms withdrawn of their treatment, and existing protocols with that name."""

    plan: Plan = Plan()
    patient_id: str | None = None
    patient_name: str = ""
    episode_id: str | None = None
    collection: Appointment | None = None
    known_ids: tuple[str, ...] = ()
    withdrawn: tuple[ConsentBrief, ...] = ()

    @property
    def patient_ref(self) -> PatientRef | None:
        """Whose plan it will be; None for a template of the clinic."""
        return PatientRef(self.patient_id, self.patient_name, self.episode_id) if self.patient_id else None

    def draft(self) -> ProtocolDraft:
        return self.plan.draft(patient_id=self.patient_id, episode_id=self.episode_id)


drafts = Drafts(
    "protocol",
    NewProtocol,
    pages="protocols.create",
    first="begin",
    address=lambda id_: url_for("protocols.show", protocol_id=id_),
)


class TreatedPatient(Value, frozen=True):
    """The patient whom a new protocol is for, by their treatment, when eggs are collected, and which forms that the treatment
    rests on were withdrawn; nobody for a template.
    """

    patient_id: str | None = None
    patient_name: str = ""
    episode_id: str | None = None
    collection: Appointment | None = None
    withdrawn: tuple[ConsentBrief, ...] = ()


def search_in(care: Care) -> Search[NewProtocol, Protocol]:
    """Return how a protocol that was sent is found again."""

    def alike(content: NewProtocol) -> Listed[Protocol]:
        name = content.plan.name
        found = read_every_page(
            lambda skip, limit: list_protocols(care, skip=skip, limit=limit, text=name), chunk=_AT_ONCE
        )
        return found.where(lambda protocol: protocol.name == name)

    def recognise(protocols: Sequence[Protocol], content: NewProtocol) -> Protocol | None:
        wanted = _content(content.draft())
        return next((protocol for protocol in protocols if _content(protocol) == wanted), None)

    return Search(alike, recognise)


def _content(protocol: ProtocolDraft) -> object:
    """The content that identifies a protocol: everything except ids assigned by the API."""
    plan = Plan.of(protocol)
    rows = tuple(msgspec.structs.replace(row, id="") for row in plan.medications)
    return msgspec.structs.replace(plan, medications=rows), protocol.patient_id, protocol.episode_id


def unlike_draft(care: Care, content: NewProtocol, made: Protocol) -> tuple[str, ...]:
    """Return the labels of what the API keeps otherwise than was sent."""
    read = partial(get_protocol, care, made.id)
    return compared(draft_fields(), content.draft(), made, read).unlike


def treated_patient(care: Care, plan: Plan) -> TreatedPatient | str:
    """Return the patient of the episode whose id or link was typed, nobody for an empty one, or why it can't be read."""
    typed = plan.episode
    if not typed:
        return TreatedPatient()
    id_ = episode_id_of(typed)
    if not id_:
        return _("Paste the treatment’s id, or the address of its page.")
    try:
        episode = get_episode(care, id_)
    except errors.NotFound:
        audit.note(request.endpoint or "-", "NotFound", kind="episode", id_=id_)
        return _("There is no treatment with this id at your clinic.")
    except errors.NotOffered:
        return _("This treatment is kept in another system, so it can’t be planned here.")
    return TreatedPatient(
        episode.patient.id,
        episode.patient.full_name,
        episode.id,
        collection_of_plan(episode, plan.begins),
        episode.withdrawn,
    )
