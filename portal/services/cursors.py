"""Lists whose pages each name the next one: they are read from the first on, as far as is needed, once per request."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from msgspec import structs

from portal.services.api import Query
from portal.services.decoding import PagedResult

_MOST_PAGES = 40
"""A longer list isn't read to its end; it is counted as "at least"."""


@dataclass(slots=True)
class Followed:
    """What was read of a list so far. Its records are counted without those that are marked as deleted."""

    pages: list[PagedResult[Any]] = field(default_factory=list[PagedResult[Any]])
    seen: set[str] = field(default_factory=set[str])
    lock: threading.Lock = field(default_factory=threading.Lock)

    def page(
        self, query: Query, read: Callable[[Query], PagedResult[Any]], largest: int | None
    ) -> PagedResult[Any]:
        """The part of the list that a query asks for, by `read`, whose `SkipCount` is the cursor; at most `largest` at once."""
        skip, limit = query["SkipCount"], query["MaxResultCount"]
        if not isinstance(skip, int) or not isinstance(limit, int):
            return read(query)
        size = min(limit, largest or limit)
        with self.lock:
            while len(self._rows) < skip + limit and self._may_go_on:
                cursor = self.pages[-1].next if self.pages else None
                self.pages.append(read({**query, "SkipCount": cursor, "MaxResultCount": size}))
                self.seen.add(cursor or "")  # only now: a page that couldn't be read may be asked for again
            return self._part(skip, limit)

    @property
    def _rows(self) -> list[tuple[object, str]]:
        """Each record, or the name of what can't be read of it."""
        return [
            row
            for page in self.pages
            for row in (*((item, "") for item in page.items), *((None, name) for name in page.unreadable))
        ]

    @property
    def _may_go_on(self) -> bool:
        if not self.pages:
            return True
        cursor = self.pages[-1].next
        return bool(cursor) and cursor not in self.seen and len(self.pages) < _MOST_PAGES

    def _part(self, skip: int, limit: int) -> PagedResult[Any]:
        rows, last = self._rows, self.pages[-1]
        part = rows[skip : skip + limit]
        deleted = sum(page.deleted for page in self.pages)
        told = None if last.total_count is None else last.total_count - deleted
        if last.next is None and (told is None or told <= len(rows)):
            total, is_counted = len(rows), True
        elif last.next is not None and told is not None and told > len(rows):
            total, is_counted = told, True
        else:
            total, is_counted = max(told or 0, skip + len(part) + 1), False
        return structs.replace(
            last,
            items=tuple(record for record, name in part if not name),
            unreadable=tuple(name for _one, name in part if name),
            deleted=0,
            total_count=total,
            is_counted=is_counted,
            next=None,
        )
