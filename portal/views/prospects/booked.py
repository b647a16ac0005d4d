"""What was booked for an enquirer: the receipt, the message about it, and the calendar file to attach."""

from __future__ import annotations

from flask import Blueprint, Response, request, url_for

from portal.i18n.gettext import _
from portal.i18n.locale import speaking
from portal.views.booking.visit import Visit, booked_visit, visit_calendar
from portal.views.booking.windows import appointment_types
from portal.views.prospects.enquiry import Enquiry, find_enquiries
from portal.views.prospects.visit_message import VisitMessage, message_about
from portal.views.recent import name_opened
from portal.web.act_once import sent_operation
from portal.web.handlers import Care, Page, Person, Side, audit, redirect_to, render, signed_in
from portal.web.locale_selector import language_of
from portal.web.permissions import EDIT_PROSPECT

bp = Blueprint("book", __name__)


class BookedPage(Page, template="prospects/booked.html"):
    """The receipt; `types` has the words of the kinds of appointment."""

    prospect_id: str
    enquiry: Enquiry
    visit: Visit
    title: str
    message: VisitMessage
    types: dict[str, str]
    operation_id: str


@bp.get("/<record:prospect_id>/book/receipt")
@signed_in(Side.STAFF, roles=EDIT_PROSPECT)
def receipt(care: Care, person: Person, prospect_id: str) -> Response:
    id_, visit = _booked(person, prospect_id)
    if visit is None:
        return redirect_to(url_for(".show", prospect_id=prospect_id))
    enquiry, language = read_enquiry(care, prospect_id), language_of(request.args.get("language"))
    return render(
        BookedPage(
            prospect_id=prospect_id,
            enquiry=enquiry,
            visit=visit,
            title=_("The visit isn’t confirmed yet") if visit.is_tentative else _("The visit is booked"),
            message=message_about(visit, enquiry.values.get("email", ""), language),
            types=dict(appointment_types()),
            operation_id=id_,
        )
    )


@bp.get("/<record:prospect_id>/book/appointment.ics")
@signed_in(Side.STAFF, roles=EDIT_PROSPECT, is_file=True)
def calendar(care: Care, person: Person, prospect_id: str) -> Response:
    """Return what was booked as a calendar file, to be attached to the message about it."""
    id_, visit = _booked(person, prospect_id)
    if visit is None:
        return redirect_to(url_for(".show", prospect_id=prospect_id))
    with speaking(language_of(request.args.get("language"))):
        return visit_calendar(visit, id_)


def _booked(person: Person, prospect_id: str) -> tuple[str, Visit | None]:
    """The id of the booking that the address names, and what was booked; None if nothing was."""
    operation = sent_operation(person.sub, purpose_of(prospect_id))
    visit = booked_visit(operation)
    if visit:
        audit.shown("prospect.receipt", "prospect", prospect_id)
    return operation.id if operation else "", visit


def read_enquiry(care: Care, prospect_id: str) -> Enquiry:
    ((enquiry,), _is_complete) = find_enquiries(care, prospect_id)
    name_opened(enquiry.name)
    return enquiry


def purpose_of(prospect_id: str) -> str:
    return f"book:{prospect_id}"
