"""Protocols: list, one protocol with its days drawn, its status; making, changing and taking one along in
modules of their own.
"""

from __future__ import annotations

from flask import Blueprint, Response, request, url_for
from msgspec.structs import replace

from portal.services.client import Care
from portal.services.errors import BadResponse, CareError, Conflict, Unavailable
from portal.services.protocols import get_protocol, list_protocols, update_protocol
from portal.services.records import Protocol, ProtocolStatus
from portal.sessions import Person
from portal.tenants import Side
from portal.views.protocols import creating, editing, schedule, words
from portal.views.protocols.listing import Listing, Table
from portal.views.protocols.shown import read_shown
from portal.views.protocols.words import ENDS, WRITERS, may_write
from portal.web import audit
from portal.web.guard import signed_in
from portal.web.htmx import redirect_to, render, toast
from portal.words import _

bp = Blueprint("protocols", __name__, url_prefix="/protocols")
words.register(bp)
for part in (creating.bp, editing.bp, schedule.bp):
    bp.register_blueprint(part)


@bp.get("", endpoint="list")
@signed_in(Side.STAFF)
def list_(care: Care, person: Person) -> Response:
    """Show the clinic's protocols as a table whose state is in its address."""
    asked = Listing.asked(request.args)
    page = list_protocols(
        care,
        skip=asked.skip,
        limit=asked.size,
        sorting=asked.sorting,
        text=asked.text or None,
        status=asked.status,
    )
    table = Table(asked, page, may_create=may_write(person))
    return render("protocols/list.html", fragment="results", table=table)


@bp.get("/<record:protocol_id>")
@signed_in(Side.PATIENT, Side.STAFF)
def show(care: Care, person: Person, protocol_id: str) -> Response:
    """Show a protocol: its facts, its days as a drawing, its rows, and the steps that its status allows."""
    return _page(care, person, get_protocol(care, protocol_id))


@bp.get("/<record:protocol_id>/end")
@signed_in(Side.STAFF, roles=set(WRITERS))
def end(care: Care, person: Person, protocol_id: str) -> Response:
    """Say what follows from completing or cancelling it, before it is done."""
    protocol = get_protocol(care, protocol_id)
    to = ProtocolStatus(request.args.get("to") or "none")
    if to not in ENDS or to not in protocol.next_statuses:
        return redirect_to(url_for("protocols.show", protocol_id=protocol.id))
    return render("protocols/end.html", protocol=protocol, to=to)


@bp.post("/<record:protocol_id>/status")
@signed_in(Side.STAFF, roles=set(WRITERS))
def move(care: Care, person: Person, protocol_id: str) -> Response:
    """Move it to another status, over the version that the person saw."""
    protocol = get_protocol(care, protocol_id)
    to = ProtocolStatus(request.form.get("status") or "none")
    if protocol.status == to:
        return _moved(protocol)
    if to not in protocol.next_statuses:
        return _page(care, person, protocol, status=403, note=_("Its present state doesn’t allow this step."))
    if request.form.get("stamp", "") != (protocol.concurrency_stamp or ""):
        return _changed_meanwhile(care, person, protocol)
    try:
        written = update_protocol(care, protocol.id, protocol=replace(protocol, status=to))
    except Conflict:
        return _changed_meanwhile(care, person, get_protocol(care, protocol.id))
    except (Unavailable, BadResponse) as error:
        if isinstance(error, Unavailable) and error.is_undone:
            raise
        written = _read_after_loss(care, protocol.id)
    if written.status != to:
        audit.note("protocol.status", "unknown", kind="protocol", id_=protocol.id)
        note = _("The clinic’s system didn’t confirm this, and its record, read just now, doesn’t show it.")
        return _page(care, person, written, status=503, note=note)
    audit.note("protocol.status", "done", kind="protocol", id_=protocol.id)
    return _moved(written)


def _moved(protocol: Protocol) -> Response:
    toast(_("The protocol is now: %(status)s.", status=words.status_word(protocol.status)))
    return redirect_to(url_for("protocols.show", protocol_id=protocol.id))


def _changed_meanwhile(care: Care, person: Person, protocol: Protocol) -> Response:
    audit.note("protocol.status", "conflict", kind="protocol", id_=protocol.id)
    note = _("Someone changed it while you were looking. This is how it is now; its status was not moved.")
    return _page(care, person, protocol, status=409, note=note)


def _read_after_loss(care: Care, protocol_id: str) -> Protocol:
    try:
        return get_protocol(care, protocol_id)
    except CareError as error:
        raise Unavailable("not confirmed", outcome_known=False) from error


def _page(care: Care, person: Person, protocol: Protocol, *, status: int = 200, note: str = "") -> Response:
    audit.note("protocol.read", "done", kind="protocol", id_=protocol.id)
    shown = read_shown(care, person, protocol)
    return render("protocols/show.html", status=status, shown=shown, protocol=protocol, note=note)
