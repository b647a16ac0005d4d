"""The service's only source of the current time, so that tests can move it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import cast

from flask import Flask, current_app, has_app_context
from sqlalchemy import ColumnElement, and_
from sqlalchemy.orm import InstrumentedAttribute

Clock = Callable[[], datetime]

LEEWAY = timedelta(seconds=30)
"""How far clocks may differ. What happened later than that from now was dated by a clock that has been set back."""

_EXTENSION = "careservice.clock"


def system_clock() -> datetime:
    """The system time, as an aware datetime in UTC."""
    return datetime.now(UTC)


def init_app(app: Flask, clock: Clock) -> None:
    """Have `now()` read `clock` inside the contexts of `app`."""
    app.extensions[_EXTENSION] = clock


def now() -> datetime:
    """The current time, aware, in UTC: by the running app's clock, or the system's outside an app context."""
    if not has_app_context():
        return system_clock()
    return cast("Clock", current_app.extensions[_EXTENSION])()


def is_recent(at: datetime, within: timedelta) -> bool:
    """Whether `at` was at most `within` ago; a time ahead of now by more than the leeway is not recent."""
    return -LEEWAY <= now() - at <= within


def recent(column: InstrumentedAttribute[datetime], within: timedelta) -> ColumnElement[bool]:
    """Whether what the column dates was less than `within` ago, as a condition of a query."""
    moment = now()
    return and_(column > moment - within, column <= moment + LEEWAY)
