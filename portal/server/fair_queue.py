"""Requests waiting for a thread: a tenant whose requests take long leaves some threads to the others.

When the API of one tenant hangs, its requests would soon occupy all threads. So the last threads are given only to
tenants that occupy none; a tenant's further requests wait until one of its own, or enough others, are done.
"""

from __future__ import annotations

from collections import deque
from threading import Lock
from typing import Generic, TypeVar

JobT = TypeVar("JobT")


class FairQueue(Generic[JobT]):
    """Jobs for `size` threads, `reserve` of which are kept for tenants that occupy none; otherwise the oldest job first.

    Threads may call all methods.
    """

    def __init__(self, size: int, reserve: int) -> None:
        self._size = size
        self._reserve = reserve
        self._lock = Lock()
        self._jobs: deque[tuple[str, JobT]] = deque()
        self._busy: dict[str, int] = {}
        self.is_closed = False

    def __len__(self) -> int:
        return len(self._jobs)

    def put(self, tenant: str, job: JobT) -> None:
        with self._lock:
            self._jobs.append((tenant, job))

    def take(self) -> tuple[str, JobT] | None:
        """Remove and return the oldest job that may start now, with its tenant; call `finish` when it is done."""
        with self._lock:
            index = self._first_ready()
            if index is None:
                return None
            tenant, job = self._jobs[index]
            del self._jobs[index]
            self._busy[tenant] = self._busy.get(tenant, 0) + 1
            return tenant, job

    def finish(self, tenant: str) -> None:
        """Record that a job of this tenant is done."""
        with self._lock:
            self._busy[tenant] -= 1
            if not self._busy[tenant]:
                del self._busy[tenant]

    @property
    def has_ready(self) -> bool:
        """Whether `take` would return a job."""
        with self._lock:
            return self._first_ready() is not None

    def close(self) -> None:
        """Keep no thread back any more, so that what waits is done before the threads end."""
        self.is_closed = True

    def _first_ready(self) -> int | None:
        if not self._jobs:
            return None
        free = self._size - sum(self._busy.values())
        if free > self._reserve or self.is_closed:
            return 0
        waiting = enumerate(tenant for tenant, _ in self._jobs)
        return next((index for index, tenant in waiting if tenant not in self._busy), None)
