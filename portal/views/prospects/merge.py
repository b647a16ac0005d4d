"""Merging two enquiries: compare what is known of both, choose, confirm, and merge once."""

from __future__ import annotations

import msgspec
from flask import Blueprint, Response, request, url_for

from portal.config.tenants import Side
from portal.context import context
from portal.i18n.gettext import _
from portal.parse import record_id
from portal.services.client import Care
from portal.services.errors import NotFound, Refused
from portal.services.prospects import Prospect, merge_prospects
from portal.state.operations import Operation, State
from portal.state.session_records import Person
from portal.views.prospects.comparison import ask_for_other, choices_of, chosen_in, compare_page, merge_fields
from portal.views.prospects.known import FIELDS
from portal.web import audit, unsent
from portal.web.act_once import (
    Attempt,
    Reopened,
    Unconfirmed,
    act_once,
    begin,
    give_up,
    is_unconfirmed,
    sent_operation,
)
from portal.web.guard import signed_in
from portal.web.htmx import redirect_to, render
from portal.web.pages import Page
from portal.web.permissions import EDIT_PROSPECT
from portal.web.refusals import refusal_message

bp = Blueprint("merge", __name__)


class Said(msgspec.Struct, frozen=True):
    """One side of the comparison, kept for the following pages: its name, and its values by field."""

    name: str = ""
    values: dict[str, str] = {}


class Merged(msgspec.Struct, frozen=True):
    """The content of a receipt; `name` is the surviving record's, if the API returned it, `values` are those known of it."""

    merge_id: str
    choices: dict[str, str]
    values: dict[str, str] = {}
    name: str = ""
    status: str = ""
    merged_name: str = ""


class ConfirmPage(Page, template="prospects/merge_confirm.html"):
    """The confirmation: for each field, whose value is kept, and the value if known."""

    prospect_id: str
    merge_id: str
    operation: Operation
    kept: Said
    merged: Said
    fields: list[tuple[str, str]]
    choices: dict[str, str]
    outcome: dict[str, str]


class MergedPage(Page, template="prospects/merged.html"):
    """The receipt."""

    prospect_id: str
    merged: Merged
    fields: dict[str, str]


class RefusedPage(Page, template="prospects/merge_refused.html"):
    """Says that they were not merged, and why."""

    prospect_id: str
    merge_id: str
    kept: Said
    merged: Said
    reason: str


class UnconfirmedPage(Page, template="prospects/merge_unconfirmed.html"):
    """The outcome is unknown."""

    prospect_id: str
    merge_id: str
    kept: Said
    merged: Said
    operation: Operation
    may_restart: bool


@bp.get("/<record:prospect_id>/merge")
@signed_in(Side.STAFF, roles=EDIT_PROSPECT)
def show(care: Care, person: Person, prospect_id: str) -> Response:
    """Show what is known of both records, and ask whose value to keep for each field."""
    merge_id = _merge_id()
    if merge_id in ("", prospect_id):
        return ask_for_other(care, prospect_id)
    # A merge with an unknown outcome isn't reopened automatically, because no record shows whether it happened.
    operation, _was_lost = begin(person.sub, _purpose(prospect_id, merge_id), reopens=False)
    if operation.state is not State.OPEN:
        return _unconfirmed(prospect_id, merge_id, operation)
    return compare_page(care, person, prospect_id, merge_id, operation)


@bp.post("/<record:prospect_id>/merge")
@signed_in(Side.STAFF, roles=EDIT_PROSPECT)
@unsent.typed_text(*FIELDS, "rest")
def choose(care: Care, person: Person, prospect_id: str) -> Response:
    """Save the choices and redirect to the confirmation."""
    merge_id = _merge_id()
    operation = sent_operation(person.sub, _purpose(prospect_id, merge_id))
    if operation is None:
        return _to_comparison(prospect_id, merge_id)
    kept = {**operation.data, "choices": chosen_in(request.form)}
    context().operations.keep(person.sub, operation.id, kept)
    return redirect_to(url_for(".confirm", prospect_id=prospect_id, merge=merge_id, operation=operation.id))


@bp.get("/<record:prospect_id>/merge/confirm")
@signed_in(Side.STAFF, roles=EDIT_PROSPECT)
def confirm(care: Care, person: Person, prospect_id: str) -> Response:
    """Show the consequences and ask for confirmation; once merged, redirect to the receipt."""
    merge_id = _merge_id()
    operation = sent_operation(person.sub, _purpose(prospect_id, merge_id))
    if operation and operation.state is State.DONE:
        return _to_receipt(prospect_id, merge_id, operation)
    if operation is None or operation.state is not State.OPEN:
        return _to_comparison(prospect_id, merge_id)
    audit.shown("prospect.read", "prospect", (prospect_id, merge_id))
    page = ConfirmPage(
        prospect_id=prospect_id,
        merge_id=merge_id,
        operation=operation,
        kept=_said(operation, "kept"),
        merged=_said(operation, "merged"),
        fields=merge_fields(),
        choices=choices_of(operation),
        outcome=_outcome(operation),
    )
    return render(page)


@bp.post("/<record:prospect_id>/merge/confirm")
@signed_in(Side.STAFF, roles=EDIT_PROSPECT)
def send(care: Care, person: Person, prospect_id: str) -> Response:
    """Merge the two, once; or start over after a lost response, once someone has checked the outcome."""
    merge_id = _merge_id()
    operation = sent_operation(person.sub, _purpose(prospect_id, merge_id))
    if operation is None or (request.form.get("checked") and give_up(person.sub, operation)):
        return _to_comparison(prospect_id, merge_id)
    choices, ids = choices_of(operation), {"kept": prospect_id, "merged": merge_id}
    try:
        act_once(
            Attempt(person.sub, operation, sorted(f"{name}={whose}" for name, whose in choices.items())),
            lambda key: merge_prospects(
                care,
                prospect_id,
                merge_id=merge_id,
                field_choices={name: ids[whose] for name, whose in choices.items()},
                operation=key,
            ),
            receipt=lambda survivor: _receipt(merge_id, operation, survivor),
            event="prospect.merge",
            kind="prospect",
            id_=prospect_id,
        )
    except (Refused, NotFound) as error:
        return _refused(prospect_id, merge_id, operation, error)
    except Reopened:
        return _to_comparison(prospect_id, merge_id)
    except Unconfirmed as error:
        sent = sent_operation(person.sub, _purpose(prospect_id, merge_id)) or operation
        return _unconfirmed(prospect_id, merge_id, sent, status=error.status)
    return _to_receipt(prospect_id, merge_id, operation)


@bp.get("/<record:prospect_id>/merge/receipt")
@signed_in(Side.STAFF, roles=EDIT_PROSPECT)
def receipt(care: Care, person: Person, prospect_id: str) -> Response:
    """Show what was merged, and which record survives."""
    merge_id = _merge_id()
    operation = sent_operation(person.sub, _purpose(prospect_id, merge_id))
    if operation is None or operation.state is not State.DONE:
        return _to_comparison(prospect_id, merge_id)
    merged = msgspec.json.decode(operation.outcome, type=Merged)
    audit.shown("prospect.receipt", "prospect", (prospect_id, merge_id))
    return render(MergedPage(prospect_id=prospect_id, merged=merged, fields=dict(merge_fields())))


def _refused(prospect_id: str, merge_id: str, operation: Operation, error: Refused | NotFound) -> Response:
    if isinstance(error, NotFound):
        reason, status = _("One of the two isn’t at this clinic, or isn’t there any more."), 404
    else:
        reason, status = refusal_message(error.code), 403
    page = RefusedPage(
        prospect_id=prospect_id,
        merge_id=merge_id,
        kept=_said(operation, "kept"),
        merged=_said(operation, "merged"),
        reason=reason,
    )
    return render(page, status=status)


def _unconfirmed(prospect_id: str, merge_id: str, operation: Operation, *, status: int = 200) -> Response:
    page = UnconfirmedPage(
        prospect_id=prospect_id,
        merge_id=merge_id,
        kept=_said(operation, "kept"),
        merged=_said(operation, "merged"),
        operation=operation,
        may_restart=is_unconfirmed(operation),
    )
    return render(page, status=status)


def _receipt(merge_id: str, operation: Operation, survivor: Prospect | None) -> str:
    name = (survivor.full_name if survivor else "") or _said(operation, "kept").name
    status = str(survivor.status or "") if survivor else ""
    values = {field: value for field, value in _outcome(operation).items() if value}
    merged_name = _said(operation, "merged").name
    merged = Merged(merge_id, choices_of(operation), values, name, status, merged_name)
    return msgspec.json.encode(merged).decode()


def _said(operation: Operation, whose: str) -> Said:
    """The comparison's side of the record that stays (`kept`) or of the other (`merged`)."""
    return msgspec.convert(operation.data.get("said", {}).get(whose, {}), Said)


def _outcome(operation: Operation) -> dict[str, str]:
    """The value that each field will have, as far as known."""
    kept, merged = _said(operation, "kept").values, _said(operation, "merged").values
    choices = choices_of(operation)
    found: dict[str, str] = {}
    for name in FIELDS:
        either = kept.get(name) or merged.get(name) or ""
        found[name] = {"kept": kept.get(name, ""), "merged": merged.get(name, "")}.get(
            choices.get(name, ""), either
        )
    return found


def _to_comparison(prospect_id: str, merge_id: str) -> Response:
    return redirect_to(url_for(".show", prospect_id=prospect_id, merge=merge_id or None))


def _to_receipt(prospect_id: str, merge_id: str, operation: Operation) -> Response:
    return redirect_to(url_for(".receipt", prospect_id=prospect_id, merge=merge_id, operation=operation.id))


def _merge_id() -> str:
    """The id of the other record from the request (`merge`), or ""."""
    return record_id(request.values.get("merge")) or ""


def _purpose(prospect_id: str, merge_id: str) -> str:
    return f"merge:{prospect_id}:{merge_id}"
