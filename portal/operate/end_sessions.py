"""`python -m portal sessions end`: ends a person's, a clinic's or everybody's sessions, with a line in the audit trail for each clinic.

Whoever is signed in is signed out with their next request, and their sign-in at the identity server doesn't count any more:
they have to type their password.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Collection

from portal.audit.checkpoints import Checkpoints
from portal.audit.trail import Audit
from portal.clock import Clock
from portal.config.settings import Settings
from portal.state.sessions import Sessions
from portal.store import open_store
from portal.store.vault import Vault

EVENT = "sessions.end"


def end_sessions(
    settings: Settings, clinics: Collection[str], *, sub: str | None = None, clock: Clock = time.time
) -> int:
    """End the sessions at these clinics, only this person's (their `sub`) if one is given; return their number.

    Raises StoreDown, and AuditDown before anything is ended that couldn't be recorded.
    """
    vault = Vault(open_store(settings.store_url, clock), settings.secret_keys, clock)
    vault.check_keys()
    sessions = Sessions(vault, settings.tenants, settings.sessions, clock)
    audit = Audit(
        settings.audit,
        settings.secret_keys[0],
        clock,
        Checkpoints(vault.store, clock, days=settings.audit_days),
    )
    ended = 0
    try:
        for clinic in clinics:
            audit.assure()
            number = sessions.end_at_clinic(clinic, sub=sub)
            audit.record(
                EVENT,
                "done",
                tenant=clinic,
                request_id=secrets.token_hex(8),
                reason=f"{number} ended by the operator",
                also={"person": audit.pseudonym(sub)} if sub else None,
                is_promised=True,
            )
            ended += number
    finally:
        audit.close()
    return ended
