"""Editing a protocol: fill in, review the changes, save; and merge with changes made by someone else meanwhile."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
from flask import Blueprint, Response, request, url_for
from markupsafe import Markup

from portal.config.tenants import Side
from portal.i18n.gettext import _
from portal.services import errors
from portal.services.client import Care
from portal.services.protocols import Protocol, get_protocol, update_protocol
from portal.state.session_records import Person
from portal.views.protocols.changes import Change, Wording, changes
from portal.views.protocols.form import DaysPage, PlanDays, faults_named_by, form_page, physician_choices
from portal.views.protocols.history import DoseChange, dose_changes, history_faults, with_new_dose
from portal.views.protocols.labels import WRITERS
from portal.views.protocols.plan import FACTS, Plan
from portal.views.protocols.stops import Stop, stops, triggers_told, unanswered
from portal.views.protocols.view import Whose, drawing, read_whose
from portal.web import audit, unsent
from portal.web.act_once import (
    Attempt,
    Done,
    act_once,
    begin_edit,
)
from portal.web.forms import Values
from portal.web.guard import signed_in
from portal.web.htmx import redirect_to, render, toast
from portal.web.pages import Page
from portal.web.refusals import refusal_message
from portal.web.three_way_merge import Comparison, Sent, settle

bp = Blueprint("edit", __name__)

_ROLES = set(WRITERS)

FORM = (*FACTS, "medication-*", "check-*")
_CARRIED = (*FACTS, "m-*", "c-*", "opened")
"""The names of the form's fields, and of the hidden fields on the pages after it."""

_AFTER_FORM = ("choose", "back", "save")
"""The endpoints that those pages post to."""


class ReviewPage(Page, template="protocols/review.html"):
    """The changes to review; `doses` are those of single days, `stops` the questions to answer, `carried` hidden fields."""

    protocol: Protocol
    whose: Whose
    changes: list[Change]
    doses: list[DoseChange]
    triggers: list[str]
    stops: list[Stop]
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
        changed = with_new_dose(protocol, plan, act) or plan.changed(act)
        return form_page(care, changed, protocol, opened=opened, act=act)
    if faults := plan.faults() or history_faults(protocol, plan):
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
        if faults := plan.faults() or history_faults(protocol, plan):
            return form_page(care, plan, protocol, opened=opened, faults=faults, status=422)
        whose = read_whose(care, protocol)
        if asked := unanswered(stops(Plan.of(protocol), plan, whose.collection), request.form):
            return _show_review(protocol, plan, whose, _physicians(care, protocol), asked, status=422)
        if list(plan.values().items()) == list(
            Plan.of(protocol).values().items()
        ):  # the order of rows counts too
            return _saved(protocol, is_changed=False)
        try:
            _write(care, person, protocol, plan)
        except errors.Conflict:
            if is_last:
                raise
        except errors.Refused as error:
            note = refusal_message(error.code)
            return form_page(care, plan, protocol, opened=opened, note=note, status=403)
        except errors.Invalid as error:
            faults = faults_named_by(error)
            return form_page(care, plan, protocol, opened=opened, faults=faults, status=422)
        else:
            return _saved(protocol, is_changed=True)
    raise AssertionError("unreachable")


def _write(care: Care, person: Person, protocol: Protocol, plan: Plan) -> Done[Protocol]:
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
    if faults := plan.faults() or history_faults(protocol, plan):
        return form_page(care, plan, protocol, opened=opened, faults=faults, status=422)
    whose = read_whose(care, protocol)
    return _show_review(protocol, plan, whose, physicians, stops(now, plan, whose.collection))


def _show_review(
    protocol: Protocol,
    plan: Plan,
    whose: Whose,
    physicians: list[tuple[str, str]],
    asked: list[Stop],
    *,
    status: int = 200,
) -> Response:
    now = Plan.of(protocol)
    page = ReviewPage(
        protocol=protocol,
        whose=whose,
        changes=changes(now, plan, physicians),
        doses=dose_changes(now, plan),
        triggers=triggers_told(plan, whose.collection),
        stops=asked,
        grid=drawing(*plan.drawn(), begins=plan.begins),
        carried=[*plan.values().items(), ("opened", msgspec.json.encode(now.values()).decode())],
    )
    return render(page, status=status)


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
