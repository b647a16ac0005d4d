"""Limits on how many files are sent to browsers at the same time."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator

LONGEST = 3600.0
"""Seconds after which a download no longer counts, even if its end was never reported."""


class TooManyDownloads(Exception):
    """Too many downloads are under way: for this person, this address or in all."""


class Downloads:
    """Counts the downloads that this process is sending.

    Each occupies memory and connections for as long as the client takes, so their number is limited: `most` in all,
    `by_address` for one client address, `by_person` for one person.
    """

    def __init__(self, *, most: int = 64, by_address: int = 32, by_person: int = 12) -> None:
        self._most = most
        self._by_address = by_address
        self._by_person = by_person
        self._begun: dict[object, tuple[str, str, float]] = {}
        self._lock = threading.Lock()

    def begin(self, person: str, address: str) -> Callable[[], None]:
        """Count a new download and return a function to call when it ends; raise TooManyDownloads at a limit."""
        now = time.monotonic()
        key = object()
        with self._lock:
            for expired in [other for other, (_, _, began) in self._begun.items() if now - began > LONGEST]:
                del self._begun[expired]
            to_person = sum(other == person for other, _, _ in self._begun.values())
            to_address = sum(other == address for _, other, _ in self._begun.values())
            if (
                len(self._begun) >= self._most
                or to_person >= self._by_person
                or to_address >= self._by_address
            ):
                raise TooManyDownloads
            self._begun[key] = (person, address, now)

        def end() -> None:
            with self._lock:
                self._begun.pop(key, None)

        return end


class Download:
    """Iterates over a file's bytes; `close` calls each of `ends` once, however often it is called itself."""

    def __init__(self, pieces: Iterator[bytes], *ends: Callable[[], object]) -> None:
        self._pieces = pieces
        self._ends = list(ends)

    def __iter__(self) -> Iterator[bytes]:
        return self

    def __next__(self) -> bytes:
        return next(self._pieces)

    def close(self) -> None:
        while self._ends:
            self._ends.pop(0)()
