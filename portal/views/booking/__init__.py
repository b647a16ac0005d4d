"""Booking by a link: the one page that needs no sign-in. The portal calls the care API as the clinic's service client.

A link (`portal.state.booking_links`) contains the enquiry's id, so nothing is looked up; it books once, and then shows
the receipt. All requests here are rate-limited by IP address (`PORTAL_LIMIT_BOOKING`).
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import cast

from flask import Blueprint, Response, current_app, g, request, url_for
from flask.blueprints import BlueprintSetupState
from werkzeug.exceptions import TooManyRequests

from portal.config.modules import Module
from portal.context import Context, context
from portal.services import errors
from portal.services.errors import CareError, NotFound, NotOffered
from portal.services.rules.free_windows import Window
from portal.signin.service_client import ServiceBearers, ServiceCare
from portal.state.booking_links import OWNER, BookingLink, BookingLinks
from portal.state.operations import Operation, State
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
from portal.web.guard import of_request
from portal.web.handlers import Page, audit, redirect_to, render
from portal.web.modules import whole
from portal.web.refusals import refusal_message

bp = whole(Module.BOOKING, Blueprint("booking", __name__, url_prefix="/book"))


@dataclass(frozen=True, slots=True)
class _Booking:
    """Per-process state of these pages."""

    links: BookingLinks
    bearers: ServiceBearers


@bp.record_once
def _prepare(setup: BlueprintSetupState) -> None:
    the = cast("Context", setup.app.extensions["portal"])
    links = BookingLinks(the.settings.secret_keys, the.clock)
    setup.app.extensions["booking"] = _Booking(links, ServiceBearers(the.settings.timeouts, the.clock))


def links() -> BookingLinks:
    return _booking().links


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
    """The clinic has closed the enquiry."""


class LimitedPage(Page, template="booking/limited.html"):
    """Too many requests from this address."""

    again_at: datetime


@bp.get("/<signed>")
@limiter.limit(_limit)
def show(signed: str) -> Response:
    """Show the free times of the clinic's physicians, or what was booked with this link."""
    link = _link(signed)
    operation = _used(link)
    if operation and (ended := settled(OWNER, operation)).state is not State.OPEN:
        return _ended(signed, ended)
    if links().is_expired(link):
        return render(ExpiredPage(link=link), status=410)
    return _choose(_care(), signed)


@bp.post("/<signed>")
@limiter.limit(_limit)
def book(signed: str) -> Response:
    """Book the chosen time; each link books once."""
    link = _link(signed)
    if _used(link) or links().is_expired(link):
        return redirect_to(url_for(".show", signed=signed))
    care, asked = _care(), request.form.get("window", "")
    week = read_asked_week(care, anybody=True)
    window = week.window(asked)
    if window is None:
        if _used(link):  # an earlier submission booked it
            return redirect_to(url_for(".show", signed=signed))
        if not asked:
            return _choose(care, signed, status=422, is_missing=True)
        return _choose(care, signed, status=409, note=refusal_message("SlotTaken"))
    operation = context().operations.begin(
        OWNER, link.purpose, id_=link.id, expires_at=link.receipt_ends_at.timestamp()
    )
    try:
        book_visit(care, OWNER, operation, link.prospect_id, window, what=FIRST_VISIT, event="booking.book")
    except Reopened:
        pass
    except Unconfirmed as error:
        return _ended(signed, _used(link) or operation, status=error.status)
    except CareError as error:
        return _refused(care, signed, error)
    return redirect_to(url_for(".show", signed=signed))


@bp.get("/<signed>/appointment.ics")
@limiter.limit(_limit)
def calendar(signed: str) -> Response:
    """Return the booking as a calendar file (RFC 5545)."""
    link = _link(signed)
    visit = booked_visit(_used(link))
    if visit is None:
        raise NotFound
    return visit_calendar(visit, link.id)


class BrokenLink(Exception):
    """The address isn't one that the clinic made."""


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
            return render(ClosedPage(), status=404)
        case errors.Refused(code="ProspectClosed"):
            return render(ClosedPage(), status=403)
        case NotOffered():
            raise NotOffered(about_record=False) from error
        case _:
            raise error


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


def _ended(signed: str, operation: Operation, *, status: int = 200) -> Response:
    """The receipt, or the page that says that the clinic hasn't confirmed the booking."""
    visit = visit_of(operation)
    if visit and operation.state is State.DONE:
        return render(ReceiptPage(signed=signed, visit=visit))
    page = UnconfirmedPage(
        signed=signed, visit=visit, is_still_free=is_free(_care(), visit) if visit else None
    )
    return render(page, status=status)


def _used(link: BookingLink) -> Operation | None:
    """The link's operation; None if nothing has been booked with it, even if an attempt was refused."""
    operation = context().operations.find(OWNER, link.id, link.purpose)
    return operation if operation and operation.state is not State.OPEN else None


def _link(signed: str) -> BookingLink:
    link = links().read(signed, clinic=g.tenant.key)
    if link is None or g.tenant.service_client is None:
        raise BrokenLink
    return link


def _care() -> ServiceCare:
    """A client for the care API with the clinic's service credentials, for this request."""
    the, tenant = context(), g.tenant
    bearer = _booking().bearers.of(tenant, tenant.service_client, the.sign_in.provider(tenant))
    return ServiceCare(
        **of_request(bearer, tenant.auth_url, tenant.key, "service", ""),
        clinic=tenant.tenant_id or tenant.key,
    )


def _booking() -> _Booking:
    return cast("_Booking", current_app.extensions["booking"])
