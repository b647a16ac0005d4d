"""A clinic's contact details: telephone, hours, out-of-hours line, e-mail and address, from the tenants file."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from typing import cast
from urllib.parse import urlsplit

from portal.parse import calendar_date
from portal.telephone import e164

SETTINGS = (
    *("telephone", "out_of_hours", "emergency", "hours", "closed", "reply_hours"),
    *("email", "address", "map", "call_now"),
)
_DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_EMAIL = re.compile(r"[^\s@<>\"']+@[^\s@<>\"']+\.[^\s@<>\"']+")
_EMERGENCY = re.compile(r"[0-9]{3,6}")
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


@dataclass(frozen=True, slots=True)
class Contact:
    """A clinic's contact details; numbers in E.164, `hours` empty if opening hours aren't configured.

    `closed` are the days of its holidays, None if they aren't configured. `emergency` is the number of the emergency
    services, as dialled. `reply_hours` is within how many hours it answers messages on open days. `call_now` are the signs
    on which to call at once, by language, empty for the portal's own.
    """

    telephone: str
    out_of_hours: str | None
    emergency: str | None
    hours: tuple[Hours, ...]
    closed: frozenset[date] | None
    reply_hours: int | None
    call_now: Mapping[str, tuple[str, ...]]
    email: str | None
    address: tuple[str, ...]
    map: str | None

    def closes(self, at: datetime) -> time | None:
        """Closing time if the clinic is open at this local time; None if it is closed or its hours aren't known."""
        lines = (line for line in self._lines(at.date()) if line.opens <= at.time() < line.closes)
        return max((line.closes for line in lines), default=None)

    def next_opening(self, at: datetime) -> datetime | None:
        """When the clinic next opens, in local time; None if its hours aren't known."""
        found = [
            datetime.combine(day, line.opens, at.tzinfo)
            for day in (at.date() + timedelta(days=ahead) for ahead in range(_LONGEST_HOLIDAY))
            for line in self._lines(day)
        ]
        return min((moment for moment in found if moment > at), default=None)

    def is_sure(self, day: date) -> bool:
        """Whether it is known when the clinic answers on that day: its hours, and its holidays from then on."""
        return bool(self.hours) and self.closed is not None and max(self.closed, default=date.min) >= day

    def _lines(self, day: date) -> list[Hours]:
        return [] if day in (self.closed or ()) else [line for line in self.hours if line.has(day.weekday())]


def read_contact(
    table: Mapping[str, object], where: str, country: str | None
) -> tuple[Contact | None, list[str]]:
    """Return the contact, or None, with one fault for each error; `where` names the table in them."""
    faults = [
        f"{where}.{name}: isn't a setting of a contact" for name in sorted(table.keys() - set(SETTINGS))
    ]
    texts = _Texts(table, where, faults)
    telephone = texts.telephone("telephone", country)
    if "telephone" not in table:
        faults.append(f"{where}.telephone: is missing")
    contact = Contact(
        telephone=telephone or "",
        out_of_hours=texts.telephone("out_of_hours", country),
        emergency=texts.matching("emergency", _EMERGENCY, "must be a number of 3 to 6 digits, as a string"),
        hours=_hours(table.get("hours", {}), f"{where}.hours", faults),
        closed=_closed(table.get("closed"), f"{where}.closed", faults),
        reply_hours=_reply_hours(table.get("reply_hours"), f"{where}.reply_hours", faults),
        call_now=_call_now(table.get("call_now", {}), f"{where}.call_now", faults),
        email=texts.matching("email", _EMAIL, "must be an e-mail address"),
        address=tuple(line.strip() for line in (texts.text("address") or "").splitlines() if line.strip()),
        map=texts.link("map"),
    )
    return (None if faults else contact), faults


@dataclass(frozen=True, slots=True)
class _Texts:
    """Reads the strings of a table and collects their faults."""

    table: Mapping[str, object]
    where: str
    faults: list[str]

    def text(self, name: str) -> str | None:
        value = self.table.get(name)
        if value is None:
            return None
        if isinstance(value, str) and value.strip():
            return value.strip()
        self.faults.append(f"{self.where}.{name}: must be a non-empty string")
        return None

    def telephone(self, name: str, country: str | None) -> str | None:
        value = self.text(name)
        number = e164(value, country) if value else None
        if value and number is None:
            hint = "" if country else ", with its country code (or name the clinic's country)"
            self.faults.append(f"{self.where}.{name}: must be a telephone number{hint} (found {value!r})")
        return number

    def matching(self, name: str, pattern: re.Pattern[str], said: str) -> str | None:
        value = self.text(name)
        if value and not pattern.fullmatch(value):
            self.faults.append(f"{self.where}.{name}: {said} (found {value!r})")
        return value

    def link(self, name: str) -> str | None:
        value = self.text(name)
        parts = urlsplit(value or "https://is.given")
        if parts.scheme != "https" or not parts.netloc:
            self.faults.append(f"{self.where}.{name}: must be an https address (found {value!r})")
        return value


def _hours(value: object, where: str, faults: list[str]) -> tuple[Hours, ...]:
    if not isinstance(value, dict):
        faults.append(f'{where}: must be a table like {{ "Mon-Fri" = "08:00-18:00", Sat = "09:00-12:00" }}')
        return ()
    lines = [_line(days, span) for days, span in cast("dict[str, object]", value).items()]
    if None in lines:
        faults.append(f'{where}: must map weekdays to times like "Mon-Fri" = "08:00-18:00" (found {value!r})')
    return tuple(sorted((line for line in lines if line), key=lambda line: (line.first, line.opens)))


def _closed(value: object, where: str, faults: list[str]) -> frozenset[date] | None:
    if value is None:
        return None
    days = cast("list[object]", value) if isinstance(value, list) else [value]
    found = [day for day in map(_day, days) if day]
    if len(found) != len(days):
        faults.append(f'{where}: must be a list of days like "2026-12-25" (found {value!r})')
    return frozenset(found)


def _day(value: object) -> date | None:
    if isinstance(value, datetime):
        return None
    if isinstance(value, date):
        return value
    return calendar_date(value) if isinstance(value, str) else None


def _reply_hours(value: object, where: str, faults: list[str]) -> int | None:
    if value is None or (type(value) is int and 1 <= value <= 240):
        return value
    faults.append(f"{where}: must be a whole number of hours, 1 to 240 (found {value!r})")
    return None


def _call_now(value: object, where: str, faults: list[str]) -> dict[str, tuple[str, ...]]:
    signs: dict[str, tuple[str, ...]] = {}
    by_language = cast("dict[str, object]", value) if isinstance(value, dict) else {"": None}
    for language, given in by_language.items():
        items = cast("list[object]", given) if isinstance(given, list) else [None]
        texts = tuple(item.strip() for item in items if isinstance(item, str) and item.strip())
        if not texts or len(texts) != len(items):
            faults.append(
                f'{where}: must give each language its list of signs, like {{ en = ["Heavy bleeding"] }}'
            )
        signs[language] = texts
    return signs


def _line(days: str, span: object) -> Hours | None:
    first, _, last = (part.strip().lower() for part in days.replace("–", "-").partition("-"))
    found = _SPAN.fullmatch(span.strip()) if isinstance(span, str) else None
    if found is None or first not in _DAYS or (last or first) not in _DAYS:
        return None
    numbers = [int(digits) for digits in found.groups()]
    opens, closes = time(numbers[0], numbers[1]), time(numbers[2], numbers[3])
    line = Hours(_DAYS.index(first), _DAYS.index(last or first), opens, closes)
    return line if line.first <= line.last and line.opens < line.closes else None
