"""The pages of a merge after the comparison, and what is kept of both enquiries for them."""

from __future__ import annotations

import msgspec
from flask import Response

from portal.i18n.gettext import _
from portal.services.errors import NotFound, Refused
from portal.services.prospects import Prospect
from portal.state.operations import Operation
from portal.views.prospects.comparison import choices_of
from portal.views.prospects.enquiry import FIELDS
from portal.web.act_once import is_unconfirmed
from portal.web.htmx import render
from portal.web.pages import Page
from portal.web.refusals import refusal_message


class ComparedEnquiry(msgspec.Struct, frozen=True):
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
    kept: ComparedEnquiry
    merged: ComparedEnquiry
    fields: list[tuple[str, str]]
    choices: dict[str, str]
    outcome: dict[str, str]


class MergedPage(Page, template="prospects/merged.html"):
    prospect_id: str
    merged: Merged
    fields: dict[str, str]


class RefusedPage(Page, template="prospects/merge_refused.html"):
    prospect_id: str
    merge_id: str
    kept: ComparedEnquiry
    merged: ComparedEnquiry
    reason: str


class UnconfirmedPage(Page, template="prospects/merge_unconfirmed.html"):
    prospect_id: str
    merge_id: str
    kept: ComparedEnquiry
    merged: ComparedEnquiry
    operation: Operation
    may_restart: bool


def refused(prospect_id: str, merge_id: str, operation: Operation, error: Refused | NotFound) -> Response:
    if isinstance(error, NotFound):
        reason, status = _("One of the two isn’t at this clinic, or isn’t there any more."), 404
    else:
        reason, status = refusal_message(error.code), 403
    page = RefusedPage(
        prospect_id=prospect_id,
        merge_id=merge_id,
        kept=compared(operation, "kept"),
        merged=compared(operation, "merged"),
        reason=reason,
    )
    return render(page, status=status)


def unconfirmed(prospect_id: str, merge_id: str, operation: Operation, *, status: int = 200) -> Response:
    """Say that nobody knows whether they were merged."""
    page = UnconfirmedPage(
        prospect_id=prospect_id,
        merge_id=merge_id,
        kept=compared(operation, "kept"),
        merged=compared(operation, "merged"),
        operation=operation,
        may_restart=is_unconfirmed(operation),
    )
    return render(page, status=status)


def receipt_text(merge_id: str, operation: Operation, survivor: Prospect | None) -> str:
    name = (survivor.full_name if survivor else "") or compared(operation, "kept").name
    status = str(survivor.status or "") if survivor else ""
    values = {field: value for field, value in outcome_of(operation).items() if value}
    merged_name = compared(operation, "merged").name
    merged = Merged(merge_id, choices_of(operation), values, name, status, merged_name)
    return msgspec.json.encode(merged).decode()


def compared(operation: Operation, whose: str) -> ComparedEnquiry:
    """The comparison's side of the record that stays (`kept`) or of the other (`merged`)."""
    return msgspec.convert(operation.data.get("said", {}).get(whose, {}), ComparedEnquiry)


def outcome_of(operation: Operation) -> dict[str, str]:
    """The value that each field will have, as far as known."""
    kept, merged = compared(operation, "kept").values, compared(operation, "merged").values
    choices = choices_of(operation)
    found: dict[str, str] = {}
    for name in FIELDS:
        either = kept.get(name) or merged.get(name) or ""
        found[name] = {"kept": kept.get(name, ""), "merged": merged.get(name, "")}.get(
            choices.get(name, ""), either
        )
    return found
