"""The time zones that people can choose."""

from __future__ import annotations

from functools import cache
from zoneinfo import ZoneInfo, available_timezones

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
    known = [chosen] if chosen in time_zones() else []
    return list(dict.fromkeys((clinic.key, *known, *_USUAL)))
