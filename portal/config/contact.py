"""A clinic's contact details: telephone, hours, out-of-hours line, e-mail and address, from the tenants file."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from typing import Any, cast

from portal.config.table import Source, https_address, setting, text
from portal.parse import calendar_date
from portal.telephone import e164

_DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_LONGEST_HOLIDAY = 40
"""For how many days ahead the next opening is looked for."""
_SPAN = re.compile(r"([01]\d|2[0-3]):([0-5]\d)\s*[-–]\s*([01]\d|2[0-3]):([0-5]\d)")


@dataclass(frozen=True, slots=True)
class Hours:
    """One line of opening hours: a range of weekdays (0 is Monday, inclusive) and of times (the clinic's local time)."""

    first: int
    last: int
    opens: time
    closes: time

    def has(self, weekday: int) -> bool:
        """Whether the line covers that weekday."""
        return self.first <= weekday <= self.last


def _telephone(value: Any, source: Source) -> str:
    country = source.clinic.get("country")
    number = e164(text(value, source), country if isinstance(country, str) else None)
    if number is None:
        hint = "" if country else ", with its country code (or name the clinic's country)"
        raise ValueError(f"must be a telephone number{hint} (found {value!r})")
    return number


def _matching(pattern: str, must: str) -> Callable[[Any, Source], str]:
    def parse(value: Any, source: Source) -> str:
        if not re.fullmatch(pattern, text(value, source)):
            raise ValueError(f"must be {must} (found {value!r})")
        return text(value, source)

    return parse


def _hours(value: Any, source: Source) -> tuple[Hours, ...]:
    if not isinstance(value, dict):
        raise ValueError('must be a table like { "Mon-Fri" = "08:00-18:00", Sat = "09:00-12:00" }')
    given = cast("dict[str, Any]", value)
    lines = [_line(days, span) for days, span in given.items()]
    if None in lines:
        raise ValueError(f'must map weekdays to times like "Mon-Fri" = "08:00-18:00" (found {value!r})')
    return tuple(sorted((line for line in lines if line), key=lambda line: (line.first, line.opens)))


def _line(days: str, span: Any) -> Hours | None:
    first, _, last = (part.strip().lower() for part in days.replace("–", "-").partition("-"))
    found = _SPAN.fullmatch(span.strip()) if isinstance(span, str) else None
    if found is None or first not in _DAYS or (last or first) not in _DAYS:
        return None
    numbers = [int(digits) for digits in found.groups()]
    opens, closes = time(numbers[0], numbers[1]), time(numbers[2], numbers[3])
    line = Hours(_DAYS.index(first), _DAYS.index(last or first), opens, closes)
    return line if line.first <= line.last and line.opens < line.closes else None


def _closed(value: Any, source: Source) -> frozenset[date]:
    given = cast("list[Any]", value) if isinstance(value, list) else [value]
    days = [day for day in map(_day, given) if day]
    if len(days) != len(given):
        raise ValueError(f'must be a list of days like "2026-12-25" (found {value!r})')
    return frozenset(days)


def _day(value: Any) -> date | None:
    if type(value) is date:
        return value
    return calendar_date(value) if isinstance(value, str) else None


def _reply_hours(value: Any, source: Source) -> int:
    if type(value) is not int or not 1 <= value <= 240:
        raise ValueError(f"must be a whole number of hours, 1 to 240 (found {value!r})")
    return value


def _call_now(value: Any, source: Source) -> Mapping[str, tuple[str, ...]]:
    try:
        return {
            language: tuple(text(sign, source) for sign in _filled(signs))
            for language, signs in value.items()
        }
    except (AttributeError, ValueError):
        said = 'must give each language its list of signs, like { en = ["Heavy bleeding"] }'
        raise ValueError(said) from None


def _filled(signs: Any) -> list[Any]:
    if not isinstance(signs, list) or not signs:
        raise ValueError
    return cast("list[Any]", signs)


def _address(value: Any, source: Source) -> tuple[str, ...]:
    return tuple(map(str.strip, text(value, source).splitlines())) if value else ()


_EMERGENCY = _matching("[0-9]{3,6}", "a number of 3 to 6 digits, as a string")
_EMAIL = _matching(r"[^\s@<>\"']+@[^\s@<>\"']+\.[^\s@<>\"']+", "an e-mail address")


@dataclass(frozen=True, slots=True)
class Contact:
    """A clinic's contact details; numbers in E.164, `hours` empty if opening hours aren't configured.

    `closed` are the days of its holidays, None if they aren't configured. `call_now` is empty for the portal's own signs.
    """

    telephone: str = setting(_telephone, "020 7946 0120")
    out_of_hours: str | None = setting(_telephone, "020 7946 0199", "optional, as is everything below", None)
    emergency: str | None = setting(_EMERGENCY, "999", "of the emergency services, as dialled", None)
    hours: tuple[Hours, ...] = setting(
        _hours, {"Mon-Fri": "08:00-18:00", "Sat": "09:00-12:00"}, "in the clinic's time zone", {}
    )
    closed: frozenset[date] | None = setting(
        _closed,
        ["2026-12-25", "2026-12-26"],
        "holidays on which nobody answers; without future ones pages give both numbers",
        None,
    )
    reply_hours: int | None = setting(
        _reply_hours, 24, "within which messages are answered on open days", None
    )
    email: str | None = setting(_EMAIL, "care@riverside.example", "", None)
    address: tuple[str, ...] = setting(_address, "Riverside House\n1 Quayside", "", "")
    map: str | None = setting(https_address, "https://maps.example/riverside", "", None)
    call_now: Mapping[str, tuple[str, ...]] = setting(
        _call_now,
        {"en": ["heavy bleeding"], "es": ["sangrado abundante"]},
        "on which signs to call at once; the portal has a list that no clinician has reviewed",
        {},
    )

    def closes(self, at: datetime) -> time | None:
        """Closing time if the clinic is open at this local time; None if it is closed or its hours aren't known."""
        lines = (line for line in self._lines(at.date()) if line.opens <= at.time() < line.closes)
        return max((line.closes for line in lines), default=None)

    def next_opening(self, at: datetime) -> datetime | None:
        """When the clinic next opens, in local time; None if its hours aren't known."""
        for day in (at.date() + timedelta(days=ahead) for ahead in range(_LONGEST_HOLIDAY)):
            opens = (datetime.combine(day, line.opens, at.tzinfo) for line in self._lines(day))
            if coming := [moment for moment in opens if moment > at]:
                return min(coming)
        return None

    def is_sure(self, day: date) -> bool:
        """Whether it is known when the clinic answers on that day: its hours, and its holidays from then on."""
        return bool(self.hours) and self.closed is not None and max(self.closed, default=date.min) >= day

    def _lines(self, day: date) -> list[Hours]:
        return [] if day in (self.closed or ()) else [line for line in self.hours if line.has(day.weekday())]
