"""Creating a protocol: fill in, preview, create once; empty, for a treatment, or as a copy of another."""

from __future__ import annotations

import msgspec
from flask import Blueprint, Response, request, url_for

from portal.i18n.gettext import _
from portal.parse import line, record_id
from portal.services import errors
from portal.services.protocols import Protocol, ProtocolDraft, ProtocolStatus, create_protocol, get_protocol
from portal.state.operations import Operation
from portal.views.creation import Creation, Draft
from portal.views.protocols.day_grid import DayGrid
from portal.views.protocols.dose_changes import trigger_faults
from portal.views.protocols.edit import FORM
from portal.views.protocols.form import faults_named_by, form_page, physician_choices
from portal.views.protocols.hard_stops import HardStop, hard_stops, triggers_told, unanswered
from portal.views.protocols.new_protocol import (
    NewProtocol,
    TreatedPatient,
    drafts,
    search_in,
    treated_patient,
    unlike_draft,
)
from portal.views.protocols.plan import Plan
from portal.web import unsent
from portal.web.act_once import Unconfirmed
from portal.web.handlers import Care, Page, Person, Side, render, signed_in
from portal.web.labels import treatment_name
from portal.web.permissions import EDIT_PROTOCOL
from portal.web.refusals import refusal_message

bp = Blueprint("create", __name__)

_LONGEST_EPISODE = 300


class PreviewPage(Page, template="protocols/preview.html", about="new_protocol", is_pinned=True):
    new_protocol: NewProtocol
    plan: Plan
    draft: ProtocolDraft
    type_word: str
    physician: str
    grid: DayGrid | None
    operation: Operation
    shown: str
    triggers: list[str]
    hard_stops: list[HardStop]


class UnconfirmedPage(Page, template="protocols/unconfirmed.html"):
    """The response was lost; `is_readable` says that the record was read and doesn't contain the protocol."""

    operation: Operation
    is_readable: bool


@bp.get("/new")
@signed_in(Side.STAFF, roles=EDIT_PROTOCOL)
def begin(care: Care, person: Person) -> Response:
    """Show the form: empty, or with the rows of the protocol to copy; `episode` says for whom."""
    copy = request.args.get("copy")
    if copy and not record_id(copy):
        raise errors.NotFound
    plan = Plan.of(get_protocol(care, copy)).copied if copy else Plan()
    episode = line(request.args.get("episode"), longest=_LONGEST_EPISODE)
    plan = _given_back(msgspec.structs.replace(plan, episode=episode))
    draft = drafts.begin(person, NewProtocol(plan))
    return form_page(care, plan, None, operation=draft.operation.id)


@bp.post("/new")
@signed_in(Side.STAFF, roles=EDIT_PROTOCOL)
@unsent.typed_text(*FORM, "episode", "status")
@drafts.open_step
def fill(care: Care, draft: Draft[NewProtocol]) -> Response:
    """Handle the form: add, remove or move a row, or go on to the preview."""
    plan, act, operation = Plan.posted(request.form), request.form.get("do", ""), draft.operation.id
    if act != "review":
        return form_page(care, plan.changed(act), None, operation=operation, act=act)
    faults, treatment = plan.faults(), treated_patient(care, plan)
    if isinstance(treatment, str):
        faults, treatment = {**faults, "episode": treatment}, TreatedPatient()
    if plan.status not in (ProtocolStatus.DRAFT, ProtocolStatus.ACTIVE):
        faults["status"] = _("A new protocol is a draft or active.")
    if plan.status == ProtocolStatus.ACTIVE:
        faults = {**trigger_faults(plan), **faults}
    content = NewProtocol(
        plan,
        treatment.patient_id,
        treatment.patient_name,
        treatment.episode_id,
        treatment.collection,
        withdrawn=treatment.withdrawn,
    )
    if faults:
        return form_page(care, plan, None, operation=operation, faults=faults, status=422)
    return drafts.to_preview(draft.keep(content))


@bp.get("/new/back")
@signed_in(Side.STAFF, roles=EDIT_PROTOCOL)
@drafts.open_step
def back(care: Care, draft: Draft[NewProtocol]) -> Response:
    return form_page(care, _given_back(draft.content.plan), None, operation=draft.operation.id)


@bp.get("/new/preview")
@signed_in(Side.STAFF, roles=EDIT_PROTOCOL)
@drafts.open_step
def preview(care: Care, draft: Draft[NewProtocol]) -> Response:
    plan = draft.content.plan
    if faults := plan.faults():
        return form_page(care, plan, None, operation=draft.operation.id, faults=faults, status=422)
    return _preview(care, draft, hard_stops(None, plan, draft.content.collection))


def _preview(care: Care, draft: Draft[NewProtocol], asked: list[HardStop], *, status: int = 200) -> Response:
    plan = draft.content.plan
    physicians = dict(physician_choices(care, plan.physician_id).pairs)
    return render(
        PreviewPage(
            new_protocol=draft.content,
            plan=plan,
            draft=draft.content.draft(),
            type_word=treatment_name(plan.type, plain=False),
            physician=physicians.get(plan.physician_id, ""),
            grid=DayGrid.of(plan),
            operation=draft.operation,
            shown=draft.digest,
            triggers=triggers_told(plan, draft.content.collection),
            hard_stops=asked,
        ),
        status=status,
    )


@bp.post("/new/create")
@signed_in(Side.STAFF, roles=EDIT_PROTOCOL)
@drafts.shown_step
def create(care: Care, draft: Draft[NewProtocol]) -> Response:
    """Create the protocol, once."""
    plan = draft.content.plan
    if faults := plan.faults():
        return form_page(care, plan, None, operation=draft.operation.id, faults=faults, status=422)
    if asked := unanswered(hard_stops(None, plan, draft.content.collection), request.form):
        return _preview(care, draft, asked, status=422)
    return drafts.create(draft, _creation(care))


@bp.get("/new/look", endpoint="outcome")
@signed_in(Side.STAFF, roles=EDIT_PROTOCOL)
@drafts.sent_step
def look_again(care: Care, draft: Draft[NewProtocol]) -> Response:
    """After a lost response, say whether the protocol exists now."""
    return drafts.look_again(draft, _creation(care))


def _creation(care: Care) -> Creation[NewProtocol, Protocol]:
    return Creation(
        send=lambda content, key: create_protocol(care, content.draft(), operation=key),
        search=search_in(care),
        created=_("The protocol is created."),
        not_found=_("The protocol isn’t in the clinic’s record. You can create it again."),
        unconfirmed=_unconfirmed,
        refused=lambda draft, error: _refused(care, draft, error),
        unlike=lambda content, made: unlike_draft(care, content, made),
    )


def _refused(care: Care, draft: Draft[NewProtocol], error: errors.CareError) -> Response:
    plan, id_ = draft.content.plan, draft.operation.id
    match error:
        case errors.Invalid():
            return form_page(care, plan, None, operation=id_, faults=faults_named_by(error), status=422)
        case errors.Refused(code=code):
            return form_page(care, plan, None, operation=id_, note=refusal_message(code), status=403)
        case _:
            raise error


def _unconfirmed(draft: Draft[NewProtocol], error: Unconfirmed) -> Response:
    return render(
        UnconfirmedPage(operation=draft.operation, is_readable=error.is_readable), status=error.status
    )


def _given_back(plan: Plan) -> Plan:
    """The plan with what was typed and not sent: for this treatment or, if none is named, for the one typed with it."""
    given = unsent.restored_form(url_for(".fill"), typed_for=plan.episode or None)
    return Plan.posted(given) if given else plan
