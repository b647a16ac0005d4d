"""Which clinics are in read-only mode: people read there, and nothing is changed in the clinic's system.

An operator begins and ends it (`portal.operate.read_only`); all processes notice within some seconds.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress

import msgspec

from portal.clock import Clock
from portal.store import StoreDown
from portal.store.vault import Vault

_LIFETIME = 90 * 24 * 3600
_LOOK_EVERY = 3.0


class ReadOnlyClinics(msgspec.Struct, frozen=True, kw_only=True):
    """The stored record: the clinics' keys."""

    clinics: list[str]


class ReadOnly:
    def __init__(self, vault: Vault, clock: Clock) -> None:
        self._vault = vault
        self._clock = clock
        self._clinics: frozenset[str] = frozenset()
        self._looked_at = float("-inf")

    def clinics(self) -> frozenset[str]:
        """Return the clinics' keys as of some seconds ago; while the store is down, as it was before."""
        now = self._clock()
        if abs(now - self._looked_at) >= _LOOK_EVERY:
            self._looked_at = now
            with suppress(StoreDown):
                held = self._vault.get(self._name(), ReadOnlyClinics)
                self._clinics = frozenset(held.value.clinics if held else ())
        return self._clinics

    def change(self, clinics: Iterable[str], *, is_on: bool) -> None:
        """Begin or end it at these clinics; raise StoreDown."""
        named = set(clinics)

        def changed(before: ReadOnlyClinics) -> ReadOnlyClinics:
            there = set(before.clinics)
            return ReadOnlyClinics(clinics=sorted(there | named if is_on else there - named))

        self._vault.update(
            self._name(),
            ReadOnlyClinics,
            changed,
            initial=ReadOnlyClinics(clinics=[]),
            expires_at=self._clock() + _LIFETIME,
        )
        self._looked_at = float("-inf")

    def _name(self) -> str:
        return self._vault.name("read-only")
