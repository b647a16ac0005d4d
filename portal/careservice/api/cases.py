"""CareCase: update (care API specification §4)."""

from __future__ import annotations

from datetime import datetime

import msgspec

from portal.careservice import database
from portal.careservice.api import payload
from portal.careservice.api.caller import Caller
from portal.careservice.api.endpoint import api, endpoint
from portal.careservice.api.records import AuditedRecord, as_record
from portal.careservice.domain import cases
from portal.careservice.domain.actor import Actor
from portal.careservice.domain.cases import CareCase, CaseChange
from portal.careservice.domain.enumerations import CareStatus, ProtocolType
from portal.careservice.domain.permissions import Act

MODULE = "CareCase"


class CaseRecord(AuditedRecord, kw_only=True):
    """A care case; patients get neither `diagnosis` nor `notes`."""

    id: str
    case_number: str
    patient_id: str
    partner_id: str | None
    title: str
    treatment_type: ProtocolType
    status: CareStatus
    physician_id: str | None
    coordinator_id: str | None
    diagnosis: str | msgspec.UnsetType | None = msgspec.UNSET
    notes: str | msgspec.UnsetType | None = msgspec.UNSET
    opened_at: datetime
    closed_at: datetime | None
    closed_reason: str | None


@api.put("/api/care/cases/<case_id>")
@endpoint(Act.UPDATE_CASE, MODULE)
def update_case(caller: Caller, case_id: str) -> CaseRecord:
    """The updated case."""
    session = database.session()
    case = cases.find(session, caller.actor, case_id)
    change, stamp = payload.stamped(CaseChange)
    cases.update(session, caller.actor, case, change, stamp)
    session.flush()
    return case_record(case, caller.actor)


def case_record(case: CareCase, actor: Actor) -> CaseRecord:
    """The case as `actor` may see it."""
    record = as_record(case, CaseRecord)
    if not actor.is_staff:
        record.diagnosis = record.notes = msgspec.UNSET
    return record
