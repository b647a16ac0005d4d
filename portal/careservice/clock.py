"""The one source of the present moment, so that tests can move it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import cast

from flask import Flask, current_app, has_app_context

Clock = Callable[[], datetime]

_EXTENSION = "careservice.clock"


def system_clock() -> datetime:
    """The machine's time, aware, in UTC."""
    return datetime.now(UTC)


def init_app(app: Flask, clock: Clock) -> None:
    """Make `clock` what `now()` reads while `app` is at work."""
    app.extensions[_EXTENSION] = clock


def now() -> datetime:
    """The present moment, aware, in UTC: the running app's clock, or the machine's outside of an app."""
    if not has_app_context():
        return system_clock()
    return cast("Clock", current_app.extensions[_EXTENSION])()
