"""Checkpoints of the audit chains in the shared store, so that a chain can't be truncated unnoticed.

A chain proves the order of its lines, but not that none is missing at the end. A checkpoint holds the number of lines
and the hash of the last one. Checkpoints contain nothing secret and are stored unsealed, so that they survive key
rotation.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from portal.clock import Clock
from portal.store import Store, update

_TAG = "audit-checkpoints"
_DAY = 24 * 3600


class Checkpoint(msgspec.Struct, frozen=True, kw_only=True):
    """The head of one chain: its name, the number of lines, the SHA-256 of the last one, and where it was written.

    `at` is in seconds since 1970. A `closed` chain gets no further lines. `lost` counts lines after the last one that
    couldn't be written.
    """

    chain: str
    lines: int
    head: str
    host: str
    target: str
    at: float
    closed: bool = False
    lost: int = 0


class Checkpoints:
    """The checkpoints of all processes, each kept for `days` after its last write."""

    def __init__(self, store: Store, clock: Clock, *, days: int = 400) -> None:
        self._store = store
        self._clock = clock
        self._seconds = days * _DAY

    def put(self, checkpoint: Checkpoint) -> None:
        """Replace a chain's checkpoint; raise StoreDown. Only the chain's own process writes it."""
        written = msgspec.json.encode(checkpoint), self._clock() + self._seconds
        update(self._store, f"audit-checkpoint:{checkpoint.chain}", lambda _record: written, tags=(_TAG,))

    def all(self) -> Iterator[Checkpoint]:
        """Yield every stored checkpoint; raise StoreDown."""
        for name in self._store.tagged(_TAG):
            if held := self._store.get(name):
                yield msgspec.json.decode(held.value, type=Checkpoint)
