"""Two records of enquirers side by side, and whose value is kept of each."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
from flask import Response, request, url_for

from portal.context import context
from portal.i18n.gettext import _
from portal.parse import LONGEST_ID, line
from portal.services.gather import attempt, known
from portal.services.notifications import list_notifications
from portal.state.operations import Operation
from portal.views.prospects.enquiry import FIELDS, Enquiry, find_enquiries, named_in
from portal.views.recent import name_opened
from portal.web import unsent
from portal.web.handlers import Care, Page, Person, audit, render
from portal.web.refusals import refusal_message


class OtherPage(Page, template="prospects/merge_with.html"):
    """Asks for the other record: `given` is what was typed, `suggested` come from notifications."""

    prospect_id: str
    name: str
    given: str
    error: str
    suggested: list[Enquiry]


class ComparePage(Page, template="prospects/merge.html"):
    """Both records, with a choice of value for each field; `is_incomplete` if not all could be read."""

    prospect_id: str
    merge_id: str
    operation: Operation
    kept: Enquiry
    merged: Enquiry
    fields: list[tuple[str, str]]
    """The fields with a known value, with their labels; one more choice covers all others."""
    rest: str
    choices: dict[str, str]
    is_incomplete: bool


def merge_fields() -> list[tuple[str, str]]:
    return [
        ("firstName", _("First name")),
        ("lastName", _("Last name")),
        ("email", _("E-mail")),
        ("phoneNumber", _("Telephone")),
        ("source", _("Where they heard of us")),
        ("interest", _("Interested in")),
    ]


def ask_for_other(care: Care, prospect_id: str) -> Response:
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


def compare_page(
    care: Care, person: Person, prospect_id: str, merge_id: str, operation: Operation
) -> Response:
    (kept, merged), is_complete = find_enquiries(care, prospect_id, merge_id)
    audit.shown("prospect.read", "prospect", (prospect_id, merge_id))
    name_opened(kept.name)
    said = {
        whose: {"name": enquiry.name, "values": dict(enquiry.values)}
        for whose, enquiry in (("kept", kept), ("merged", merged))
    }
    if is_complete and said != operation.data.get("said"):
        context().operations.keep(person.sub, operation.id, {**operation.data, "said": said})
    given = unsent.restored_form(url_for(".choose", prospect_id=prospect_id), typed_for=merge_id)
    choices = chosen_in(given) if given else choices_of(operation)
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


def chosen_in(form: Mapping[str, str]) -> dict[str, str]:
    """Whose value stays, by field; `rest` applies to fields without values on the page."""
    rest = form.get("rest", "")
    choices = {name: form.get(name, rest) for name in FIELDS}
    return {name: whose for name, whose in choices.items() if whose in ("kept", "merged")}


def choices_of(operation: Operation) -> dict[str, str]:
    return msgspec.convert(operation.data.get("choices", {}), dict[str, str])
