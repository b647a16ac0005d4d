"""Physicians as resources of the calendar (care API specification §4, group Calendar): reference data."""

from __future__ import annotations

from datetime import datetime

from portal.services.client import Care
from portal.services.decoding import Page
from portal.services.endpoints import LIST_PHYSICIANS, Reference
from portal.services.paging import page_query
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
    query = page_query(skip, limit, Filter=text, From=start, To=end, LocationId=location_id)
    return care.reference(LIST_PHYSICIANS, Page[Physician], query=query)
