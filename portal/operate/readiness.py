"""Whether this process should be given work: store and audit take writes, and it has met the identity servers.

One look at a time and at most one a second, whoever asks and however often. A single bad look takes no machine out, and
a single good one brings none back: three in a row do the one, two the other. Neither a care API nor an identity server
that is down takes a machine out, because it is down for every other machine too: the pages say so themselves. A process
that has just started waits for the metadata of the identity servers, but for half a minute at most.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence

from portal.audit.trail import Audit, AuditDown
from portal.clock import Clock
from portal.signin.discovery import Provider, ProviderDown, ProviderRefused
from portal.store import Store, StoreDown, StoreFull

_EVERY = 1.0
_OUT_AFTER = 3
_BACK_AFTER = 2
_PATIENCE = 30.0


class Readiness:
    """The answer to "can you serve?", kept from the last looks."""

    def __init__(
        self, store: Store, providers: Sequence[Provider], clock: Clock, *, audit: Audit | None = None
    ) -> None:
        self._store = store
        self._audit = audit
        self._providers = len(providers)
        self._unmet = list(providers)
        self._clock = clock
        self._lock = threading.Lock()
        self._started_at = clock()
        self._probed_at = float("-inf")
        self._has_begun = False
        self._faults: list[str] = []
        self._is_ready = False
        self._against = 0  # looks in a row that speak against what is said now

    def probe(self) -> tuple[bool, str]:
        """Return whether requests should be sent here, and in words what stands in the way or is missing."""
        if abs(self._clock() - self._probed_at) >= _EVERY and self._lock.acquire(blocking=False):
            try:
                self._probe()
                self._probed_at = self._clock()
            finally:
                self._lock.release()
        return self._is_ready, self._words()

    def _probe(self) -> None:
        self._faults = [*self._store_faults(), *self._audit_faults()]
        is_good = (self._meet() or self._has_begun) and not self._faults
        self._against = self._against + 1 if is_good != self._is_ready else 0
        if not self._has_begun:
            self._has_begun = self._is_ready = is_good
            self._against = 0
        elif self._against >= (_OUT_AFTER if self._is_ready else _BACK_AFTER):
            self._is_ready, self._against = is_good, 0

    def _store_faults(self) -> Iterator[str]:
        try:
            self._store.ping()
        except StoreFull:
            yield "the store takes no writes"
        except StoreDown:
            yield "the store doesn't answer"

    def _audit_faults(self) -> Iterator[str]:
        try:
            if self._audit:
                self._audit.probe()
        except AuditDown:
            yield "the audit trail can't be written"

    def _meet(self) -> bool:
        """Ask one of the identity servers not met yet; return whether none is left, or they had their time."""
        if self._unmet:
            provider = self._unmet.pop(0)
            try:
                provider.metadata()
            except (ProviderDown, ProviderRefused):
                self._unmet.append(provider)
        return not self._unmet or not 0 <= self._clock() - self._started_at < _PATIENCE

    def _words(self) -> str:
        words = ["ready" if self._is_ready else "not ready" if self._has_begun else "starting"]
        if self._against:
            words.append("but the last look says otherwise")
        words += self._faults
        if self._unmet:
            words.append(f"{len(self._unmet)} of {self._providers} identity servers never answered")
        return "; ".join(words)
