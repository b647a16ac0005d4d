"""Connections to electronic medical records: removing one. No endpoint reads them; an id comes from a notification."""

from __future__ import annotations

from datetime import UTC, datetime

from flask import Blueprint, Response, request, url_for

from portal.operations import Operation, State
from portal.parts import parts
from portal.services.client import Care
from portal.services.emr_endpoints import delete_emr_endpoint
from portal.services.errors import BadResponse, CareError, NotFound, Refused, Unavailable
from portal.sessions import Person
from portal.tenants import Side
from portal.web import audit
from portal.web.guard import signed_in
from portal.web.htmx import redirect_to, render
from portal.web.once import is_lost, settled
from portal.web.rules import said

bp = Blueprint("emr_endpoints", __name__, url_prefix="/emr-endpoints")

ROLES = {"admin"}
"""Who may remove a connection (README: assumptions)."""


@bp.get("/<record:endpoint_id>/remove")
@signed_in(Side.STAFF, roles=ROLES)
def show(care: Care, person: Person, endpoint_id: str) -> Response:
    """Say what follows from removing the connection; afterwards, that it is gone."""
    operation = _operation(person, endpoint_id)
    if operation.state is State.DONE:
        removed_at = datetime.fromtimestamp(operation.changed_at, UTC)
        return render("emr_endpoints/removed.html", endpoint_id=endpoint_id, removed_at=removed_at)
    return _ask(endpoint_id, operation)


@bp.post("/<record:endpoint_id>/remove")
@signed_in(Side.STAFF, roles=ROLES)
def remove(care: Care, person: Person, endpoint_id: str) -> Response:
    """Remove the connection, once, when its id was typed again."""
    operations = parts().operations
    operation = operations.find(person.sub, request.form.get("operation", ""), _purpose(endpoint_id))
    if operation is None:
        return _ask(endpoint_id, _operation(person, endpoint_id), status=409, note="stale")
    typed = request.form.get("typed", "").strip()
    if operation.state is State.OPEN and typed != endpoint_id:
        return _ask(endpoint_id, operation, status=422, note="mistyped", typed=typed)
    if not operations.claim(person.sub, operation.id):
        return redirect_to(url_for(".show", endpoint_id=endpoint_id))
    return _remove(care, person, endpoint_id, operation)


def _remove(care: Care, person: Person, endpoint_id: str, operation: Operation) -> Response:
    operations = parts().operations
    try:
        delete_emr_endpoint(care, endpoint_id)
    except NotFound:
        operations.reopen(person.sub, operation.id)
        audit.note("emr-endpoint.remove", "gone", kind="emr-endpoint", id_=endpoint_id)
        return render("emr_endpoints/gone.html", status=404, endpoint_id=endpoint_id)
    except CareError as error:
        # Removing twice does no harm (RFC 9110 §9.2.2), so a lost answer may be followed by another try.
        operations.reopen(person.sub, operation.id)
        is_known = not isinstance(error, BadResponse) and getattr(error, "outcome_known", True)
        audit.note(
            "emr-endpoint.remove",
            "refused" if is_known else "unknown",
            kind="emr-endpoint",
            id_=endpoint_id,
        )
        if isinstance(error, Refused):
            return _ask(endpoint_id, operation, status=403, refusal=said(error.code))
        if not is_known:
            return _ask(endpoint_id, operation, status=503, note="unconfirmed")
        if isinstance(error, Unavailable):
            return _ask(endpoint_id, operation, status=503, note="unavailable")
        raise
    operations.finish(person.sub, operation.id, outcome="removed")
    audit.note("emr-endpoint.remove", "done", kind="emr-endpoint", id_=endpoint_id)
    return redirect_to(url_for(".show", endpoint_id=endpoint_id))


def _ask(
    endpoint_id: str,
    operation: Operation,
    *,
    status: int = 200,
    note: str = "",
    typed: str = "",
    refusal: str = "",
) -> Response:
    return render(
        "emr_endpoints/remove.html",
        status=status,
        endpoint_id=endpoint_id,
        operation=operation,
        note=note,
        typed=typed,
        refusal=refusal,
    )


def _operation(person: Person, endpoint_id: str) -> Operation:
    operations = parts().operations
    newest = operations.newest(person.sub, _purpose(endpoint_id))
    if newest is None:
        return operations.begin(person.sub, _purpose(endpoint_id))
    ended = settled(person, newest)
    if is_lost(ended):
        operations.reopen(person.sub, ended.id)
    return ended


def _purpose(endpoint_id: str) -> str:
    return f"remove-emr-endpoint:{endpoint_id}"
