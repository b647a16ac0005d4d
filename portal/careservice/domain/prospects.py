"""Prospects, people who have enquired about treatment: merging two records, and booking a first appointment."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Annotated, Literal
from zoneinfo import ZoneInfo, available_timezones

import msgspec
from sqlalchemy import ForeignKey, String, select, update
from sqlalchemy.orm import Mapped, Session, mapped_column

from portal.careservice.clock import now
from portal.careservice.database import Base, Id, Returned
from portal.careservice.domain import notifications, people
from portal.careservice.domain.actor import Actor
from portal.careservice.domain.columns import Audited, one_of
from portal.careservice.domain.conversations import Conversation, Message, Participant
from portal.careservice.domain.enumerations import DayOfWeek, ProspectStatus
from portal.careservice.domain.physicians import BusyTime, Physician
from portal.careservice.domain.rules import Invalid, NotThere, Refused, Rule
from portal.careservice.domain.texts import ONE_LINE
from portal.careservice.ids import GivenId, new_id

_CLOSED = frozenset({ProspectStatus.CONVERTED, ProspectStatus.LOST, ProspectStatus.MERGED})
_COURSE = (
    *(ProspectStatus.LOST, ProspectStatus.NEW, ProspectStatus.CONTACTED, ProspectStatus.QUALIFIED),
    *(ProspectStatus.WINDOW_BOOKED, ProspectStatus.CONVERTED),
)
"""The statuses in the order that an enquiry takes: who asks anew is lost no more."""
_ENQUIRIES = frozenset({"coordinator", "admin"})
FIELDS = ("firstName", "lastName", "email", "phoneNumber", "source", "interest")
"""The fields whose value can be chosen in a merge."""
_ATTRIBUTES = dict(
    zip(FIELDS, ("first_name", "last_name", "email", "phone_number", "source", "interest"), strict=True)
)


class Prospect(Audited, Base):
    """Somebody who has enquired about treatment and isn't a patient yet."""

    __tablename__ = "prospects"

    id: Mapped[Returned[Id]] = mapped_column(primary_key=True)
    tenant_id: Mapped[str] = mapped_column(String(36), index=True)
    first_name: Mapped[Returned[str]]
    last_name: Mapped[Returned[str]]
    email: Mapped[Returned[str | None]]
    phone_number: Mapped[Returned[str | None]]
    source: Mapped[Returned[str]]
    status: Mapped[Returned[ProspectStatus]] = mapped_column(one_of(ProspectStatus))
    interest: Mapped[Returned[str | None]]
    patient_id: Mapped[Returned[str | None]] = mapped_column(ForeignKey("patients.id"))
    merged_into_id: Mapped[Returned[str | None]] = mapped_column(String(36))


class Booking(Base):
    """A window booked for a prospect."""

    __tablename__ = "bookings"

    id: Mapped[Id] = mapped_column(primary_key=True)
    tenant_id: Mapped[str] = mapped_column(String(36))
    prospect_id: Mapped[str] = mapped_column(ForeignKey("prospects.id"), index=True)
    physician_id: Mapped[str] = mapped_column(ForeignKey("physicians.id"), index=True)
    location_id: Mapped[str | None] = mapped_column(String(36))
    start: Mapped[datetime]
    end: Mapped[datetime]
    time_zone: Mapped[str]
    appointment_type: Mapped[str]
    status: Mapped[str] = mapped_column(default="Booked")
    creation_time: Mapped[datetime] = mapped_column(default=now)


class Window(msgspec.Struct, rename="camel", kw_only=True):
    """A time with a physician; `time_zone` applies to times without an offset."""

    physician_id: GivenId
    location_id: GivenId | None = None
    start: datetime
    end: datetime
    time_zone: Annotated[str, msgspec.Meta(min_length=1, max_length=64)]
    appointment_type: Annotated[str, msgspec.Meta(min_length=1, max_length=100), ONE_LINE]


SHORTEST, LONGEST = timedelta(minutes=10), timedelta(minutes=240)
"""The shortest and longest window."""

FieldChoice = Literal["survivor", "merged"]


def details_for_staff(prospect: Prospect, prefix: str = "") -> dict[str, str]:
    """The details of a prospect that notifications to staff carry, since no endpoint reads a prospect.

    By member name; with the prefix `merge`, those of the other of two: `mergeFirstName`.
    """
    members = {
        "firstName": prospect.first_name,
        "lastName": prospect.last_name,
        "email": prospect.email,
        "phoneNumber": prospect.phone_number,
        "source": prospect.source,
        "interest": prospect.interest,
    }
    return {
        f"{prefix}{name[:1].upper()}{name[1:]}" if prefix else name: value
        for name, value in members.items()
        if value
    }


def find(session: Session, actor: Actor, prospect_id: str) -> Prospect:
    """The clinic's prospect of that id; raises NotThere."""
    prospect = session.get(Prospect, prospect_id)
    if prospect is None or prospect.tenant_id != actor.tenant_id:
        raise NotThere
    return prospect


def merge(
    session: Session, actor: Actor, survivor: Prospect, merged: Prospect, choices: dict[str, str]
) -> Prospect:
    """Merge `merged` into `survivor`; raises Refused or Invalid.

    `choices` gives, by field, the record whose value to keep: its id, or `survivor` or `merged`. Without a choice
    the survivor's value is kept, or filled in from the other if it has none.
    """
    if survivor.id == merged.id:
        raise Refused(Rule.SAME_RECORD)
    if ProspectStatus.MERGED in (survivor.status, merged.status):
        raise Refused(Rule.ALREADY_MERGED)
    if len({survivor.patient_id, merged.patient_id} - {None}) > 1:
        raise Refused(Rule.TWO_PATIENTS)
    taken = _taken_from_merged(choices, survivor, merged)
    for field, attribute in _ATTRIBUTES.items():
        if field in taken or (field not in choices and not getattr(survivor, attribute)):
            setattr(survivor, attribute, getattr(merged, attribute))
    if survivor.patient_id is None:
        survivor.patient_id = merged.patient_id
    survivor.status = max(survivor.status, merged.status, key=_COURSE.index)
    survivor.touch(actor.sub)
    merged.status = ProspectStatus.MERGED
    merged.merged_into_id = survivor.id
    merged.touch(actor.sub)
    for record in (Conversation, Booking):
        session.execute(update(record).where(record.prospect_id == merged.id).values(prospect_id=survivor.id))
    session.execute(
        update(Participant).where(Participant.person_id == merged.id).values(person_id=survivor.id)
    )
    session.execute(update(Message).where(Message.sender_id == merged.id).values(sender_id=survivor.id))
    return survivor


def _taken_from_merged(choices: dict[str, str], survivor: Prospect, merged: Prospect) -> set[str]:
    taken: set[str] = set()
    for field, choice in choices.items():
        if field not in _ATTRIBUTES:
            raise Invalid("There is no such field.", f"fieldChoices.{field}")
        if choice.lower() in (merged.id, "merged"):
            taken.add(field)
        elif choice.lower() not in (survivor.id, "survivor"):
            raise Invalid("Choose one of the two records.", f"fieldChoices.{field}")
    return taken


def book(session: Session, actor: Actor, prospect: Prospect, window: Window) -> Booking:
    """Book a free window in a physician's working hours for a prospect; raises Refused or Invalid.

    By links, which a server books for, a prospect has one visit to come; staff may book more.
    """
    physician = session.scalars(
        # The lock lets one of two concurrent bookings wait, instead of failing and being retried.
        select(Physician).where(Physician.id == window.physician_id).with_for_update(of=Physician)
    ).one_or_none()
    if physician is None or physician.tenant_id != actor.tenant_id:
        raise Invalid("No such physician at this clinic.", "physicianId")
    start, end = _instants(window)
    if prospect.status in _CLOSED:
        raise Refused(Rule.PROSPECT_CLOSED)
    if actor.sub is None and _has_visit_to_come(session, prospect):
        raise Refused(Rule.ALREADY_BOOKED)
    if not physician.is_active:
        raise Refused(Rule.PHYSICIAN_NOT_AVAILABLE)
    if window.location_id is not None and window.location_id != physician.location_id:
        raise Invalid("The physician isn't at that location.", "locationId")
    if start <= now():
        raise Refused(Rule.SLOT_IN_THE_PAST)
    if not _is_within_hours(physician, start, end):
        raise Refused(Rule.OUTSIDE_WORKING_HOURS)
    if _is_taken(session, physician.id, start, end):
        raise Refused(Rule.SLOT_TAKEN)
    booking = Booking(
        id=new_id(),
        tenant_id=prospect.tenant_id,
        prospect_id=prospect.id,
        physician_id=physician.id,
        location_id=window.location_id or physician.location_id,
        start=start,
        end=end,
        time_zone=window.time_zone,
        appointment_type=window.appointment_type,
        status="Booked",
    )
    session.add_all([booking, BusyTime(id=booking.id, physician_id=physician.id, start=start, end=end)])
    prospect.status = ProspectStatus.WINDOW_BOOKED
    prospect.touch(actor.sub)
    notifications.announce(
        session,
        tenant_id=prospect.tenant_id,
        who=people.staff_with(session, prospect.tenant_id, _ENQUIRIES),
        kind="ProspectReceived",
        entity=("Prospect", prospect.id),
        data={"bookingId": booking.id, **details_for_staff(prospect)},
    )
    return booking


def _has_visit_to_come(session: Session, prospect: Prospect) -> bool:
    booked = select(Booking.id).where(
        Booking.prospect_id == prospect.id, Booking.status == "Booked", Booking.end > now()
    )
    return session.scalar(booked.limit(1)) is not None


def _instants(window: Window) -> tuple[datetime, datetime]:
    if window.time_zone not in available_timezones():
        raise Invalid("There is no such time zone.", "timeZone")
    zone = ZoneInfo(window.time_zone)
    try:
        start, end = (
            (moment if moment.tzinfo else moment.replace(tzinfo=zone)).astimezone(UTC)
            for moment in (window.start, window.end)
        )
    except OverflowError:
        raise Invalid("This time is out of range.", "start") from None
    if end <= start:
        raise Invalid("The end has to be after the start.", "end")
    if not SHORTEST <= end - start <= LONGEST:
        raise Invalid("A window has to last 10 to 240 minutes.", "end")
    return start, end


def _is_within_hours(physician: Physician, start: datetime, end: datetime) -> bool:
    zone = ZoneInfo(physician.time_zone)
    try:
        begins, ends = start.astimezone(zone), end.astimezone(zone)
    except OverflowError:
        return False
    if begins.date() != ends.date():
        return False
    day = list(DayOfWeek)[begins.isoweekday() % 7]
    return any(
        hours.day_of_week == day
        and hours.start <= begins.strftime("%H:%M")
        and ends.strftime("%H:%M:%S") <= f"{hours.end}:00"
        for hours in physician.working_hours
    )


def _is_taken(session: Session, physician_id: str, start: datetime, end: datetime) -> bool:
    overlapping = select(BusyTime.id).where(
        BusyTime.physician_id == physician_id, BusyTime.start < end, BusyTime.end > start
    )
    return session.scalar(overlapping.limit(1)) is not None
