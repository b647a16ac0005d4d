"""Episodes of treatment, to which most of a patient's records belong."""

from __future__ import annotations

from datetime import date, datetime

import msgspec
from sqlalchemy import ForeignKey, Index, Select, String, and_, or_, select
from sqlalchemy.orm import Mapped, Session, mapped_column, relationship

from portal.careservice.database import Base, Id
from portal.careservice.domain import sharing
from portal.careservice.domain.actor import Actor
from portal.careservice.domain.cases import CareCase
from portal.careservice.domain.columns import Audited, Structs, one_of
from portal.careservice.domain.enumerations import CareStatus, Outcome, ProtocolType, Severity, Stage
from portal.careservice.domain.patients import Patient
from portal.careservice.domain.rules import NotThere
from portal.careservice.ids import new_id


class Follicles(msgspec.Struct, rename="camel", kw_only=True):
    """Mean diameters in mm of the follicles of each ovary, largest first."""

    left: list[float]
    right: list[float]


class Episode(Audited, Base):
    """One cycle of treatment of a patient, alone or with a partner.

    `stopped_at` is when a consent to it was withdrawn that put it on hold, until a new one is Signed.
    """

    __tablename__ = "episodes"

    id: Mapped[Id] = mapped_column(primary_key=True)
    tenant_id: Mapped[str] = mapped_column(String(36), index=True)
    number: Mapped[str]
    type: Mapped[ProtocolType] = mapped_column(one_of(ProtocolType))
    status: Mapped[CareStatus] = mapped_column(one_of(CareStatus))
    stage: Mapped[Stage] = mapped_column(one_of(Stage))
    outcome: Mapped[Outcome | None] = mapped_column(one_of(Outcome))
    start_date: Mapped[date]
    end_date: Mapped[date | None]
    stopped_at: Mapped[datetime | None]
    patient_id: Mapped[str] = mapped_column(ForeignKey("patients.id"), index=True)
    partner_id: Mapped[str | None] = mapped_column(ForeignKey("patients.id"), index=True)
    case_id: Mapped[str] = mapped_column(ForeignKey("cases.id"))

    patient: Mapped[Patient] = relationship(foreign_keys=[patient_id])
    partner: Mapped[Patient | None] = relationship(foreign_keys=[partner_id])
    case: Mapped[CareCase] = relationship()
    monitoring: Mapped[list[Monitoring]] = relationship(order_by="Monitoring.date")
    timeline: Mapped[list[TimelineEvent]] = relationship(order_by="TimelineEvent.occurred_at")
    appointments: Mapped[list[Appointment]] = relationship(order_by="Appointment.start")
    care_team: Mapped[list[CareTeamMember]] = relationship(order_by="CareTeamMember.position")
    alerts: Mapped[list[Alert]] = relationship(order_by="Alert.position")


class HormoneUnits(msgspec.Struct, rename="camel", kw_only=True):
    """The units of the hormones of one blood test; None where the laboratory named none."""

    e2: str | None = None
    lh: str | None = None
    p4: str | None = None


class Monitoring(Base):
    """One scan and blood test; hormones in their `units`; `unit` is oestradiol's."""

    __tablename__ = "monitoring"
    __table_args__ = (Index("ix_monitoring_episode", "episode_id"),)

    id: Mapped[Id] = mapped_column(primary_key=True, default=new_id)
    episode_id: Mapped[str] = mapped_column(ForeignKey("episodes.id"))
    date: Mapped[date]
    cycle_day: Mapped[int]
    follicles: Mapped[Follicles] = mapped_column(Structs(Follicles))
    endometrium_mm: Mapped[float | None]
    endometrium_pattern: Mapped[str | None]
    e2: Mapped[float | None]
    lh: Mapped[float | None]
    p4: Mapped[float | None]
    unit: Mapped[str]
    units: Mapped[HormoneUnits | None] = mapped_column(Structs(HormoneUnits))
    verified: Mapped[bool]


class TimelineEvent(Base):
    """An event in an episode."""

    __tablename__ = "timeline_events"
    __table_args__ = (Index("ix_timeline_events_episode", "episode_id"),)

    id: Mapped[Id] = mapped_column(primary_key=True, default=new_id)
    episode_id: Mapped[str] = mapped_column(ForeignKey("episodes.id"))
    kind: Mapped[str]
    stage: Mapped[Stage] = mapped_column(one_of(Stage))
    title: Mapped[str]
    note: Mapped[str | None]
    occurred_at: Mapped[datetime]
    verified: Mapped[bool]


class Appointment(Base):
    """A patient's appointment at the clinic."""

    __tablename__ = "appointments"
    __table_args__ = (Index("ix_appointments_episode", "episode_id"),)

    id: Mapped[Id] = mapped_column(primary_key=True, default=new_id)
    episode_id: Mapped[str] = mapped_column(ForeignKey("episodes.id"))
    kind: Mapped[str]
    physician_id: Mapped[str | None] = mapped_column(String(36))
    start: Mapped[datetime]
    end: Mapped[datetime]
    time_zone: Mapped[str]
    location: Mapped[str]
    status: Mapped[str]


class CareTeamMember(Base):
    """A member of a patient's care team in an episode."""

    __tablename__ = "care_team_members"
    __table_args__ = (Index("ix_care_team_members_episode", "episode_id"),)

    id: Mapped[Id] = mapped_column(primary_key=True, default=new_id)
    episode_id: Mapped[str] = mapped_column(ForeignKey("episodes.id"))
    position: Mapped[int]
    physician_id: Mapped[str] = mapped_column(String(36))
    name: Mapped[str]
    role: Mapped[str]


class Alert(Base):
    """Something that should be seen first on opening an episode."""

    __tablename__ = "alerts"
    __table_args__ = (Index("ix_alerts_episode", "episode_id"),)

    id: Mapped[Id] = mapped_column(primary_key=True, default=new_id)
    episode_id: Mapped[str] = mapped_column(ForeignKey("episodes.id"))
    position: Mapped[int]
    severity: Mapped[Severity] = mapped_column(one_of(Severity))
    text: Mapped[str]
    until: Mapped[datetime | None]
    creation_time: Mapped[datetime | None]


def find(session: Session, actor: Actor, episode_id: str) -> Episode:
    """The episode, if it is among `visible_ids`; raises NotThere."""
    seen = visible_ids(session, actor).with_only_columns(Episode)
    episode = session.scalars(seen.where(Episode.id == episode_id)).one_or_none()
    if episode is None:
        raise NotThere
    return episode


def is_visible(session: Session, actor: Actor, episode_id: str) -> bool:
    """Whether `actor` may see the episode."""
    return session.scalar(visible_ids(session, actor).where(Episode.id == episode_id)) is not None


def visible_ids(session: Session, actor: Actor) -> Select[str]:
    """The ids of the episodes that `actor` may see: staff all of their clinic's, patients their own.

    Partners see those of a patient who shares their care with them, as long as it is shared.
    """
    chosen = select(Episode.id).where(Episode.tenant_id == actor.tenant_id)
    if actor.is_staff:
        return chosen
    mine = sharing.own_records(actor)
    as_partner = and_(
        Episode.partner_id.in_(mine), Episode.patient_id.in_(sharing.sharing_with(session, actor))
    )
    return chosen.where(or_(Episode.patient_id.in_(mine), as_partner))
