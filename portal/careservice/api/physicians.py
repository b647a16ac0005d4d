"""Physicians as calendar resources: list (care API specification §4)."""

from __future__ import annotations

from datetime import datetime, timedelta

from sqlalchemy import and_, select
from sqlalchemy.orm import selectinload

from portal.careservice import clock, database
from portal.careservice.api import payload
from portal.careservice.api.caller import Caller
from portal.careservice.api.endpoint import api, endpoint
from portal.careservice.api.paging import Page, filtered, paginate
from portal.careservice.api.records import Record, as_record, columns
from portal.careservice.domain.permissions import Act
from portal.careservice.domain.physicians import BusyTime, Physician
from portal.careservice.domain.rules import Invalid

MODULE = "Calendar"
_AHEAD = timedelta(days=28)


class BusyRecord(Record, kw_only=True):
    """A period in which the physician isn't available."""

    start: datetime
    end: datetime


class PhysicianRecord(Record, kw_only=True):
    """A physician, with working hours and busy times."""

    __annotations__ = columns(Physician) | {"busy": list[BusyRecord]}


SORTABLE = {
    "name": Physician.name,
    "title": Physician.title,
    "specialty": Physician.specialty,
    "locationName": Physician.location_name,
}


@api.get("/api/calendar/resources/physicians")
@endpoint(Act.READ_PHYSICIANS, MODULE, cache="private, max-age=300")
def list_physicians(caller: Caller) -> Page[PhysicianRecord]:
    """The clinic's physicians, by LocationId and Filter, with their busy times between From and To.

    From defaults to the beginning of today (UTC), To to four weeks after From.
    """
    query = payload.query()
    since = query.instant("From") or clock.now().replace(hour=0, minute=0, second=0, microsecond=0)
    until = query.instant("To") or _later(since)
    if until <= since:
        raise Invalid("The end has to be after the beginning.", "To")
    chosen = select(Physician).where(Physician.tenant_id == caller.tenant_id)
    location = query.identifier("LocationId")
    if location is not None:
        chosen = chosen.where(Physician.location_id == location)
    chosen = filtered(chosen, query, folded_to=(Physician.folded_name,))
    taken = selectinload(Physician.busy.and_(and_(BusyTime.start < until, BusyTime.end > since)))
    total, found = paginate(
        database.session(),
        query,
        chosen.options(taken),
        sortable=SORTABLE,
        default=(Physician.name, Physician.id),
    )
    return Page(total_count=total, items=[as_record(physician, PhysicianRecord) for physician in found])


def _later(since: datetime) -> datetime:
    try:
        return since + _AHEAD
    except OverflowError:
        raise Invalid("This time is out of range.", "From") from None
