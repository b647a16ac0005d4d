"""EmbryoStorage: update (care API specification §4)."""

from __future__ import annotations

from datetime import date, datetime

import msgspec

from portal.careservice import database
from portal.careservice.api import payload
from portal.careservice.api.caller import Caller
from portal.careservice.api.endpoint import api, endpoint
from portal.careservice.api.records import Record, as_record
from portal.careservice.domain import embryo_changes, embryos, pgt_results
from portal.careservice.domain.actor import Actor
from portal.careservice.domain.embryo_changes import EmbryoChange
from portal.careservice.domain.embryos import EmbryoStorage, Location
from portal.careservice.domain.enumerations import Disposition, EmbryoStatus
from portal.careservice.domain.permissions import MAX_AGE, Act
from portal.careservice.domain.pgt_results import PgtResult

MODULE = "EmbryoStorage"


class EmbryoRecord(Record, kw_only=True):
    """An embryo in storage.

    Patients get a null `location`, no `notes`, and `pgtResultId` only once that result is released. Those who have
    access only as a signer of a form get `id`, `patientId`, `embryoCode`, `status` and `disposition`; everything
    else is left out.
    """

    id: str
    patient_id: str
    embryo_code: str
    status: EmbryoStatus
    disposition: Disposition
    episode_id: str | msgspec.UnsetType = msgspec.UNSET
    day: int | msgspec.UnsetType = msgspec.UNSET
    grade: str | msgspec.UnsetType = msgspec.UNSET
    grading_system: str | msgspec.UnsetType = msgspec.UNSET
    cryopreserved_at: datetime | msgspec.UnsetType = msgspec.UNSET
    method: str | msgspec.UnsetType = msgspec.UNSET
    location: Location | msgspec.UnsetType | None = msgspec.UNSET
    hold_reason: str | msgspec.UnsetType | None = msgspec.UNSET
    pgt_result_id: str | msgspec.UnsetType | None = msgspec.UNSET
    consent_form_id: str | msgspec.UnsetType | None = msgspec.UNSET
    storage_consented_until: date | msgspec.UnsetType | None = msgspec.UNSET
    storage_expires_at: datetime | msgspec.UnsetType | None = msgspec.UNSET
    statutory_limit: date | msgspec.UnsetType | None = msgspec.UNSET
    notes: str | msgspec.UnsetType | None = msgspec.UNSET
    creation_time: datetime | msgspec.UnsetType = msgspec.UNSET
    creator_id: str | msgspec.UnsetType | None = msgspec.UNSET
    last_modification_time: datetime | msgspec.UnsetType | None = msgspec.UNSET
    last_modifier_id: str | msgspec.UnsetType | None = msgspec.UNSET
    concurrency_stamp: str | msgspec.UnsetType = msgspec.UNSET


@api.put("/api/care/embryo-storage/<embryo_id>")
@endpoint(Act.UPDATE_EMBRYO, MODULE, checks_sign_in_age=False)
def update_embryo(caller: Caller, embryo_id: str) -> EmbryoRecord:
    """The updated embryo; patients may change its disposition, former partners may take back what they signed."""
    session = database.session()
    embryo = embryos.find(session, caller.actor, embryo_id)
    change, stamp = payload.stamped(EmbryoChange)
    if isinstance(change.storage_expires_at, datetime):
        change.storage_expires_at = payload.utc(change.storage_expires_at)
    if embryo_changes.is_choice(embryo, change):
        caller.require_sign_in_within(MAX_AGE[Act.UPDATE_EMBRYO])
    embryo_changes.update(session, caller.actor, embryo, change, stamp)
    session.flush()
    if not embryos.is_visible(session, caller.actor, embryo):
        return _for_a_signer(embryo)
    result = session.get(PgtResult, embryo.pgt_result_id) if embryo.pgt_result_id else None
    return embryo_record(embryo, caller.actor, result)


def _for_a_signer(embryo: EmbryoStorage) -> EmbryoRecord:
    """The embryo for somebody whose only access to it is a form that they sign."""
    return EmbryoRecord(
        id=embryo.id,
        patient_id=embryo.patient_id,
        embryo_code=embryo.embryo_code,
        status=embryo.status,
        disposition=embryo.disposition,
    )


def embryo_record(embryo: EmbryoStorage, actor: Actor, result: PgtResult | None) -> EmbryoRecord:
    """The embryo as `actor` may see it; `result` is that of its genetic test, if there is one."""
    record = as_record(embryo, EmbryoRecord)
    if not actor.is_staff:
        record.location = None
        record.notes = msgspec.UNSET
        if result is None or not pgt_results.is_visible(result, actor):
            record.pgt_result_id = msgspec.UNSET
    return record
