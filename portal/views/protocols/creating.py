"""A new protocol: fill in, look at it, create it once; empty, for a treatment, or as a copy of another."""

from __future__ import annotations

from dataclasses import dataclass

import msgspec
from flask import Blueprint, Response, request, url_for

from portal.operations import Operation, State
from portal.parts import parts
from portal.services.client import Care
from portal.services.episodes import get_episode
from portal.services.errors import BadResponse, CareError, Invalid, NotFound, NotOffered, Refused, Unavailable
from portal.services.protocols import create_protocol, get_protocol, list_protocols
from portal.services.records import Protocol, ProtocolDraft, ProtocolStatus
from portal.sessions import Person
from portal.tenants import Side
from portal.views.consents.drafting import episode_id_of
from portal.views.protocols.editing import FORM, faults_named_by, form_page, physician_choices
from portal.views.protocols.plan import Plan
from portal.views.protocols.shown import drawing
from portal.views.protocols.words import WRITERS
from portal.web import audit, unsent
from portal.web.clinical import treatment_name
from portal.web.guard import signed_in
from portal.web.htmx import redirect_to, render, toast
from portal.web.once import is_lost, key, settled
from portal.web.rules import said
from portal.words import _

bp = Blueprint("creating", __name__)

_PURPOSE = "create-protocol"
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
    operation = parts().operations.begin(person.sub, _PURPOSE, _data(Begun(plan)))
    return form_page(care, plan, None, operation=operation.id)


@bp.post("/new")
@signed_in(Side.STAFF, roles=_ROLES)
@unsent.typed_text(*FORM, "episode", "status")
def fill(care: Care, person: Person) -> Response:
    """Take what was filled in: one row more or less, or all of it to be looked at before it is sent."""
    operation = _operation(person)
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
    parts().operations.keep(person.sub, operation.id, _data(begun))
    if faults:
        return form_page(care, plan, None, operation=operation.id, faults=faults, status=422)
    return redirect_to(url_for("protocols.creating.preview", operation=operation.id))


@bp.get("/new/back")
@signed_in(Side.STAFF, roles=_ROLES)
def back(care: Care, person: Person) -> Response:
    """Change what was filled in."""
    operation = _operation(person)
    if isinstance(operation, Response):
        return operation
    return form_page(care, _given_back(_begun(operation).plan), None, operation=operation.id)


def _given_back(plan: Plan) -> Plan:
    """The same with what was typed in a session that had ended."""
    given = unsent.given_back(url_for(".fill"))
    return Plan.posted(given) if given else plan


@bp.get("/new/preview")
@signed_in(Side.STAFF, roles=_ROLES)
def preview(care: Care, person: Person) -> Response:
    """Show the protocol before it is made."""
    operation = _operation(person)
    if isinstance(operation, Response):
        return operation
    begun = _begun(operation)
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
    operation = _operation(person)
    if isinstance(operation, Response):
        return operation
    begun = _begun(operation)
    if faults := begun.plan.faults():
        return form_page(care, begun.plan, None, operation=operation.id, faults=faults, status=422)
    # What is there already looks the same as what a lost answer may have made: it is noted before.
    before = tuple(one.id for one in _of_same_name(care, begun))
    begun = msgspec.structs.replace(begun, known_ids=before)
    parts().operations.keep(person.sub, operation.id, _data(begun))
    if not parts().operations.claim(person.sub, operation.id):
        again = _operation(person)
        return again if isinstance(again, Response) else redirect_to(_preview_href(operation))
    return _send(care, person, operation, begun)


@bp.get("/new/look")
@signed_in(Side.STAFF, roles=_ROLES)
def look(care: Care, person: Person) -> Response:
    """After a lost answer: look whether the protocol is there by now."""
    id_ = request.args.get("operation", "")
    operation = parts().operations.find(person.sub, id_, _PURPOSE)
    if operation is None or operation.state in (State.OPEN, State.DONE):
        found = _operation(person)
        return found if isinstance(found, Response) else redirect_to(_preview_href(found))
    begun = _begun(operation)
    if made := _made(care, begun):
        return _done(person, operation, made)
    if not is_lost(operation):
        return render("protocols/unconfirmed.html", operation=operation, begun=begun, is_readable=True)
    parts().operations.reopen(person.sub, operation.id)
    toast(_("The protocol isn't in the clinic's record. You can create it again."), tone="attention")
    return redirect_to(_preview_href(operation))


def _send(care: Care, person: Person, operation: Operation, begun: Begun) -> Response:
    operations, draft = parts().operations, begun.draft()
    try:
        made = create_protocol(care, draft, operation=key(operation.id, msgspec.json.encode(draft).decode()))
    except (Unavailable, BadResponse):
        operations.lose(person.sub, operation.id)
        return _look(care, person, operation, begun)
    except CareError as error:
        operations.reopen(person.sub, operation.id)
        audit.note("protocol.create", "refused")
        return _refused(care, operation, begun, error)
    if made is None:
        operations.lose(person.sub, operation.id)
        return _look(care, person, operation, begun)
    return _done(person, operation, made)


def _refused(care: Care, operation: Operation, begun: Begun, error: CareError) -> Response:
    plan, id_ = begun.plan, operation.id
    if isinstance(error, Invalid):
        return form_page(care, plan, None, operation=id_, faults=faults_named_by(error), status=422)
    if isinstance(error, Refused):
        return form_page(care, plan, None, operation=id_, note=said(error.code), status=403)
    raise error


def _look(care: Care, person: Person, operation: Operation, begun: Begun) -> Response:
    """No answer came: is the protocol in the clinic's record now?"""
    try:
        made, is_readable = _made(care, begun), True
    except (Unavailable, BadResponse):
        made, is_readable = None, False
    if made:
        return _done(person, operation, made)
    audit.note("protocol.create", "unknown")
    return render(
        "protocols/unconfirmed.html", status=503, operation=operation, begun=begun, is_readable=is_readable
    )


def _made(care: Care, begun: Begun) -> Protocol | None:
    wanted = _content(begun.draft())
    return next(
        (
            one
            for one in _of_same_name(care, begun)
            if one.id not in begun.known_ids and _content(one) == wanted
        ),
        None,
    )


def _of_same_name(care: Care, begun: Begun) -> list[Protocol]:
    found = list_protocols(care, limit=_SAME_NAME, text=begun.plan.name).items
    return [one for one in found if one.name == begun.plan.name]


def _content(protocol: ProtocolDraft) -> object:
    """What tells protocols apart: all but the ids that the API gives."""
    plan = Plan.of(protocol)
    rows = tuple(msgspec.structs.replace(row, id="") for row in plan.medications)
    return msgspec.structs.replace(plan, medications=rows), protocol.patient_id, protocol.episode_id


def _done(person: Person, operation: Operation, protocol: Protocol) -> Response:
    parts().operations.finish(person.sub, operation.id, outcome=protocol.id)
    audit.note("protocol.create", "done", kind="protocol", id_=protocol.id)
    toast(_("The protocol is created."))
    return redirect_to(url_for("protocols.show", protocol_id=protocol.id))


def _operation(person: Person) -> Operation | Response:
    """The operation that is filled in; or where it ended, or the beginning when there is none of that id."""
    id_ = request.values.get("operation", "")
    operation = parts().operations.find(person.sub, id_, _PURPOSE)
    if operation is None:
        toast(
            _("That page was from another visit, so it was not used. Please begin again."), tone="attention"
        )
        return redirect_to(url_for("protocols.creating.begin"))
    operation = settled(person, operation)
    if operation.state is State.DONE:
        return redirect_to(url_for("protocols.show", protocol_id=operation.outcome))
    if operation.state is not State.OPEN:
        return redirect_to(url_for("protocols.creating.look", operation=operation.id))
    return operation


def _of_episode(care: Care, typed: str) -> _Of | str:
    """Whose treatment it is, by an id or link; nobody's for an empty one; or why it can't be had."""
    if not typed:
        return _Of()
    id_ = episode_id_of(typed)
    if not id_:
        return _("Paste the treatment's id, or the address of its page.")
    try:
        episode = get_episode(care, id_)
    except NotFound:
        return _("There is no treatment with this id at your clinic.")
    except NotOffered:
        return _("This treatment is kept in another system, so it can't be planned here.")
    return _Of(episode.patient.id, episode.patient.full_name, episode.id)


def _begun(operation: Operation) -> Begun:
    return msgspec.convert(operation.data, Begun)


def _data(begun: Begun) -> dict[str, object]:
    return msgspec.to_builtins(begun)


def _preview_href(operation: Operation) -> str:
    return url_for("protocols.creating.preview", operation=operation.id)
