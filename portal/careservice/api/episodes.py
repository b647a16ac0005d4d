"""PatientPortal: read one episode, with everything about it (care API specification §4)."""

from __future__ import annotations

from datetime import date, datetime

from sqlalchemy import or_, select
from sqlalchemy.orm import Session

from portal.careservice import clock, database
from portal.careservice.api.caller import Caller
from portal.careservice.api.cases import CaseRecord, case_record
from portal.careservice.api.documents import FileRecord, FolderRecord
from portal.careservice.api.embryos import EmbryoRecord, embryo_record
from portal.careservice.api.endpoint import api, endpoint
from portal.careservice.api.patients import PatientRecord, patient_record
from portal.careservice.api.protocols import ProtocolRecord
from portal.careservice.api.records import Record, as_record
from portal.careservice.api.relationships import RelationshipRecord
from portal.careservice.domain import conversations, documents, episodes, pgt_results, protocols, sharing
from portal.careservice.domain.actor import Actor
from portal.careservice.domain.consents import forms
from portal.careservice.domain.consents.forms import ConsentForm
from portal.careservice.domain.embryos import EmbryoStorage
from portal.careservice.domain.enumerations import (
    CareStatus,
    ConsentStatus,
    Outcome,
    PgtCall,
    PgtStatus,
    ProtocolType,
    Severity,
    Stage,
)
from portal.careservice.domain.episodes import Episode, Follicles, HormoneUnits
from portal.careservice.domain.patients import Relationship
from portal.careservice.domain.permissions import Act
from portal.careservice.domain.pgt_results import PgtResult

MODULE = "PatientPortal"


class PgtSummary(Record, kw_only=True):
    """The state of an embryo's genetic test."""

    id: str
    embryo_code: str
    status: PgtStatus
    call: PgtCall | None


class ConsentSummary(Record, kw_only=True):
    """A consent form of the episode."""

    id: str
    title: str
    kind: str
    status: ConsentStatus


class MonitoringRecord(Record, kw_only=True):
    """One scan and blood test."""

    date: date
    cycle_day: int
    follicles: Follicles
    endometrium_mm: float | None
    endometrium_pattern: str | None
    e2: float | None
    lh: float | None
    p4: float | None
    unit: str
    units: HormoneUnits | None
    verified: bool


class TimelineRecord(Record, kw_only=True):
    """An event in the course of treatment."""

    id: str
    kind: str
    stage: Stage
    title: str
    note: str | None
    occurred_at: datetime
    verified: bool


class AppointmentRecord(Record, kw_only=True):
    """An appointment at the clinic."""

    id: str
    kind: str
    physician_id: str | None
    start: datetime
    end: datetime
    time_zone: str
    location: str
    status: str


class CareTeamRecord(Record, kw_only=True):
    """A member of the care team."""

    physician_id: str
    name: str
    role: str


class AlertRecord(Record, kw_only=True):
    """Something that should be seen first."""

    severity: Severity
    text: str
    until: datetime | None
    creation_time: datetime | None


class Documents(Record, kw_only=True):
    """Folders and files."""

    directories: list[FolderRecord]
    files: list[FileRecord]


class EpisodeRecord(Record, kw_only=True):
    """One treatment cycle with everything that belongs to it, as far as the caller may see it."""

    id: str
    number: str
    type: ProtocolType
    status: CareStatus
    stage: Stage
    outcome: Outcome | None
    start_date: date
    end_date: date | None
    patient: PatientRecord
    partner: PatientRecord | None
    relationships: list[RelationshipRecord]
    case: CaseRecord
    protocol: ProtocolRecord | None
    embryos: list[EmbryoRecord]
    pgt_results: list[PgtSummary]
    consent_forms: list[ConsentSummary]
    monitoring: list[MonitoringRecord]
    timeline: list[TimelineRecord]
    appointments: list[AppointmentRecord]
    care_team: list[CareTeamRecord]
    documents: Documents
    conversation_ids: list[str]
    alerts: list[AlertRecord]


@api.get("/api/patient-portal/episodes/<episode_id>")
@endpoint(Act.READ_EPISODE, MODULE)
def get_episode(caller: Caller, episode_id: str) -> EpisodeRecord:
    """One episode; patients see their own, partners those of a patient who shares their care with them."""
    session, actor = database.session(), caller.actor
    episode = episodes.find(session, actor, episode_id)
    protocol = protocols.of_episode(session, actor, episode)
    embryos, results = _embryos(session, actor, episode)
    return EpisodeRecord(
        id=episode.id,
        number=episode.number,
        type=episode.type,
        status=episode.status,
        stage=episode.stage,
        outcome=episode.outcome,
        start_date=episode.start_date,
        end_date=episode.end_date,
        patient=patient_record(episode.patient, actor),
        partner=patient_record(episode.partner, actor) if episode.partner else None,
        relationships=_relationships(session, actor, episode),
        case=case_record(episode.case, actor),
        protocol=as_record(protocol, ProtocolRecord) if protocol else None,
        embryos=embryos,
        pgt_results=results,
        consent_forms=_consent_forms(session, actor, episode),
        monitoring=[as_record(day, MonitoringRecord) for day in episode.monitoring],
        timeline=[as_record(event, TimelineRecord) for event in episode.timeline],
        appointments=[as_record(appointment, AppointmentRecord) for appointment in episode.appointments],
        care_team=[as_record(member, CareTeamRecord) for member in episode.care_team],
        documents=Documents(
            directories=[
                as_record(directory, FolderRecord)
                for directory in documents.directories_of(session, episode.id)
            ],
            files=[as_record(file, FileRecord) for file in documents.files_of(session, actor, episode.id)],
        ),
        conversation_ids=conversations.ids_of_episode(session, actor, episode.id),
        alerts=[as_record(alert, AlertRecord) for alert in episode.alerts],
    )


def _embryos(session: Session, actor: Actor, episode: Episode) -> tuple[list[EmbryoRecord], list[PgtSummary]]:
    results = session.scalars(
        select(PgtResult)
        .where(PgtResult.episode_id == episode.id)
        .order_by(PgtResult.embryo_code, PgtResult.id)
    ).all()
    by_id = {result.id: result for result in results}
    embryos = session.scalars(
        select(EmbryoStorage)
        .where(EmbryoStorage.episode_id == episode.id)
        .order_by(EmbryoStorage.embryo_code, EmbryoStorage.id)
    )
    return (
        [embryo_record(embryo, actor, by_id.get(embryo.pgt_result_id or "")) for embryo in embryos],
        [as_record(result, PgtSummary) for result in results if pgt_results.is_visible(result, actor)],
    )


def _consent_forms(session: Session, actor: Actor, episode: Episode) -> list[ConsentSummary]:
    moment = clock.now()
    found = session.scalars(
        forms.without_body(forms.visible(actor))
        .where(ConsentForm.episode_id == episode.id)
        .order_by(ConsentForm.creation_time.desc(), ConsentForm.id)
    )
    return [
        ConsentSummary(id=form.id, title=form.title, kind=form.kind, status=form.status_at(moment))
        for form in found
    ]


def _relationships(session: Session, actor: Actor, episode: Episode) -> list[RelationshipRecord]:
    """The couple's relationships; patients see only those that they are part of, and so not their partner's others."""
    couple = [person for person in (episode.patient_id, episode.partner_id) if person]
    chosen = select(Relationship).where(
        or_(Relationship.patient_id.in_(couple), Relationship.related_patient_id.in_(couple))
    )
    if not actor.is_staff:
        mine = sharing.own_records(actor)
        chosen = chosen.where(
            or_(Relationship.patient_id.in_(mine), Relationship.related_patient_id.in_(mine))
        )
    found = session.scalars(chosen.order_by(Relationship.related_name, Relationship.id))
    return [as_record(relationship, RelationshipRecord) for relationship in found]
