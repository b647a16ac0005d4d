"""People who enquired about treatment, and their bookings."""

from __future__ import annotations

from datetime import datetime

from portal.services.decoding import Choice, Id, Timed
from portal.services.records.base import Audited


class ProspectStatus(Choice):
    """The status of an enquiry."""

    NEW = "New"
    CONTACTED = "Contacted"
    QUALIFIED = "Qualified"
    WINDOW_BOOKED = "WindowBooked"
    CONVERTED = "Converted"
    LOST = "Lost"
    MERGED = "Merged"


class Prospect(Audited, frozen=True, kw_only=True):
    """A person who enquired about treatment."""

    id: Id
    first_name: str = ""
    last_name: str = ""
    email: str | None = None
    phone_number: str | None = None
    source: str = ""
    status: ProspectStatus | None = None
    interest: str | None = None
    patient_id: Id | None = None
    merged_into_id: Id | None = None

    @property
    def full_name(self) -> str:
        """First and last name, as far as known."""
        return f"{self.first_name} {self.last_name}".strip()


class Booking(Timed, frozen=True, kw_only=True):
    """A prospect's booking."""

    booking_id: Id
    prospect_id: Id | None = None
    physician_id: Id | None = None
    start: datetime | None = None
    end: datetime | None = None
    status: str = ""
