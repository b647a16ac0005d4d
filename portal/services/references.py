"""Reference data for the pages: from the cache, which is made when a page first needs it, or always anew.

requests-cache with all that it brings along takes a third of a portal's start and 25 MB, for pages that many people
never open.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, TypeVar

from portal.clock import Clock
from portal.services.client import Care
from portal.services.endpoints import Endpoint, Query, Reference
from portal.services.generations import Generations
from portal.store import Store

if TYPE_CHECKING:
    from portal.services.cache import ReferenceData

T = TypeVar("T")


class References:
    """The cache of one process (`portal.services.cache.ReferenceData`), made at its first use."""

    def __init__(self, store: Store, *, url: str, secret_keys: tuple[str, ...], clock: Clock) -> None:
        self._store = store
        self._url = url
        self._secret_keys = secret_keys
        self._clock = clock
        self._generations = Generations(store, clock)
        self._making = threading.Lock()
        self._made: ReferenceData | None = None

    def get(self, care: Care, endpoint: Endpoint, into: type[T], query: Query) -> Reference[T]:
        """Return the data, from the cache where it may be; raises CareError."""
        return self._cache().get(care, endpoint, into, query)

    def move_on(self, care: Care) -> None:
        """Leave behind what was kept before a write of this caller."""
        self._generations.move_on(care)

    def _cache(self) -> ReferenceData:
        with self._making:
            if self._made is None:
                from portal.services.cache import ReferenceData

                self._made = ReferenceData(
                    self._store, url=self._url, secret_keys=self._secret_keys, clock=self._clock
                )
            return self._made


class Uncached:
    """Reference data read anew each time, where it decides what may be offered."""

    def get(self, care: Care, endpoint: Endpoint, into: type[T], query: Query) -> Reference[T]:
        """Return the data as the API has it now; raises CareError."""
        return Reference(care.read(endpoint, into, query=query))

    def move_on(self, care: Care) -> None:
        """Nothing is kept."""
