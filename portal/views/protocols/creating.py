"""A new protocol: fill in, look at it, create it once; empty, for a treatment, or as a copy of another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import msgspec
from flask import Blueprint, Response, request, url_for

from portal.operations import Operation
from portal.services.client import Care
from portal.services.episodes import get_episode
from portal.services.errors import CareError, Invalid, NotFound, NotOffered, Refused
from portal.services.protocols import create_protocol, get_protocol, list_protocols
from portal.services.records import Protocol, ProtocolDraft, ProtocolStatus
from portal.sessions import Person
from portal.tenants import Side
from portal.views.consents.drafting import episode_id_of
from portal.views.making import Drafts, Making
from portal.views.protocols.editing import FORM, faults_named_by, form_page, physician_choices
from portal.views.protocols.plan import Plan
from portal.views.protocols.shown import drawing
from portal.views.protocols.words import WRITERS
from portal.web import unsent
from portal.web.clinical import treatment_name
from portal.web.guard import signed_in
from portal.web.htmx import redirect_to, render
from portal.web.rules import said
from portal.words import _

bp = Blueprint("creating", __name__)

_ROLES = set(WRITERS)
_SAME_NAME = 100


class Begun(msgspec.Struct, frozen=True):
    """What an operation keeps: the plan, whose it is, and the protocols of that name from before."""

    plan: Plan = Plan()
    patient_id: str | None = None
    patient_name: str = ""
    episode_id: str | None = None
    known_ids: tuple[str, ...] = ()

    def draft(self) -> ProtocolDraft:
        """What is sent."""
        return self.plan.draft(patient_id=self.patient_id, episode_id=self.episode_id)


_drafts = Drafts(
    "protocol",
    Begun,
    pages="protocols.creating",
    first="begin",
    address=lambda id_: url_for("protocols.show", protocol_id=id_),
)


@dataclass(frozen=True, slots=True)
class _Of:
    """Whose treatment an episode is."""

    patient_id: str | None = None
    patient_name: str = ""
    episode_id: str | None = None


@bp.get("/new")
@signed_in(Side.STAFF, roles=_ROLES)
def begin(care: Care, person: Person) -> Response:
    """Show the form: empty, or with the rows of the protocol that is copied; `episode` says for whom."""
    copy = request.args.get("copy", "")
    plan = Plan.of(get_protocol(care, copy)).copied if copy else Plan()
    plan = msgspec.structs.replace(plan, episode=request.args.get("episode", "")[:300])
    plan = _given_back(plan)
    operation = _drafts.begin(person, Begun(plan))
    return form_page(care, plan, None, operation=operation.id)


@bp.post("/new")
@signed_in(Side.STAFF, roles=_ROLES)
@unsent.typed_text(*FORM, "episode", "status")
def fill(care: Care, person: Person) -> Response:
    """Take what was filled in: one row more or less, or all of it to be looked at before it is sent."""
    operation = _drafts.open_operation(person)
    if isinstance(operation, Response):
        return operation
    plan, act = Plan.posted(request.form), request.form.get("do", "")
    if act != "review":
        return form_page(care, plan.changed(act), None, operation=operation.id, act=act)
    faults, of = plan.faults(), _of_episode(care, plan.episode)
    if isinstance(of, str):
        faults, of = {**faults, "episode": of}, _Of()
    if plan.status not in (ProtocolStatus.DRAFT, ProtocolStatus.ACTIVE):
        faults["status"] = _("A new protocol is a draft or active.")
    begun = Begun(plan, of.patient_id, of.patient_name, of.episode_id)
    _drafts.keep(person, operation, begun)
    if faults:
        return form_page(care, plan, None, operation=operation.id, faults=faults, status=422)
    return redirect_to(_drafts.preview_address(operation))


@bp.get("/new/back")
@signed_in(Side.STAFF, roles=_ROLES)
def back(care: Care, person: Person) -> Response:
    """Change what was filled in."""
    operation = _drafts.open_operation(person)
    if isinstance(operation, Response):
        return operation
    return form_page(care, _given_back(_drafts.of(operation).plan), None, operation=operation.id)


def _given_back(plan: Plan) -> Plan:
    """The same with what was typed in a session that had ended."""
    given = unsent.given_back(url_for(".fill"))
    return Plan.posted(given) if given else plan


@bp.get("/new/preview")
@signed_in(Side.STAFF, roles=_ROLES)
def preview(care: Care, person: Person) -> Response:
    """Show the protocol before it is made."""
    operation = _drafts.open_operation(person)
    if isinstance(operation, Response):
        return operation
    begun = _drafts.of(operation)
    if faults := begun.plan.faults():
        return form_page(care, begun.plan, None, operation=operation.id, faults=faults, status=422)
    physicians = dict(physician_choices(care, begun.plan.physician_id).pairs)
    return render(
        "protocols/preview.html",
        begun=begun,
        plan=begun.plan,
        draft=begun.draft(),
        type_word=treatment_name(begun.plan.type, plain=False),
        physician=physicians.get(begun.plan.physician_id, ""),
        grid=drawing(*begun.plan.drawn()),
        operation=operation,
    )


@bp.post("/new/create")
@signed_in(Side.STAFF, roles=_ROLES)
def create(care: Care, person: Person) -> Response:
    """Make the protocol, once."""
    operation = _drafts.open_operation(person)
    if isinstance(operation, Response):
        return operation
    begun = _drafts.of(operation)
    if faults := begun.plan.faults():
        return form_page(care, begun.plan, None, operation=operation.id, faults=faults, status=422)
    return _making.send(care, person, operation, begun)


@bp.get("/new/look")
@signed_in(Side.STAFF, roles=_ROLES)
def look(care: Care, person: Person) -> Response:
    """After a lost answer: look whether the protocol is there by now."""
    return _making.look_again(care, person)


class _Making(Making[Begun, Protocol]):
    drafts = _drafts

    def create(self, care: Care, draft: Begun, operation: str) -> Protocol | None:
        return create_protocol(care, draft.draft(), operation=operation)

    def alike(self, care: Care, draft: Begun) -> Sequence[Protocol]:
        found = list_protocols(care, limit=_SAME_NAME, text=draft.plan.name).items
        return [one for one in found if one.name == draft.plan.name]

    def recognised(self, candidates: Sequence[Protocol], draft: Begun) -> Protocol | None:
        wanted = _content(draft.draft())
        return next((one for one in candidates if _content(one) == wanted), None)

    def refused(self, care: Care, operation: Operation, draft: Begun, error: CareError) -> Response:
        plan, id_ = draft.plan, operation.id
        if isinstance(error, Invalid):
            return form_page(care, plan, None, operation=id_, faults=faults_named_by(error), status=422)
        if isinstance(error, Refused):
            return form_page(care, plan, None, operation=id_, note=said(error.code), status=403)
        raise error

    def unconfirmed(self, operation: Operation, draft: Begun, *, is_readable: bool, status: int) -> Response:
        return render(
            "protocols/unconfirmed.html",
            status=status,
            operation=operation,
            begun=draft,
            is_readable=is_readable,
        )

    def words_done(self) -> str:
        return _("The protocol is created.")

    def words_gone(self) -> str:
        return _("The protocol isn’t in the clinic’s record. You can create it again.")


_making = _Making()


def _content(protocol: ProtocolDraft) -> object:
    """What tells protocols apart: all but the ids that the API gives."""
    plan = Plan.of(protocol)
    rows = tuple(msgspec.structs.replace(row, id="") for row in plan.medications)
    return msgspec.structs.replace(plan, medications=rows), protocol.patient_id, protocol.episode_id


def _of_episode(care: Care, typed: str) -> _Of | str:
    """Whose treatment it is, by an id or link; nobody's for an empty one; or why it can't be had."""
    if not typed:
        return _Of()
    id_ = episode_id_of(typed)
    if not id_:
        return _("Paste the treatment’s id, or the address of its page.")
    try:
        episode = get_episode(care, id_)
    except NotFound:
        return _("There is no treatment with this id at your clinic.")
    except NotOffered:
        return _("This treatment is kept in another system, so it can’t be planned here.")
    return _Of(episode.patient.id, episode.patient.full_name, episode.id)
