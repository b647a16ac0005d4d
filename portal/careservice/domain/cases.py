"""Care cases: the course of treatment that episodes belong to."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

import msgspec
from sqlalchemy import ForeignKey, String
from sqlalchemy.orm import Mapped, Session, mapped_column

from portal.careservice.clock import now
from portal.careservice.database import Base, Id
from portal.careservice.domain import people
from portal.careservice.domain.actor import Actor
from portal.careservice.domain.columns import Audited, one_of
from portal.careservice.domain.enumerations import CareStatus, ProtocolType
from portal.careservice.domain.physicians import Physician
from portal.careservice.domain.rules import Invalid, NotThere, Refused, Rule, require_stamp
from portal.careservice.domain.texts import ONE_LINE, SEVERAL_LINES
from portal.careservice.ids import GivenId

LongText = Annotated[str, msgspec.Meta(max_length=10_000)]
Reason = Annotated[str, msgspec.Meta(max_length=10_000), SEVERAL_LINES]

MOVES: dict[CareStatus, frozenset[CareStatus]] = {
    CareStatus.PLANNED: frozenset({CareStatus.WAITLIST, CareStatus.ACTIVE, CareStatus.CANCELLED}),
    CareStatus.WAITLIST: frozenset({CareStatus.ACTIVE, CareStatus.CANCELLED}),
    CareStatus.ACTIVE: frozenset({CareStatus.ON_HOLD, CareStatus.FINISHED, CareStatus.CANCELLED}),
    CareStatus.ON_HOLD: frozenset({CareStatus.ACTIVE, CareStatus.FINISHED, CareStatus.CANCELLED}),
    CareStatus.FINISHED: frozenset(),
    CareStatus.CANCELLED: frozenset(),
    CareStatus.ENTERED_IN_ERROR: frozenset(),
}
"""The statuses that each status may change to; any may change to EnteredInError."""

_CLOSED = frozenset({CareStatus.FINISHED, CareStatus.CANCELLED, CareStatus.ENTERED_IN_ERROR})


class CareCase(Audited, Base):
    """One course of treatment of a patient."""

    __tablename__ = "cases"

    id: Mapped[Id] = mapped_column(primary_key=True)
    tenant_id: Mapped[str] = mapped_column(String(36), index=True)
    case_number: Mapped[str]
    patient_id: Mapped[str] = mapped_column(ForeignKey("patients.id"), index=True)
    partner_id: Mapped[str | None] = mapped_column(ForeignKey("patients.id"))
    title: Mapped[str]
    treatment_type: Mapped[ProtocolType] = mapped_column(one_of(ProtocolType))
    status: Mapped[CareStatus] = mapped_column(one_of(CareStatus))
    physician_id: Mapped[str | None] = mapped_column(String(36))
    coordinator_id: Mapped[str | None] = mapped_column(String(36))
    diagnosis: Mapped[str | None]
    notes: Mapped[str | None]
    opened_at: Mapped[datetime]
    closed_at: Mapped[datetime | None]
    closed_reason: Mapped[str | None]


class CaseChange(msgspec.Struct, rename="camel", kw_only=True):
    """An update of a case; `physician_id` is required, and may be None only while the case has none."""

    title: Annotated[str, msgspec.Meta(min_length=1, max_length=300), ONE_LINE]
    status: CareStatus
    physician_id: GivenId | None
    coordinator_id: GivenId | None = None
    diagnosis: LongText | None = None
    notes: LongText | None = None
    closed_reason: Reason | None = None


def find(session: Session, actor: Actor, case_id: str) -> CareCase:
    """The clinic's case of that id; raises NotThere."""
    case = session.get(CareCase, case_id)
    if case is None or case.tenant_id != actor.tenant_id:
        raise NotThere
    return case


def update(session: Session, actor: Actor, case: CareCase, change: CaseChange, stamp: str) -> CareCase:
    """Update a case; raises Refused for a status that its current one can't change to, Invalid for unknown people."""
    require_stamp(case.concurrency_stamp, stamp)
    if change.physician_id is None and case.physician_id is not None:
        raise Invalid("A case can't lose its physician.", "physicianId")
    if change.physician_id is not None and change.physician_id != case.physician_id:
        physician = session.get(Physician, change.physician_id)
        if physician is None or physician.tenant_id != case.tenant_id:
            raise Invalid("No such physician.", "physicianId")
    staff = people.all_staff(session, case.tenant_id)
    if change.coordinator_id not in (None, case.coordinator_id, *staff):
        raise Invalid("No such member of staff.", "coordinatorId")
    if change.status != case.status:
        _require_move(case.status, change.status)
        case.closed_at = (case.closed_at or now()) if change.status in _CLOSED else None
    for name, value in msgspec.structs.asdict(change).items():
        setattr(case, name, value)
    case.touch(actor.sub)
    return case


def _require_move(current: CareStatus, wanted: CareStatus) -> None:
    if wanted != CareStatus.ENTERED_IN_ERROR and wanted not in MOVES[current]:
        raise Refused(Rule.ILLEGAL_TRANSITION)
