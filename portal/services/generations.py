"""Marks that tell copies of reference data made before a write from those made after it."""

from __future__ import annotations

import hashlib
import logging
import os
from datetime import timedelta

from portal.clock import Clock
from portal.services.client import Care
from portal.store import Store, StoreDown

log = logging.getLogger("portal.cache")

LONGEST_KEPT = timedelta(hours=24)
"""How long a copy may be kept at most."""


class Generations:
    """A random mark for each clinic and each person, in the store, so that all processes leave old copies at once.

    No mark is a mark too: a record lasts longer than any copy, so those made before it are gone when it goes.
    """

    _SECONDS = (LONGEST_KEPT + timedelta(hours=1)).total_seconds()

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    def of(self, care: Care) -> tuple[str, str]:
        """Return the marks of the clinic and of the person. Raises StoreDown."""
        clinic, person = self._names(care)
        held = self._store.get_many((clinic, person))
        marks = [held[name].value.hex() if name in held else "" for name in (clinic, person)]
        return marks[0], marks[1]

    def move_on(self, care: Care) -> None:
        """Give the person a new mark; for anyone but a patient the clinic, too."""
        clinic, person = self._names(care)
        try:
            for name in (person,) if care.by_patient else (clinic, person):
                self._renew(name)
        except StoreDown:
            log.warning("copies of reference data end by their age: the store can't be told of a write")

    def _renew(self, name: str) -> None:
        """Whoever comes in between has set a new mark after this write, which is as good."""
        mark, expires_at = os.urandom(9), self._clock() + self._SECONDS
        held = self._store.get(name)
        if held is None:
            self._store.insert(name, mark, expires_at=expires_at)
        else:
            self._store.replace(name, mark, version=held.version, expires_at=expires_at)

    @staticmethod
    def _names(care: Care) -> tuple[str, str]:
        _issuer, tenant, sub, _epoch = care.partition
        return f"generation:{_digest(tenant)}", f"generation:{_digest(tenant, sub)}"


def _digest(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()
