"""Physicians as calendar resources: their working hours and busy times."""

from __future__ import annotations

from datetime import datetime

import msgspec
from sqlalchemy import ForeignKey, String
from sqlalchemy.orm import Mapped, mapped_column, relationship

from portal.careservice.database import Base, Id, Returned
from portal.careservice.domain.columns import Structs
from portal.careservice.domain.enumerations import DayOfWeek
from portal.careservice.domain.folding import folded_from


class WorkingHours(msgspec.Struct, rename="camel", kw_only=True):
    """From `start` to `end` (HH:MM in the physician's time zone) on a day of the week."""

    day_of_week: DayOfWeek
    start: str
    end: str


class Physician(Base):
    """A physician whose time can be booked."""

    __tablename__ = "physicians"

    id: Mapped[Returned[Id]] = mapped_column(primary_key=True)
    tenant_id: Mapped[str] = mapped_column(String(36), index=True)
    person_id: Mapped[str | None] = mapped_column(String(36))
    name: Mapped[Returned[str]]
    folded_name: Mapped[str] = folded_from("name", "specialty", "location_name")
    title: Mapped[Returned[str]]
    specialty: Mapped[Returned[str]]
    location_id: Mapped[Returned[str | None]] = mapped_column(String(36))
    location_name: Mapped[Returned[str | None]]
    time_zone: Mapped[Returned[str]]
    color: Mapped[Returned[str | None]]
    is_active: Mapped[Returned[bool]] = mapped_column(default=True)
    working_hours: Mapped[Returned[list[WorkingHours]]] = mapped_column(Structs(list[WorkingHours]))

    busy: Mapped[list[BusyTime]] = relationship(order_by="BusyTime.start")


class BusyTime(Base):
    """A period in which a physician isn't available."""

    __tablename__ = "busy_times"

    id: Mapped[Id] = mapped_column(primary_key=True)
    physician_id: Mapped[str] = mapped_column(ForeignKey("physicians.id"), index=True)
    start: Mapped[datetime]
    end: Mapped[datetime]
