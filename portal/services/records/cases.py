"""Care cases, and the allowed status changes of cases and episodes."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from portal.services.decoding import Choice, Id
from portal.services.records.base import Audited


class CareStatus(Choice):
    """The status of a case or an episode."""

    PLANNED = "Planned"
    WAITLIST = "Waitlist"
    ACTIVE = "Active"
    ON_HOLD = "OnHold"
    FINISHED = "Finished"
    CANCELLED = "Cancelled"
    ENTERED_IN_ERROR = "EnteredInError"


CARE_MOVES: Mapping[CareStatus, tuple[CareStatus, ...]] = {
    CareStatus.PLANNED: (
        CareStatus.WAITLIST,
        CareStatus.ACTIVE,
        CareStatus.CANCELLED,
        CareStatus.ENTERED_IN_ERROR,
    ),
    CareStatus.WAITLIST: (CareStatus.ACTIVE, CareStatus.CANCELLED, CareStatus.ENTERED_IN_ERROR),
    CareStatus.ACTIVE: (
        CareStatus.ON_HOLD,
        CareStatus.FINISHED,
        CareStatus.CANCELLED,
        CareStatus.ENTERED_IN_ERROR,
    ),
    CareStatus.ON_HOLD: (
        CareStatus.ACTIVE,
        CareStatus.FINISHED,
        CareStatus.CANCELLED,
        CareStatus.ENTERED_IN_ERROR,
    ),
    CareStatus.FINISHED: (CareStatus.ENTERED_IN_ERROR,),
    CareStatus.CANCELLED: (CareStatus.ENTERED_IN_ERROR,),
    CareStatus.ENTERED_IN_ERROR: (),
}


class Case(Audited, frozen=True, kw_only=True):
    """A course of care with one or more episodes."""

    id: Id
    status: CareStatus
    case_number: str = ""
    patient_id: Id | None = None
    partner_id: Id | None = None
    title: str = ""
    treatment_type: str = ""
    physician_id: Id | None = None
    coordinator_id: Id | None = None
    diagnosis: str | None = None
    notes: str | None = None
    opened_at: datetime | None = None
    closed_at: datetime | None = None
    closed_reason: str | None = None

    @property
    def next_statuses(self) -> tuple[CareStatus, ...]:
        """The statuses that it may change to."""
        return CARE_MOVES.get(self.status, ())
