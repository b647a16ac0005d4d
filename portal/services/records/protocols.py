"""Fertility protocols: medicines by day, monitoring, and allowed status changes."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, datetime

from portal.services.decoding import Choice, Day, Id, Measure, Record, Timed


class ProtocolType(Choice):
    """The kind of treatment plan."""

    ANTAGONIST = "Antagonist"
    LONG_AGONIST = "LongAgonist"
    SHORT_FLARE = "ShortFlare"
    PPOS = "Ppos"
    MILD_STIMULATION = "MildStimulation"
    NATURAL_CYCLE = "NaturalCycle"
    FET_NATURAL = "FetNatural"
    FET_MEDICATED = "FetMedicated"
    IUI = "Iui"
    EGG_FREEZING = "EggFreezing"
    DONOR_CYCLE = "DonorCycle"


class ProtocolStatus(Choice):
    """The status of a protocol; Completed and Cancelled are final."""

    DRAFT = "Draft"
    ACTIVE = "Active"
    ON_HOLD = "OnHold"
    COMPLETED = "Completed"
    CANCELLED = "Cancelled"


PROTOCOL_MOVES: Mapping[ProtocolStatus, tuple[ProtocolStatus, ...]] = {
    ProtocolStatus.DRAFT: (ProtocolStatus.ACTIVE, ProtocolStatus.CANCELLED),
    ProtocolStatus.ACTIVE: (ProtocolStatus.ON_HOLD, ProtocolStatus.COMPLETED, ProtocolStatus.CANCELLED),
    ProtocolStatus.ON_HOLD: (ProtocolStatus.ACTIVE, ProtocolStatus.COMPLETED, ProtocolStatus.CANCELLED),
    ProtocolStatus.COMPLETED: (),
    ProtocolStatus.CANCELLED: (),
}


class Medication(Record, frozen=True, kw_only=True):
    """A medicine from `start_day` to `end_day` (inclusive), or until `stop_rule` applies; `time` is HH:MM."""

    drug: str
    start_day: Day
    id: Id | None = None
    drug_class: str = ""
    dose: Measure | None = None
    unit: str = ""
    route: str = ""
    end_day: Day | None = None
    stop_rule: str | None = None
    time: str | None = None
    instructions: str | None = None

    def is_due_on(self, day: int) -> bool:
        """Whether it is taken on that day of the protocol, going by the days only."""
        return self.start_day <= day and (self.end_day is None or day <= self.end_day)


class Check(Record, frozen=True, kw_only=True):
    """A monitoring check on a day of the protocol, such as a scan."""

    day: Day
    kind: str = ""
    note: str | None = None


class ProtocolDraft(Timed, frozen=True, kw_only=True):
    """A new protocol: a plan for a patient, or without one a template of the clinic."""

    name: str
    status: ProtocolStatus
    type: ProtocolType | None = None
    description: str | None = None
    patient_id: Id | None = None
    episode_id: Id | None = None
    physician_id: Id | None = None
    start_date: date | None = None
    medications: tuple[Medication, ...] = ()
    monitoring: tuple[Check, ...] = ()

    @property
    def is_active(self) -> bool:
        """Whether the patient is following it now."""
        return self.status == ProtocolStatus.ACTIVE


class Protocol(ProtocolDraft, frozen=True, kw_only=True):
    """A treatment plan; its day 1 is `start_date`."""

    id: Id
    creation_time: datetime | None = None
    creator_id: Id | None = None
    last_modification_time: datetime | None = None
    last_modifier_id: Id | None = None
    concurrency_stamp: str | None = None

    @property
    def is_ended(self) -> bool:
        """Whether it is completed or cancelled, and can no longer be changed."""
        return self.status in (ProtocolStatus.COMPLETED, ProtocolStatus.CANCELLED)

    @property
    def is_followed(self) -> bool:
        """Whether it is active with medicines and a start date, so that its days are calendar dates."""
        return bool(self.is_active and self.start_date and self.medications)

    @property
    def next_statuses(self) -> tuple[ProtocolStatus, ...]:
        """The statuses that it may change to."""
        return PROTOCOL_MOVES.get(self.status, ())

    def day_on(self, today: date) -> int | None:
        """The day of the protocol on `today` (0 or less before it starts); None without a start date."""
        return None if self.start_date is None else (today - self.start_date).days + 1

    def medications_on(self, today: date) -> tuple[Medication, ...]:
        """The medicines taken on that date while the protocol is active, by time of day."""
        day = self.day_on(today)
        if day is None or not self.is_active:
            return ()
        due = (m for m in self.medications if m.is_due_on(day))
        return tuple(sorted(due, key=lambda medication: medication.time or "~"))

    def planned_on(self, later: date) -> tuple[Medication, ...]:
        """The medicines planned for a future date: those ended only by a rule are assumed to end with the trigger."""
        day = self.day_on(later) or 0
        triggers = [m.start_day for m in self.medications if "trigger" in m.drug_class.casefold()]
        return tuple(
            medication
            for medication in self.medications_on(later)
            if medication.end_day is not None or not any(medication.start_day < one < day for one in triggers)
        )
