"""Booking by a link: the one page that needs no sign-in. The portal calls the care API as the clinic's own client.

A link (`portal.booking_links`) says which enquiry it is for, so nobody is ever looked up; it books once, and then
shows its receipt. Everything here is limited by address (`PORTAL_LIMIT_BOOKING`).
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import cast

from flask import Blueprint, Response, current_app, g, make_response, request, url_for
from flask.blueprints import BlueprintSetupState
from flask_babel import get_locale
from werkzeug.exceptions import TooManyRequests

from portal.booking_links import BookingLink, BookingLinks, Use
from portal.operations import State
from portal.parts import Parts, parts
from portal.services.errors import BadResponse, CareError, NotFound, NotOffered, Refused, Unavailable
from portal.services.prospects import book_window
from portal.services.records import Appointment
from portal.signin.service_client import ServiceBearers, ServiceCare
from portal.views.booking.windows import FIRST_VISIT, Window, chosen_day, read_week
from portal.views.episodes import calendar_of
from portal.web import audit
from portal.web.extensions import limiter, seconds_to_wait
from portal.web.filters import now
from portal.web.htmx import redirect_to, render
from portal.web.once import awaited, is_long_ago, key
from portal.web.rules import said

bp = Blueprint("booking", __name__, url_prefix="/book")

_ABOUT_THE_TIME = ("SlotTaken", "OutsideWorkingHours", "SlotInThePast", "PhysicianNotAvailable")


@dataclass(frozen=True, slots=True)
class _Booking:
    """What this page keeps for the life of the process."""

    links: BookingLinks
    bearers: ServiceBearers


@bp.record_once
def _prepare(setup: BlueprintSetupState) -> None:
    the = cast("Parts", setup.app.extensions["portal"])
    links = BookingLinks(the.settings.secret_keys, the.vault, the.clock)
    setup.app.extensions["booking"] = _Booking(links, ServiceBearers(the.settings.timeouts, the.clock))


def links() -> BookingLinks:
    """Return the maker and reader of booking links."""
    return _booking().links


def _limit() -> str:
    return parts().settings.limit_booking


@bp.get("/<signed>")
@limiter.limit(_limit)
def show(signed: str) -> Response:
    """Show the free times of the clinic's physicians, or what was booked by this link."""
    link = _link(signed)
    if use := awaited(lambda: links().use_of(link), _is_under_way):
        return _used(signed, use)
    if links().is_expired(link):
        return render("booking/expired.html", status=410, link=link)
    return _choose(_care(), signed)


@bp.post("/<signed>")
@limiter.limit(_limit)
def book(signed: str) -> Response:
    """Book the chosen time, once for each link."""
    link = _link(signed)
    if links().use_of(link) or links().is_expired(link):
        return redirect_to(url_for(".show", signed=signed))
    care = _care()
    week = read_week(
        care, first_day=chosen_day(), physician_id=request.form.get("physician", ""), anybody=True
    )
    asked = request.form.get("window", "")
    window = week.window(asked)
    if window is None:
        if links().use_of(link):  # the post that came first has taken it
            return redirect_to(url_for(".show", signed=signed))
        return (
            _choose(care, signed, status=409, note=said("SlotTaken"))
            if asked
            else _choose(care, signed, status=422, is_missing=True)
        )
    use = Use(
        state=State.PENDING,
        start=window.start,
        end=window.end,
        with_whom=window.physician.name,
        where=window.physician.location_name or "",
        asked_at=parts().clock(),
        window=window.value,
    )
    if not links().claim(link, use):
        return redirect_to(url_for(".show", signed=signed))
    return _send(care, signed, link, window)


@bp.get("/<signed>/appointment.ics")
@limiter.limit(_limit)
def calendar(signed: str) -> Response:
    """Answer with what was booked as a calendar file (RFC 5545)."""
    link = _link(signed)
    use = links().use_of(link)
    if use is None or use.state is not State.DONE:
        raise NotFound
    visit = Appointment(id=link.id, start=use.start, end=use.end, location=use.where or None)
    return make_response(
        calendar_of([visit], zone=g.tenant.time_zone, clinic=g.tenant.key, made_at=now()),
        {
            "Content-Type": "text/calendar; charset=utf-8",
            "Content-Disposition": 'attachment; filename="appointment.ics"',
        },
    )


@bp.errorhandler(TooManyRequests)
def too_many(error: TooManyRequests) -> Response:
    """Say when it can be tried again."""
    audit.note(request.endpoint or "-", "too-many")
    seconds = seconds_to_wait()
    response = render("booking/limited.html", status=429, again_at=now() + timedelta(seconds=seconds))
    response.headers["Retry-After"] = str(seconds)
    return response


def _send(care: ServiceCare, signed: str, link: BookingLink, window: Window) -> Response:
    try:
        book_window(
            care,
            link.prospect_id,
            physician_id=window.physician.id,
            location_id=window.physician.location_id,
            start=window.start,
            end=window.end,
            time_zone=g.tenant.time_zone.key,
            appointment_type=FIRST_VISIT,
            operation=key(link.id, window.value),
        )
    except (Unavailable, BadResponse) as error:
        if isinstance(error, Unavailable) and error.outcome_known:
            links().release(link)
            raise
        links().settle(link, State.UNKNOWN)
        audit.note("booking.book", "unknown", kind="prospect", id_=link.prospect_id)
        return _used(signed, links().use_of(link), status=503)
    except CareError as error:
        links().release(link)
        audit.note("booking.book", "refused", kind="prospect", id_=link.prospect_id)
        return _refused(care, signed, error)
    links().settle(link, State.DONE)
    audit.note("booking.book", "done", kind="prospect", id_=link.prospect_id)
    return redirect_to(url_for(".show", signed=signed))


def _refused(care: ServiceCare, signed: str, error: CareError) -> Response:
    if isinstance(error, Refused) and error.code in _ABOUT_THE_TIME:
        return _choose(care, signed, status=409, note=said(error.code))
    if isinstance(error, NotFound) or (isinstance(error, Refused) and error.code == "ProspectClosed"):
        return render("booking/closed.html", status=404 if isinstance(error, NotFound) else 403)
    if isinstance(error, NotOffered):
        raise NotOffered(about_record=False) from error
    raise error


def _choose(
    care: ServiceCare, signed: str, *, status: int = 200, note: str = "", is_missing: bool = False
) -> Response:
    week = read_week(
        care, first_day=chosen_day(), physician_id=request.values.get("physician", ""), anybody=True
    )

    return render(
        "booking/show.html",
        fragment="week",
        status=status,
        week=week,
        here=url_for(".show", signed=signed),
        signed=signed,
        note=note,
        is_missing=is_missing,
    )


def _is_under_way(use: Use | None) -> bool:
    """Whether the post that came first is being answered just now, so that it is worth waiting for it."""
    return use is not None and use.state is State.PENDING and not is_long_ago(use.asked_at)


def _used(signed: str, use: Use | None, *, status: int = 200) -> Response:
    """The receipt, or the honest word that the clinic hasn't confirmed it."""
    if use is not None and use.state is State.DONE:
        return render("booking/receipt.html", use=use, signed=signed)
    return render(
        "booking/unconfirmed.html",
        status=status,
        use=use,
        is_free=_is_free(use) if use and use.window else None,
        signed=signed,
    )


def _is_free(use: Use) -> bool | None:
    """Whether the clinic's calendar still offers the time that was asked for; None when it can't be read."""
    physician_id = use.window.partition("/")[2]
    first_day = use.start.astimezone(g.tenant.time_zone).date()
    try:
        week = read_week(_care(), first_day=first_day, physician_id=physician_id, anybody=False)
    except CareError:
        return None
    return week.window(use.window) is not None


def _link(signed: str) -> BookingLink:
    link = links().read(signed, clinic=g.tenant.key)
    if link is None or g.tenant.service_client is None:
        raise NotFound
    return link


def _care() -> ServiceCare:
    """The care API as the clinic's own client, for the time of this request."""
    the, tenant = parts(), g.tenant
    bearer = _booking().bearers.of(tenant, tenant.service_client, the.sign_in.provider(tenant))
    return ServiceCare(
        base_url=tenant.base_url,
        bearer=bearer,
        timeouts=the.settings.timeouts,
        deadline=g.started + the.settings.timeouts.page,
        language=str(get_locale() or "en"),
        correlation_id=g.request_id,
        references=the.references,
        partition=(tenant.auth_url, tenant.key, "service", ""),
        breakers=the.breakers,
        clinic=tenant.tenant_id or tenant.key,
    )


def _booking() -> _Booking:
    return cast("_Booking", current_app.extensions["booking"])
