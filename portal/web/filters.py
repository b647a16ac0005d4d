"""Template filters that format values in the page's language: dates in the clinic's zone, numbers, lists, terms."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from datetime import UTC, date, datetime, timedelta
from functools import cache, lru_cache
from typing import Any

from babel import Locale, localedata
from babel.dates import (
    TIMEDELTA_UNITS,
    format_date,
    format_interval,
    format_skeleton,
    format_timedelta,
    get_timezone_name,
)
from babel.numbers import format_decimal
from flask import Flask
from markupsafe import Markup, escape

from portal.context import context
from portal.dates import in_zone
from portal.i18n.gettext import _, ngettext
from portal.i18n.locale import is_rtl, language
from portal.request_values import request_g
from portal.services.listed import Count
from portal.telephone import as_written, e164
from portal.web.labels import FILTERS

_RIGHT_TO_LEFT = re.compile("[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]")
_LONG_FROM = 25
_LONG_WORD = re.compile(rf"([^\s]{{{_LONG_FROM},}}|[^\s@]+@[^\s]+)")
_HYPHENATED = re.compile(r"(?<![\w-])([A-Z]{1,6}-[A-Z0-9]{1,6})(?![\w-])")
_PIECE = re.compile(r".{1,12}", re.DOTALL)
_SEAM = re.compile(r"(?=@)|(?<=[./_-])")
_LONGEST_PIECE = 16
_HALF_A_YEAR = timedelta(days=183)
_NEXT_UNIT = 0.9
"""From so much of a unit on a time is told in it: 22 hours are a day."""


def init_app(app: Flask) -> None:
    app.jinja_env.filters.update(
        breakable=breakable,
        unbroken=unbroken,
        day=day,
        date=long_date,
        time=clock_time,
        moment=moment,
        long_moment=long_moment,
        ago=ago,
        countdown=countdown,
        full_date=full_date,
        zone=zone_name,
        telephone=telephone,
        e164=dialled,
        in_a_row=in_a_row,
        number=number,
        counted=counted,
        isolate=isolate,
        file_size=file_size,
        **FILTERS,
    )


def now() -> datetime:
    return datetime.fromtimestamp(context().clock(), UTC)


def today() -> date:
    """Return the date in the clinic's time zone, throughout one request the same."""
    current = request_g()
    try:
        return current.current_date
    except AttributeError:
        current.current_date = in_zone(now(), current.tenant.time_zone).date()
        return current.current_date


def telephone(number: str | None) -> str:
    """Return a telephone number in the format of the clinic's country; empty for none."""
    return as_written(number, request_g().tenant.country) if number else ""


def dialled(number: str) -> str:
    """Return a telephone number in E.164; unchanged if it isn't a valid number."""
    return e164(number, request_g().tenant.country) or number


def local(value: datetime) -> datetime:
    """Return the time in the clinic's time zone; a naive time is taken as UTC."""
    aware = value if value.tzinfo else value.replace(tzinfo=UTC)
    return in_zone(aware, request_g().tenant.time_zone)


def day(value: date | datetime) -> str:
    """Return `Fri 27 Nov`, with the year if the date is half a year or more from today."""
    plain = _plain(value)
    return _day(plain, abs(plain - today()) < _HALF_A_YEAR, language())


def long_date(value: date | datetime) -> str:
    """Return `27 November 2026`."""
    return _long(_plain(value), date_locale())


def short_date(value: date) -> str:
    """`27 Nov`, for a chart's axis."""
    return _short(value, date_locale())


def months(first: date | None, last: date | None) -> str:
    """`Aug – Sept 2026`, or one month; empty if neither date is known."""
    begin, end = first or last, last or first
    if begin is None or end is None:
        return ""
    return _months(begin.replace(day=1), max(begin, end).replace(day=1), date_locale())


def full_date(value: date | datetime) -> str:
    return format_date(_plain(value), "full", locale=date_locale())


def clock_time(value: datetime) -> str:
    """`09:30`, in the clinic's zone: alike in all languages, as medicines' times come from the care API."""
    at = local(value)
    return f"{at.hour:02}:{at.minute:02}"


def moment(value: datetime) -> str:
    """`Fri 27 Nov, 09:30`, in the clinic's zone."""
    return f"{day(value)}{_comma()}{clock_time(value)}"


def long_moment(value: datetime) -> str:
    """Return `27 November 2026, 09:30` in the clinic's zone, for documents."""
    return f"{long_date(value)}{_comma()}{clock_time(value)}"


def ago(value: datetime) -> str:
    """Return `3 hours ago` or `in 2 days`; less than a minute counts as a second."""
    delta = (value if value.tzinfo else value.replace(tzinfo=UTC)) - now()
    if abs(delta) < timedelta(minutes=1):
        delta = timedelta(seconds=-1) if delta <= timedelta() else timedelta(seconds=1)
    seconds = abs(delta.days * 86400 + delta.seconds)
    unit, length = next(one for one in TIMEDELTA_UNITS if seconds / one[1] >= _NEXT_UNIT or one[1] == 1)
    count = max(1, round(seconds / length))
    return _ago(unit, count * length if delta > timedelta() else -count * length, date_locale())


def countdown(value: datetime) -> str:
    """Return the time until `value`: `In 3 hours` on the same date at the clinic, else `Tomorrow` or `In 4 days`."""
    days = (local(value).date() - today()).days
    if days <= 0:
        return ago(value).capitalize()
    return _("Tomorrow") if days == 1 else ngettext("In %(num)s day", "In %(num)s days", days)


def zone_name(value: datetime | None = None) -> str:
    """Return the name of the clinic's time zone, at `value` or now: `Greenwich Mean Time`."""
    return get_timezone_name(local(value or now()), locale=date_locale())


def in_a_row(things: Iterable[str], between: str = "") -> str:
    """Join texts: `Gonal-f, 225 IU`, with the language's comma unless `between` is given.

    Each text of the other direction is isolated: two Latin ones in Arabic would otherwise be shown from left to right. The
    mark in front sets the direction for `<bdi>` and `dir="auto"`, which go by the first strong character, even inside isolates.
    """
    if not (parts := [*things]):
        return ""
    is_rtl_page = is_rtl()
    if not is_rtl_page and not any(map(_has_rtl, parts)):
        return _joined(parts, between)
    parts = ["\u2068" + part + "\u2069" if is_rtl_page or _has_rtl(part) else part for part in parts]
    joined = _joined(parts, between)
    if is_rtl_page:
        return "\u200f" + joined
    return "\u200e" + joined if len(parts) > 1 else joined


def _joined(parts: list[str], between: str) -> str:
    comma = between or _comma()
    return escape(comma).join(parts) if Markup in map(type, parts) else comma.join(parts)


def breakable(text: str) -> Markup:
    """Return the text with `<wbr>` inside long words, for table cells, where the longest word sets a column's width.

    Addresses break between their parts. What is HTML already stays as it is.
    """
    if isinstance(text, Markup):
        return text
    if len(text) < _LONG_FROM and "@" not in text:
        return escape(text)
    words = _LONG_WORD.split(text)  # every second element is a long word
    return Markup("").join(
        Markup("<wbr>").join(_pieces(word)) if number % 2 else escape(word)
        for number, word in enumerate(words)
    )


def _pieces(word: str) -> Iterable[str]:
    for part in _SEAM.split(word):
        yield from [part] if len(part) <= _LONGEST_PIECE else _PIECE.findall(part)


def unbroken(text: str) -> Markup:
    """Return the text so that short codes and abbreviations such as `ZW-1` and `PGT-A` aren't broken, and no line starts with ` ·`.

    What is HTML already stays as it is.
    """
    if isinstance(text, Markup):
        return text
    words = _HYPHENATED.split(text.replace(" ·", "\N{NO-BREAK SPACE}·"))
    return Markup("").join(
        Markup('<span class="nowrap">{}</span>').format(word) if number % 2 else escape(word)
        for number, word in enumerate(words)
    )


def isolate(text: str) -> str:
    """Return a name or other foreign text, isolated from the text around it if one of them runs right to left (UAX #9, FSI and PDI)."""
    return "\u2068" + text + "\u2069" if is_rtl() or _has_rtl(text) else text


def within_a_sentence(words: str) -> str:
    """Return words that stand alone elsewhere, with a small first letter."""
    return words[:1].lower() + words[1:]


def _has_rtl(text: str) -> bool:
    return not text.isascii() and _RIGHT_TO_LEFT.search(text) is not None


def number(value: float) -> str:
    """Return `3,910.5`, in the page's language; the minus stays before its number among letters from right to left."""
    mark = "\N{LEFT-TO-RIGHT MARK}" if value < 0 and is_rtl() else ""
    return mark + _number(value + 0, language())  # -0.0 becomes 0: as keys of a cache they are one


def counted(count: Count | int) -> str:
    """Return `3,910`, or `at least 3,910` for an incomplete count."""
    if isinstance(count, int) or count.is_whole:
        return number(count if isinstance(count, int) else count.number)
    return _("at least %(num)s", num=number(count.number))


def file_size(size: int | None) -> str:
    """Return `3.1 MB` for a number of bytes; empty if unknown, as a small file is to a system that counts in kilobytes."""
    if size is None or size <= 0:
        return ""
    if size < 1000:
        return _("%(number)s bytes", number=number(size))
    if size < 1_000_000:
        return _("%(number)s kB", number=number(round(size / 1000)))
    return _("%(number)s MB", number=number(round(size / 1_000_000, 1)))


def _comma() -> str:
    return "، " if language() == "ar" else ", "


def _plain(value: date | datetime) -> date:
    return local(value).date() if isinstance(value, datetime) else value


# Cached, because Babel is slow, and lists and charts repeat the same few dates and numbers.


@lru_cache(maxsize=2048)
def _day(plain: date, is_near: bool, language: str) -> str:
    locale = _date_locale(language)
    written = format_skeleton("MMMEd" if is_near else "yMMMEd", _noon(plain), locale=locale)
    return written.replace(",", "") if locale.language == "en" else written  # alike with and without the year


@lru_cache(maxsize=512)
def _ago(unit: Any, seconds: int, locale: Locale) -> str:
    """A time of whole units, written in that unit."""
    return format_timedelta(seconds, granularity=unit, threshold=math.inf, add_direction=True, locale=locale)


@lru_cache(maxsize=512)
def _short(plain: date, locale: Locale) -> str:
    return format_skeleton("MMMd", _noon(plain), locale=locale)


@lru_cache(maxsize=512)
def _months(first: date, last: date, locale: Locale) -> str:
    return format_interval(first, last, "yMMM", locale=locale)


@lru_cache(maxsize=512)
def _long(plain: date, locale: Locale) -> str:
    return format_date(plain, "long", locale=locale)


@lru_cache(maxsize=2048)
def _number(value: float, locale: str) -> str:
    return format_decimal(value, locale=locale)


def _noon(plain: date) -> datetime:
    return datetime(plain.year, plain.month, plain.day, 12, tzinfo=UTC)


def prepare(languages: Iterable[str]) -> None:
    """Read what dates in these languages are written with, which takes a tenth of a second and 4 MB, before workers are forked."""
    for each in languages:
        localedata.load(str(_date_locale(each)))


def date_locale() -> Locale:
    """Return the locale for dates: British for English (day first, 24 hours), else the language's."""
    return _date_locale(language())


@cache
def _date_locale(language: str) -> Locale:
    return Locale("en", "GB") if language == "en" else Locale.parse(language)
