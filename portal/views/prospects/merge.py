"""Merging two enquiries: compare what is known of both, choose, confirm, and merge once."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
from flask import Blueprint, Response, request, url_for

from portal.config.tenants import Side
from portal.context import context
from portal.i18n.gettext import _
from portal.parse import LONGEST_ID, line, record_id
from portal.services.client import Care
from portal.services.errors import NotFound, Refused
from portal.services.gather import attempt, known
from portal.services.notifications import list_notifications
from portal.services.prospects import Prospect, merge_prospects
from portal.state.operations import Operation, State
from portal.state.session_records import Person
from portal.views.prospects.known import FIELDS, Known, named_in, read_known
from portal.views.recent import name_opened
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


class OtherPage(Page, template="prospects/merge_with.html"):
    """Asks for the other record: `given` is what was typed, `suggested` come from notifications."""

    prospect_id: str
    name: str
    given: str
    error: str
    suggested: list[Known]


class ComparePage(Page, template="prospects/merge.html"):
    """Both records, with a choice of value for each field; `is_incomplete` if not all could be read."""

    prospect_id: str
    merge_id: str
    operation: Operation
    kept: Known
    merged: Known
    fields: list[tuple[str, str]]
    """The fields with a known value, with their labels; one more choice covers all others."""
    rest: str
    choices: dict[str, str]
    is_incomplete: bool


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
        return _ask_for_other(care, prospect_id)
    # A merge with an unknown outcome isn't reopened automatically, because no record shows whether it happened.
    operation, _was_lost = begin(person.sub, _purpose(prospect_id, merge_id), reopens=False)
    if operation.state is not State.OPEN:
        return _unconfirmed(prospect_id, merge_id, operation)
    return _compare(care, person, prospect_id, merge_id, operation)


@bp.post("/<record:prospect_id>/merge")
@signed_in(Side.STAFF, roles=EDIT_PROSPECT)
@unsent.typed_text(*FIELDS, "rest")
def choose(care: Care, person: Person, prospect_id: str) -> Response:
    """Save the choices and redirect to the confirmation."""
    merge_id = _merge_id()
    operation = sent_operation(person.sub, _purpose(prospect_id, merge_id))
    if operation is None:
        return _to_comparison(prospect_id, merge_id)
    kept = {**operation.data, "choices": _chosen(request.form)}
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
        choices=_choices(operation),
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
    choices, ids = _choices(operation), {"kept": prospect_id, "merged": merge_id}
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


def merge_fields() -> list[tuple[str, str]]:
    """The fields to choose in a merge, with their labels."""
    return [
        ("firstName", _("First name")),
        ("lastName", _("Last name")),
        ("email", _("E-mail")),
        ("phoneNumber", _("Telephone")),
        ("source", _("Where they heard of us")),
        ("interest", _("Interested in")),
    ]


def _ask_for_other(care: Care, prospect_id: str) -> Response:
    """Ask for the other record; those suggested by notifications are links."""
    news = attempt(lambda: list_notifications(care, limit=100))
    heard = page.items if (page := known(news)) else ()
    about = [n for n in heard if n.is_about("Prospect", prospect_id)]
    suggested = dict.fromkeys(n.datum("mergeId") or "" for n in about)
    given = line(request.args.get("merge"), longest=LONGEST_ID)
    error = ""
    if given == prospect_id:
        error = refusal_message("SameRecord")
    elif given:
        error = _("This is no id. Copy it from the record in the clinic’s system.")
    audit.shown("prospect.read", "prospect", prospect_id)
    audit.shown("notification.list", "notification", [n.id for n in about])
    page = OtherPage(
        prospect_id=prospect_id,
        name=named_in(heard, prospect_id).name,
        given=given,
        error=error,
        suggested=[named_in(heard, id_) for id_ in suggested if id_ not in ("", prospect_id)],
    )
    return render(page, status=422 if error else 200)


def _compare(care: Care, person: Person, prospect_id: str, merge_id: str, operation: Operation) -> Response:
    (kept, merged), is_complete = read_known(care, prospect_id, merge_id)
    audit.shown("prospect.read", "prospect", (prospect_id, merge_id))
    name_opened(kept.name)
    said = {
        whose: {"name": one.name, "values": dict(one.values)}
        for whose, one in (("kept", kept), ("merged", merged))
    }
    if is_complete and said != operation.data.get("said"):
        context().operations.keep(person.sub, operation.id, {**operation.data, "said": said})
    given = unsent.restored_form(url_for(".choose", prospect_id=prospect_id), typed_for=merge_id)
    choices = _chosen(given) if given else _choices(operation)
    fields = [(name, words) for name, words in merge_fields() if name in kept.values or name in merged.values]
    others = {choices.get(name, "") for name in FIELDS if name not in dict(fields)}
    page = ComparePage(
        prospect_id=prospect_id,
        merge_id=merge_id,
        operation=operation,
        kept=kept,
        merged=merged,
        fields=fields,
        rest=others.pop() if len(others) == 1 else "",
        choices=choices,
        is_incomplete=not is_complete,
    )
    return render(page)


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
    merged = Merged(merge_id, _choices(operation), values, name, status, merged_name)
    return msgspec.json.encode(merged).decode()


def _said(operation: Operation, whose: str) -> Said:
    """The comparison's side of the record that stays (`kept`) or of the other (`merged`)."""
    return msgspec.convert(operation.data.get("said", {}).get(whose, {}), Said)


def _outcome(operation: Operation) -> dict[str, str]:
    """The value that each field will have, as far as known."""
    kept, merged = _said(operation, "kept").values, _said(operation, "merged").values
    choices = _choices(operation)
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


def _chosen(form: Mapping[str, str]) -> dict[str, str]:
    """Whose value stays, by field; `rest` applies to fields without values on the page."""
    rest = form.get("rest", "")
    choices = {name: form.get(name, rest) for name in FIELDS}
    return {name: whose for name, whose in choices.items() if whose in ("kept", "merged")}


def _choices(operation: Operation) -> dict[str, str]:
    return msgspec.convert(operation.data.get("choices", {}), dict[str, str])
