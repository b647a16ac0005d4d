"""How values are written for people: dates in the clinic's zone, numbers, and the clinic's terms, in their language."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import UTC, date, datetime, timedelta
from functools import cache, lru_cache

from babel import Locale
from babel.dates import (
    format_date,
    format_skeleton,
    format_timedelta,
    get_timezone_name,
)
from babel.numbers import format_decimal
from flask import Flask, g
from markupsafe import Markup, escape

from portal.context import context
from portal.dates import in_zone
from portal.i18n.gettext import _, ngettext
from portal.i18n.locale import is_rtl, language
from portal.services.listed import Count
from portal.telephone import as_written, e164
from portal.web.labels import FILTERS

_LONG_WORD = re.compile(r"([^\s]{25,}|[^\s@]+@[^\s]+)")
_HYPHENATED = re.compile(r"(\b[A-Z]+(?:-[A-Z0-9]+)+\b)")
_PIECE = re.compile(r".{1,12}", re.DOTALL)
_SEAM = re.compile(r"(?=@)|(?<=[./_-])")
_LONGEST_PIECE = 16
_HALF_A_YEAR = timedelta(days=183)


def init_app(app: Flask) -> None:
    """Make the filters known to templates."""
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
        isodate=isodate,
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
    """The present moment, by the portal's clock."""
    return datetime.fromtimestamp(context().clock(), UTC)


def today() -> date:
    """The present day at the clinic."""
    return in_zone(now(), g.tenant.time_zone).date()


def telephone(number: str | None) -> str:
    """A telephone number as people in the clinic's country write it; empty for none."""
    return as_written(number, g.tenant.country) if number else ""


def dialled(number: str) -> str:
    """A telephone number in E.164, for `tel:` and for the care API; as it came where it isn't one."""
    return e164(number, g.tenant.country) or number


def local(value: datetime) -> datetime:
    """Return the moment in the clinic's time zone; without a zone of its own it counts as UTC."""
    aware = value if value.tzinfo else value.replace(tzinfo=UTC)
    return in_zone(aware, g.tenant.time_zone)


def day(value: date | datetime) -> str:
    """`Fri 27 Nov`; with the year when that is half a year away or more, so that it can't be taken for another's."""
    plain = _plain(value)
    current, locale = _calendar()
    return _day(plain, abs(plain - current) < _HALF_A_YEAR, locale)


def long_date(value: date | datetime) -> str:
    """`27 November 2026`."""
    return _long(_plain(value), date_locale())


def short_date(value: date) -> str:
    """`27 Nov`, for a chart's axis."""
    return _short(value, date_locale())


def full_date(value: date | datetime) -> str:
    """`Friday, 27 November 2026`."""
    return format_date(_plain(value), "full", locale=date_locale())


def clock_time(value: datetime) -> str:
    """`09:30`, in the clinic's zone: alike in all languages, as medicines' times come from the care API."""
    return f"{local(value):%H:%M}"


def moment(value: datetime) -> str:
    """`Fri 27 Nov, 09:30`, in the clinic's zone."""
    return f"{day(value)}{_comma()}{clock_time(value)}"


def long_moment(value: datetime) -> str:
    """`27 November 2026, 09:30`, in the clinic's zone, for what people keep and print."""
    return f"{long_date(value)}{_comma()}{clock_time(value)}"


def ago(value: datetime) -> str:
    """`3 hours ago`, `in 2 days`."""
    gone = (value if value.tzinfo else value.replace(tzinfo=UTC)) - now()
    if abs(gone) < timedelta(minutes=1):
        gone = timedelta(seconds=-1) if gone <= timedelta() else timedelta(seconds=1)
    return format_timedelta(gone, add_direction=True, locale=date_locale(), threshold=0.9)


def countdown(value: datetime) -> str:
    """How long it is until then: `In 3 hours` on the day itself at the clinic, then `Tomorrow`, `In 4 days`."""
    days = (local(value).date() - today()).days
    if days <= 0:
        return ago(value).capitalize()
    return _("Tomorrow") if days == 1 else ngettext("In %(num)s day", "In %(num)s days", days)


def zone_name(value: datetime | None = None) -> str:
    """`Greenwich Mean Time`: the clinic's zone in words."""
    return get_timezone_name(local(value or now()), locale=date_locale())


def isodate(value: date | datetime) -> str:
    """`2026-11-27`, in the clinic's zone."""
    return (local(value).date() if isinstance(value, datetime) else value).isoformat()


def in_a_row(things: Iterable[str], between: str = "") -> str:
    """`Gonal-f, 225 IU`, with the language's comma if not told otherwise; in Arabic it all runs from right to left.

    There each thing is an isolate, else two Latin ones would run the other way; the mark in front says the direction of
    the row to `<bdi>` and `dir="auto"`, which go by the first letter, be it in an isolate or not.
    """
    row = (between or _comma()).join(isolate(thing) for thing in things)
    return f"\u200f{row}" if row and is_rtl() else row


def breakable(text: str) -> Markup:
    """The text, with places to break inside words that are too long for a column; other words stay whole.

    For cells of tables: there the longest word decides how wide a column is. Addresses break where their parts meet.
    """
    words = _LONG_WORD.split(text)  # every second element is a long word
    return Markup("").join(
        Markup("<wbr>").join(_pieces(word)) if number % 2 else escape(word)
        for number, word in enumerate(words)
    )


def _pieces(word: str) -> Iterable[str]:
    for part in _SEAM.split(word):
        yield from [part] if len(part) <= _LONGEST_PIECE else _PIECE.findall(part)


def unbroken(text: str) -> Markup:
    """The text, whose abbreviations with a hyphen, such as `PGT-A`, aren't broken there; a dot between words begins no line."""
    words = _HYPHENATED.split(text.replace(" ·", "\N{NO-BREAK SPACE}·"))
    return Markup("").join(
        Markup('<span class="nowrap">{}</span>').format(word) if number % 2 else escape(word)
        for number, word in enumerate(words)
    )


def isolate(text: str) -> str:
    """A name or words of someone's own, kept in their own direction (Unicode Standard Annex #9, FSI and PDI)."""
    return f"\u2068{text}\u2069" if is_rtl() else text


def number(value: float) -> str:
    """`3,910.5`, in the person's language."""
    return format_decimal(value, locale=language())


def counted(count: Count | int) -> str:
    """`3,910`, and for a count that isn't whole `at least 3,910`."""
    if isinstance(count, int) or count.is_whole:
        return number(count if isinstance(count, int) else count.number)
    return _("at least %(num)s", num=number(count.number))


def file_size(size: int | None) -> str:
    """`3.1 MB`, or empty when unknown."""
    if size is None or size < 0:
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


def _calendar() -> tuple[date, Locale]:
    """The present day at the clinic and how dates are written: a list asks for them with every row."""
    try:
        return g.calendar
    except AttributeError:
        g.calendar = today(), date_locale()
        return g.calendar


# Babel formats each date from the locale's patterns every time; lists show the same few dates repeatedly.


@lru_cache(maxsize=2048)
def _day(plain: date, is_near: bool, locale: Locale) -> str:
    return format_skeleton("MMMEd" if is_near else "yMMMEd", _noon(plain), locale=locale)


@lru_cache(maxsize=512)
def _short(plain: date, locale: Locale) -> str:
    return format_skeleton("MMMd", _noon(plain), locale=locale)


@lru_cache(maxsize=512)
def _long(plain: date, locale: Locale) -> str:
    return format_date(plain, "long", locale=locale)


def _noon(plain: date) -> datetime:
    return datetime(plain.year, plain.month, plain.day, 12, tzinfo=UTC)


def date_locale() -> Locale:
    """Dates as they are written where the clinics are: English ones with the day first and 24 hours."""
    return _formats(language())


@cache
def _formats(language: str) -> Locale:
    return Locale("en", "GB") if language == "en" else Locale.parse(language)
