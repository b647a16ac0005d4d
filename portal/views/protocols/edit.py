"""Editing a protocol: fill in, review the changes, save; and merge with changes made by someone else meanwhile."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date

import msgspec
from flask import Blueprint, Response, g, request, url_for
from markupsafe import Markup

from portal.config.protocol_choices import ProtocolChoices
from portal.config.tenants import Side
from portal.i18n.gettext import _
from portal.parse import whole_number
from portal.services import errors
from portal.services.client import Care
from portal.services.gather import gather, known
from portal.services.physicians import list_physicians
from portal.services.protocols import get_protocol, update_protocol
from portal.services.records.protocols import Protocol, ProtocolType
from portal.state.sessions import Person
from portal.views.protocols.changes import Change, Wording, changes
from portal.views.protocols.labels import WRITERS
from portal.views.protocols.plan import FACTS, Plan
from portal.views.protocols.rows import CHECK_COLUMNS, MEDICATION_COLUMNS, column_labels
from portal.views.protocols.view import drawing
from portal.web import audit, unsent
from portal.web.act_once import (
    Attempt,
    Done,
    NotSent,
    Outcome,
    Refused,
    Reopened,
    Unknown,
    act_once,
    begin_edit,
)
from portal.web.forms import Choices, Values
from portal.web.guard import signed_in
from portal.web.htmx import redirect_to, render, toast
from portal.web.labels import treatment_name
from portal.web.pages import Page
from portal.web.refusals import refusal_message
from portal.web.three_way_merge import Comparison, Sent, settle

bp = Blueprint("edit", __name__)

_ROLES = set(WRITERS)

FORM = (*FACTS, "medication-*", "check-*")
_CARRIED = (*FACTS, "m-*", "c-*", "opened")
"""The names of the form's fields, and of the hidden fields on the pages after it."""

_CELL = re.compile(
    rf"(?P<what>medication|check)-(?P<number>[0-9]{{1,3}})-(?P<column>{'|'.join((*MEDICATION_COLUMNS, *CHECK_COLUMNS))})"
)
_MOVE = re.compile(r"(?P<verb>up|down)-(?P<what>medication|check)-(?P<number>[0-9]{1,3})")
_REMOVE = re.compile(r"remove-(?P<what>medication|check)-(?P<number>[0-9]{1,3})")

_AFTER_FORM = ("choose", "back", "save")
"""The endpoints that those pages post to."""


@dataclass(frozen=True, slots=True)
class PlanDays:
    """The days of a form's rows: as a chart, and the dates of typed days by field id."""

    grid: Markup | None
    dates: dict[str, date]
    rows: list[tuple[str, str, str | None]]
    """A medicine or check, and the field ids of its first and last day."""

    @classmethod
    def of(cls, plan: Plan) -> PlanDays:
        """The days of the rows typed so far; incomplete ones are left out."""
        dates = plan.dates()
        rows = [
            *(
                (row.drug, f"medication-{n}-start_day", f"medication-{n}-end_day")
                for n, row in enumerate(plan.medications)
            ),
            *((row.kind, f"check-{n}-day", None) for n, row in enumerate(plan.checks)),
        ]
        return cls(
            drawing(*plan.drawn(), begins=plan.begins), dates, [row for row in rows if row[1] in dates]
        )


class EditPage(Page, template="protocols/edit.html"):
    """The form for a protocol or, if `protocol` is None, for a new one, which `operation` stores.

    `opened` is the protocol when the form was opened, as JSON; `focus` the id of the field or button to focus; `summary`
    the errors by field id, with the names of row and column.
    """

    plan: Plan
    days: PlanDays
    protocol: Protocol | None
    opened: str
    operation: str
    faults: dict[str, str]
    summary: list[tuple[str, str]]
    note: str
    focus: str
    types: list[tuple[str, str]]
    physicians: list[tuple[str, str]]
    physicians_hint: str | None
    columns: dict[str, str]
    choices: ProtocolChoices


class DaysPage(Page, template="protocols/days.html"):
    """The days of a form's rows typed so far."""

    days: PlanDays


class ReviewPage(Page, template="protocols/review.html"):
    """The changes to review; `carried` are the hidden fields with the input."""

    protocol: Protocol
    changes: list[Change]
    grid: Markup | None
    carried: list[tuple[str, str]]


class ComparePage(Page, template="protocols/compare.html"):
    """The conflicting versions of two people."""

    protocol: Protocol
    comparison: Comparison


@bp.get("/<record:protocol_id>/edit")
@signed_in(Side.STAFF, roles=_ROLES)
def edit(care: Care, person: Person, protocol_id: str) -> Response:
    """Show the protocol as a form."""
    protocol = get_protocol(care, protocol_id)
    audit.shown("protocol.read", "protocol", protocol.id)
    if protocol.is_ended:
        return _ended(protocol)
    plan = Plan.of(protocol)
    opened = plan.values()
    if given := unsent.restored_form(url_for(".fill", protocol_id=protocol_id)):
        plan, opened = Plan.posted(given), _decoded(given.get("opened", ""))
    elif given := unsent.restored_form(*(url_for(f".{at}", protocol_id=protocol_id) for at in _AFTER_FORM)):
        plan, opened = Plan.from_values(_typed(given)), _decoded(given.get("opened", ""))
    return form_page(care, plan, protocol, opened=opened)


@bp.post("/days")
@signed_in(Side.STAFF, roles=_ROLES)
def days(care: Care, person: Person) -> Response:
    """Draw the days typed so far. Called while people type, so it makes no API calls."""
    return render(DaysPage(days=PlanDays.of(Plan.posted(request.form))), fragment="days")


@bp.post("/<record:protocol_id>/edit")
@signed_in(Side.STAFF, roles=_ROLES)
@unsent.typed_text(*FORM, "opened", page="protocols.edit.edit")
def fill(care: Care, person: Person, protocol_id: str) -> Response:
    """Handle the form: add, remove or move a row, or go on to the review."""
    protocol = get_protocol(care, protocol_id)
    plan, act = Plan.posted(request.form), request.form.get("do", "")
    opened = _decoded(request.form.get("opened", ""))
    if act != "review":
        return form_page(care, plan.changed(act), protocol, opened=opened, act=act)
    if faults := plan.faults():
        return form_page(care, plan, protocol, opened=opened, faults=faults, status=422)
    return _review(care, protocol, plan.values(), opened)


@bp.post("/<record:protocol_id>/review")
@signed_in(Side.STAFF, roles=_ROLES)
@unsent.typed_text(*_CARRIED, page="protocols.edit.edit")
def choose(care: Care, person: Person, protocol_id: str) -> Response:
    """Apply the choices between two versions, and show the resulting changes."""
    typed, opened = _typed(request.form), _decoded(request.form.get("opened", ""))
    return _review(care, get_protocol(care, protocol_id), typed, opened)


@bp.post("/<record:protocol_id>/back")
@signed_in(Side.STAFF, roles=_ROLES)
@unsent.typed_text(*_CARRIED, page="protocols.edit.edit")
def back(care: Care, person: Person, protocol_id: str) -> Response:
    """Go back from the review to the form, keeping the input."""
    opened = _decoded(request.form.get("opened", ""))
    plan = Plan.from_values(_typed(request.form))
    return form_page(care, plan, get_protocol(care, protocol_id), opened=opened)


@bp.post("/<record:protocol_id>/save")
@signed_in(Side.STAFF, roles=_ROLES)
@unsent.typed_text(*_CARRIED, page="protocols.edit.edit")
def save(care: Care, person: Person, protocol_id: str) -> Response:
    """Save the reviewed changes, if the protocol is still the version that they were compared with."""
    typed, opened = _typed(request.form), _decoded(request.form.get("opened", ""))
    for is_last in (False, True):
        protocol = get_protocol(care, protocol_id)
        settled = _settled(protocol, typed, opened, _physicians(care, protocol))
        if isinstance(settled, Comparison):
            return _compare(protocol, settled)
        plan = Plan.from_values(settled)
        if faults := plan.faults():
            return form_page(care, plan, protocol, opened=opened, faults=faults, status=422)
        if list(plan.values().items()) == list(
            Plan.of(protocol).values().items()
        ):  # the order of rows counts too
            return _saved(protocol, is_changed=False)
        match _write(care, person, protocol, plan):
            case Done():
                return _saved(protocol, is_changed=True)
            case Refused(errors.Conflict()) if not is_last:
                continue
            case Refused(error):
                return _refused(care, protocol, plan, opened, error)
            case NotSent(error):
                raise error
            case Unknown():
                raise errors.Unavailable("not confirmed", outcome_known=False)
            case Reopened():
                return _review(care, protocol, typed, opened)
    raise AssertionError("unreachable")


def _write(care: Care, person: Person, protocol: Protocol, plan: Plan) -> Outcome[Protocol]:
    """Write the plan over the protocol, once."""
    wanted = plan.onto(protocol)
    sent = (protocol.concurrency_stamp, msgspec.json.encode(wanted).decode())

    def look() -> Protocol | None:
        newest = get_protocol(care, protocol.id)
        return newest if _content(newest) == _content(wanted) else None

    return act_once(
        Attempt(person.sub, begin_edit(person.sub, f"protocol-edit:{protocol.id}", *sent), sent),
        lambda _key: update_protocol(care, protocol.id, protocol=wanted),
        look=look,
        event="protocol.update",
        kind="protocol",
        id_=protocol.id,
        is_repeatable=True,
    )


def _saved(protocol: Protocol, *, is_changed: bool) -> Response:
    if not is_changed:
        audit.note("protocol.update", "unchanged", kind="protocol", id_=protocol.id)
    toast(_("The protocol is saved.") if is_changed else _("Nothing was changed."))
    return redirect_to(url_for("protocols.show", protocol_id=protocol.id))


def _refused(care: Care, protocol: Protocol, plan: Plan, opened: Values, error: errors.CareError) -> Response:
    match error:
        case errors.Refused(code=code):
            note = refusal_message(code)
            return form_page(care, plan, protocol, opened=opened, note=note, status=403)
        case errors.Invalid():
            faults = faults_named_by(error)
            return form_page(care, plan, protocol, opened=opened, faults=faults, status=422)
        case _:
            raise error


def faults_named_by(error: errors.Invalid) -> dict[str, str]:
    """The API's errors by field id; those not on the page are shown at the name."""
    sentence = _("The clinic’s system doesn’t accept this; please check it.")
    found: dict[str, str] = {}
    for name in error.fields:
        path = name.split(".")
        row = {"medications": "medication", "monitoring": "check"}.get(path[0])
        is_cell = row and len(path) == 3 and whole_number(path[1]) is not None and path[2] in column_labels()
        field = f"{row}-{path[1]}-{path[2]}" if is_cell else name
        found[field if is_cell or name in (*FACTS, "status") else "name"] = sentence
    return found or {"name": sentence}


def form_page(
    care: Care,
    plan: Plan,
    protocol: Protocol | None,
    *,
    opened: Values | None = None,
    faults: Mapping[str, str] | None = None,
    note: str = "",
    status: int = 200,
    act: str = "",
    operation: str = "",
) -> Response:
    """Show the form for a protocol or, if `protocol` is None, for a new one."""
    physicians = physician_choices(care, plan.physician_id)
    page = EditPage(
        plan=plan,
        days=PlanDays.of(plan),
        protocol=protocol,
        opened=msgspec.json.encode(opened or {}).decode(),
        operation=operation,
        faults=dict(faults or {}),
        summary=_summary(faults or {}),
        note=note,
        focus=_focus(plan, act),
        types=types(),
        physicians=physicians.pairs,
        physicians_hint=physicians.hint,
        columns=column_labels(),
        choices=g.tenant.protocol_choices,
    )
    return render(page, fragment="rows", status=status)


def _summary(faults: Mapping[str, str]) -> list[tuple[str, str]]:
    """The errors in the order of the page, with row and column where the sentence needs them."""
    names = column_labels()
    found: list[tuple[str, str]] = []
    for id_, fault in faults.items():
        row = _CELL.fullmatch(id_)
        if row is None:
            found.append((id_, fault))
            continue
        told = {
            "number": int(row["number"]) + 1,
            "field": _within_a_sentence(names[row["column"]]),
            "fault": fault,
        }
        if row["what"] == "medication":
            found.append((id_, _("Medicine %(number)s, %(field)s: %(fault)s", **told)))
        else:
            found.append((id_, _("Check %(number)s, %(field)s: %(fault)s", **told)))
    return found


def _within_a_sentence(label: str) -> str:
    return label[:1].lower() + label[1:]


def _focus(plan: Plan, act: str) -> str:
    """The id of the element to focus after a row button was pressed.

    That is a new row's first field, the button of a moved row, or the next Remove button after a removal.
    """
    moved = _MOVE.fullmatch(act)
    removed = _REMOVE.fullmatch(act)
    if removed:
        what = removed["what"]
        left = len(plan.medications if what == "medication" else plan.checks)
        return f"remove-{what}-{min(int(removed['number']), left - 1)}" if left else f"add-{what}"
    if act == "add-medication" and plan.medications:
        return f"medication-{len(plan.medications) - 1}-drug"
    if act == "add-check" and plan.checks:
        return f"check-{len(plan.checks) - 1}-day"
    if moved is None:
        return ""
    last = len(plan.medications if moved["what"] == "medication" else plan.checks) - 1
    now = min(max(int(moved["number"]) + (-1 if moved["verb"] == "up" else 1), 0), last)
    at_the_end = now == (0 if moved["verb"] == "up" else last)
    verb = {"up": "down", "down": "up"}[moved["verb"]] if at_the_end else moved["verb"]
    return f"{verb}-{moved['what']}-{now}"


def types() -> list[tuple[str, str]]:
    """The types of protocol, as values and labels."""
    return [(type_.value, treatment_name(type_.value, plain=False)) for type_ in ProtocolType]


def physician_choices(care: Care, current: str) -> Choices:
    """The choices: nobody, and the clinic's physicians; always includes the current one."""
    (listed,) = gather(lambda: list_physicians(care).value)
    page = known(listed)
    found = sorted(
        ((one.id, one.name) for one in page.items if one.is_active or one.id == current) if page else (),
        key=lambda pair: pair[1].casefold(),
    )
    if current and current not in dict(found):
        found.append((current, _("As it is now (%(id)s…)", id=current[:8])))
    hint = None if page else _("The clinic’s physicians can’t be listed right now.")
    return Choices([("", _("Nobody")), *found], hint)


def _physicians(care: Care, protocol: Protocol) -> list[tuple[str, str]]:
    return physician_choices(care, protocol.physician_id or "").pairs


def _review(care: Care, protocol: Protocol, typed: Values, opened: Values) -> Response:
    """Show the changes to review; or both versions, if someone else changed the same."""
    if protocol.is_ended:
        return _ended(protocol)
    physicians = _physicians(care, protocol)
    settled = _settled(protocol, typed, opened, physicians)
    if isinstance(settled, Comparison):
        return _compare(protocol, settled)
    now, plan = Plan.of(protocol), Plan.from_values(settled)
    if faults := plan.faults():
        return form_page(care, plan, protocol, opened=opened, faults=faults, status=422)
    page = ReviewPage(
        protocol=protocol,
        changes=changes(now, plan, physicians),
        grid=drawing(*plan.drawn(), begins=plan.begins),
        carried=[*plan.values().items(), ("opened", msgspec.json.encode(now.values()).decode())],
    )
    return render(page)


def _settled(
    protocol: Protocol, typed: Values, opened: Values, physicians: list[tuple[str, str]]
) -> Values | Comparison:
    """Three-way comparison of the protocol as opened, as typed and as it is now, over the rows of all three."""
    now = Plan.of(protocol).values()
    names = list(dict.fromkeys((*typed, *now, *opened)))
    versions = [{name: version.get(name, "") for name in names} for version in (typed, opened, now)]
    keep = {name: request.form.get(f"keep-{name}", "") for name in names}
    sent = Sent(
        typed=versions[0],
        opened=versions[1],
        seen=request.form.get("seen", ""),
        keep={name: kept for name, kept in keep.items() if kept in ("mine", "now")},
    )
    return settle(sent, versions[2], protocol, Wording(versions, physicians))


def _compare(protocol: Protocol, comparison: Comparison) -> Response:
    audit.note("protocol.update", "conflict", kind="protocol", id_=protocol.id)
    return render(ComparePage(protocol=protocol, comparison=comparison), status=comparison.status)


def _ended(protocol: Protocol) -> Response:
    toast(_("This protocol has ended, so it can’t be changed any more."), tone="attention")
    return redirect_to(url_for("protocols.show", protocol_id=protocol.id))


def _content(protocol: Protocol) -> object:
    """The content compared after a lost response: everything except ids that the API assigns to new rows."""
    plan = Plan.of(protocol)
    return msgspec.structs.replace(
        plan, medications=tuple(msgspec.structs.replace(row, id="") for row in plan.medications)
    )


def _typed(form: Mapping[str, str]) -> Values:
    """The hidden fields of the pages after the form: facts and rows by name."""
    return {
        name: value.replace("\r\n", "\n")
        for name, value in form.items()
        if name in FACTS or name.startswith(("m-", "c-"))
    }


def _decoded(text: str) -> Values:
    try:
        return msgspec.json.decode(text, type=Values)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return {}
