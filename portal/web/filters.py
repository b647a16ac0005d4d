"""How values are written for people: dates in the clinic's zone, in the person's language, and named."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from typing import Any, cast

import flask_babel
from babel import Locale
from babel.dates import (
    format_date,
    format_skeleton,
    format_time,
    format_timedelta,
    get_timezone_name,
)
from flask import Flask, g

from portal.parts import parts


def init_app(app: Flask) -> None:
    """Make the filters known to templates."""
    app.jinja_env.filters.update(
        day=day, date=long_date, time=clock_time, moment=moment, ago=ago, zone=zone_name, isodate=isodate
    )


def now() -> datetime:
    """The present moment, by the portal's clock."""
    return datetime.fromtimestamp(parts().clock(), UTC)


def today() -> date:
    """The present day at the clinic."""
    return now().astimezone(g.tenant.time_zone).date()


def local(value: datetime) -> datetime:
    """Return the moment in the clinic's time zone; without a zone of its own it counts as UTC."""
    aware = value if value.tzinfo else value.replace(tzinfo=UTC)
    return aware.astimezone(g.tenant.time_zone)


def day(value: date | datetime) -> str:
    """`Fri 27 Nov`; with the year when it isn't this year's."""
    plain = local(value).date() if isinstance(value, datetime) else value
    skeleton = "MMMEd" if plain.year == today().year else "yMMMEd"
    return format_skeleton(skeleton, _noon(plain), locale=date_locale())


def long_date(value: date | datetime) -> str:
    """`27 November 2026`."""
    plain = local(value).date() if isinstance(value, datetime) else value
    return format_date(plain, "long", locale=date_locale())


def clock_time(value: datetime) -> str:
    """`09:30`, in the clinic's zone."""
    return format_time(local(value), "short", tzinfo=g.tenant.time_zone, locale=date_locale())


def moment(value: datetime) -> str:
    """`Fri 27 Nov, 09:30`, in the clinic's zone."""
    return f"{day(value)}, {clock_time(value)}"


def ago(value: datetime) -> str:
    """`3 hours ago`, `in 2 days`."""
    gone = (value if value.tzinfo else value.replace(tzinfo=UTC)) - now()
    if abs(gone) < timedelta(minutes=1):
        gone = timedelta(seconds=-1) if gone <= timedelta() else timedelta(seconds=1)
    return format_timedelta(gone, add_direction=True, locale=date_locale(), threshold=0.9)


def zone_name(value: datetime | None = None) -> str:
    """`Greenwich Mean Time`: the clinic's zone in words."""
    return get_timezone_name(local(value or now()), locale=date_locale())


def isodate(value: date | datetime) -> str:
    """`2026-11-27`, in the clinic's zone."""
    return (local(value).date() if isinstance(value, datetime) else value).isoformat()


def _noon(plain: date) -> datetime:
    return datetime(plain.year, plain.month, plain.day, 12, tzinfo=UTC)


def date_locale() -> Locale:
    """Dates as they are written where the clinics are: English ones with the day first and 24 hours."""
    chosen = cast("Locale | None", cast("Any", flask_babel).get_locale())
    return _FORMATS.get(chosen.language, chosen) if chosen else _FORMATS["en"]


_FORMATS = {"en": Locale("en", "GB")}
