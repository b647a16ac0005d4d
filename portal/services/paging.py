"""Paging: the query for one page of a list, and reading all pages."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from msgspec import structs

from portal.services.decoding import Page
from portal.services.listed import Listed

T = TypeVar("T")

CAP = 1000
"""The most records that `read_every_page` returns; nobody needs more at once."""
CHUNK = 200
"""The page size when reading all pages."""


def requested_page(page: Page[T], skip: int, limit: int) -> Page[T]:
    """The requested page, also from an API that doesn't count or page.

    The total of a full page without a count is one more than the records seen, so that "next" is offered;
    `is_counted` is then False.
    """
    if page.total_count is not None:
        return page
    here = page.received
    if here > limit:  # the API sent the whole list
        items = page.items[skip : skip + limit]
        return structs.replace(page, items=items, total_count=here)
    may_go_on = here == limit
    return structs.replace(
        page,
        total_count=skip + here + (1 if may_go_on else 0),
        is_counted=not may_go_on and (here > 0 or skip == 0),
    )


def read_every_page(read: Callable[[int, int], Page[T]], *, most: int = CAP, chunk: int = CHUNK) -> Listed[T]:
    """The records of a list, at most `most`, read by `read(skip, limit)`, `chunk` at a time."""
    found: list[T] = []
    received = 0
    is_readable = is_whole = True
    while received < most:
        page = read(received, chunk)
        found.extend(page.items)
        received += page.received
        is_readable = is_readable and not page.unreadable
        is_whole = received >= page.total and (page.is_counted or not page.received)
        if not page.received or received >= page.total:
            break
    return Listed(tuple(found[:most]), is_readable and is_whole and received <= most)
