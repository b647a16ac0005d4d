"""Removing a connection to electronic medical records. No endpoint reads them; ids come from notifications."""

from __future__ import annotations

from datetime import UTC, datetime

from flask import Blueprint, Response, url_for

from portal.i18n.gettext import _
from portal.services.emr_endpoints import delete_emr_endpoint
from portal.services.errors import NotFound, Refused, Unavailable
from portal.services.gather import attempt, known
from portal.services.notifications import list_notifications
from portal.state.operations import Operation, State
from portal.values import Value
from portal.views.recent import name_opened
from portal.web import unsent
from portal.web.act_once import Attempt, Unconfirmed, act_once, begin, sent_operation
from portal.web.forms import Form, Values, cleaned, sent, text
from portal.web.handlers import Care, Page, Person, Side, audit, redirect_to, render, signed_in
from portal.web.permissions import REMOVE_CONNECTION
from portal.web.refusals import refusal_message

bp = Blueprint("emr_endpoints", __name__, url_prefix="/emr-endpoints")

_NEWS = 100


class Connection(Value, frozen=True):
    """A connection as described by the notification about it: its name, address, and whose records it holds."""

    id: str
    name: str = ""
    address: str = ""
    patient: str = ""


class RemovePage(Page, template="emr_endpoints/remove.html"):
    """The consequences, and the form to retype its name (or id); `note` and `refusal` say why it wasn't removed."""

    connection: Connection
    operation: Operation
    form: Form
    note: str
    refusal: str


class RemovedPage(Page, template="emr_endpoints/removed.html"):
    connection: Connection
    removed_at: datetime


class GonePage(Page, template="emr_endpoints/gone.html"):
    connection: Connection


@bp.get("/<record:endpoint_id>/remove")
@signed_in(Side.STAFF, roles=REMOVE_CONNECTION)
def show(care: Care, person: Person, endpoint_id: str) -> Response:
    """Show the consequences of removing the connection; afterwards, say that it was removed."""
    operation, connection = _operation(person, endpoint_id), _connection(care, endpoint_id)
    name_opened("", connection.name)
    if operation.state is State.DONE:
        removed_at = datetime.fromtimestamp(operation.changed_at, UTC)
        return render(RemovedPage(connection=connection, removed_at=removed_at))
    given = unsent.restored_form(url_for(".remove", endpoint_id=endpoint_id))
    return _ask(connection, operation, _form(connection, given) if given else None)


@bp.post("/<record:endpoint_id>/remove")
@signed_in(Side.STAFF, roles=REMOVE_CONNECTION)
@unsent.typed_text("typed")
def remove(care: Care, person: Person, endpoint_id: str) -> Response:
    """Remove the connection if its name or id was retyped. A repeat is harmless."""
    operation, connection = sent_operation(person.sub, _purpose(endpoint_id)), _connection(care, endpoint_id)
    if operation is None:
        return _ask(connection, _operation(person, endpoint_id), status=409, note="stale")
    form = _form(connection, sent(["typed"]))
    if operation.state is State.OPEN and not form.validate():
        return _ask(connection, operation, form, status=422)
    try:
        act_once(
            Attempt(person.sub, operation),
            lambda _key: delete_emr_endpoint(care, endpoint_id),
            event="emr-endpoint.remove",
            id_=endpoint_id,
            is_repeatable=True,
        )
    except NotFound:
        return render(GonePage(connection=connection), status=404)
    except Refused as error:
        return _ask(connection, operation, status=403, refusal=refusal_message(error.code))
    except Unconfirmed:
        return _ask(connection, operation, status=503, note="unconfirmed")
    except Unavailable:
        return _ask(connection, operation, status=503, note="unavailable")
    return redirect_to(url_for(".show", endpoint_id=endpoint_id))


def _connection(care: Care, endpoint_id: str) -> Connection:
    """The connection, as far as the notifications about it say."""
    news = attempt(lambda: list_notifications(care, limit=_NEWS))
    page = known(news)
    about = [
        item
        for item in (page.items if page else ())
        if any(item.is_about(kind, endpoint_id) for kind in ("EmrEndpointConfig", "EmrEndpoint"))
    ]
    audit.shown("notification.list", "notification", [notification.id for notification in about])

    def told(*names: str) -> str:
        return next(
            (found for notification in about for name in names if (found := notification.datum(name))), ""
        )

    return Connection(
        endpoint_id, told("name", "endpointName", "system"), told("address"), told("patientName")
    )


def _ask(
    connection: Connection,
    operation: Operation,
    form: Form | None = None,
    *,
    status: int = 200,
    note: str = "",
    refusal: str = "",
) -> Response:
    page = RemovePage(
        connection=connection,
        operation=operation,
        form=form or _form(connection, {}),
        note=note,
        refusal=refusal,
    )
    return render(page, status=status)


def _form(connection: Connection, typed: Values) -> Form:
    """The field to retype the name, or the id if no name is known; keeps a mistyped value."""
    if connection.name:
        label, wrong = (
            _("Type the name of the connection"),
            _("This is not the name of the connection. Type it as it stands above."),
        )
    else:
        label, wrong = (
            _("Paste the id of the connection"),
            _("This is not the id of the connection. Copy it above."),
        )
    wanted = {cleaned(connection.id), cleaned(connection.name)} - {""}
    field = text(label, required=wrong, check=lambda value: None if value in wanted else wrong)
    return Form({"typed": field}, typed)


def _operation(person: Person, endpoint_id: str) -> Operation:
    operation, _was_lost = begin(person.sub, _purpose(endpoint_id), keeps_receipt=True)
    return operation


def _purpose(endpoint_id: str) -> str:
    return f"remove-emr-endpoint:{endpoint_id}"
