"""The time, as one value that is handed to whoever needs it, so that tests can move it."""

from __future__ import annotations

from collections.abc import Callable

Clock = Callable[[], float]
"""Seconds since 1970-01-01 UTC, as `time.time` gives them."""
