"""What is typed into the rows of a protocol: numbers, days, hours and how often."""

from __future__ import annotations

import re

from portal.i18n.gettext import _
from portal.i18n.number_words import in_words
from portal.parse import dose, paragraphs, two_readings

LONGEST, LONG = 200, 10_000


_FIRST_DAY, _LAST_DAY = -60, 400


_LARGEST_DOSE = 1_000_000


_LONGEST_TYPED = 20_000


_BETWEEN = re.compile(r"[,;\s]+")


_FREQUENCIES = tuple(
    (re.compile(pattern, re.IGNORECASE), times)
    for pattern, times in (
        (r"\btwice\b|\btwo times\b|\bdos veces\b|مرتين|مرتان", 2),
        (r"\bthree times\b|\btres veces\b|ثلاث مرات", 3),
        (r"\bfour times\b|\bcuatro veces\b|أربع مرات", 4),
    )
)


_ALTERNATE = re.compile(
    r"every (second|other) day|alternate days|cada dos días|días alternos|كل يومين|يومًا بعد يوم",
    re.IGNORECASE,
)


TIME = re.compile(r"([01][0-9]|2[0-3]):[0-5][0-9]")


def number_text(number: float | None) -> str:
    """A number in input format: 225, 0.25; with a further nought where three decimals may be read as thousands."""
    if number is None:
        return ""
    if float(number).is_integer():
        return str(int(number))
    text = repr(float(number))
    return f"{text}0" if two_readings(text) else text


def number_in(text: str) -> float | None:
    """The typed dose, with a decimal point or comma, or None."""
    found = dose(text)
    return None if found is None else float(found)


def contradicts(instructions: str, hours: int, every_days: str) -> bool:
    """Whether instructions give another frequency than the row's hours and days."""
    for pattern, times in _FREQUENCIES:
        if pattern.search(instructions) and hours != times:
            return True
    return bool(_ALTERNATE.search(instructions)) and every_days != "2"


def dose_fault(text: str) -> str | None:
    if readings := two_readings(text):
        whole, decimal = readings
        return _(
            "Is “%(typed)s” %(whole)s or %(decimal)s? Write %(whole_number)s or %(decimal_number)s.",
            typed=text,
            whole=in_words(whole),
            decimal=in_words(decimal),
            whole_number=number_text(float(whole)),
            decimal_number=number_text(float(decimal)),
        )
    number = number_in(text)
    if number is None or not 0 < number <= _LARGEST_DOSE:
        return _("Enter the dose as a number over 0, such as 225 or 0.25, without a separator for thousands.")
    return None


def day_in(text: str) -> int | None:
    """The typed day of the protocol (-60 to 400), or None."""
    if not re.fullmatch(r"[-+]?[0-9]{1,3}", text):
        return None
    return int(text) if _FIRST_DAY <= int(text) <= _LAST_DAY else None


def clean(text: str | None) -> str:
    """Text normalized as form data, so that record and form can be compared."""
    return paragraphs(text, longest=_LONGEST_TYPED)


def times_typed(text: str) -> str:
    """Hours in the record's format, in order: `20:00 8:00` becomes `08:00, 20:00`; text with anything else is unchanged."""
    hours = [f"0{part}" if len(part) == 4 else part for part in _BETWEEN.split(text) if part]
    return ", ".join(sorted(set(hours))) if all(TIME.fullmatch(hour) for hour in hours) else text


def too_long(longest: int) -> str:
    """The error for a text with more characters than that."""
    return _("Write at most %(longest)s characters.", longest=longest)


def not_a_day() -> str:
    return _("Enter a day of the protocol as a whole number, such as 1 or -3.")
