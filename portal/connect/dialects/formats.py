"""Formats of single values: instants, dates, numbers and booleans, from the API's format to the portal's and back.

Values that can't be converted stay unchanged, so that validation names their member.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from functools import lru_cache
from typing import Any, TypeAlias, cast
from zoneinfo import ZoneInfo

from portal import parse
from portal.config.time_zones import windows_name, zone_named
from portal.dates import day_meant, in_zone, is_bare_day

Convert: TypeAlias = Callable[[object], object]
"""Converts a JSON value from one format to another; returns unknown values unchanged."""

EPOCH = {"epoch_s": 1, "epoch_ms": 1000}
"""Formats of instants as numbers since 1970-01-01T00:00Z, with their units per second."""

_START = datetime(1970, 1, 1, tzinfo=UTC)
_PARTS = {
    "yyyy": (r"(?P<year>[0-9]{4})", "{0.year:04d}"),
    "MM": (r"(?P<month>[0-9]{1,2})", "{0.month:02d}"),
    "dd": (r"(?P<day>[0-9]{1,2})", "{0.day:02d}"),
    "HH": (r"(?P<hour>[0-9]{1,2})", "{0.hour:02d}"),
    "mm": (r"(?P<minute>[0-9]{2})", "{0.minute:02d}"),
    "ss": (r"(?P<second>[0-9]{2})", "{0.second:02d}"),
}
_TOKEN = re.compile("|".join(_PARTS) + "|.", re.DOTALL)
_NUMBER = re.compile(r"[+-]?[0-9]{1,18}(\.[0-9]{1,18})?([eE][+-]?[0-9]{1,3})?")
_COMMA = re.compile(r"[+-]?[0-9]{1,18}(,[0-9]{1,18})?([eE][+-]?[0-9]{1,3})?")
_WHOLE_ID = re.compile(r"0|[1-9][0-9]{0,14}")
_REMEMBERED = 4096
_LONGEST = 40


class Pattern:
    """A pattern of `yyyy MM dd HH mm ss` and separators, such as `dd/MM/yyyy`; raises ValueError if invalid."""

    def __init__(self, text: str, *, has_time: bool) -> None:
        tokens = _TOKEN.findall(text)
        parts = [token for token in tokens if token in _PARTS]
        wanted = {"yyyy", "MM", "dd"}
        if len(parts) != len(set(parts)) or not wanted <= set(parts):
            raise ValueError(text)
        if any(token.isalpha() and token not in (*_PARTS, "T") for token in tokens):
            raise ValueError(text)
        if has_time is not ("HH" in parts) or (has_time and "mm" not in parts):
            raise ValueError(text)
        if not has_time and {"mm", "ss"} & set(parts):
            raise ValueError(text)
        self._regex = re.compile(
            "".join(_PARTS[token][0] if token in _PARTS else re.escape(token) for token in tokens)
        )
        self._written = "".join(
            _PARTS[token][1] if token in _PARTS else token.replace("{", "{{").replace("}", "}}")
            for token in tokens
        )

    def read(self, text: str) -> datetime:
        """Parse a text to a naive datetime; raises ValueError."""
        found = self._regex.fullmatch(text.strip())
        if found is None:
            raise ValueError(text)
        part = {name: int(value) for name, value in found.groupdict().items()}
        hour, minute, second = (part.get(name, 0) for name in ("hour", "minute", "second"))
        return datetime(part["year"], part["month"], part["day"], hour, minute, second)

    def write(self, at: date) -> str:
        return self._written.format(at)


def read_instant(form: str, zone: ZoneInfo) -> Convert | None:
    """A converter from the API's format to aware UTC; None if none is needed. Times without a zone are in `zone`."""
    if form in EPOCH:
        return _reader_of_epoch(EPOCH[form])
    if form == "iso" and zone.key == "UTC":
        return None
    pattern = None if form == "iso" else Pattern(form, has_time=True)

    @lru_cache(_REMEMBERED)
    def read(text: str) -> datetime:
        at = parse.instant(text)
        if pattern is None and is_bare_day(text):
            raise ValueError(text)  # what hour is meant depends on the member (portal.services.decoding)
        if pattern and not (at and at.tzinfo):
            at = pattern.read(text)
        if at is None:
            raise ValueError(text)
        return in_zone(at if at.tzinfo else at.replace(tzinfo=zone), UTC)

    return _forgiving(read, digits=len(form) if form.isalpha() and pattern else 0)


def write_instant(form: str, zone: ZoneInfo) -> Convert | None:
    """A converter from ISO 8601 to the API's format."""
    if form in EPOCH:
        second = EPOCH[form]
        return _forgiving(lambda text: round((_written(text) - _START).total_seconds() * second))
    if form == "iso":
        return None
    pattern = Pattern(form, has_time=True)
    return _forgiving(lambda text: pattern.write(in_zone(_written(text), zone)))


def read_day(form: str, zone: ZoneInfo) -> Convert | None:
    """A converter from the API's format to a date; an instant is converted to the date in `zone`.

    One in ISO 8601 that is a day's beginning or end where it was written is that day. Without a `zone` (UTC) the clinic's own tells
    the rest: an instant stays one, and the converter is None if nothing else is needed.
    """
    if form in EPOCH:
        instant = _reader_of_epoch(EPOCH[form])

        def day_of(value: object) -> object:
            at = instant(value)
            if not isinstance(at, datetime):
                return value
            return at.isoformat() if zone.key == "UTC" else in_zone(at, zone).date()

        return day_of
    if form == "iso":
        return None if zone.key == "UTC" else _forgiving(lambda text: _day_in(zone, text))
    pattern = Pattern(form, has_time=False)

    @lru_cache(_REMEMBERED)
    def read(text: str) -> date:
        return pattern.read(text).date()

    return _forgiving(read, digits=len(form) if form.isalpha() else 0)


def _day_in(zone: ZoneInfo, text: str) -> object:
    at = parse.instant(text)
    if at is None or at.tzinfo is None:
        return text
    return day_meant(at, zone) or in_zone(at, zone).date()


def write_day(form: str, zone: ZoneInfo) -> Convert | None:
    """A converter from `YYYY-MM-DD` to the API's format."""
    if form in EPOCH:
        second = EPOCH[form]

        def midnight(text: str) -> int:
            at = _written(text).replace(tzinfo=zone)
            return round((at - _START).total_seconds() * second)

        return _forgiving(midnight)
    if form == "iso":
        return None
    pattern = Pattern(form, has_time=False)
    return _forgiving(lambda text: pattern.write(_written(text)))


def _written(text: str) -> datetime:
    """Parse an instant or date in the portal's format; raises ValueError."""
    at = parse.instant(text)
    if at is None:
        raise ValueError(text)
    return at


def instants_read(forms: Sequence[str], zone: ZoneInfo) -> Convert | None:
    """A converter that tries these forms in order, and ISO 8601, of which a time without a zone would be taken for UTC."""
    return any_of([read_instant(form, zone) for form in dict.fromkeys((*forms, "iso"))])


def any_of(converts: Sequence[Convert | None]) -> Convert | None:
    """A converter that tries these in order; None among them leaves times in ISO 8601 as they are."""
    if len(converts) == 1:
        return converts[0]

    def read(value: object) -> object:
        for convert in converts:
            if convert is None:
                if isinstance(value, str) and parse.instant(value):
                    return value
            elif (found := convert(value)) is not value:
                return found
        return value

    return read


def number_from_comma(value: object) -> object:
    """Convert a numeric string with a decimal comma; one with separators of thousands is ambiguous and stays."""
    return _comma(value) if isinstance(value, str) and len(value) <= _LONGEST else value


@lru_cache(_REMEMBERED)
def _comma(text: str) -> object:
    return number_from_text(text.strip().replace(",", ".")) if _COMMA.fullmatch(text.strip()) else text


def number_with_comma(value: object) -> object:
    """Convert a number to a string with a decimal comma."""
    text = number_as_text(value)
    return text.replace(".", ",") if isinstance(text, str) and text is not value else text


ZONE = "timeZone"
"""The members that hold a time zone's name."""


def zone_from_windows(value: object) -> object:
    """The IANA name of a time zone that Windows names."""
    zone = zone_named(value) if isinstance(value, str) else None
    return zone.key if zone else value


def zone_for_windows(value: object) -> object:
    """The name that Windows gives a time zone, if it has one."""
    return windows_name(value) or value if isinstance(value, str) else value


def id_as_text(value: object) -> object:
    """An id that comes as a number, as text: so that its record is read strictly, which takes half the time."""
    return str(value) if value.__class__ is int else value


def id_as_number(value: object) -> object:
    """An id as a number, if it is written as one."""
    if isinstance(value, str) and _WHOLE_ID.fullmatch(value):
        return int(value)
    return value


PEOPLE: Mapping[str, tuple[Callable[[str], tuple[str, str]], Callable[[str, str], str]]] = {
    "first last": (lambda text: _split(text, last=True), lambda first, last: f"{first} {last}".strip()),
    "last, first": (
        lambda text: _split(text, last=False),
        lambda first, last: f"{last}, {first}" if first else last,
    ),
}
"""How one text holds a person's first and last name: how it is read (first, last), and how it is written."""


def _split(text: str, *, last: bool) -> tuple[str, str]:
    if last:
        first, _, family = text.strip().rpartition(" ")
        return first, family
    family, _, first = text.partition(",")
    return first.strip(), family.strip()


def number_from_text(value: object) -> object:
    """Convert a numeric string to a number."""
    if value.__class__ is int:
        return value
    if not isinstance(value, str) or not _NUMBER.fullmatch(value.strip()):
        return value
    return float(value) if set(value) & set(".eE") else int(value)


def number_as_text(value: object) -> object:
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else value


def read_truth(true: str | int, false: str | int) -> Convert:
    """A converter to booleans from the API's two words, in any case, or its two numbers."""
    table = {**_spellings(true, True), **_spellings(false, False)}
    usual: dict[object, bool] = {true: True, false: False}

    def read(value: Any) -> object:
        if value.__class__ is str and value in usual:
            return usual[value]
        return table.get(folded_code(value), value) if isinstance(value, str | int) else value

    return read


def write_truth(true: str | int, false: str | int) -> Convert:
    """A converter from booleans to the API's two words or numbers."""
    return lambda value: (true if value else false) if isinstance(value, bool) else value


def _spellings(value: str | int, meaning: bool) -> dict[object, bool]:
    return {folded_code(value): meaning}


def folded_code(value: str | int) -> str | int:
    """A code without case or surrounding spaces; a number is itself."""
    return value.strip().casefold() if isinstance(value, str) else value


def read_none(words: frozenset[str | int], convert: Convert | None) -> Convert | None:
    """The converter with these values read as None; an instant may be longer than the day that stands for none."""
    if not words:
        return convert
    days = tuple(word for word in words if isinstance(word, str) and len(word) == _DAY)
    begin = frozenset(
        {*" \t\r\n\xa0", *(str(word)[:1] for word in words), *(str(word)[:1].upper() for word in words)}
    )

    def read(value: object) -> object:
        if value.__class__ is str and cast("str", value)[:1] not in begin:
            pass  # none of them: most are told by their first letter
        elif isinstance(value, float):
            if value.is_integer() and int(value) in words:  # -1.0 is -1
                return None
        elif isinstance(value, str | int) and not isinstance(value, bool):
            code = folded_code(value)
            if code in words or (days and isinstance(code, str) and code[:_DAY] in days):
                return None
        return convert(value) if convert else value

    return read


_DAY = len("0001-01-01")


def _reader_of_epoch(second: int) -> Convert:
    def read(value: object) -> object:
        number = number_from_text(value)
        if isinstance(number, bool) or not isinstance(number, int | float):
            return value
        try:
            return _START + timedelta(microseconds=round(number * (1_000_000 // second)))
        except (OverflowError, ValueError):
            return value

    return read


def _forgiving(convert: Callable[[str], object], *, digits: int = 0) -> Convert:
    """The same for any value: what it can't convert stays.

    With `digits`, a number is taken for so many (20261125); it lacks the zeros that they begin with.
    """

    def converted(value: Any) -> object:
        if value.__class__ is str:
            text = value
        elif digits and value.__class__ is int:
            text = f"{value:0{digits}d}"
        else:
            return value
        if len(text) > _LONGEST:
            return value
        try:
            return convert(text)
        except (ValueError, OverflowError):
            return value

    return converted
