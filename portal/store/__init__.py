"""Shared state of all portal processes, behind one small interface.

A record has a name, a value, a version that increases with each write, and an expiry. Records can carry tags, by which
all sessions of a person are found. `take` reads and deletes a record in one step, for what may be used once. A lock can be
released only by its owner. `portal.store.sqlite` stores records in a file, for one machine; `portal.store.redis` in Redis,
for several.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from types import EllipsisType, TracebackType
from typing import Protocol, TypeAlias

from portal import metrics, tracing
from portal.clock import Clock
from portal.values import Value


class StoreDown(Exception):
    """The store doesn't answer. The portal then answers 503: it neither treats people as signed out nor uses another store."""


class StoreFull(StoreDown):
    """The store answers, but accepts no writes: its memory or disk is full, or it is a replica."""


class StoreUnsuitable(StoreDown):
    """What answers can't be the store: `args[0]` says why, and what to write instead."""


class WrongKey(StoreDown):
    """The store was written with secret keys that this process doesn't have, so it can't be used.

    `args[0]` names the keys by their fingerprints.
    """


class StoredRecord(Value, frozen=True):
    """A stored value; `expires_at` is in seconds since 1970 (UTC)."""

    value: bytes
    version: int
    expires_at: float


class Store(Protocol):
    """Named records that expire. Every method may raise StoreDown; those that write, StoreFull too."""

    def get(self, name: str) -> StoredRecord | None:
        """Return the record, or None if it doesn't exist or has expired."""
        ...

    def get_many(self, names: Iterable[str]) -> dict[str, StoredRecord]:
        """Return the records that exist, in one round trip."""
        ...

    def insert(self, name: str, value: bytes, *, expires_at: float, tags: Iterable[str] = ()) -> bool:
        """Create the record; return False if it exists."""
        ...

    def replace(self, name: str, value: bytes, *, version: int, expires_at: float) -> bool:
        """Replace the record if it still has this version; return False if it has changed or is gone."""
        ...

    def delete(self, *names: str) -> int:
        """Delete the records and their tags; return how many existed."""
        ...

    def take(self, name: str) -> StoredRecord | None:
        """Read and delete the record in one step, so that only one of several callers gets it."""
        ...

    def tagged(self, tag: str) -> list[str]:
        """Return the names of the records with this tag."""
        ...

    def lock(self, name: str, owner: str, *, seconds: float) -> bool:
        """Acquire the lock for `owner` for a limited time; return False if another owner holds it."""
        ...

    def unlock(self, name: str, owner: str) -> None:
        """Release the lock if `owner` still holds it."""
        ...

    def ping(self) -> None:
        """Return if the store answers and accepts writes."""
        ...

    def free_bytes(self) -> int | None:
        """Return the free space on its disk or in its memory; None if there is no limit."""
        ...


class measured:  # noqa: N801 (a context manager, used as a verb)
    """Measure an operation on the store ("read" or "write"): its duration and outcome."""

    __slots__ = ("_operation", "_span", "_started")

    def __init__(self, operation: str) -> None:
        self._operation = operation

    def __enter__(self) -> None:
        self._span = tracing.span("store", operation=self._operation)
        self._span.__enter__()
        self._started = time.perf_counter()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._span.__exit__(kind, error, trace)
        outcome = "done" if kind is None else "full" if issubclass(kind, StoreFull) else "failed"
        metrics.store(self._operation, outcome, time.perf_counter() - self._started)


Change: TypeAlias = Callable[[StoredRecord | None], tuple[bytes, float] | None]
"""Receives the current record, or None; returns its new value and expiry (seconds since 1970), or None to keep it."""


def update(
    store: Store,
    name: str,
    change: Change,
    *,
    tags: Iterable[str] = (),
    held: StoredRecord | EllipsisType | None = ...,
) -> bytes | None:
    """Replace the record's value by what `change` returns for it, and return that; None if nothing was written.

    Compare-and-set: if another process wrote meanwhile, `change` runs again, so that no update is lost. It must have no
    side effects. `tags` apply if the record is created. `held` is the record as read a moment ago (None: there was none),
    which saves reading it. Raises StoreDown.
    """
    while True:
        record, held = store.get(name) if held is ... else held, ...
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
    """Return the store at a `sqlite:///path` URL, or one of Redis (`portal.store.redis_client`)."""
    if url.startswith("redis"):
        from portal.store.redis import RedisStore

        return RedisStore(url, clock)
    from portal.store.sqlite import SqliteStore

    return SqliteStore(url.removeprefix("sqlite:///"), clock)
