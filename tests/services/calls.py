"""The one call that a function made, and samples that several of these tests use."""

from __future__ import annotations

from datetime import UTC, datetime

SLOT = datetime(2026, 11, 27, 9, 30, tzinfo=UTC)
EMBRYO = {"id": "1", "embryoCode": "E1", "status": "Reserved"}


def only_call(care):
    (call,) = care.calls
    return call
