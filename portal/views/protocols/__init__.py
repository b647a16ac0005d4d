"""Protocols: the list, one protocol with its chart, and its status; creating, editing and exporting have their own
modules.
"""

from __future__ import annotations

from functools import partial

from flask import Blueprint, Response, request, url_for
from msgspec.structs import replace

from portal.config.modules import Module
from portal.i18n.gettext import _
from portal.services.errors import Conflict
from portal.services.protocols import Protocol, ProtocolStatus, get_protocol, list_protocols, update_protocol
from portal.views.chosen_patient import ChosenPatient, chosen_patient, read_table
from portal.views.protocols import change_notice, create, edit, labels, schedule
from portal.views.protocols.dose_changes import trigger_faults
from portal.views.protocols.hard_stops import HardStop, hard_stops, triggers_told, unanswered
from portal.views.protocols.labels import ENDS
from portal.views.protocols.plan import Plan
from portal.views.protocols.view import PlanOwner, ProtocolView, read_owner, read_view
from portal.views.recent import name_opened
from portal.web.act_once import Attempt, Unconfirmed, act_once, begin_edit
from portal.web.choice_names import choice_name
from portal.web.doses import PlanWords
from portal.web.filters import today
from portal.web.handlers import Care, Page, Person, Side, audit, redirect_to, render, signed_in, toast
from portal.web.listing import Listing, Table
from portal.web.modules import whole
from portal.web.permissions import EDIT_PROTOCOL

bp = whole(Module.MEDICINES, Blueprint("protocols", __name__, url_prefix="/protocols"))
labels.register(bp)
for part in (create.bp, edit.bp, schedule.bp, change_notice.bp):
    bp.register_blueprint(part)

_LISTING = Listing(
    "protocols.list",
    ProtocolStatus,
    orders={
        "patient": "patientName",
        "name": "name",
        "type": "type",
        "status": "status",
        "start": "startDate",
        "changed": "lastModificationTime",
    },
    usual="-start",
)


class ListPage(Page, template="protocols/list.html", about="chosen"):
    """The clinic's protocols as a table, or those of a chosen patient."""

    chosen: ChosenPatient | None
    table: Table[ProtocolStatus, Protocol]


class ShowPage(Page, template="protocols/show.html", about="protocol"):
    """A protocol; `note` says why its status wasn't changed."""

    view: ProtocolView
    protocol: Protocol
    note: str


class EndPage(Page, template="protocols/end.html", about="protocol", is_pinned=True):
    """Asks for confirmation before completing or cancelling it; `to_come` are its doses that the patient is then told no more."""

    protocol: Protocol
    to: ProtocolStatus
    cancels: bool
    to_come: list[str]


class ActivatePage(Page, template="protocols/activate.html", about="protocol", is_pinned=True):
    """Asks the hard stops of a plan before it is followed."""

    protocol: Protocol
    to: ProtocolStatus
    whose: PlanOwner
    triggers: list[str]
    hard_stops: list[HardStop]


@bp.get("", endpoint="list")
@signed_in(Side.STAFF)
def list_(care: Care, person: Person) -> Response:
    """Show the clinic's protocols as a table whose state is in its address."""
    query = _LISTING.read(request.args)
    chosen = chosen_patient(care, person)
    table = read_table(
        "protocol",
        query,
        chosen,
        partial(list_protocols, care),
        lambda protocol, chosen: (
            protocol.patient_id == chosen.id or protocol.episode_id in chosen.episode_ids
        ),
    )
    page = ListPage(chosen=chosen, table=table)
    return render(page, fragment="results")


@bp.get("/<record:protocol_id>")
@signed_in(Side.PATIENT, Side.STAFF)
def show(care: Care, person: Person, protocol_id: str) -> Response:
    """Show a protocol: its facts, its days as a chart, its rows, and the allowed status changes."""
    return _show(care, person, get_protocol(care, protocol_id))


@bp.get("/<record:protocol_id>/end")
@signed_in(Side.STAFF, roles=EDIT_PROTOCOL)
def end(care: Care, person: Person, protocol_id: str) -> Response:
    """Show the consequences of completing or cancelling it, and ask."""
    protocol = get_protocol(care, protocol_id)
    to = ProtocolStatus(request.args.get("to") or "none")
    if to not in ENDS or to not in protocol.next_statuses:
        return _to_protocol(protocol.id)
    to_come = PlanWords(protocol, is_plain=False).to_come(read_owner(care, protocol).episode, today())
    return render(EndPage(protocol=protocol, to=to, cancels=to == ProtocolStatus.CANCELLED, to_come=to_come))


@bp.post("/<record:protocol_id>/status")
@signed_in(Side.STAFF, roles=EDIT_PROTOCOL)
def move(care: Care, person: Person, protocol_id: str) -> Response:
    """Change its status, if it is still the version that the person saw."""
    protocol = get_protocol(care, protocol_id)
    to = ProtocolStatus(request.form.get("status") or "none")
    if protocol.status == to:
        return _moved(protocol.id, to)
    if to not in protocol.next_statuses:
        return _show(care, person, protocol, status=403, note=_("Its present state doesn’t allow this step."))
    if to == ProtocolStatus.ACTIVE and (faults := trigger_faults(Plan.of(protocol))):
        return _show(care, person, protocol, status=403, note=next(iter(faults.values())))
    if request.form.get("stamp", "") != (protocol.concurrency_stamp or ""):
        audit.note("protocol.status", "conflict", id_=protocol.id)
        return _show_change(care, person, protocol)
    if to == ProtocolStatus.ACTIVE and (page := _questions(care, protocol)):
        return page
    sent = (protocol.concurrency_stamp, protocol.status, to)
    try:
        act_once(
            Attempt(person.sub, begin_edit(person.sub, f"protocol-status:{protocol.id}", *sent), sent),
            lambda _key: update_protocol(
                care, protocol.id, protocol=replace(protocol, status=to), before=protocol
            ),
            shows=lambda written: written.status == to,
            look=lambda: get_protocol(care, protocol.id),
            event="protocol.status",
            id_=protocol.id,
            is_repeatable=True,
        )
    except Conflict:
        return _show_change(care, person, get_protocol(care, protocol.id))
    except Unconfirmed as error:
        if not error.is_readable:
            raise
        note = _("The clinic’s system didn’t confirm this, and its record, read just now, doesn’t show it.")
        return _show(care, person, get_protocol(care, protocol.id), status=error.status, note=note)
    return _moved(protocol.id, to)


def _questions(care: Care, protocol: Protocol) -> Response | None:
    """The page with the hard stops that aren't answered; the doses of a plan that was followed before were."""
    plan, whose = Plan.of(protocol), read_owner(care, protocol)
    collection = whose.collection(plan.begins)
    asked = hard_stops(None if protocol.status == ProtocolStatus.DRAFT else plan, plan, collection)
    open_ = unanswered(asked, request.form)
    if not open_:
        return None
    is_answer = any(stop.name in request.form for stop in asked)
    page = ActivatePage(
        protocol=protocol,
        to=ProtocolStatus.ACTIVE,
        whose=whose,
        triggers=triggers_told(plan, collection),
        hard_stops=open_ if is_answer else asked,
    )
    return render(page, status=422 if is_answer else 200)


def _moved(protocol_id: str, to: ProtocolStatus) -> Response:
    toast(_("The protocol is now: %(status)s.", status=choice_name(to)))
    return _to_protocol(protocol_id)


def _to_protocol(protocol_id: str) -> Response:
    return redirect_to(url_for("protocols.show", protocol_id=protocol_id))


def _show_change(care: Care, person: Person, protocol: Protocol) -> Response:
    note = _("Someone changed it while you were looking. This is how it is now; its status was not moved.")
    return _show(care, person, protocol, status=409, note=note)


def _show(care: Care, person: Person, protocol: Protocol, *, status: int = 200, note: str = "") -> Response:
    audit.shown("protocol.read", "protocol", protocol.id)
    view = read_view(care, person, protocol)
    name_opened(view.patient.full_name if view.patient else protocol.patient_name or "", protocol.name)
    return render(ShowPage(view=view, protocol=protocol, note=note), status=status)
