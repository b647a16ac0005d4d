"""A clinic's contact details: telephone, hours, out-of-hours line, e-mail and address, from the tenants file."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, time, timedelta
from typing import cast
from urllib.parse import urlsplit

from portal.telephone import e164

SETTINGS = ("telephone", "out_of_hours", "hours", "email", "address", "map")
_DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_EMAIL = re.compile(r"[^\s@<>\"']+@[^\s@<>\"']+\.[^\s@<>\"']+")
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
    """A clinic's contact details; numbers in E.164, `hours` empty if opening hours aren't configured."""

    telephone: str
    out_of_hours: str | None
    hours: tuple[Hours, ...]
    email: str | None
    address: tuple[str, ...]
    map: str | None

    def closes(self, at: datetime) -> time | None:
        """Closing time if the clinic is open at this local time; None if it is closed or its hours aren't known."""
        lines = (
            line for line in self.hours if line.has(at.weekday()) and line.opens <= at.time() < line.closes
        )
        return max((line.closes for line in lines), default=None)

    def next_opening(self, at: datetime) -> datetime | None:
        """When the clinic next opens, in local time; None if its hours aren't known."""
        found = [
            datetime.combine(day, line.opens, at.tzinfo)
            for day in (at.date() + timedelta(days=ahead) for ahead in range(8))
            for line in self.hours
            if line.has(day.weekday())
        ]
        return min((moment for moment in found if moment > at), default=None)


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
        hours=_hours(table.get("hours", {}), f"{where}.hours", faults),
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


def _line(days: str, span: object) -> Hours | None:
    first, _, last = (part.strip().lower() for part in days.replace("–", "-").partition("-"))
    found = _SPAN.fullmatch(span.strip()) if isinstance(span, str) else None
    if found is None or first not in _DAYS or (last or first) not in _DAYS:
        return None
    numbers = [int(digits) for digits in found.groups()]
    opens, closes = time(numbers[0], numbers[1]), time(numbers[2], numbers[3])
    line = Hours(_DAYS.index(first), _DAYS.index(last or first), opens, closes)
    return line if line.first <= line.last and line.opens < line.closes else None
