"""The one call that a function made, and a time and an embryo that several of these tests use."""

from __future__ import annotations

from datetime import UTC, datetime

SLOT = datetime(2026, 11, 27, 9, 30, tzinfo=UTC)
EMBRYO = {"id": "1", "embryoCode": "E1", "status": "Reserved"}


def only(care):
    (call,) = care.calls
    return call
