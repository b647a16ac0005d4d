"""Fertility protocols: plans of which medicine to take and what to monitor on which day."""

from __future__ import annotations

from datetime import date
from typing import Annotated

import msgspec
from sqlalchemy import ForeignKey, Select, String, and_, case, func, or_, select
from sqlalchemy.orm import Mapped, Session, mapped_column, relationship

from portal.careservice.database import Base, Id
from portal.careservice.domain import clinics, episodes, sharing
from portal.careservice.domain.actor import Actor
from portal.careservice.domain.columns import Audited, Structs, one_of
from portal.careservice.domain.enumerations import ProtocolStatus, ProtocolType
from portal.careservice.domain.episodes import Episode
from portal.careservice.domain.folding import folded_from
from portal.careservice.domain.patients import Patient
from portal.careservice.domain.physicians import Physician
from portal.careservice.domain.rules import Invalid, NotThere, Refused, Rule, require_of_clinic, require_stamp
from portal.careservice.domain.texts import ONE_LINE, TimeOfDay
from portal.careservice.ids import GivenId, new_id

Day = Annotated[int, msgspec.Meta(ge=-60, le=400)]
"""The day of stimulation; 1 is the first, days before it are 0 and below."""
ShortText = Annotated[str, msgspec.Meta(min_length=1, max_length=200), ONE_LINE]
LongText = Annotated[str, msgspec.Meta(max_length=10_000)]

MOVES: dict[ProtocolStatus, frozenset[ProtocolStatus]] = {
    ProtocolStatus.DRAFT: frozenset({ProtocolStatus.ACTIVE, ProtocolStatus.CANCELLED}),
    ProtocolStatus.ACTIVE: frozenset(
        {ProtocolStatus.ON_HOLD, ProtocolStatus.COMPLETED, ProtocolStatus.CANCELLED}
    ),
    ProtocolStatus.ON_HOLD: frozenset(
        {ProtocolStatus.ACTIVE, ProtocolStatus.COMPLETED, ProtocolStatus.CANCELLED}
    ),
    ProtocolStatus.COMPLETED: frozenset(),
    ProtocolStatus.CANCELLED: frozenset(),
}


class Medication(msgspec.Struct, rename="camel", kw_only=True):
    """One medicine: `dose` in `unit` from `start_day` to `end_day` or `last_dose_day`, or until `stop_rule` holds.

    Each of `times` is a dose of its own; `time` is the first of them. `every_days` is 2 for every second day. A medicine
    until the trigger ends before the trigger's hour and isn't given on its evening, unless `last_dose_day` says so.
    """

    id: Annotated[str, msgspec.Meta(max_length=36)] | None = None
    drug: ShortText
    drug_class: ShortText
    dose: Annotated[float, msgspec.Meta(gt=0, le=1_000_000)]
    unit: ShortText
    route: ShortText
    start_day: Day
    end_day: Day | None = None
    last_dose_day: Day | None = None
    stop_rule: LongText | None = None
    time: TimeOfDay | None = None
    times: Annotated[list[TimeOfDay], msgspec.Meta(max_length=24)] = []
    every_days: Annotated[int, msgspec.Meta(ge=1, le=100)] = 1
    is_trigger: bool = False
    instructions: LongText | None = None

    def __post_init__(self) -> None:
        """Complete `time` from `times`, and `times` from `time`."""
        if self.times and self.time is None:
            self.time = self.times[0]
        elif self.time is not None and not self.times:
            self.times = [self.time]


class MonitoringDay(msgspec.Struct, rename="camel", kw_only=True):
    """What is monitored on a day of stimulation."""

    day: Day
    kind: ShortText
    note: LongText | None = None


class FertilityProtocol(Audited, Base):
    """A treatment plan: a patient's or, without a patient, a template of the clinic."""

    __tablename__ = "protocols"

    id: Mapped[Id] = mapped_column(primary_key=True)
    tenant_id: Mapped[str] = mapped_column(String(36), index=True)
    name: Mapped[str]
    folded_name: Mapped[str] = folded_from("name")
    type: Mapped[ProtocolType] = mapped_column(one_of(ProtocolType))
    status: Mapped[ProtocolStatus] = mapped_column(one_of(ProtocolStatus))
    description: Mapped[str | None]
    patient_id: Mapped[str | None] = mapped_column(ForeignKey("patients.id"), index=True)
    episode_id: Mapped[str | None] = mapped_column(String(36), index=True)
    physician_id: Mapped[str | None] = mapped_column(String(36))
    start_date: Mapped[date | None]
    medications: Mapped[list[Medication]] = mapped_column(Structs(list[Medication]))
    monitoring: Mapped[list[MonitoringDay]] = mapped_column(Structs(list[MonitoringDay]))

    patient: Mapped[Patient | None] = relationship()

    @property
    def patient_name(self) -> str | None:
        """The name of the patient whose plan it is; None for a template."""
        return self.patient.name if self.patient else None


class ProtocolPlan(msgspec.Struct, rename="camel", kw_only=True):
    """The content of a create or an update: the record without its id and audit."""

    name: ShortText
    type: ProtocolType
    status: ProtocolStatus
    description: LongText | None = None
    patient_id: GivenId | None = None
    episode_id: GivenId | None = None
    physician_id: GivenId | None = None
    start_date: date | None = None
    medications: Annotated[list[Medication], msgspec.Meta(max_length=100)]
    monitoring: Annotated[list[MonitoringDay], msgspec.Meta(max_length=200)]


def visible(session: Session, actor: Actor) -> Select[FertilityProtocol]:
    """The protocols that `actor` may see: staff all of their clinic's, patients their own and their episodes'.

    The other person's plan in such an episode is seen while care is shared, whichever of the two shares it.
    """
    chosen = select(FertilityProtocol).where(FertilityProtocol.tenant_id == actor.tenant_id)
    if actor.is_staff:
        return chosen
    return chosen.where(
        or_(
            FertilityProtocol.patient_id.in_(sharing.own_records(actor)),
            and_(
                FertilityProtocol.episode_id.in_(episodes.visible_ids(session, actor)),
                or_(
                    FertilityProtocol.patient_id.is_(None),
                    FertilityProtocol.patient_id.in_(sharing.sharing_with(session, actor)),
                    FertilityProtocol.patient_id.in_(sharing.shared_by(session, actor)),
                ),
            ),
        )
    )


def find(session: Session, actor: Actor, protocol_id: str) -> FertilityProtocol:
    """The protocol, if `actor` may see it; raises NotThere."""
    protocol = session.scalars(
        visible(session, actor).where(FertilityProtocol.id == protocol_id)
    ).one_or_none()
    if protocol is None:
        raise NotThere
    return protocol


def create(session: Session, actor: Actor, plan: ProtocolPlan) -> FertilityProtocol:
    """Create a protocol that is Draft or Active; raises Refused or Invalid."""
    if plan.status not in (ProtocolStatus.DRAFT, ProtocolStatus.ACTIVE):
        raise Refused(Rule.ILLEGAL_TRANSITION)
    _require_sound(session, actor, plan)
    protocol = FertilityProtocol(id=new_id(), tenant_id=actor.tenant_id, creator_id=actor.sub)
    _apply(protocol, plan)
    session.add(protocol)
    return protocol


def update(
    session: Session, actor: Actor, protocol: FertilityProtocol, plan: ProtocolPlan, stamp: str
) -> FertilityProtocol:
    """Replace the protocol's plan; raises Refused if it is Completed or Cancelled, Invalid for an unsound plan."""
    require_stamp(protocol.concurrency_stamp, stamp)
    if not MOVES[protocol.status]:
        raise Refused(Rule.ILLEGAL_TRANSITION)
    if plan.status != protocol.status and plan.status not in MOVES[protocol.status]:
        raise Refused(Rule.ILLEGAL_TRANSITION)
    _require_sound(session, actor, plan)
    if protocol.status in (ProtocolStatus.ACTIVE, ProtocolStatus.ON_HOLD) and protocol.start_date is not None:
        today = clinics.today(session, actor.tenant_id)
        if _begun(protocol, today) != _begun(plan, today) or _given(plan, today) - _given(protocol, today):
            raise Refused(Rule.DOSES_ALREADY_TAKEN)
    _apply(protocol, plan)
    protocol.touch(actor.sub)
    return protocol


def _begun(plan: FertilityProtocol | ProtocolPlan, today: date) -> dict[str | None, tuple[object, ...]]:
    """What is given to whom since a day before today, by medication: a changed or added dose is a row from a later day."""
    if plan.start_date is None:
        return {}
    return {
        row.id: (plan.patient_id, plan.start_date, row.start_day, row.drug, row.dose, row.unit)
        for row in plan.medications
        if row.start_day - 1 < (today - plan.start_date).days
    }


_YEAR = 366


def _given(plan: FertilityProtocol | ProtocolPlan, today: date) -> set[tuple[str | None, int, int]]:
    """The doses of each medication on each day of the year before today: a row may have ended sooner, but not later."""
    if plan.start_date is None:
        return set()
    day = (today - plan.start_date).days + 1
    return {
        (row.id, on, dose)
        for row in plan.medications
        for dose in range(len(row.times) or 1)
        for on in range(row.start_day, day, row.every_days)[-_YEAR:]
        if on >= day - _YEAR and all(end is None or on <= end for end in (row.end_day, row.last_dose_day))
    }


def _apply(protocol: FertilityProtocol, plan: ProtocolPlan) -> None:
    for name in plan.__struct_fields__:
        setattr(protocol, name, getattr(plan, name))
    protocol.medications = [
        msgspec.structs.replace(medication, id=medication.id or new_id()) for medication in plan.medications
    ]


def _require_sound(session: Session, actor: Actor, plan: ProtocolPlan) -> None:
    if plan.patient_id is not None:
        require_of_clinic(session.get(Patient, plan.patient_id), actor.tenant_id, "patientId")
    if plan.physician_id is not None:
        require_of_clinic(session.get(Physician, plan.physician_id), actor.tenant_id, "physicianId")
    if plan.episode_id is not None:
        episode = session.get(Episode, plan.episode_id)
        require_of_clinic(episode, actor.tenant_id, "episodeId")
        if episode is not None and plan.patient_id not in {episode.patient_id, episode.partner_id} - {None}:
            raise Invalid("The episode is not this patient's.", "episodeId")
    for index, medication in enumerate(plan.medications):
        where = f"medications[{index}]"
        if medication.end_day is not None and medication.end_day < medication.start_day:
            raise Invalid("The last day is before the first.", f"{where}.endDay")
        if medication.last_dose_day is not None and medication.last_dose_day < medication.start_day:
            raise Invalid("The last day is before the first.", f"{where}.lastDoseDay")
        if medication.times != sorted(set(medication.times)) or medication.time not in (
            None,
            *medication.times[:1],
        ):
            raise Invalid("The times are not in order, or `time` is not the first.", f"{where}.times")
        if medication.is_trigger and medication.time is None and plan.status == ProtocolStatus.ACTIVE:
            raise Refused(Rule.TRIGGER_WITHOUT_TIME)
    ids = [medication.id for medication in plan.medications if medication.id is not None]
    if len(ids) != len(set(ids)):
        raise Invalid("Two medications have the same id.", "medications")


def of_episode(session: Session, actor: Actor, episode: Episode) -> FertilityProtocol | None:
    """The protocol that an episode follows, of those that `actor` may see.

    One that is active or on hold comes before any other, for it is the partner who may take the medicines; among those, its
    patient's before the partner's, an active one, one on hold, the newest.
    """
    is_followed = FertilityProtocol.status.in_((ProtocolStatus.ACTIVE, ProtocolStatus.ON_HOLD))
    rank = case(
        {ProtocolStatus.ACTIVE: 0, ProtocolStatus.ON_HOLD: 1, ProtocolStatus.CANCELLED: 3},
        value=FertilityProtocol.status,
        else_=2,
    )
    found = session.scalars(
        visible(session, actor)
        .where(FertilityProtocol.episode_id == episode.id)
        .order_by(
            case((is_followed, 0), else_=1),
            func.coalesce(FertilityProtocol.patient_id != episode.patient_id, False),
            rank,
            FertilityProtocol.creation_time.desc(),
            FertilityProtocol.id,
        )
        .limit(1)
    )
    return found.first()
