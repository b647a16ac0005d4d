"""The visit that is booked for an enquirer: asked for once, by staff or by a link, and told of afterwards."""

from __future__ import annotations

from datetime import datetime

import msgspec
from flask import g

from portal.services.client import Care
from portal.services.errors import CareError, NotSignedIn
from portal.services.prospects import book_window
from portal.services.records.prospects import Booking
from portal.state.operations import Operation
from portal.views.booking.windows import Window, read_week
from portal.web.act_once import Attempt, Outcome, act_once
from portal.web.filters import local

ABOUT_THE_TIME = ("SlotTaken", "OutsideWorkingHours", "SlotInThePast", "PhysicianNotAvailable")
"""The rules whose refusal another time may escape."""


class Visit(msgspec.Struct, frozen=True, kw_only=True):
    """A window that was asked for, by its value in the form; instants in UTC, `what` is the kind of appointment."""

    window: str
    start: datetime
    end: datetime
    with_whom: str
    where: str
    what: str

    @property
    def physician_id(self) -> str:
        """Whose window it is."""
        return self.window.partition("/")[2]


def visit_of(operation: Operation) -> Visit | None:
    """Return what was asked for; None for an operation that was never sent."""
    return msgspec.convert(operation.data, Visit) if "start" in operation.data else None


def book_visit(
    care: Care, owner: str, operation: Operation, prospect_id: str, window: Window, *, what: str, event: str
) -> Outcome[Booking | None]:
    """Book the window, once; no record shows afterwards whether it was. `event` names the act in the audit."""
    physician = window.physician
    visit = Visit(
        window=window.value,
        start=window.start,
        end=window.end,
        with_whom=physician.name,
        where=physician.location_name or "",
        what=what,
    )
    return act_once(
        Attempt(owner, operation, (visit.window, visit.what), data=msgspec.to_builtins(visit)),
        lambda key: book_window(
            care,
            prospect_id,
            physician_id=physician.id,
            location_id=physician.location_id,
            start=visit.start,
            end=visit.end,
            time_zone=g.tenant.time_zone.key,
            appointment_type=visit.what,
            operation=key,
        ),
        event=event,
        kind="prospect",
        id_=prospect_id,
    )


def is_free(care: Care, visit: Visit) -> bool | None:
    """Whether the physician's calendar still offers the time that was asked for; None when it can't be read."""
    first_day = local(visit.start).date()
    try:
        week = read_week(care, first_day=first_day, physician_id=visit.physician_id, anybody=False)
    except NotSignedIn:
        raise
    except CareError:
        return None
    return week.window(visit.window) is not None
