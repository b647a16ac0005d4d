"""Arithmetic with dates and instants that other systems sent, up to the ends of the calendar.

Some services send the years 1 and 9999 for "never". Python's own arithmetic raises there, and would take a page down.
"""

from __future__ import annotations

from datetime import date, datetime, time, timedelta, tzinfo


def in_zone(at: datetime, zone: tzinfo) -> datetime:
    """The same instant in `zone`; within hours of the calendar's ends the same time of day there."""
    try:
        return at.astimezone(zone)
    except OverflowError:
        return at.replace(tzinfo=zone)


def day_meant(at: datetime, zone: tzinfo | None) -> date | None:
    """The day that an instant stands for: the one that begins or ends with it, as it is written or else in `zone`; None if
    neither does, and the two aren't of one date.
    """
    there = in_zone(at, zone) if at.tzinfo and zone else at
    if is_day_edge(at) or at.date() == there.date():
        return at.date()
    return there.date() if is_day_edge(there) else None


def is_day_edge(at: datetime) -> bool:
    """Whether it is the first or the last minute of a day where it was written."""
    return at.time() == time() or at.time() >= time(23, 59)


def is_bare_day(text: str) -> bool:
    """Whether a notation of ISO 8601 has no hour."""
    return len(text.strip()) <= len("2026-11-28")


def later(at: datetime, by: timedelta) -> datetime:
    """The instant so much later; the same one where the calendar ends before that."""
    try:
        return at + by
    except OverflowError:
        return at


def days_after(day: date, days: int) -> date | None:
    """The date so many days after `day`, or None where the calendar doesn't reach so far."""
    try:
        return day + timedelta(days=days)
    except OverflowError:
        return None
