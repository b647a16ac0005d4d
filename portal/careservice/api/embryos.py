"""EmbryoStorage: update (care API specification §4)."""

from __future__ import annotations

from datetime import date, datetime

import msgspec

from portal.careservice import database
from portal.careservice.api import payload
from portal.careservice.api.caller import Caller
from portal.careservice.api.endpoint import api, endpoint
from portal.careservice.api.records import AuditedRecord, shown
from portal.careservice.domain import embryo_changes, embryos, pgt_results
from portal.careservice.domain.actor import Actor
from portal.careservice.domain.embryo_changes import EmbryoChange
from portal.careservice.domain.embryos import EmbryoStorage, Location
from portal.careservice.domain.enumerations import Disposition, EmbryoStatus
from portal.careservice.domain.permissions import MAX_AGE, Act
from portal.careservice.domain.pgt_results import PgtResult

MODULE = "EmbryoStorage"


class EmbryoRecord(AuditedRecord, kw_only=True):
    """An embryo in storage; patients aren't told where it lies.

    They get no `notes`, and `pgtResultId` once that result is released; until then, as without one, it is left out.
    """

    id: str
    patient_id: str
    episode_id: str
    embryo_code: str
    day: int
    grade: str
    grading_system: str
    cryopreserved_at: datetime
    method: str
    status: EmbryoStatus
    location: Location | None
    hold_reason: str | None
    pgt_result_id: str | msgspec.UnsetType | None = msgspec.UNSET
    consent_form_id: str | None
    storage_consented_until: date | None
    storage_expires_at: datetime | None
    statutory_limit: date | None
    disposition: Disposition
    notes: str | msgspec.UnsetType | None = msgspec.UNSET


@api.put("/api/care/embryo-storage/<embryo_id>")
@endpoint(Act.UPDATE_EMBRYO, MODULE, asks_age=False)
def update_embryo(caller: Caller, embryo_id: str) -> EmbryoRecord:
    """The embryo as changed; patients change its disposition alone."""
    session = database.session()
    embryo = embryos.find(session, caller.actor, embryo_id)
    change, stamp = payload.stamped(EmbryoChange)
    if isinstance(change.storage_expires_at, datetime):
        change.storage_expires_at = payload.utc(change.storage_expires_at)
    if embryo_changes.is_choice(embryo, change):
        caller.require_sign_in_within(MAX_AGE[Act.UPDATE_EMBRYO])
    embryo_changes.update(session, caller.actor, embryo, change, stamp)
    session.flush()
    result = session.get(PgtResult, embryo.pgt_result_id) if embryo.pgt_result_id else None
    return embryo_record(embryo, caller.actor, result)


def embryo_record(embryo: EmbryoStorage, actor: Actor, result: PgtResult | None) -> EmbryoRecord:
    """The embryo as `actor` may see it; `result` is the one of its genetic test, if there is one."""
    record = shown(embryo, EmbryoRecord)
    if not actor.is_staff:
        record.location = None
        record.notes = msgspec.UNSET
        if result is None or not pgt_results.is_visible(result, actor):
            record.pgt_result_id = msgspec.UNSET
    return record
