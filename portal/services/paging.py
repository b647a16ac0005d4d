"""Lists a page at a time: the query that asks for one, and a walk through all of them."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import TypeVar

from msgspec import structs

from portal.dates import in_zone
from portal.services.decoding import Page
from portal.services.endpoints import Query

T = TypeVar("T")

CAP = 1000
"""The most records that a walk reads; nobody has more than that in view."""
CHUNK = 200
"""How many records a walk asks for at a time."""


def page_query(skip: int, limit: int, **others: str | int | bool | datetime | None) -> Query:
    """The query for `limit` records after the first `skip`; `others` by their names at the API.

    Instants become ISO 8601 in UTC. See docs/assumptions.md.
    """
    values = {n: _written(v) if isinstance(v, datetime) else v for n, v in others.items()}
    return {"SkipCount": skip, "MaxResultCount": limit, **values}


def requested_page(page: Page[T], skip: int, limit: int) -> Page[T]:
    """The page that was asked for, also from an API that doesn't count or doesn't page.

    An uncounted full page counts one record more than was seen, so that "next" is offered, and says so.
    """
    if page.total_count is not None:
        return page
    here = page.received
    if here > limit:  # the whole list came
        items = page.items[skip : skip + limit]
        return structs.replace(page, items=items, total_count=here)
    may_go_on = here == limit
    return structs.replace(
        page,
        total_count=skip + here + (1 if may_go_on else 0),
        is_counted=not may_go_on and (here > 0 or skip == 0),
    )


def read_every_page(read: Callable[[int, int], Page[T]]) -> tuple[T, ...]:
    """All records of a list, at most `CAP`, by calls of `read(skip, limit)`."""
    found: list[T] = []
    received = 0
    while received < CAP:
        page = read(received, CHUNK)
        found.extend(page.items)
        received += page.received
        if not page.received or received >= page.total:
            break
    return tuple(found[:CAP])


def _written(at: datetime) -> str:
    return in_zone(at, UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
