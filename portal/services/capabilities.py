"""Which lists a clinic doesn't offer, remembered for a few minutes.

The API answers 501 at an address without an id if the clinic doesn't use that module (docs/assumptions.md). Kept in the
store, so that all processes omit the same sections.
"""

from __future__ import annotations

import logging

import msgspec

from portal.clock import Clock, lasts
from portal.services.api import AnyEndpoint
from portal.store import StoreDown
from portal.store.vault import Vault

SECONDS = 600
"""How long a list counts as not offered after a 501, in seconds."""

_READ_AGAIN = 5
"""How often a process reads what the others learned, in seconds."""

log = logging.getLogger("portal")


class _Missing(msgspec.Struct, frozen=True):
    """Until when (seconds since 1970) each list counts as not offered, by its address."""

    until: dict[str, float]


class Capabilities:
    """The lists that clinics are known not to offer."""

    def __init__(self, vault: Vault, clock: Clock) -> None:
        self._vault = vault
        self._clock = clock
        self._read: dict[str, tuple[float, frozenset[str]]] = {}

    def note_missing(self, clinic: str, endpoint: AnyEndpoint) -> None:
        """Remember that `clinic` doesn't offer this list; while the store is down, do nothing."""
        if endpoint.names_record or endpoint.id_in_query:
            return
        until = self._clock() + SECONDS

        def add(missing: _Missing) -> _Missing | None:
            if lasts(missing.until.get(endpoint.template, 0), SECONDS, self._clock()):
                return None
            return _Missing({**missing.until, endpoint.template: until})

        try:
            if self._vault.update(self._name(clinic), _Missing, add, initial=_Missing({}), expires_at=until):
                self._read.pop(clinic, None)
        except StoreDown:
            log.warning("not remembered: %s is not offered", endpoint.template)

    def missing(self, clinic: str) -> frozenset[str]:
        """The addresses of the lists that `clinic` is known not to offer; read from the store every few seconds."""
        now = self._clock()
        read_at, known = self._read.get(clinic, (float("-inf"), frozenset[str]()))
        if not 0 <= now - read_at < _READ_AGAIN:
            known = self._missing(clinic, now)
            self._read[clinic] = (now, known)
        return known

    def _missing(self, clinic: str, now: float) -> frozenset[str]:
        try:
            held = self._vault.get(self._name(clinic), _Missing)
        except StoreDown:
            return frozenset()
        until = held.value.until if held else {}
        return frozenset(address for address, ends in until.items() if lasts(ends, SECONDS, now))

    def _name(self, clinic: str) -> str:
        return self._vault.name("offered", clinic)
