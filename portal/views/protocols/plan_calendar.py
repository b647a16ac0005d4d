"""A protocol as events of a calendar: its courses of medicine and its checks."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import date, datetime, time, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from portal.dates import in_zone, later
from portal.i18n.gettext import _
from portal.services.episodes import Episode
from portal.services.protocols import Protocol
from portal.services.rules.doses import Course, active_courses, horizon, minutes
from portal.web.calendar_file import serialize
from portal.web.doses import amount, product
from portal.web.filters import in_a_row

_TAKES = timedelta(minutes=15)


def calendar_of(
    protocol: Protocol,
    episode: Episode | None,
    *,
    zone: ZoneInfo,
    clinic: str,
    made_at: datetime,
    address: str,
    is_named: bool = False,
    is_plain: bool = True,
    whose: str = "",
    before: Iterable[str] = (),
) -> bytes:
    """Return each hour of each medicine as a recurring event at the clinic's local time, with an alarm; all-day if it has
    no hour.

    Calendars are shared and shown on lock screens: events and alarms say `Medicine, 21:00`, and name the medicine only on
    request (`is_named`); `address` links to the details, and `whose` is `Daniel’s medicines` if they aren't the reader's own.
    Rows without an end stop two weeks from now; of a treatment that has ended (`episode`) there is what goes on.
    Events have stable UIDs and a sequence, so that importing the file again updates them; those in `before`, UIDs of
    an earlier file, that are gone are cancelled.
    """
    description = _("What to take and how much is in your plan: %(address)s", address=address)
    if whose:
        description = "\n".join((whose, address))
    today = in_zone(made_at, zone).date()
    listed, until = _listed(protocol, episode, today)
    sequence = revision_of(protocol)

    def event(uid: str, course: Course) -> dict[str, Any]:
        first = protocol.date_of(course.first)
        assert first is not None
        at = _time_of(course.time)
        start = datetime.combine(first, at, zone) if at else None
        row, what, told = course.medication, _("Medicine"), description
        if is_named:
            dose = f"{row.drug} {amount(row, is_plain=is_plain)}".strip()
            what = in_a_row(filter(None, (dose, whose)), " · ")
            told = "\n".join(filter(None, (product(row), description)))
        said = _("%(what)s, %(time)s", what=what, time=f"{at:%H:%M}") if at else what
        return {
            "uid": uid,
            "dtstamp": made_at,
            "sequence": sequence,
            "summary": said,
            "alarm": (timedelta(), said) if start else None,
            "description": told,
            "url": address,
            "dtstart": start or first,
            "dtend": later(start, _TAKES) if start else None,
            "rrule": {"freq": "daily", "interval": course.every, "count": len(course.days(until))},
            "class": "PRIVATE",
            "transp": "TRANSPARENT",
        }

    uids = _uids(protocol, listed, clinic)
    gone = (_cancelled(uid, made_at, sequence, today) for uid in before if uid not in uids)
    return serialize([*map(event, uids, listed), *gone], about="Medicines")


def next_check(protocol: Protocol, on: date) -> date | None:
    """The date of the plan's next check, today's included; None without one, or without dates."""
    dates = (protocol.date_of(check.day) for check in protocol.monitoring)
    return min((found for found in dates if found and found >= on), default=None)


def events_of(protocol: Protocol, episode: Episode | None, clinic: str, on: date) -> tuple[str, ...]:
    """Return the UIDs of the events in the calendar file of a plan on that date."""
    return tuple(_uids(protocol, _listed(protocol, episode, on)[0], clinic))


def _listed(protocol: Protocol, episode: Episode | None, on: date) -> tuple[list[Course], int]:
    """The courses of the calendar file, and the last day that it holds."""
    found = active_courses(protocol, episode, on)
    until = horizon(found, protocol.day_on(on))
    return [row for row in found if row.days(until) and protocol.date_of(row.first)], until


def _cancelled(uid: str, made_at: datetime, sequence: int, on: date) -> dict[str, Any]:
    """An event that is no longer in the plan (RFC 5545 §3.8.1.11); calendars take it out by its UID."""
    return {
        "uid": uid,
        "dtstamp": made_at,
        "sequence": sequence,
        "summary": _("Medicine"),
        "dtstart": on,
        "status": "CANCELLED",
        "class": "PRIVATE",
        "transp": "TRANSPARENT",
    }


def revision_of(protocol: Protocol) -> int:
    """The SEQUENCE of a plan's events (RFC 5545 §3.8.7.4): it grows with each change of the plan."""
    first, last = protocol.creation_time, protocol.last_modification_time
    return max(int((last - first).total_seconds()), 0) if first and last else 0


def _time_of(text: str | None) -> time | None:
    found = minutes(text)
    return None if found is None else time(*divmod(found, 60))


def _uids(protocol: Protocol, listed: Sequence[Course], clinic: str) -> list[str]:
    """The UIDs of these courses: alike ones, such as two pens at one hour, are numbered, or a calendar would keep one of them."""
    alike: Counter[str] = Counter()
    found: list[str] = []
    for course in listed:
        name = _name(protocol, course)
        alike[name] += 1
        number = f"-{alike[name]}" if alike[name] > 1 else ""
        found.append(f"{name}{number}@{clinic}.medicines")
    return found


def _name(protocol: Protocol, course: Course) -> str:
    """The stable part of an event's UID: the medicine's id, else what distinguishes it within the plan; then the hour. With the
    plan's id: many systems number the medicines of each plan anew."""
    row = course.medication
    if row.id:
        hour = "" if course.time == row.hours[0] else f"-{course.time}"
        return f"{row.id}{hour}.{protocol.id}"
    told = f"{protocol.id}\0{row.drug}\0{row.start_day}\0{course.time}"
    return hashlib.sha256(told.encode()).hexdigest()[:32]
