"""Which sign-in proved which signature, for clinics that ask for a fresh one for each (21 CFR 11.200(a)(1)).

A sign-in is known by its person and time (`auth_time`), in whichever session it is: so it proves one signature alone, also
in two browsers at once. The same signature, sent again because its answer was lost, has the same proof.
"""

from __future__ import annotations

from portal.clock import Clock
from portal.state.session_records import Person
from portal.store.vault import Vault

_SECONDS = 3600
"""Longer than any sign-in is fresh enough to sign by."""


class SignatureProofs:
    """The signatures that sign-ins at a clinic proved. Every method may raise StoreDown."""

    def __init__(self, vault: Vault, clock: Clock) -> None:
        self._vault = vault
        self._clock = clock

    def is_free(self, tenant: str, person: Person, operation: str) -> bool:
        """Return whether the person's sign-in has proved no other operation than this."""
        held = self._vault.get(self._name(tenant, person), str)
        return held is None or held.value == operation

    def take(self, tenant: str, person: Person, operation: str) -> bool:
        """Let the person's sign-in prove this operation; return whether it does, and not another one."""
        name = self._name(tenant, person)
        if self._vault.insert(name, operation, expires_at=self._clock() + _SECONDS):
            return True
        held = self._vault.get(name, str)
        return held is not None and held.value == operation

    def _name(self, tenant: str, person: Person) -> str:
        return self._vault.name("signature-proof", person.issuer, tenant, person.sub, repr(person.auth_time))
