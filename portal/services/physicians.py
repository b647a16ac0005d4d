"""Physicians as resources of the calendar (care API specification §4, group Calendar): reference data."""

from __future__ import annotations

from datetime import datetime

from portal.services.api import Reference
from portal.services.client import Care
from portal.services.decoding import Page, in_utc
from portal.services.endpoints import LIST_PHYSICIANS
from portal.services.exchanges import PhysicianQuery
from portal.services.records.physicians import Physician


def list_physicians(
    care: Care,
    *,
    skip: int = 0,
    limit: int = 200,
    text: str | None = None,
    start: datetime | None = None,
    end: datetime | None = None,
    location_id: str | None = None,
) -> Reference[Page[Physician]]:
    """Physicians with their working hours and their busy times between `start` and `end`.

    GET /api/calendar/resources/physicians (care API specification §4). Cached for minutes; `as_of` says when they were
    read if the API can't be reached now. Request whole days, so that the cached copy is reused.
    """
    query = PhysicianQuery(
        skip_count=skip,
        max_result_count=limit,
        filter=text,
        from_=in_utc(start) if start else None,
        to=in_utc(end) if end else None,
        location_id=location_id,
    )
    return care.reference(LIST_PHYSICIANS, query=query)
