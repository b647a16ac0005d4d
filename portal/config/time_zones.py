"""The time zones that people can choose."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from functools import cache
from zoneinfo import ZoneInfo, available_timezones

from babel.core import get_global

_USUAL = [
    "Europe/London",
    "Europe/Dublin",
    "Europe/Lisbon",
    "Europe/Madrid",
    "Europe/Paris",
    "Europe/Berlin",
    "Europe/Rome",
    "Europe/Athens",
    "Europe/Istanbul",
    "Africa/Casablanca",
    "Africa/Cairo",
    "Africa/Lagos",
    "Africa/Johannesburg",
    "Asia/Riyadh",
    "Asia/Dubai",
    "Asia/Karachi",
    "Asia/Kolkata",
    "Asia/Singapore",
    "Asia/Hong_Kong",
    "Asia/Tokyo",
    "Australia/Sydney",
    "Pacific/Auckland",
    "America/New_York",
    "America/Chicago",
    "America/Denver",
    "America/Los_Angeles",
    "America/Mexico_City",
    "America/Bogota",
    "America/Sao_Paulo",
    "America/Argentina/Buenos_Aires",
    "UTC",
]


@cache
def time_zones() -> frozenset[str]:
    """The names of all IANA time zones, cached because listing them walks hundreds of files."""
    return frozenset(available_timezones())


def zones_offered(clinic: ZoneInfo, chosen: str) -> list[str]:
    """The names to choose from: the clinic's zone, the chosen one if there is such a zone, and usual ones."""
    known = [chosen] if zone_named(chosen) else []
    return list(dict.fromkeys((clinic.key, *known, *_USUAL)))


def zone_named(name: str | None) -> ZoneInfo | None:
    found = name if name in time_zones() else _windows_zones().get(name or "")
    return ZoneInfo(found) if found else None


@cache
def windows_name(zone: str) -> str | None:
    """The name that Windows gives the zone, or one with the same times; None if there is none, or no such zone."""
    usual = {iana: name for name, iana in _windows_zones().items()}
    if zone in usual or zone not in time_zones():
        return usual.get(zone)
    return next((name for iana, name in usual.items() if _offsets(iana) == _offsets(zone)), None)


@cache
def _offsets(zone: str) -> tuple[timedelta | None, ...]:
    """The zone's offsets from UTC in a year of its present rules."""
    return tuple(datetime(2030, month, 15, tzinfo=ZoneInfo(zone)).utcoffset() for month in range(1, 13))


@cache
def _windows_zones() -> Mapping[str, str]:
    return get_global("windows_zone_mapping")
