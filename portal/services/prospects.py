"""Prospects: people who enquired about treatment (care API specification §4, group Prospect).

No endpoint reads one: if the response to either act is lost, its outcome can't be determined, so it is never retried.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, ClassVar

from msgspec import UNSET, UnsetType

from portal.config.modules import Module
from portal.config.strong_sign_in import Act
from portal.config.visits import folded_kind, is_settled
from portal.services.api import Group
from portal.services.client import Care
from portal.services.decoding import Choice, Id, Record, Timed
from portal.services.demand import FRESH, Demand
from portal.services.stamped_record import StampedRecord


class ProspectStatus(Choice):
    """The status of an enquiry."""

    NEW = "New"
    CONTACTED = "Contacted"
    QUALIFIED = "Qualified"
    WINDOW_BOOKED = "WindowBooked"
    CONVERTED = "Converted"
    LOST = "Lost"
    MERGED = "Merged"


class Prospect(StampedRecord, frozen=True, kw_only=True):
    """A person who enquired about treatment."""

    shown_on: ClassVar = ("prospects",)

    id: Id
    first_name: Annotated[str, "name"] = ""
    last_name: Annotated[str, "name"] = ""
    email: Annotated[str | None, "contact details"] = None
    phone_number: Annotated[str | None, "contact details"] = None
    source: Annotated[str, "how they found the clinic"] = ""
    status: Annotated[ProspectStatus | None, "state of the enquiry"] = None
    interest: Annotated[str | None, "what they are interested in"] = None
    patient_id: Annotated[Id | None, "the patient they became"] = None
    merged_into_id: Id | None = None

    @property
    def full_name(self) -> str:
        """First and last name, as far as known."""
        return f"{self.first_name} {self.last_name}".strip()


class Booking(Timed, frozen=True, kw_only=True):
    """A prospect's booking."""

    shown_on: ClassVar = ("booking", "prospects")

    booking_id: Id
    prospect_id: Annotated[Id | None, "who booked"] = None
    physician_id: Annotated[Id | None, "physician"] = None
    start: Annotated[datetime | None, "start time"] = None
    end: Annotated[datetime | None, "end time"] = None
    status: Annotated[str, "whether the clinic still has to confirm it"] = ""

    @property
    def is_settled(self) -> bool:
        """Whether it needs nobody's confirmation."""
        return is_settled(self.status)

    @property
    def is_refused(self) -> bool:
        return folded_kind(self.status).startswith(("cancel", "reject", "declin", "refus", "fail", "denied"))


class MergeChoices(Record, frozen=True, kw_only=True):
    """What is sent to merge two enquiries: for each member whose value stays, the id of its record."""

    field_choices: dict[str, str] | UnsetType = UNSET


class BookingRequest(Record, frozen=True, kw_only=True):
    """What is sent to book a window."""

    physician_id: Id
    location_id: Id | None
    start: datetime
    end: datetime
    time_zone: str
    appointment_type: str


_prospects = Group("Prospect", Module.BOOKING)
MERGE_PROSPECTS = _prospects.post(
    "/api/prospect/records/{id}/merge/{mergeId}", Prospect, MergeChoices, demand=Demand(FRESH, Act.MERGING)
)
BOOK_WINDOW = _prospects.post("/api/prospect/records/{id}/book-window", Booking, BookingRequest)


def merge_prospects(
    care: Care,
    prospect_id: str,
    *,
    merge_id: str,
    field_choices: Mapping[str, str] | None = None,
    operation: str | None = None,
) -> Prospect | None:
    """Merge `merge_id` into a record and return that; None if the API returns no body, although it was done.

    Raises `Refused` for a record with itself, or one that is merged already.
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

    `start` and `end` are aware; `time_zone` is an IANA name. Raises `Refused` when the slot is taken, outside hours
    or past.
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
