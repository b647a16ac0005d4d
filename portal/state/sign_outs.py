"""When people last signed out of all that a sign-in at the identity server had opened.

The identity server remembers who signed in, for hours: it would let the next person at a shared computer in without a
password. A sign-in from before the time kept here therefore doesn't count, at whichever of the clinic's hosts and with
whichever cookies.
"""

from __future__ import annotations

from portal.clock import Clock
from portal.store.vault import Vault

_SECONDS = 30 * 24 * 3600
"""Longer than identity servers remember a sign-in."""


class SignOuts:
    """The last sign-out of each person at each clinic. Every method may raise StoreDown."""

    def __init__(self, vault: Vault, clock: Clock) -> None:
        self._vault = vault
        self._clock = clock

    def note(self, issuer: str, tenant: str, sub: str) -> None:
        """Remember that this person's sign-ins until now don't count any more."""
        now = self._clock()
        self._vault.update(
            self._name(issuer, tenant, sub),
            float,
            lambda _before: now,
            initial=now,
            expires_at=now + _SECONDS,
        )

    def last(self, issuer: str, tenant: str, sub: str) -> float | None:
        """Return when that was, in seconds since 1970; None if it isn't known to have been.

        A time to come was written by a clock that was wrong.
        """
        held = self._vault.get(self._name(issuer, tenant, sub), float)
        return held.value if held and held.value <= self._clock() else None

    def _name(self, issuer: str, tenant: str, sub: str) -> str:
        return self._vault.name("sign-out", issuer, tenant, sub)
