"""Booking an enquirer's first visit once, by staff or through a link, and its details for the receipt."""

from __future__ import annotations

from datetime import datetime

import msgspec
from flask import Response, g
from msgspec.structs import replace

from portal.dates import later
from portal.i18n.gettext import _
from portal.services.client import Care
from portal.services.episodes import Appointment
from portal.services.errors import Refused, Unavailable
from portal.services.gather import attempt, known
from portal.services.prospects import Booking, book_window
from portal.services.rules.free_windows import Window
from portal.state.operations import Operation, State
from portal.views.booking.windows import BY_VIDEO, read_week
from portal.web.act_once import Attempt, Done, act_once
from portal.web.calendar_file import appointments_calendar, as_download
from portal.web.filters import local, now

ABOUT_THE_TIME = ("SlotTaken", "OutsideWorkingHours", "SlotInThePast", "PhysicianNotAvailable")
"""Rules that concern the chosen time: another time may be accepted."""


class Visit(msgspec.Struct, frozen=True, kw_only=True):
    """A requested window, by its value in the form; instants in UTC, `what` is the kind of appointment.

    Once it is booked, the times are those of the booking, `status` is the booking's or "tentative", and `with_whom` and
    `where`, which is that physician's place, are empty if another physician was booked.
    """

    window: str
    start: datetime
    end: datetime
    with_whom: str
    where: str
    what: str
    status: str = ""

    @property
    def is_video(self) -> bool:
        """Whether nobody has to come to the clinic for it."""
        return self.what == BY_VIDEO

    @property
    def place(self) -> str:
        """Where it is; empty if it isn't known."""
        return _("By video") if self.is_video else self.where

    @property
    def is_tentative(self) -> bool:
        """Whether the clinic still has to confirm it."""
        return self.appointment.is_tentative

    @property
    def physician_id(self) -> str:
        return self.window.partition("/")[2]

    @property
    def appointment(self) -> Appointment:
        """The appointment that it becomes; its id is the physician's and the time's."""
        return Appointment(
            id=self.window,
            kind=self.what,
            start=self.start,
            end=self.end,
            location=self.place or None,
            status=self.status,
        )

    def booked_as(self, booking: Booking | None) -> Visit:
        """The visit as the clinic's system has booked it, which may be at another time or still to be confirmed."""
        if booking is None:
            return self
        start = booking.start or self.start
        end = booking.end or later(start, self.end - self.start)
        is_with_another = booking.physician_id not in (None, self.physician_id)
        return replace(
            self,
            start=start,
            end=end,
            with_whom="" if is_with_another else self.with_whom,
            where="" if is_with_another else self.where,
            status=booking.status if booking.is_settled else "tentative",
        )


def visit_of(operation: Operation) -> Visit | None:
    """Return what was requested; None for an operation that was never sent."""
    return msgspec.convert(operation.data, Visit) if "start" in operation.data else None


def booked_visit(operation: Operation | None) -> Visit | None:
    """Return what was booked; None if nothing was."""
    if operation is None or operation.state is not State.DONE:
        return None
    return msgspec.json.decode(operation.outcome, type=Visit) if operation.outcome else visit_of(operation)


def visit_calendar(visit: Visit, id_: str) -> Response:
    """The visit as a calendar file (RFC 5545), whose entry is known by `id_`."""
    content = appointments_calendar([replace(visit.appointment, id=id_)], clinic=g.tenant.key, made_at=now())
    return as_download(content, "appointment.ics")


def book_visit(
    care: Care, owner: str, operation: Operation, prospect_id: str, window: Window, *, what: str, event: str
) -> Done[Booking | None]:
    """Book the window once. Raises as `act_once`; if the response is lost, no record shows whether it was. `event` is the audit event.

    After an answer without a booking, the calendar has to show that the time is taken.
    """
    physician = window.physician
    visit = Visit(
        window=window.value,
        start=window.start,
        end=window.end,
        with_whom=physician.name,
        where=physician.location_name or "",
        what=what,
    )

    def book(key: str) -> Booking | None:
        booking = book_window(
            care,
            prospect_id,
            physician_id=physician.id,
            location_id=physician.location_id,
            start=visit.start,
            end=visit.end,
            time_zone=g.tenant.time_zone.key,
            appointment_type=visit.what,
            operation=key,
        )
        if booking is None and is_free(care, visit) is not False:
            raise Unavailable("the calendar doesn't show the booking", outcome_known=False)
        if booking and booking.is_refused:
            raise Refused("PhysicianNotAvailable")
        return booking

    return act_once(
        Attempt(owner, operation, (visit.window, visit.what), data=msgspec.to_builtins(visit)),
        book,
        event=event,
        kind="prospect",
        id_=prospect_id,
        receipt=lambda booking: msgspec.json.encode(visit.booked_as(booking)).decode(),
    )


def is_free(care: Care, visit: Visit) -> bool | None:
    """Whether the physician's calendar still shows the requested time as free; None if it can't be read."""
    first_day = local(visit.start).date()
    week = known(
        attempt(lambda: read_week(care, first_day=first_day, physician_id=visit.physician_id, anybody=False))
    )
    if week is None or week.physician is None or week.physician.id != visit.physician_id:
        return None
    return week.window(visit.window) is not None
