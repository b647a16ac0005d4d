"""Formats of single values, which tell what they may be: dates, e-mail addresses, telephone numbers, ids."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from functools import cache
from typing import cast
from zoneinfo import available_timezones

from portal import parse
from portal.connect.dialects.formats import EPOCH
from portal.dates import is_day_edge
from portal.services.physicians import WorkingHours

_SLASHED = re.compile(r"(\d{1,2})[/.-](\d{1,2})[/.-](\d{4})(?:[ T]\d{2}:\d{2}(?::\d{2})?)?")
_COMPACT = re.compile(
    r"(?:19|20)\d\d(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])((?:[01]\d|2[0-3])[0-5]\d(?:[0-5]\d)?)?"
)
_COMPACT_FORMS = {8: "yyyyMMdd", 12: "yyyyMMddHHmm", 14: "yyyyMMddHHmmss"}
_AMBIGUOUS = 12
"""So many digits of a number may as well be milliseconds since 1970."""
_EPOCH = re.compile(r"1\d{9}|[1-9]\d{11}|1\d{12}")
_MACHINE_MADE = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|(?=.*\d)[0-9a-f]{16,}", re.IGNORECASE)
_EMAIL = re.compile(r"[^@\s]+@[^@\s]+\.[^@\s]+")
_TELEPHONE = re.compile(r"\+?(?:[ ()./-]*\d){6,15}")
_MEDIA_TYPE = re.compile(r"(application|audio|image|text|video|message|multipart)/[\w.+-]+")


def date_format(value: object) -> str | None:
    """How a day or an instant is written: "iso", "epoch_s", "epoch_ms", a pattern such as "yyyyMMdd"; "dd MM", "MM dd" or
    "either" where the year comes last, as far as day and month can be told. None where it is none."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        if _COMPACT.fullmatch(str(value)) and len(str(value)) != _AMBIGUOUS:
            return _COMPACT_FORMS[len(str(value))]
        return "epoch_ms" if 1e11 <= value < 1e13 else "epoch_s" if 1e8 <= value < 1e11 else None
    if not isinstance(value, str):
        return None
    text = value.strip()
    slashed = _SLASHED.fullmatch(text)
    if slashed:
        first, second = int(slashed[1]), int(slashed[2])
        return "dd MM" if first > 12 else "MM dd" if second > 12 else "either"
    if text.isascii() and text.isdecimal():
        if _COMPACT.fullmatch(text):
            return _COMPACT_FORMS[len(text)]
        return ("epoch_s" if len(text) == 10 else "epoch_ms") if _EPOCH.fullmatch(text) else None
    return "iso" if len(text) >= 10 and parse.instant(text) else None


def is_without_zone(value: object) -> bool:
    """Whether a value for an instant is in ISO 8601 and doesn't say in which zone, or of a day only the date."""
    at = parse.instant(value) if isinstance(value, str) else None
    return at is not None and at.tzinfo is None and date_format(value) == "iso"


def is_day_of_a_zone(value: object) -> bool:
    """Whether a value for a day is an instant that is neither beginning nor end of one where it was written, or in UTC."""
    form, at = date_format(value), parse.instant(value) if isinstance(value, str) else None
    if form in EPOCH:
        at = datetime.fromtimestamp(float(cast("float", value)) / EPOCH[form], UTC)
    return at is not None and at.tzinfo is not None and not is_day_edge(at)


def is_made_by_machine(value: object) -> bool:
    """Whether it is a UUID or a hash: nobody's words."""
    return isinstance(value, str) and bool(_MACHINE_MADE.fullmatch(value.strip()))


def format_of(name: str) -> Callable[[str], bool] | None:
    """What says whether a text has the form that a member of this name needs; None where it may be any."""
    return _FORMATS.get(name)


def _is_time_of_day(text: str) -> bool:
    return ":" in text and parse.time_of_day(text) is not None


def _is_day_of_week(text: str) -> bool:
    return WorkingHours(day_of_week=text, start="", end="").weekday is not None


_zones = cache(available_timezones)


def _matches(form: re.Pattern[str]) -> Callable[[str], bool]:
    return lambda text: form.fullmatch(text.strip()) is not None


_FORMATS: Mapping[str, Callable[[str], bool]] = {
    "dayOfWeek": _is_day_of_week,
    "email": _matches(_EMAIL),
    "end": _is_time_of_day,
    "mediaType": _matches(_MEDIA_TYPE),
    "phoneNumber": _matches(_TELEPHONE),
    "sms": _matches(_TELEPHONE),
    "start": _is_time_of_day,
    "timeZone": lambda text: text in _zones(),
}

TOLD_BY_FORMAT = frozenset({"email", "mediaType", "phoneNumber", "sms", "timeZone"})
"""Members whose values can be told from others by their form alone."""
