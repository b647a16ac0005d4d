"""`python -m portal sessions end`: ends a person's, a clinic's or everybody's sessions, with a line in the audit trail for each clinic.

Whoever is signed in is signed out with their next request, and their sign-in at the identity server doesn't count any more:
they have to type their password.
"""

from __future__ import annotations

import time
from collections.abc import Collection

from portal.clock import Clock
from portal.config.settings import Settings
from portal.operate.store_and_audit import store_and_audit
from portal.state.sessions import Sessions
from portal.store import StoreDown

EVENT = "sessions.end"


def end_sessions(
    settings: Settings, clinics: Collection[str], *, sub: str | None = None, clock: Clock = time.time
) -> int:
    """End the sessions at these clinics, only this person's (their `sub`) if one is given; return their number.

    Raises StoreDown, and AuditDown before anything is ended that couldn't be recorded.
    """
    ended = 0
    with store_and_audit(settings, clock) as opened:
        sessions = Sessions(opened.vault, settings.tenants, settings.sessions, clock)
        for clinic in clinics:
            opened.audit.assure()
            person = {"person": opened.audit.pseudonym(sub)} if sub else None
            try:
                number = sessions.end_at_clinic(clinic, sub=sub)
            except StoreDown:
                reason = "some ended by the operator, until the store went down"
                opened.record(EVENT, clinic, reason, person)
                raise
            opened.record(EVENT, clinic, f"{number} ended by the operator", person)
            ended += number
    return ended
