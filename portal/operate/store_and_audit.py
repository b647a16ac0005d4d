"""The store and the audit trail, for operators' commands that change something for clinics."""

from __future__ import annotations

import secrets
from collections.abc import Generator, Mapping
from contextlib import contextmanager

from portal.audit.checkpoints import Checkpoints
from portal.audit.trail import Audit
from portal.clock import Clock
from portal.config.settings import Settings
from portal.store import open_store
from portal.store.vault import Vault
from portal.values import Value


class StoreAndAudit(Value, frozen=True):
    """Both, opened with the portal's settings."""

    vault: Vault
    audit: Audit

    def record(self, event: str, clinic: str, reason: str, also: Mapping[str, str] | None = None) -> None:
        """Record what was done at a clinic; `audit.assure` came before it was done."""
        self.audit.record(
            event,
            "done",
            tenant=clinic,
            request_id=secrets.token_hex(8),
            reason=reason,
            also=also,
            is_promised=True,
        )


@contextmanager
def store_and_audit(settings: Settings, clock: Clock) -> Generator[StoreAndAudit]:
    """Open both. Raises StoreDown, also for a store that is sealed with other secret keys."""
    vault = Vault(open_store(settings.store_url, clock), settings.secret_keys, clock)
    vault.check_keys()
    checkpoints = Checkpoints(vault.store, clock, days=settings.audit_days)
    audit = Audit(settings.audit, settings.secret_keys[0], clock, checkpoints)
    try:
        yield StoreAndAudit(vault, audit)
    finally:
        audit.close()
