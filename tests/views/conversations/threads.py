"""The sample conversations, and the records behind them."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager

from portal.careservice.ids import sample_id
from tests.support.stack import CareService

SCAN = sample_id("conversation", "amelia-scan")
SMS = sample_id("conversation", "amelia-sms")
INJECTION = sample_id("conversation", "amelia-injection")
WELCOME = sample_id("conversation", "amelia-welcome")
DANIELS = sample_id("conversation", "daniel-sample")
GRACES = sample_id("conversation", "grace-storage")


@contextmanager
def in_records(service: CareService) -> Iterator[sqlite3.Connection]:
    """Open the care service's database, to change its records."""
    with closing(sqlite3.connect(service.plan.data / "care.db", timeout=10)) as database, database:
        yield database


def message(key: str) -> str:
    return sample_id("message", key)
