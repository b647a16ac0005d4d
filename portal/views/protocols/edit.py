"""Editing a protocol: fill in, review the changes, save; and merge with changes made by someone else meanwhile."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from flask import Blueprint, Response, request, url_for

from portal.i18n.gettext import _
from portal.services import errors
from portal.services.protocols import Protocol, get_protocol, update_protocol
from portal.views.protocols.dose_changes import dose_change_faults, with_new_dose
from portal.views.protocols.fields import plan_fields
from portal.views.protocols.form import DaysPage, PlanDays, faults_named_by, form_page, physician_choices
from portal.views.protocols.hard_stops import HardStop, hard_stops, unanswered
from portal.views.protocols.plan import FACTS, Plan
from portal.views.protocols.review import show_comparison, show_review
from portal.views.protocols.view import PlanOwner, read_owner
from portal.web import unsent
from portal.web.edit_form import Comparison, EditForm, Filled, Saved, Sent, opened_in, settle
from portal.web.editing import Editing, save_edit, tell_saved
from portal.web.forms import Values
from portal.web.handlers import Care, Person, Side, audit, redirect_to, render, signed_in, toast
from portal.web.permissions import EDIT_PROTOCOL

bp = Blueprint("edit", __name__)


FORM = (*FACTS, "medication-*", "check-*")
_CARRIED = (*FACTS, "m-*", "c-*", "opened")
"""The names of the form's fields, and of the hidden fields on the pages after it."""


@bp.get("/<record:protocol_id>/edit")
@signed_in(Side.STAFF, roles=EDIT_PROTOCOL)
def edit(care: Care, person: Person, protocol_id: str) -> Response:
    protocol = get_protocol(care, protocol_id)
    audit.shown("protocol.read", "protocol", protocol.id)
    if protocol.is_ended:
        return _ended(protocol)
    plan = Plan.of(protocol)
    opened = plan.values()
    if given := unsent.restored_form(url_for(".edit", protocol_id=protocol_id)):
        opened = opened_in(given)
        is_form = any(name.startswith(("medication-", "check-")) for name in given)
        plan = (
            _after(given.get("do", ""), protocol, Plan.posted(given))
            if is_form
            else Plan.from_values(_typed(given))
        )
    return form_page(care, plan, protocol, opened=opened)


@bp.post("/days")
@signed_in(Side.STAFF, roles=EDIT_PROTOCOL)
def days(care: Care, person: Person) -> Response:
    """Draw the days typed so far. Called while people type, so it makes no API calls."""
    return render(DaysPage(days=PlanDays.of(Plan.posted(request.form))), fragment="days")


@bp.post("/<record:protocol_id>/edit")
@signed_in(Side.STAFF, roles=EDIT_PROTOCOL)
@unsent.typed_text(*FORM, "opened", "do", page="protocols.edit.edit")
def fill(care: Care, person: Person, protocol_id: str) -> Response:
    """Handle the form: add, remove or move a row, or go on to the review."""
    protocol = get_protocol(care, protocol_id)
    plan, act = Plan.posted(request.form), request.form.get("do", "")
    opened = opened_in(request.form)
    if act != "review":
        return form_page(care, _after(act, protocol, plan), protocol, opened=opened, act=act)
    if faults := _faults(protocol, plan):
        return form_page(care, plan, protocol, opened=opened, faults=faults, status=422)
    return _review(care, protocol, Sent(plan.values(), opened, seen="", keep={}))


@bp.post("/<record:protocol_id>/review")
@signed_in(Side.STAFF, roles=EDIT_PROTOCOL)
@unsent.typed_text(*_CARRIED, page="protocols.edit.edit")
def choose(care: Care, person: Person, protocol_id: str) -> Response:
    """Apply the choices between two versions, and show the resulting changes."""
    protocol = get_protocol(care, protocol_id)
    return _review(care, protocol, Sent.of_form(plan_fields([]), request.form))


@bp.post("/<record:protocol_id>/back")
@signed_in(Side.STAFF, roles=EDIT_PROTOCOL)
@unsent.typed_text(*_CARRIED, page="protocols.edit.edit")
def back(care: Care, person: Person, protocol_id: str) -> Response:
    """Go back from the review to the form, keeping the input."""
    opened = opened_in(request.form)
    plan = Plan.from_values(_typed(request.form))
    return form_page(care, plan, get_protocol(care, protocol_id), opened=opened)


@bp.post("/<record:protocol_id>/save")
@signed_in(Side.STAFF, roles=EDIT_PROTOCOL)
@unsent.typed_text(*_CARRIED, page="protocols.edit.edit")
def save(care: Care, person: Person, protocol_id: str) -> Response:
    """Save the reviewed changes, if the protocol is still the version that they were compared with."""
    protocol = get_protocol(care, protocol_id)
    physicians, whose = _physicians(care, protocol), read_owner(care, protocol)
    result = save_edit(_editing(care, person, protocol_id, physicians, whose), protocol)
    match result:
        case Saved():
            tell_saved(result, _("The protocol is saved."))
            return redirect_to(url_for("protocols.show", protocol_id=protocol_id))
        case Comparison():
            return show_comparison(protocol, result)
        case Filled():
            return _not_saved(care, protocol, result, physicians, whose)


def _faults(protocol: Protocol, plan: Plan) -> dict[str, str]:
    """What is wrong with the plan as a version of this protocol, by the id of the input."""
    return plan.faults(Plan.of(protocol)) or dose_change_faults(protocol, plan)


def _stops(protocol: Protocol, plan: Plan, whose: PlanOwner) -> list[HardStop]:
    """The questions that the plan raises as a version of this protocol."""
    return hard_stops(Plan.of(protocol), plan, whose.collection(plan.begins))


def _after(act: str, protocol: Protocol, plan: Plan) -> Plan:
    """The plan after a row's button, if it was one."""
    return with_new_dose(protocol, plan, act) or plan.changed(act)


def _editing(
    care: Care, person: Person, protocol_id: str, physicians: list[tuple[str, str]], whose: PlanOwner
) -> Editing[Protocol]:
    return Editing(
        owner=person.sub,
        event="protocol.update",
        fields=lambda _protocol: plan_fields(physicians),
        read=partial(get_protocol, care, protocol_id),
        write=partial(update_protocol, care, protocol_id),
        check=lambda protocol, form: _check(protocol, form, whose),
    )


def _check(protocol: Protocol, form: EditForm, whose: PlanOwner) -> None:
    """Add the errors of the plan; of one without any, the questions that aren't answered."""
    plan = Plan.from_values(form.values)
    form.faults = _faults(protocol, plan)
    if not form.faults:
        asked = unanswered(_stops(protocol, plan, whose), request.form)
        form.faults = {stop.name: stop.fault for stop in asked if stop.fault}


def _not_saved(
    care: Care, protocol: Protocol, filled: Filled, physicians: list[tuple[str, str]], whose: PlanOwner
) -> Response:
    plan, faults = Plan.from_values(filled.form.values), filled.form.faults
    match filled.error:
        case errors.Invalid() as error:
            faults = faults_named_by(error)
        case None | errors.Refused() | errors.Conflict():
            pass
        case error:
            raise error
    asked = unanswered(_stops(protocol, plan, whose), request.form) if faults else []
    if asked and faults.keys() <= {stop.name for stop in asked}:
        return show_review(care, protocol, plan, whose, physicians, asked, status=422)
    opened = opened_in(request.form)
    return form_page(
        care, plan, protocol, opened=opened, faults=faults, note=filled.note, status=filled.status
    )


def _physicians(care: Care, protocol: Protocol) -> list[tuple[str, str]]:
    return physician_choices(care, protocol.physician_id or "").pairs


def _review(care: Care, protocol: Protocol, posted: Sent) -> Response:
    """Show the changes to review; or both versions, if someone else changed the same."""
    if protocol.is_ended:
        return _ended(protocol)
    physicians = _physicians(care, protocol)
    settled = settle(posted, plan_fields(physicians), protocol)
    if isinstance(settled, Comparison):
        audit.note("protocol.update", "conflict", id_=protocol.id)
        return show_comparison(protocol, settled)
    plan = Plan.from_values(settled)
    if faults := _faults(protocol, plan):
        return form_page(care, plan, protocol, opened=posted.opened, faults=faults, status=422)
    whose = read_owner(care, protocol)
    return show_review(care, protocol, plan, whose, physicians, _stops(protocol, plan, whose))


def _ended(protocol: Protocol) -> Response:
    toast(_("This protocol has ended, so it can’t be changed any more."), tone="attention")
    return redirect_to(url_for("protocols.show", protocol_id=protocol.id))


def _typed(form: Mapping[str, str]) -> Values:
    """The hidden fields of the pages after the form: facts and rows by name."""
    return {
        name: value.replace("\r\n", "\n")
        for name, value in form.items()
        if name in FACTS or name.startswith(("m-", "c-"))
    }
