"""FertilityProtocol: list, create, read, update (care API specification §4)."""

from __future__ import annotations

from datetime import date

from sqlalchemy import and_
from sqlalchemy.orm import contains_eager

from portal.careservice import database
from portal.careservice.api import payload
from portal.careservice.api.caller import Caller
from portal.careservice.api.endpoint import api, endpoint
from portal.careservice.api.paging import Page, filtered, paginate
from portal.careservice.api.records import AuditedRecord, as_record
from portal.careservice.domain import protocols
from portal.careservice.domain.enumerations import ProtocolStatus, ProtocolType
from portal.careservice.domain.patients import Patient
from portal.careservice.domain.permissions import Act
from portal.careservice.domain.protocols import FertilityProtocol, Medication, MonitoringDay, ProtocolPlan

MODULE = "FertilityProtocol"


class ProtocolRecord(AuditedRecord, kw_only=True):
    """A fertility protocol; `patientName` is null for a template of the clinic."""

    id: str
    name: str
    type: ProtocolType
    status: ProtocolStatus
    description: str | None
    patient_id: str | None
    patient_name: str | None
    episode_id: str | None
    physician_id: str | None
    start_date: date | None
    medications: list[Medication]
    monitoring: list[MonitoringDay]


SORTABLE = {
    "name": FertilityProtocol.name,
    "type": FertilityProtocol.type,
    "status": FertilityProtocol.status,
    "startDate": FertilityProtocol.start_date,
    "creationTime": FertilityProtocol.creation_time,
    "lastModificationTime": FertilityProtocol.last_modification_time,
    "patientName": Patient.last_name,
}


@api.get("/api/care/fertility-protocols")
@endpoint(Act.READ_PROTOCOLS, MODULE)
def list_protocols(caller: Caller) -> Page[ProtocolRecord]:
    """The protocols that the caller may see, by PatientId, EpisodeId, Status, Type and Filter.

    Filter looks in name and description, the patient's name and, for staff, record number.
    """
    session, query = database.session(), payload.query()
    of_clinic = and_(Patient.id == FertilityProtocol.patient_id, Patient.tenant_id == caller.tenant_id)
    chosen = protocols.visible(session, caller.actor).outerjoin(Patient, of_clinic)
    patient_id, episode_id = query.identifier("PatientId"), query.identifier("EpisodeId")
    status, kind = query.choice("Status", ProtocolStatus), query.choice("Type", ProtocolType)
    if patient_id is not None:
        chosen = chosen.where(FertilityProtocol.patient_id == patient_id)
    if episode_id is not None:
        chosen = chosen.where(FertilityProtocol.episode_id == episode_id)
    if status is not None:
        chosen = chosen.where(FertilityProtocol.status == status)
    if kind is not None:
        chosen = chosen.where(FertilityProtocol.type == kind)
    searched = (FertilityProtocol.description,)
    if caller.is_staff:
        searched = (*searched, Patient.mrn)  # a match would reveal it
    names = (FertilityProtocol.folded_name, Patient.folded_name)
    total, found = paginate(
        session,
        query,
        filtered(chosen, query, searched, folded_to=names).options(contains_eager(FertilityProtocol.patient)),
        sortable=SORTABLE,
        default=(FertilityProtocol.creation_time.desc(), FertilityProtocol.id),
    )
    return Page(total_count=total, items=[as_record(protocol, ProtocolRecord) for protocol in found])


@api.post("/api/care/fertility-protocols")
@endpoint(Act.WRITE_PROTOCOLS, MODULE, idempotent=True)
def create_protocol(caller: Caller) -> ProtocolRecord:
    """A new protocol."""
    session = database.session()
    protocol = protocols.create(session, caller.actor, payload.body(ProtocolPlan))
    session.flush()
    return as_record(protocol, ProtocolRecord)


@api.get("/api/care/fertility-protocols/<protocol_id>")
@endpoint(Act.READ_PROTOCOLS, MODULE)
def get_protocol(caller: Caller, protocol_id: str) -> ProtocolRecord:
    """One protocol."""
    return as_record(protocols.find(database.session(), caller.actor, protocol_id), ProtocolRecord)


@api.put("/api/care/fertility-protocols/<protocol_id>")
@endpoint(Act.WRITE_PROTOCOLS, MODULE)
def update_protocol(caller: Caller, protocol_id: str) -> ProtocolRecord:
    """The updated protocol."""
    session = database.session()
    protocol = protocols.find(session, caller.actor, protocol_id)
    plan, stamp = payload.stamped(ProtocolPlan)
    protocols.update(session, caller.actor, protocol, plan, stamp)
    session.flush()
    return as_record(protocol, ProtocolRecord)
