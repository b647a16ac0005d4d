"""Readiness: whether this process should receive requests.

It is ready when store and audit trail accept writes, and the store can be opened with its secret keys. Probes run one at a time and at most once a second. Three failures
in a row take a machine out, two successes bring it back. A care API or identity server that is down doesn't take a
machine out, because it is down for all the others too; pages report it instead. A process that has just started waits
for the identity servers' metadata, but for at most half a minute.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator, Sequence

from portal.audit.trail import Audit, AuditDown
from portal.clock import Clock
from portal.signin.discovery import Provider, ProviderDown, ProviderRefused
from portal.store import Store, StoreDown, StoreFull, StoreUnsuitable, WrongKey

log = logging.getLogger("portal")

_EVERY = 1.0
_OUT_AFTER = 3
_BACK_AFTER = 2
_PATIENCE = 30.0
_MOMENT = 0.25
"""How long a probe waits for an identity server, which may hang: whoever asks gives up after a second or two."""


class Readiness:
    """The readiness state, from the latest probes."""

    def __init__(
        self,
        store: Store,
        providers: Sequence[Provider],
        clock: Clock,
        *,
        audit: Audit | None = None,
        check_keys: Callable[[], None] = lambda: None,
        files_at_fault: Sequence[str] = (),
    ) -> None:
        """`check_keys` raises WrongKey if the store is sealed with other secret keys.

        `files_at_fault` names tenants files that can't be used: no reason not to be ready for the other clinics.
        """
        self._files_at_fault = files_at_fault
        self._store = store
        self._check_keys = check_keys
        self._unfit = ""
        self._audit = audit
        self._providers = len(providers)
        self._unmet = list(providers)
        self._meeting: threading.Thread | None = None
        self._clock = clock
        self._lock = threading.Lock()
        self._started_at: float | None = None  # the application may be older than its process
        self._probed_at = float("-inf")
        self._has_begun = False
        self._faults: list[str] = []
        self._is_ready = False
        self._against = 0  # consecutive probes that contradict the current state

    def probe(self) -> tuple[bool, str]:
        """Return whether requests should be sent here, and a line that says why not or what is missing."""
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
            self._check_keys()
            self._unfit = ""
        except WrongKey as error:
            self._log("wrong secret keys", error)
            yield str(error)
        except StoreUnsuitable as error:
            self._log("the store can't be used", error)
            yield f"the store can't be used: {error}"
        except StoreFull:
            yield "the store takes no writes"
        except StoreDown:
            yield "the store doesn't answer"

    def _log(self, what: str, error: StoreDown) -> None:
        """Once, until it is mended."""
        if self._unfit != str(error):
            self._unfit = str(error)
            log.error("%s: %s", what, error)

    def _audit_faults(self) -> Iterator[str]:
        try:
            if self._audit:
                self._audit.probe()
        except AuditDown:
            yield "the audit trail can't be written"

    def _meet(self) -> bool:
        """Have a thread try one identity server not reached yet; return whether none are left or the time is up."""
        if self._unmet and not (self._meeting and self._meeting.is_alive()):
            self._meeting = threading.Thread(target=self._try_next, daemon=True)
            self._meeting.start()
        if self._meeting:
            self._meeting.join(_MOMENT)
        if self._started_at is None:
            self._started_at = self._clock()
        return not self._unmet or not 0 <= self._clock() - self._started_at < _PATIENCE

    def _try_next(self) -> None:
        provider = self._unmet[0]
        try:
            provider.metadata()
        except (ProviderDown, ProviderRefused):
            self._unmet.append(provider)
        del self._unmet[0]

    def _words(self) -> str:
        words = ["ready" if self._is_ready else "not ready" if self._has_begun else "starting"]
        if self._against:
            words.append("but the last look says otherwise")
        words += self._faults
        if self._unmet:
            words.append(f"{len(self._unmet)} of {self._providers} identity servers never answered")
        if self._files_at_fault:
            words.append(f"tenants files that can't be used: {', '.join(self._files_at_fault)}")
        return "; ".join(words)
