"""Shared state of all portal processes, behind one small interface.

A record has a name, a value, a version that grows with each write, and a time at which it is gone. Tags find
records (all sessions of a person); a take is a read that can succeed once; a lock is a record that its owner
alone may release. `portal.store.sqlite` keeps them in a file, for one machine; `portal.store.redis` in Redis, for many.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from portal import metrics
from portal.clock import Clock


class StoreDown(Exception):
    """The store does not answer. The portal answers 503: never anonymous, never from another store."""


class StoreFull(StoreDown):
    """The store answers, but takes no writes: its memory or disk is full, or it is a replica."""


class WrongKey(StoreDown):
    """The store is sealed with secret keys that this process doesn't have: it may read and change nothing in it.

    `args[0]` says which keys, by their fingerprints.
    """


@dataclass(frozen=True, slots=True)
class Record:
    """What the store holds under a name; `expires_at` in seconds since 1970 (UTC)."""

    value: bytes
    version: int
    expires_at: float


class Store(Protocol):
    """Named records that expire. Every method may raise StoreDown, those that write StoreFull too."""

    def get(self, name: str) -> Record | None:
        """Return the record, or None when there is none, or none any more."""
        ...

    def get_many(self, names: Iterable[str]) -> dict[str, Record]:
        """Return those of the records that exist, in one round trip."""
        ...

    def insert(self, name: str, value: bytes, *, expires_at: float, tags: Iterable[str] = ()) -> bool:
        """Create the record; False when one of that name exists."""
        ...

    def replace(self, name: str, value: bytes, *, version: int, expires_at: float) -> bool:
        """Replace version `version` of the record; False when it has changed or is gone."""
        ...

    def delete(self, *names: str) -> int:
        """Remove the records and their tags; return how many existed."""
        ...

    def take(self, name: str) -> Record | None:
        """Read and remove in one step, so that only one of several callers succeeds."""
        ...

    def tagged(self, tag: str) -> list[str]:
        """Return the names of the records that carry the tag."""
        ...

    def lock(self, name: str, owner: str, *, seconds: float) -> bool:
        """Take the lock for `owner`, for a limited time; False when another has it."""
        ...

    def unlock(self, name: str, owner: str) -> None:
        """Release the lock, if `owner` still has it."""
        ...

    def ping(self) -> None:
        """Return once the store answers and takes writes."""
        ...

    def free_bytes(self) -> int | None:
        """Return how much room is left on its disk or in its memory; None where there is no limit."""
        ...


class measured:  # noqa: N801 (a context manager, used as a verb)
    """Measure an operation on the store ("read" or "write"): how long it takes and how it ends."""

    __slots__ = ("_operation", "_started")

    def __init__(self, operation: str) -> None:
        self._operation = operation

    def __enter__(self) -> None:
        self._started = time.perf_counter()

    def __exit__(self, kind: type[BaseException] | None, _error: object, _trace: object) -> None:
        outcome = "done" if kind is None else "full" if issubclass(kind, StoreFull) else "failed"
        metrics.store(self._operation, outcome, time.perf_counter() - self._started)


Change: TypeAlias = Callable[[Record | None], tuple[bytes, float] | None]
"""What to write over a record (None: there is none): value and expiry in seconds since 1970; None writes nothing."""


def update(store: Store, name: str, change: Change, *, tags: Iterable[str] = ()) -> bytes | None:
    """Write what `change` makes of the record, and return it; None when it left the record as it is.

    Compare-and-set: `change` runs again when somebody else wrote meanwhile, so no update is ever lost, and it must not
    do anything but return the new value. `tags` are those of a record that is created. Raises StoreDown.
    """
    while True:
        record = store.get(name)
        changed = change(record)
        if changed is None:
            return None
        value, expires_at = changed
        is_written = (
            store.insert(name, value, expires_at=expires_at, tags=tags)
            if record is None
            else store.replace(name, value, version=record.version, expires_at=expires_at)
        )
        if is_written:
            return value


def open_store(url: str, clock: Clock) -> Store:
    """Return the store of a `sqlite:///path`, `redis://host:port/database` or `rediss://…` address."""
    if url.startswith(("redis://", "rediss://")):
        from portal.store.redis import RedisStore

        return RedisStore(url, clock)
    from portal.store.sqlite import SqliteStore

    return SqliteStore(url.removeprefix("sqlite:///"), clock)
