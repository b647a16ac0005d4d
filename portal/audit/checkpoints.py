"""What the shared store knows of the audit chains: how far each has come, so that its end can't vanish unseen.

A chain proves its own order, but not that nothing is missing at its end. A checkpoint says how many lines a chain
has and the hash of the last. Checkpoints hold nothing secret and lie in the store unsealed, so that they outlive the
keys that rotate.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from portal.clock import Clock
from portal.store import Store, update

_TAG = "audit-checkpoints"
_OLDER_TAG = "audit-anchors"
"""What versions before this one wrote; a store that has it was theirs before (portal.store.names)."""

_DAY = 24 * 3600


class Checkpoint(msgspec.Struct, frozen=True, kw_only=True):
    """The head of one chain: its name, the number of lines, the SHA-256 of the last one, and where it is written.

    `at` is in seconds since 1970; a `closed` chain has ended and gets no further line. `lost` lines after the last one
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
    """The checkpoints of all processes, each kept `days` after it was written last."""

    def __init__(self, store: Store, clock: Clock, *, days: int = 400) -> None:
        self._store = store
        self._clock = clock
        self._seconds = days * _DAY

    def put(self, checkpoint: Checkpoint) -> None:
        """Write a chain's checkpoint over its older one; raise StoreDown. A chain has one writer: its process."""
        written = msgspec.json.encode(checkpoint), self._clock() + self._seconds
        update(self._store, _name(checkpoint.chain), lambda _record: written, tags=(_TAG,))

    def all(self) -> Iterator[Checkpoint]:
        """Yield every checkpoint that is kept; raise StoreDown."""
        for name in (*self._store.tagged(_OLDER_TAG), *self._store.tagged(_TAG)):
            if held := self._store.get(name):
                yield msgspec.json.decode(held.value, type=Checkpoint)


def _name(chain: str) -> str:
    return f"audit-anchor:{chain}"
