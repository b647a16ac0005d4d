"""Fertility protocols (care API specification §4, group FertilityProtocol)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import date, datetime
from typing import Annotated, ClassVar

from msgspec.structs import force_setattr

from portal.config.modules import Module
from portal.dates import days_after
from portal.services.api import Group, SearchQuery
from portal.services.client import Care
from portal.services.decoding import Choice, Day, Id, Measure, PagedResult, Record, Timed
from portal.services.listed import Listed
from portal.services.paging import read_list
from portal.services.patient_ref import PatientRef
from portal.services.responses import read_back
from portal.services.stamped_record import SET_BY_API
from portal.services.uses import STAFF


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
    """A row of a plan: a medicine from `start_day` to `end_day` or `last_dose_day` (inclusive), or until `stop_rule` applies.

    `times` are hours of a day (HH:MM, or as the API sent them), each a dose; `time` is the first. `every_days` is 2 for every
    second day. An API may send none of `is_trigger`, `times`, `every_days` and `last_dose_day`. What is due when:
    `portal.services.rules.doses`.
    """

    shown_on: ClassVar = ("protocols", "episodes", "home")
    vital: ClassVar = frozenset(
        {
            "drug_class",
            "unit",
            "end_day",
            "last_dose_day",
            "stop_rule",
            "time",
            "times",
            "every_days",
            "is_trigger",
        }
    )

    drug: Annotated[str, "medicine"]
    start_day: Annotated[Day, "first day"]
    id: Id | None = None
    drug_class: Annotated[str, "drug class, for staff", STAFF] = ""
    dose: Annotated[Measure | None, "dose"] = None
    unit: Annotated[str, "unit of the dose"] = ""
    route: Annotated[str, "route of administration"] = ""
    end_day: Annotated[Day | None, "last day"] = None
    last_dose_day: Annotated[Day | None, "last day with a dose, also on the evening of the trigger"] = None
    stop_rule: Annotated[str | None, "rule for stopping"] = None
    time: Annotated[str | None, "time of day"] = None
    times: Annotated[tuple[str, ...], "hours of a day, each a dose"] = ()
    every_days: Annotated[Day | None, "days from one dose to the next"] = None
    is_trigger: Annotated[bool | None, "whether it is the trigger; without it, the class says so"] = None
    instructions: Annotated[str | None, "instructions"] = None

    def __post_init__(self) -> None:
        force_setattr(self, "time", self.time and clock(self.time))
        force_setattr(self, "times", tuple(map(clock, self.times)))

    @property
    def triggers(self) -> bool:
        """Whether it is the injection that triggers ovulation; by its class if the API doesn't say."""
        return "trigger" in self.drug_class.casefold() if self.is_trigger is None else self.is_trigger

    @property
    def hours(self) -> tuple[str | None, ...]:
        """The hours of its doses on a day; None for one whose hour isn't given."""
        return tuple(dict.fromkeys(filter(None, self.times))) or (self.time or None,)

    @property
    def is_until_trigger(self) -> bool:
        """Whether its rule ends it with the trigger; one of `14 days after the trigger` doesn't, unless it is of stimulation."""
        rule = self.stop_rule or ""
        return is_until_trigger(rule) and (
            self._is_of_stimulation or not _LATER_THAN_TRIGGER.search(rule.casefold())
        )

    @property
    def ends_with_trigger(self) -> bool:
        """Whether the trigger ends it: its rule says so, or nothing says when it ends and it belongs to stimulation."""
        if self.is_until_trigger:
            return True
        is_open = self.end_day is None and self.last_dose_day is None and not self.stop_rule
        return is_open and self._is_of_stimulation

    @property
    def _is_of_stimulation(self) -> bool:
        return bool(_STIMULATION.search(self.drug_class.casefold()))


def clock(text: str) -> str:
    """HH:MM of an hour that may have one digit, and seconds that are zero; anything else as it came, but for spaces."""
    found = _CLOCK.fullmatch(text.strip())
    return f"{found[1]:0>2}:{found[2]}" if found else text.strip()


def is_until_trigger(stop_rule: str) -> bool:
    return bool(stop_rule) and bool(_TRIGGER.search(stop_rule.casefold()))


_CLOCK = re.compile(r"([01]?[0-9]|2[0-3]):([0-5][0-9])(?::00(?:\.0+)?)?")
_TRIGGER = re.compile("trigger|desencaden|تفجير")
_LATER_THAN_TRIGGER = re.compile(
    r"(?:day|week|month|día|semana|mes|يوم|أيام|أسبوع|أسابيع|شهر|أشهر)[^.;]{0,8}?"
    r"\b(?:after|past|post|following|tras|después|بعد)\b"
    rf"(?:\W+(?!until|till|hasta|حتى)\w+){{0,3}}?\W+\w*(?:{_TRIGGER.pattern})"
)
_STIMULATION = re.compile("gonadotrop|agonist|ppos")


class Check(Record, frozen=True, kw_only=True):
    """A monitoring check on a day of the protocol, such as a scan."""

    shown_on: ClassVar = ("protocols",)

    day: Annotated[Day, "day of the check"]
    kind: Annotated[str, "kind of check"] = ""
    note: Annotated[str | None, "note"] = None


class ProtocolDraft(Timed, frozen=True, kw_only=True):
    """A new protocol: a plan for a patient, or without one a template of the clinic."""

    name: Annotated[str, "name"]
    status: Annotated[ProtocolStatus, "status, and which changes are offered"]
    type: Annotated[ProtocolType | None, "kind of protocol"] = None
    description: Annotated[str | None, "description"] = None
    patient_id: Annotated[Id | None, "patient; without one, it is the clinic's own protocol"] = None
    episode_id: Annotated[Id | None, "treatment"] = None
    physician_id: Annotated[Id | None, "its author"] = None
    start_date: Annotated[date | None, "day 1; without it, no dates are shown"] = None
    medications: Annotated[tuple[Medication, ...], "medicines"] = ()
    monitoring: Annotated[tuple[Check, ...], "scheduled checks"] = ()

    @property
    def is_active(self) -> bool:
        """Whether the patient is following it now."""
        return self.status == ProtocolStatus.ACTIVE

    @property
    def is_template(self) -> bool:
        """Whether it is the clinic's own, to copy from: one that names only its treatment is its patient's."""
        return self.patient_id is None and self.episode_id is None

    @property
    def is_on_hold(self) -> bool:
        """Whether the patient followed it and waits."""
        return self.status == ProtocolStatus.ON_HOLD


class Protocol(ProtocolDraft, frozen=True, kw_only=True):
    """A treatment plan; its day 1 is `start_date`. A template of the clinic has neither patient nor treatment."""

    shown_on: ClassVar = ("protocols", "episodes", "home")

    id: Id
    patient_name: Annotated[str | None, "name of the patient in the list", STAFF] = None
    creation_time: datetime | None = None
    creator_id: Id | None = None
    last_modification_time: datetime | None = None
    last_modifier_id: Id | None = None
    concurrency_stamp: str | None = None

    @property
    def patient_ref(self) -> PatientRef | None:
        """Whose plan it is; None for a template of the clinic."""
        if self.is_template:
            return None
        return PatientRef(self.patient_id, self.patient_name or "", self.episode_id)

    @property
    def is_ended(self) -> bool:
        """Whether it is completed or cancelled, and can no longer be changed."""
        return self.status in (ProtocolStatus.COMPLETED, ProtocolStatus.CANCELLED)

    @property
    def next_statuses(self) -> tuple[ProtocolStatus, ...]:
        return PROTOCOL_MOVES.get(self.status, ())

    def day_on(self, today: date) -> int | None:
        """The day of the protocol on `today` (0 or less before it starts); None without a start date."""
        return None if self.start_date is None else (today - self.start_date).days + 1

    def date_of(self, day: int) -> date | None:
        """The date of a day of the protocol; None without a start date."""
        return None if self.start_date is None else days_after(self.start_date, day - 1)


class ProtocolQuery(SearchQuery, frozen=True, kw_only=True, rename="pascal"):
    """Which protocols are asked for."""

    sorting: str | None = None
    status: ProtocolStatus | None = None
    episode_id: str | None = None


_protocols = Group("FertilityProtocol", Module.MEDICINES)
_PROTOCOLS = "/api/care/fertility-protocols"
_PLANS = 50
LIST_PROTOCOLS = _protocols.get(
    _PROTOCOLS, PagedResult[Protocol], ProtocolQuery, shows="protocol", page="/protocols"
)
CREATE_PROTOCOL = _protocols.post(_PROTOCOLS, Protocol, ProtocolDraft)
READ_PROTOCOL = _protocols.get(f"{_PROTOCOLS}/{{id}}", Protocol, shows="protocol")
UPDATE_PROTOCOL = _protocols.put(
    f"{_PROTOCOLS}/{{id}}", Protocol, Protocol, without=SET_BY_API | {"patientName"}
)


def list_protocols(
    care: Care,
    *,
    skip: int = 0,
    limit: int,
    sorting: str | None = None,
    text: str | None = None,
    status: ProtocolStatus | None = None,
    episode_id: str | None = None,
) -> PagedResult[Protocol]:
    """One page of protocols; patients get their own."""
    query = ProtocolQuery(
        skip_count=skip,
        max_result_count=limit,
        sorting=sorting,
        filter=text,
        status=status,
        episode_id=episode_id,
    )
    return read_list(LIST_PROTOCOLS, query, care=care)


def list_plans_of(care: Care, episode_id: str) -> Listed[Protocol]:
    """The plans made for a treatment that aren't drafts and, for all that is known, haven't ended: its record holds only one."""
    return list_protocols(care, limit=_PLANS, episode_id=episode_id).listed.where(
        lambda plan: (
            plan.episode_id == episode_id and plan.status != ProtocolStatus.DRAFT and not plan.is_ended
        )
    )


def list_begun_plans(care: Care) -> Listed[Protocol]:
    """The plans that the reader may see and that are no drafts, of every treatment: also those on hold, and ended ones."""
    plans = list_protocols(care, limit=_PLANS)
    return plans.listed.where(lambda plan: plan.status != ProtocolStatus.DRAFT)


def create_protocol(care: Care, draft: ProtocolDraft, *, operation: str | None = None) -> Protocol | None:
    """Create a protocol; None if the API returns no body (then it is the newest of its name in the list)."""
    return care.act(CREATE_PROTOCOL, draft, operation=operation)


def get_protocol(care: Care, protocol_id: str) -> Protocol:
    return care.read(READ_PROTOCOL, id=protocol_id)


def update_protocol(
    care: Care, protocol_id: str, protocol: Protocol, before: Protocol | None = None
) -> Protocol:
    """Update the protocol and return it with a new stamp; `protocol` is the one that was read, with the changes.

    `before` is the one that was read: what it didn't have isn't sent.

    Raises `Conflict` when it was changed meanwhile, `Refused` when it is completed or cancelled, or the move isn't
    allowed.
    """
    written = care.act(UPDATE_PROTOCOL, protocol, before=before, id=protocol_id)
    return written or read_back(lambda: get_protocol(care, protocol_id))
