"""Care cases (care API specification §4, group CareCase); read as part of an episode."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, ClassVar

import msgspec

from portal.services.api import Group
from portal.services.client import Care
from portal.services.decoding import Choice, Id, Record
from portal.services.stamped_record import StampedRecord
from portal.services.uses import NOT_SENT, STAFF


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


class Case(StampedRecord, frozen=True, kw_only=True):
    """A course of care with one or more episodes."""

    shown_on: ClassVar = ("cases", "episodes")

    id: Id
    status: Annotated[CareStatus, "status, and which changes are offered"]
    case_number: Annotated[str, "case number, for staff", STAFF] = ""
    patient_id: Annotated[Id | None, "patient"] = None
    partner_id: Annotated[Id | None, "partner"] = None
    title: Annotated[str, "title, for staff", STAFF] = ""
    treatment_type: str = ""
    physician_id: Annotated[Id | None, "physician in charge"] = None
    coordinator_id: Annotated[Id | None, "coordinator"] = None
    diagnosis: Annotated[str | None, "diagnosis, for staff", STAFF, NOT_SENT] = None
    notes: Annotated[str | None, "notes, for staff", STAFF, NOT_SENT] = None
    opened_at: datetime | None = None
    closed_at: datetime | None = None
    closed_reason: Annotated[str | None, "why it was closed, for staff", STAFF] = None

    @property
    def next_statuses(self) -> tuple[CareStatus, ...]:
        return CARE_MOVES.get(self.status, ())


class CaseChange(Record, frozen=True, kw_only=True):
    """What is sent to change a case: all of it, None empties a member."""

    title: str
    status: CareStatus
    physician_id: Id | None
    coordinator_id: Id | None
    diagnosis: str | None
    notes: str | None
    closed_reason: str | None
    concurrency_stamp: str | None


UPDATE_CASE = Group("CareCase").put(
    "/api/care/cases/{id}", Case, CaseChange, always=frozenset({"physicianId"})
)


def update_case(care: Care, case_id: str, case: Case, before: Case | None = None) -> Case | None:
    """Update the case and return it with a new stamp; None if the API returns no body: read its episode again.

    `case` is the record that was read, with the changes; all members of `CaseChange` are written, None clears one;
    `before` is the record that was read: what it didn't have isn't sent. Raises `Refused` for a status not in the
    case's `next_statuses`, `Conflict` if it was changed meanwhile.
    """
    return care.act(UPDATE_CASE, _change(case), before=before and _change(before), id=case_id)


def _change(case: Case) -> CaseChange:
    return msgspec.convert(case, CaseChange, from_attributes=True)
