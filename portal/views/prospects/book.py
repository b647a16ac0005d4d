"""Booking a first window for an enquirer, once."""

from __future__ import annotations

from flask import Response, request, url_for
from msgspec.structs import replace

from portal.parse import line
from portal.services.errors import Conflict, Refused
from portal.services.rules.free_windows import Window
from portal.state.operations import Operation, State
from portal.views.booking.visit import ABOUT_THE_TIME, Visit, book_visit, is_free, visit_of
from portal.views.booking.windows import FIRST_VISIT, Week, appointment_types, read_asked_week
from portal.views.prospects.booked import bp, purpose_of, read_enquiry
from portal.views.prospects.enquiry import Enquiry
from portal.views.prospects.link import LinkCard
from portal.web import unsent
from portal.web.act_once import (
    Attempt,
    Reopened,
    Unconfirmed,
    begin,
    earlier,
    give_up,
    is_unconfirmed,
    sent_operation,
)
from portal.web.handlers import Care, Page, Person, Side, audit, redirect_to, render, signed_in, wants
from portal.web.permissions import EDIT_PROSPECT
from portal.web.refusals import refusal_message


class BookPage(Page, template="prospects/book.html"):
    """A physician's week as a form; `note`, `is_missing` and `is_stale` say why nothing was booked.

    `nearest` are the free windows next to one that was asked for and isn't free.
    """

    prospect_id: str
    enquiry: Enquiry
    operation: Operation
    address: str
    week: Week
    nearest: list[Window]
    types: list[tuple[str, str]]
    chosen_window: str
    note: str
    is_missing: bool
    is_stale: bool
    link: LinkCard


class UnconfirmedPage(Page, template="prospects/book_unconfirmed.html"):
    """The outcome is unknown; `is_still_free` says whether the calendar still shows it as free, None if unreadable."""

    prospect_id: str
    operation: Operation
    may_restart: bool
    visit: Visit | None
    is_still_free: bool | None


@bp.get("/<record:prospect_id>/book")
@signed_in(Side.STAFF, roles=EDIT_PROSPECT)
def show(care: Care, person: Person, prospect_id: str) -> Response:
    """Show a physician's week, to choose a free window."""
    operation = _operation(person, prospect_id)
    if operation.state is not State.OPEN:
        return _unconfirmed(care, prospect_id, operation)
    return _choose(care, prospect_id, operation)


@bp.post("/<record:prospect_id>/book")
@signed_in(Side.STAFF, roles=EDIT_PROSPECT)
@unsent.typed_text("window", "type")
def send(care: Care, person: Person, prospect_id: str) -> Response:
    """Book the chosen window, once; or start over after a lost response, once someone has checked the outcome."""
    operation = sent_operation(person.sub, purpose_of(prospect_id))
    if operation is None:
        return _choose(care, prospect_id, _operation(person, prospect_id), status=409, is_stale=True)
    if request.form.get("checked") and give_up(person.sub, operation):
        return redirect_to(url_for(".show", prospect_id=prospect_id))
    asked, what = request.form.get("window", ""), line(request.form.get("type"), longest=100) or FIRST_VISIT
    week = read_asked_week(care, anybody=False) if operation.state is State.OPEN else None
    window = week.window(asked) if week else None
    try:
        if window:
            book_visit(care, person.sub, operation, prospect_id, window, what=what, event="prospect.book")
        else:
            earlier(Attempt(person.sub, operation))
    except Refused as error:
        if error.code not in ABOUT_THE_TIME:
            raise
        return _choose(care, prospect_id, operation, status=409, note=refusal_message(error.code))
    except Conflict:  # nothing but the time can have changed meanwhile
        return _choose(care, prospect_id, operation, status=409, note=refusal_message("SlotTaken"))
    except Unconfirmed as error:
        operation = sent_operation(person.sub, purpose_of(prospect_id)) or operation
        return _unconfirmed(care, prospect_id, operation, status=error.status)
    except Reopened:
        if week is None or window:  # an earlier submission was refused
            return redirect_to(url_for(".show", prospect_id=prospect_id))
        if asked:
            note = refusal_message("SlotTaken")
            return _choose(care, prospect_id, operation, status=409, note=note, week=week)
        return _choose(care, prospect_id, operation, status=422, is_missing=True, week=week)
    return redirect_to(url_for(".receipt", prospect_id=prospect_id, operation=operation.id))


def _choose(
    care: Care,
    prospect_id: str,
    operation: Operation,
    *,
    status: int = 200,
    note: str = "",
    is_missing: bool = False,
    is_stale: bool = False,
    week: Week | None = None,
) -> Response:
    address = url_for(".show", prospect_id=prospect_id)
    form = unsent.restored_form(address) or request.form
    audit.shown("prospect.read", "prospect", prospect_id)
    enquiry = Enquiry(prospect_id) if wants("week") else read_enquiry(care, prospect_id)
    week = week or read_asked_week(care, anybody=False)
    types, asked_type = appointment_types(), form.get("type") or request.args.get("type", "")
    week = replace(week, kind=asked_type if asked_type in dict(types) else FIRST_VISIT)
    if note:
        week = week.without(form.get("window", ""))
    page = BookPage(
        prospect_id=prospect_id,
        enquiry=enquiry,
        operation=operation,
        address=address,
        week=week,
        nearest=week.nearest(form.get("window", "")) if note else [],
        types=types,
        chosen_window=form.get("window", ""),
        note=note,
        is_missing=is_missing,
        is_stale=is_stale,
        link=LinkCard.empty(),
    )
    return render(page, fragment="week", status=status)


def _unconfirmed(care: Care, prospect_id: str, operation: Operation, *, status: int = 200) -> Response:
    """Say that the response was lost, and what the physician's calendar shows now."""
    audit.shown("prospect.read", "prospect", prospect_id)
    visit = visit_of(operation)
    page = UnconfirmedPage(
        prospect_id=prospect_id,
        operation=operation,
        may_restart=is_unconfirmed(operation),
        visit=visit,
        is_still_free=is_free(care, visit) if visit else None,
    )
    return render(page, status=status)


def _operation(person: Person, prospect_id: str) -> Operation:
    """The current booking; one with an unknown outcome isn't reopened automatically, because no record shows it."""
    operation, _was_lost = begin(person.sub, purpose_of(prospect_id), reopens=False)
    return operation
