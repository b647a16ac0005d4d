"""Merging two enquiries: compare what is known of both, choose, confirm, and merge once."""

from __future__ import annotations

import msgspec
from flask import Blueprint, Response, request, url_for

from portal.context import context
from portal.parse import record_id
from portal.services.errors import NotFound, Refused
from portal.services.prospects import merge_prospects
from portal.state.operations import Operation, State
from portal.views.prospects.comparison import ask_for_other, choices_of, chosen_in, compare_page, merge_fields
from portal.views.prospects.enquiry import FIELDS
from portal.views.prospects.merge_pages import (
    ConfirmPage,
    Merged,
    MergedPage,
    compared,
    outcome_of,
    receipt_text,
    refused,
    unconfirmed,
)
from portal.web import unsent
from portal.web.act_once import Attempt, Reopened, Unconfirmed, act_once, begin, give_up, sent_operation
from portal.web.handlers import Care, Person, Side, audit, redirect_to, render, signed_in
from portal.web.permissions import EDIT_PROSPECT

bp = Blueprint("merge", __name__)


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
        return unconfirmed(prospect_id, merge_id, operation)
    return compare_page(care, person, prospect_id, merge_id, operation)


@bp.post("/<record:prospect_id>/merge")
@signed_in(Side.STAFF, roles=EDIT_PROSPECT)
@unsent.typed_text(*FIELDS, "rest")
def choose(care: Care, person: Person, prospect_id: str) -> Response:
    """Save the choices and redirect to the confirmation."""
    merge_id, operation = _asked(person, prospect_id)
    if operation is None:
        return _to_comparison(prospect_id, merge_id)
    kept = {**operation.data, "choices": chosen_in(request.form)}
    context().operations.keep(person.sub, operation.id, kept)
    return redirect_to(url_for(".confirm", prospect_id=prospect_id, merge=merge_id, operation=operation.id))


@bp.get("/<record:prospect_id>/merge/confirm")
@signed_in(Side.STAFF, roles=EDIT_PROSPECT)
def confirm(care: Care, person: Person, prospect_id: str) -> Response:
    """Show the consequences and ask for confirmation; once merged, redirect to the receipt."""
    merge_id, operation = _asked(person, prospect_id)
    if operation and operation.state is State.DONE:
        return _to_receipt(prospect_id, merge_id, operation)
    if operation is None or operation.state is not State.OPEN:
        return _to_comparison(prospect_id, merge_id)
    audit.shown("prospect.read", "prospect", (prospect_id, merge_id))
    page = ConfirmPage(
        prospect_id=prospect_id,
        merge_id=merge_id,
        operation=operation,
        kept=compared(operation, "kept"),
        merged=compared(operation, "merged"),
        fields=merge_fields(),
        choices=choices_of(operation),
        outcome=outcome_of(operation),
    )
    return render(page)


@bp.post("/<record:prospect_id>/merge/confirm")
@signed_in(Side.STAFF, roles=EDIT_PROSPECT)
def send(care: Care, person: Person, prospect_id: str) -> Response:
    """Merge the two, once; or start over after a lost response, once someone has checked the outcome."""
    merge_id, operation = _asked(person, prospect_id)
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
            receipt=lambda survivor: receipt_text(merge_id, operation, survivor),
            event="prospect.merge",
            id_=prospect_id,
        )
    except (Refused, NotFound) as error:
        return refused(prospect_id, merge_id, operation, error)
    except Reopened:
        return _to_comparison(prospect_id, merge_id)
    except Unconfirmed as error:
        sent = sent_operation(person.sub, _purpose(prospect_id, merge_id)) or operation
        return unconfirmed(prospect_id, merge_id, sent, status=error.status)
    return _to_receipt(prospect_id, merge_id, operation)


@bp.get("/<record:prospect_id>/merge/receipt")
@signed_in(Side.STAFF, roles=EDIT_PROSPECT)
def receipt(care: Care, person: Person, prospect_id: str) -> Response:
    merge_id, operation = _asked(person, prospect_id)
    if operation is None or operation.state is not State.DONE:
        return _to_comparison(prospect_id, merge_id)
    merged = msgspec.json.decode(operation.outcome, type=Merged)
    audit.shown("prospect.receipt", "prospect", (prospect_id, merge_id))
    return render(MergedPage(prospect_id=prospect_id, merged=merged, fields=dict(merge_fields())))


def _asked(person: Person, prospect_id: str) -> tuple[str, Operation | None]:
    """The enquiry to be merged, and the person's operation with it that the request names."""
    merge_id = _merge_id()
    return merge_id, sent_operation(person.sub, _purpose(prospect_id, merge_id))


def _to_comparison(prospect_id: str, merge_id: str) -> Response:
    return redirect_to(url_for(".show", prospect_id=prospect_id, merge=merge_id or None))


def _to_receipt(prospect_id: str, merge_id: str, operation: Operation) -> Response:
    return redirect_to(url_for(".receipt", prospect_id=prospect_id, merge=merge_id, operation=operation.id))


def _merge_id() -> str:
    """The id of the other record from the request (`merge`), or ""."""
    return record_id(request.values.get("merge")) or ""


def _purpose(prospect_id: str, merge_id: str) -> str:
    return f"merge:{prospect_id}:{merge_id}"
