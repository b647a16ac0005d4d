"""Connections to electronic medical records: removing one. No endpoint reads them; an id comes from a notification."""

from __future__ import annotations

from datetime import UTC, datetime

from flask import Blueprint, Response, url_for

from portal.config.tenants import Side
from portal.i18n.gettext import _
from portal.services import errors
from portal.services.client import Care
from portal.services.emr_endpoints import delete_emr_endpoint
from portal.services.errors import NotFound
from portal.state.operations import Operation, State
from portal.state.sessions import Person
from portal.web import unsent
from portal.web.act_once import (
    Attempt,
    Done,
    NotSent,
    Refused,
    Reopened,
    Unknown,
    act_once,
    begin,
    sent_operation,
)
from portal.web.forms import Form, Values, cleaned, sent, text
from portal.web.guard import signed_in
from portal.web.htmx import redirect_to, render
from portal.web.pages import Page
from portal.web.refusals import refusal_message

bp = Blueprint("emr_endpoints", __name__, url_prefix="/emr-endpoints")

ROLES = {"admin"}
"""Who may remove a connection (docs/assumptions.md)."""


class RemovePage(Page, template="emr_endpoints/remove.html"):
    """What follows, and the form in which the id is typed again; `note` and `refusal` say why it wasn't removed."""

    endpoint_id: str
    operation: Operation
    form: Form
    note: str
    refusal: str


class RemovedPage(Page, template="emr_endpoints/removed.html"):
    """The receipt."""

    endpoint_id: str
    removed_at: datetime


class GonePage(Page, template="emr_endpoints/gone.html"):
    """There is no connection of this id."""

    endpoint_id: str


@bp.get("/<record:endpoint_id>/remove")
@signed_in(Side.STAFF, roles=ROLES)
def show(care: Care, person: Person, endpoint_id: str) -> Response:
    """Say what follows from removing the connection; afterwards, that it is gone."""
    operation = _operation(person, endpoint_id)
    if operation.state is State.DONE:
        removed_at = datetime.fromtimestamp(operation.changed_at, UTC)
        return render(RemovedPage(endpoint_id=endpoint_id, removed_at=removed_at))
    given = unsent.restored_form(url_for(".remove", endpoint_id=endpoint_id))
    return _ask(endpoint_id, operation, _form(endpoint_id, given) if given else None)


@bp.post("/<record:endpoint_id>/remove")
@signed_in(Side.STAFF, roles=ROLES)
@unsent.typed_text("typed")
def remove(care: Care, person: Person, endpoint_id: str) -> Response:
    """Remove the connection, once, when its id was typed again. Removing it twice does no harm."""
    operation = sent_operation(person.sub, _purpose(endpoint_id))
    if operation is None:
        return _ask(endpoint_id, _operation(person, endpoint_id), status=409, note="stale")
    form = _form(endpoint_id, sent(["typed"]))
    if operation.state is State.OPEN and not form.validate():
        return _ask(endpoint_id, operation, form, status=422)
    outcome = act_once(
        Attempt(person.sub, operation),
        lambda _key: delete_emr_endpoint(care, endpoint_id),
        event="emr-endpoint.remove",
        kind="emr-endpoint",
        id_=endpoint_id,
        is_repeatable=True,
    )
    match outcome:
        case Done():
            return redirect_to(url_for(".show", endpoint_id=endpoint_id))
        case Refused(NotFound()):
            return render(GonePage(endpoint_id=endpoint_id), status=404)
        case Refused(errors.Refused(code=code)):
            return _ask(endpoint_id, operation, status=403, refusal=refusal_message(code))
        case Refused(error):
            raise error
        case NotSent():
            return _ask(endpoint_id, operation, status=503, note="unavailable")
        case Unknown() | Reopened():
            return _ask(endpoint_id, operation, status=503, note="unconfirmed")


def _ask(
    endpoint_id: str,
    operation: Operation,
    form: Form | None = None,
    *,
    status: int = 200,
    note: str = "",
    refusal: str = "",
) -> Response:
    page = RemovePage(
        endpoint_id=endpoint_id,
        operation=operation,
        form=form or _form(endpoint_id, {}),
        note=note,
        refusal=refusal,
    )
    return render(page, status=status)


def _form(endpoint_id: str, typed: Values) -> Form:
    """The field in which the id is typed again: empty but for what was just mistyped."""
    wrong = _("This is not the id of the connection. Type it exactly as it stands above.")
    field = text(
        _("Type the id of the connection"),
        required=wrong,
        check=lambda value: None if value == cleaned(endpoint_id) else wrong,
    )
    return Form({"typed": field}, typed)


def _operation(person: Person, endpoint_id: str) -> Operation:
    operation, _was_lost = begin(person.sub, _purpose(endpoint_id), keeps_receipt=True)
    return operation


def _purpose(endpoint_id: str) -> str:
    return f"remove-emr-endpoint:{endpoint_id}"
