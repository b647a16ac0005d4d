"""The service's only source of the current time, so that tests can move it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import cast

from flask import Flask, current_app, has_app_context

Clock = Callable[[], datetime]

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
