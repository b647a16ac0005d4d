"""Files on their way to browsers: how many there may be at once."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator

LONGEST = 3600.0
"""Seconds after which a file is no longer on its way, whatever became of it."""


class TooManyDownloads(Exception):
    """So many files are on their way to this person, this address or all together that no other one is begun."""


class Downloads:
    """The files that one process sends at this moment.

    Each takes memory and connections for as long as its reader likes, so there are bounds: `most` for all together,
    `by_address` for whoever shares an address, `by_person` for one person.
    """

    def __init__(self, *, most: int = 64, by_address: int = 32, by_person: int = 12) -> None:
        self._most = most
        self._by_address = by_address
        self._by_person = by_person
        self._begun: dict[object, tuple[str, str, float]] = {}
        self._lock = threading.Lock()

    def begin(self, person: str, address: str) -> Callable[[], None]:
        """Count a file that is about to be sent; return what ends that. Raise TooManyDownloads."""
        now = time.monotonic()
        key = object()
        with self._lock:
            for old in [one for one, (_, _, began) in self._begun.items() if now - began > LONGEST]:
                del self._begun[old]
            to_person = sum(one == person for one, _, _ in self._begun.values())
            to_address = sum(one == address for _, one, _ in self._begun.values())
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
    """The bytes of one file; `close` lets go of them, and may be called more than once."""

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
