"""Prospects: people who enquired about treatment (care API specification §4, group Prospect).

No endpoint reads one: if the response to either act is lost, its outcome can't be determined, so it is never retried.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from msgspec import UNSET

from portal.services.client import Care
from portal.services.endpoints import BOOK_WINDOW, MERGE_PROSPECTS
from portal.services.exchanges import BookingRequest, MergeChoices
from portal.services.records.prospects import Booking, Prospect


def merge_prospects(
    care: Care,
    prospect_id: str,
    *,
    merge_id: str,
    field_choices: Mapping[str, str] | None = None,
    operation: str | None = None,
) -> Prospect | None:
    """Merge `merge_id` into a record and return that; None if the API returns no body, although it was done.

    POST /api/prospect/records/{id}/merge/{mergeId} (care API specification §4). Raises `Refused` for a record
    with itself, or one that is merged already.
    """
    choices = MergeChoices(field_choices=dict(field_choices) if field_choices else UNSET)
    return care.act(MERGE_PROSPECTS, choices, operation=operation, id=prospect_id, mergeId=merge_id)


def book_window(
    care: Care,
    prospect_id: str,
    *,
    physician_id: str,
    start: datetime,
    end: datetime,
    time_zone: str,
    appointment_type: str,
    location_id: str | None = None,
    operation: str | None = None,
) -> Booking | None:
    """Book a window; None if the API returns no body, although it was booked.

    POST /api/prospect/records/{id}/book-window (care API specification §4). `start` and `end` are aware;
    `time_zone` is an IANA name. Raises `Refused` when the slot is taken, outside hours or past.
    """
    request = BookingRequest(
        physician_id=physician_id,
        location_id=location_id,
        start=start,
        end=end,
        time_zone=time_zone,
        appointment_type=appointment_type,
    )
    return care.act(BOOK_WINDOW, request, operation=operation, id=prospect_id)
