"""Prospect record: merge, book a window (care API specification §4)."""

from __future__ import annotations

from datetime import datetime

import msgspec

from portal.careservice import database
from portal.careservice.api import payload
from portal.careservice.api.caller import Caller
from portal.careservice.api.endpoint import api, endpoint
from portal.careservice.api.records import AuditedRecord, Record, as_record, columns
from portal.careservice.domain import prospects
from portal.careservice.domain.permissions import Act
from portal.careservice.domain.prospects import Window

MODULE = "Prospect"


class ProspectRecord(AuditedRecord, kw_only=True):
    """Somebody who has enquired about treatment."""

    __annotations__ = columns(prospects.Prospect)


class BookingRecord(Record, kw_only=True):
    """A booked window."""

    booking_id: str
    prospect_id: str
    physician_id: str
    start: datetime
    end: datetime
    status: str


class MergeChoices(msgspec.Struct, rename="camel", kw_only=True):
    """Which record's value to keep, by field: the id of one of the two records, or `survivor` or `merged`."""

    field_choices: dict[str, str] | None = None


@api.post("/api/prospect/records/<record_id>/merge/<merge_id>")
@endpoint(Act.MERGE_PROSPECTS, MODULE, idempotent=True)
def merge_prospects(caller: Caller, record_id: str, merge_id: str) -> ProspectRecord:
    """The record `id` with the other merged into it."""
    session = database.session()
    survivor = prospects.find(session, caller.actor, record_id)
    merged = prospects.find(session, caller.actor, merge_id)
    choices = payload.optional_body(MergeChoices).field_choices or {}
    prospects.merge(session, caller.actor, survivor, merged, choices)
    session.flush()
    return as_record(survivor, ProspectRecord)


@api.post("/api/prospect/records/<record_id>/book-window")
@endpoint(Act.BOOK_WINDOW, MODULE, idempotent=True)
def book_window(caller: Caller, record_id: str) -> BookingRecord:
    """The window booked for the prospect."""
    session = database.session()
    prospect = prospects.find(session, caller.actor, record_id)
    booking = prospects.book(session, caller.actor, prospect, payload.body(Window))
    session.flush()
    return BookingRecord(
        booking_id=booking.id,
        prospect_id=prospect.id,
        physician_id=booking.physician_id,
        start=booking.start,
        end=booking.end,
        status=booking.status,
    )
