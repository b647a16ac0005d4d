"""What comes from outside as text, read within bounds: one parser for each kind of value.

Each returns None (or the default) for what it can't read and never raises, whatever the text holds: five thousand digits,
digits of other scripts, a NUL, or nothing.
"""

from __future__ import annotations

import re
import unicodedata
from datetime import UTC, date, datetime, time
from decimal import Decimal
from email.utils import parsedate_to_datetime
from urllib.parse import SplitResult, urlsplit

from portal.folding import normalized

LONGEST_ID = 128
LARGEST = 10**18 - 1
"""The largest whole number that is read: it has 18 digits."""
_LONGEST_HTTP_DATE = 40
_LONGEST_TIME = 32
_LONGEST_INSTANT = 40
_NUMBER = re.compile(r"[0-9]{1,18}")
_AMOUNT = re.compile(r"[0-9]{1,9}([.,][0-9]{1,6})?")
_TWO_READINGS = re.compile(r"([1-9][0-9]{0,2})[.,]([0-9]{3})")
_WEEK = re.compile(r"([0-9]{4})-W([0-9]{2})")
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_LOCAL_PATH = re.compile(r"/(?![/\\])[^\\\x00-\x20\x7f]*")
_JOINERS = "\u200c\u200d"
_UNWANTED = {"Cc", "Cf", "Co", "Cs", "Cn", "Zl", "Zp"}
"""Controls, bidirectional and zero-width characters, private use, surrogates, unassigned, line separators (UAX #44)."""


def whole_number(text: str | None, *, least: int = 0, most: int = 10_000) -> int | None:
    """Return a whole number of ASCII digits between `least` and `most`, else None."""
    given = (text or "").strip()  # may have more digits than `int` accepts
    if not _NUMBER.fullmatch(given):
        return None
    number = int(given)
    return number if least <= number <= most else None


def page_number(text: str | None) -> int:
    """Return the number of a page of a list: 1 or more; 1 for anything else."""
    return whole_number(text, least=1) or 1


def byte_count(text: str | None) -> int | None:
    """Return the number of bytes of a Content-Length header (RFC 9110 §8.6), else None."""
    return whole_number(text, most=LARGEST)


def http_date(text: str | None) -> datetime | None:
    """Return the aware date of a header (RFC 9110 §5.6.7; UTC where it names no zone), else None."""
    given = (text or "").strip()
    if not given or len(given) > _LONGEST_HTTP_DATE:
        return None
    try:
        at = parsedate_to_datetime(given)
    except (ValueError, OverflowError, IndexError, TypeError):  # what email.utils raises for bad dates
        return None
    return at if at.tzinfo else at.replace(tzinfo=UTC)


def amount(text: str | None) -> Decimal | None:
    """Return an amount of at most nine digits before and six after a point or a comma, else None."""
    given = (text or "").strip()
    return Decimal(given.replace(",", ".")) if _AMOUNT.fullmatch(given) else None


def dose(text: str | None) -> Decimal | None:
    """Return the dose as typed, with a decimal point or comma and never a separator of thousands, else None.

    None as well for what may be read as either, such as `5,000`: `two_readings` has both.
    """
    given = (text or "").strip()
    return None if _TWO_READINGS.fullmatch(given) else amount(given)


def two_readings(text: str | None) -> tuple[Decimal, Decimal] | None:
    """Return what `1,500` or `1.500` may mean, as a whole number (1500) and as a decimal (1.5); else None."""
    found = _TWO_READINGS.fullmatch((text or "").strip())
    return (Decimal(found[1] + found[2]), Decimal(f"{found[1]}.{found[2]}")) if found else None


def week_monday(text: str | None) -> date | None:
    """Return the Monday of `2026-W47` (ISO 8601 week date), else None."""
    given = _WEEK.fullmatch((text or "").strip())
    if not given:
        return None
    try:
        return date.fromisocalendar(int(given[1]), int(given[2]), 1)
    except ValueError:
        return None


def calendar_date(text: str | None) -> date | None:
    """Return the date of `YYYY-MM-DD` (RFC 3339 full-date), else None."""
    given = (text or "").strip()
    if not _DATE.fullmatch(given):
        return None
    try:
        return date.fromisoformat(given)
    except ValueError:
        return None


def instant(text: str | None) -> datetime | None:
    """Return the time of a date with or without one (ISO 8601), aware where a zone is written there, else None."""
    given = (text or "").strip()
    try:
        return datetime.fromisoformat(given) if len(given) <= _LONGEST_INSTANT else None
    except ValueError:
        return None


def time_of_day(text: str | None) -> time | None:
    """Return the time of day of `HH:MM` or `HH:MM:SS` (ISO 8601, any precision), else None."""
    try:
        return time.fromisoformat((text or "")[:_LONGEST_TIME])
    except ValueError:
        return None


def record_id(text: str | None) -> str | None:
    """Return an opaque id: 1 to 128 printable characters without a slash, no dot segment; else None."""
    given = (text or "").strip()
    is_id = 0 < len(given) <= LONGEST_ID and given.isprintable() and "/" not in given
    return given if is_id and given not in (".", "..") else None


def is_local(address: str) -> bool:
    """Whether an address begins with exactly one slash, so that a browser stays on this host whatever else it holds."""
    return _LOCAL_PATH.fullmatch(address) is not None


def address_parts(address: str | None) -> SplitResult:
    """Return the parts of an address (RFC 3986 §3); all are empty if it is none, such as `http://[`."""
    try:
        return urlsplit(address or "")
    except ValueError:
        return urlsplit("")


def line(text: str | None, *, longest: int) -> str:
    """Return one line of plain text: NFC, spaces folded, without control and format characters (but joiners, as in names)."""
    return " ".join(_clean(text or "", keep="").split())[:longest]


def paragraphs(text: str | None, *, longest: int) -> str:
    """Return plain text of several lines, cleaned as `line` is."""
    lines = _clean((text or "").replace("\r\n", "\n").replace("\r", "\n"), keep="\n").split("\n")
    return "\n".join(row.rstrip() for row in lines).strip()[:longest]


def _clean(text: str, *, keep: str) -> str:
    kept = keep + _JOINERS
    normal = normalized("NFC", text)
    return "".join(
        letter
        if letter in kept
        else " "
        if letter in "\t\v\f\n"
        else ""
        if unicodedata.category(letter) in _UNWANTED
        else letter
        for letter in normal
    )
