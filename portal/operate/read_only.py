"""`python -m portal read-only`: begins and ends read-only mode at clinics, with a line in the audit trail for each."""

from __future__ import annotations

import time
from collections.abc import Collection

from portal.clock import Clock
from portal.config.settings import Settings
from portal.operate.store_and_audit import store_and_audit
from portal.state.read_only import ReadOnly

EVENT = "read-only"


def change_read_only(
    settings: Settings, clinics: Collection[str], *, is_on: bool, clock: Clock = time.time
) -> frozenset[str]:
    """Begin or end it at these clinics; return those where it is on. Raises StoreDown, and AuditDown before anything is changed."""
    with store_and_audit(settings, clock) as opened:
        read_only = ReadOnly(opened.vault, clock)
        for clinic in clinics:
            opened.audit.assure()
            read_only.change([clinic], is_on=is_on)
            opened.record(EVENT, clinic, f"{'begun' if is_on else 'ended'} by the operator")
        return read_only.clinics()
