"""Booking by a link: the one page that needs no sign-in. The portal calls the care API as the clinic's service client.

A link (`portal.state.booking_links`) contains the enquiry's id, so nothing is looked up; it books once, and then shows
the receipt. All requests here are rate-limited by IP address (`PORTAL_LIMIT_BOOKING`).
"""

from __future__ import annotations

from datetime import datetime, timedelta

from flask import Response, request, url_for
from werkzeug.exceptions import TooManyRequests

from portal.context import context
from portal.i18n.gettext import _
from portal.services import errors
from portal.services.errors import CareError, NotFound, NotOffered
from portal.services.rules.free_windows import Window
from portal.signin.service_client import ServiceCare
from portal.state.booking_links import OWNER, BookingLink
from portal.state.operations import Operation, State
from portal.views.booking.link import BrokenLink, booked_with, bp, clinics_care, links, read_link
from portal.views.booking.visit import (
    ABOUT_THE_TIME,
    Visit,
    book_visit,
    booked_visit,
    is_free,
    visit_calendar,
    visit_of,
)
from portal.views.booking.windows import FIRST_VISIT, Week, read_asked_week
from portal.web.act_once import Reopened, Unconfirmed, settled
from portal.web.extensions import limiter, seconds_to_wait
from portal.web.filters import now
from portal.web.handlers import Page, audit, redirect_to, render
from portal.web.refusals import refusal_message


def _limit() -> str:
    return context().settings.limit_booking


class WeekPage(Page, template="booking/show.html"):
    """A week's free times as a form, by day; `note` and `is_missing` say why nothing was booked.

    `nearest` are the free times closest to the requested one, if that isn't free.
    """

    address: str
    week: Week
    nearest: list[Window]
    note: str
    is_missing: bool


class ReceiptPage(Page, template="booking/receipt.html"):
    signed: str
    visit: Visit
    title: str
    lede: str


class UnconfirmedPage(Page, template="booking/unconfirmed.html"):
    """The outcome is unknown; `is_still_free` says whether the calendar still shows the time as free, None if unreadable."""

    signed: str
    visit: Visit | None
    is_still_free: bool | None


class ExpiredPage(Page, template="booking/expired.html"):
    link: BookingLink


class BrokenPage(Page, template="booking/broken.html"):
    """The address isn't a link of this clinic, or only a part of one."""


class ClosedPage(Page, template="booking/closed.html"):
    """Nothing can be booked for the enquiry; `lede` says why, `advice` what to do."""

    title: str
    lede: str
    advice: str


class LimitedPage(Page, template="booking/limited.html"):
    """Too many requests from this address."""

    again_at: datetime


@bp.get("/<signed>")
@limiter.limit(_limit)
def show(signed: str) -> Response:
    """Show the free times of the clinic's physicians, or what was booked with this link."""
    link = read_link(signed)
    operation = booked_with(link)
    if operation and (ended := settled(OWNER, operation)).state is not State.OPEN:
        return _ended(signed, ended)
    if links().is_expired(link):
        return render(ExpiredPage(link=link), status=410)
    return _choose(clinics_care(), signed)


@bp.post("/<signed>")
@limiter.limit(_limit)
def book(signed: str) -> Response:
    """Book the chosen time; each link books once."""
    link = read_link(signed)
    if booked_with(link) or links().is_expired(link):
        return redirect_to(url_for(".show", signed=signed))
    care, asked = clinics_care(), request.form.get("window", "")
    week = read_asked_week(care, anybody=True)
    window = week.window(asked)
    if window is None:
        if booked_with(link):  # an earlier submission booked it
            return redirect_to(url_for(".show", signed=signed))
        if not asked:
            return _choose(care, signed, status=422, is_missing=True)
        return _choose(care, signed, status=409, note=refusal_message("SlotTaken"))
    ends_at = link.receipt_ends_at(window.end).timestamp()
    operation = context().operations.begin(OWNER, link.purpose, id_=link.id, expires_at=ends_at)
    try:
        book_visit(care, OWNER, operation, link.prospect_id, window, what=FIRST_VISIT, event="booking.book")
    except Reopened:
        pass
    except Unconfirmed as error:
        return _ended(signed, booked_with(link) or operation, status=error.status)
    except CareError as error:
        return _refused(care, signed, error)
    return redirect_to(url_for(".show", signed=signed))


@bp.get("/<signed>/appointment.ics")
@limiter.limit(_limit)
def calendar(signed: str) -> Response:
    """Return the booking as a calendar file (RFC 5545)."""
    link = read_link(signed)
    visit = booked_visit(booked_with(link))
    if visit is None:
        raise NotFound
    return visit_calendar(visit, link.id)


@bp.errorhandler(BrokenLink)
def broken(_error: BrokenLink) -> Response:
    return render(BrokenPage(), status=404)


@bp.errorhandler(TooManyRequests)
def too_many(error: TooManyRequests) -> Response:
    audit.note(request.endpoint or "-", "too-many")
    seconds = seconds_to_wait()
    response = render(LimitedPage(again_at=now() + timedelta(seconds=seconds)), status=429)
    response.headers["Retry-After"] = str(seconds)
    return response


def _refused(care: ServiceCare, signed: str, error: CareError) -> Response:
    match error:
        case errors.Refused(code=code) if code in ABOUT_THE_TIME:
            return _choose(care, signed, status=409, note=refusal_message(code))
        case errors.Conflict():  # nothing but the time can have changed meanwhile
            return _choose(care, signed, status=409, note=refusal_message("SlotTaken"))
        case NotFound():
            return render(_closed(), status=404)
        case errors.Refused(code="ProspectClosed"):
            return render(_closed(), status=403)
        case errors.Refused(code="AlreadyBooked"):
            page = ClosedPage(
                title=_("You already have a visit"),
                lede=_("There is a visit for you in the clinic’s calendar. Nothing more was booked."),
                advice=_("To change or cancel it, please call the clinic."),
            )
            return render(page, status=403)
        case NotOffered():
            raise NotOffered(about_record=False) from error
        case _:
            raise error


def _closed() -> ClosedPage:
    return ClosedPage(
        title=_("This link can’t be used any more"),
        lede=_("The clinic has closed the enquiry that it was made for. Nothing was booked."),
        advice=_("If you would still like a first visit, please call the clinic."),
    )


def _choose(
    care: ServiceCare, signed: str, *, status: int = 200, note: str = "", is_missing: bool = False
) -> Response:
    week, asked = read_asked_week(care, anybody=True), request.form.get("window", "")
    if note:
        week = week.without(asked)
    page = WeekPage(
        address=url_for(".show", signed=signed),
        week=week,
        nearest=week.nearest(asked) if note else [],
        note=note,
        is_missing=is_missing,
    )
    return render(page, fragment="week", status=status)


def receipt_of(signed: str, visit: Visit) -> ReceiptPage:
    if visit.is_tentative:
        title = _("Your visit isn’t confirmed yet")
        lede = _("The clinic still has to confirm this time. You can keep or print this page.")
    else:
        title = _("Your visit is booked")
        lede = _("We look forward to seeing you. You can keep or print this page.")
    return ReceiptPage(signed=signed, visit=visit, title=title, lede=lede)


def _ended(signed: str, operation: Operation, *, status: int = 200) -> Response:
    """The receipt, or the page that says that the clinic hasn't confirmed the booking."""
    if (booked := booked_visit(operation)) is not None:
        return render(receipt_of(signed, booked))
    visit = visit_of(operation)
    page = UnconfirmedPage(
        signed=signed, visit=visit, is_still_free=is_free(clinics_care(), visit) if visit else None
    )
    return render(page, status=status)
