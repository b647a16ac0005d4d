"""Paging: one page of a list as it was asked for, however the API pages, and reading all pages."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from msgspec import structs

from portal.services.api import Endpoint, PageQuery
from portal.services.client import Care
from portal.services.decoding import PagedResult
from portal.services.listed import Listed

T = TypeVar("T")
QueryT = TypeVar("QueryT", bound=PageQuery)

CAP = 1000
"""The most records that `read_every_page` returns; nobody needs more at once."""
CHUNK = 200
"""The page size when reading all pages."""


def requested_page(page: PagedResult[T], skip: int, limit: int) -> PagedResult[T]:
    """The requested page, also from an API that doesn't count or page.

    The total of a full page without a count is one more than the records seen, so that "next" is offered;
    `is_counted` is then False, as for an API that counts fewer than it sends.
    """
    here = page.received
    if here > limit and page.total == here:  # the API sent the whole list
        items = page.items[skip : skip + limit]
        return structs.replace(page, items=items, total_count=here)
    if page.total_count is not None and not (here and 0 < page.total <= skip):
        return _with_plausible_total(page)
    may_go_on = here == limit
    return structs.replace(
        page,
        total_count=skip + here + (1 if may_go_on else 0),
        is_counted=not may_go_on and (here > 0 or skip == 0),
    )


def _with_plausible_total(page: PagedResult[T]) -> PagedResult[T]:
    if page.received - page.deleted <= page.total:
        return page
    return structs.replace(page, total_count=page.received, is_counted=False)


def read_page(
    read: Callable[[int, int], PagedResult[T]], skip: int, limit: int, largest: int | None = None
) -> PagedResult[T]:
    """The requested page of a list, by `read(skip, limit)`, also from an API that sends fewer records at once than asked for.

    `largest` is the most records that the API is known to send. One that sends fewer than it counts, without having said so,
    is read again in pieces of what it sent, at offsets that are multiples of that: it may count in pages of its own size.
    Where a list seems to end just where a page may have been cut, the next page is asked for too.
    """
    size = min(limit, largest or limit)
    if size < limit:
        return _in_pieces(read, skip, limit, size, None)
    page = read(skip, limit)
    if _is_cut(page, skip, limit):
        return _in_pieces(read, skip, limit, page.received, page if skip == 0 else None)
    if not _may_be_cut(page, skip, limit):
        return requested_page(page, skip, limit)
    if skip == 0:
        after = read(page.received, page.received)
        if not after.received or after.items == page.items:
            return requested_page(page, skip, limit)
    uncounted = structs.replace(page, total_count=None)
    if page.received == limit:
        return requested_page(uncounted, skip, limit)

    def read_uncounted(at: int, piece: int) -> PagedResult[T]:
        return structs.replace(read(at, piece), total_count=None)

    return _in_pieces(read_uncounted, skip, limit, page.received, uncounted if skip == 0 else None)


def read_list(endpoint: Endpoint[PagedResult[T], QueryT], query: QueryT, *, care: Care) -> PagedResult[T]:
    """The page of a list that this query asks for."""

    def read(skip: int, limit: int) -> PagedResult[T]:
        return care.read(endpoint, query=structs.replace(query, skip_count=skip, max_result_count=limit))

    return read_page(read, query.skip_count, query.max_result_count, care.largest_page)


def _may_be_cut(page: PagedResult[T], skip: int, limit: int) -> bool:
    """Whether what seems to be a list's last page may be cut: its count may be its own length, or there is none."""
    if page.total_count is None:
        return page.received < limit and page.received in _SMALL_SIZES | _USUAL_SIZES
    is_full = page.received == limit or (page.received < limit and page.received in _USUAL_SIZES)
    return skip == 0 and is_full and page.total == page.received


_USUAL_SIZES, _SMALL_SIZES = frozenset({50, 100, 200, 250, 500, 1000}), frozenset({10, 20, 25})
"""To which pages are cut. A list that counts as many as a small one is believed: it would often cost another call."""


def _is_cut(page: PagedResult[T], skip: int, limit: int) -> bool:
    return 0 < page.received < limit and page.total_count is not None and page.total != skip + page.received


def _in_pieces(
    read: Callable[[int, int], PagedResult[T]], skip: int, limit: int, size: int, first: PagedResult[T] | None
) -> PagedResult[T]:
    begins = at = skip - skip % size
    items: list[T] = []
    unreadable: list[str] = []
    deleted = 0
    page, may_go_on, is_repeated = first or read(at, size), True, False
    for _piece in range(_MOST_PIECES):
        new = _not_among(items, page.items)
        is_repeated = is_repeated or len(new) < len(page.items)
        items += new
        unreadable += page.unreadable
        deleted += page.deleted
        at += page.received
        # A count that is no more than a page may be this page's own.
        is_counted = page.total_count is not None and page.total > size
        is_end = page.received < size or (is_counted and at >= page.total)
        if is_end or at >= skip + limit:
            may_go_on = not is_end
            break
        before, page = page, read(at - at % size, size)
        if page.items and page.items == before.items:  # the API doesn't page: there may be more
            is_repeated = True
            break
    shown = tuple(items[skip - begins :][:limit])
    whole = structs.replace(page, items=shown, unreadable=tuple(unreadable), deleted=deleted)
    if not is_repeated and page.total_count is not None and (at == begins or at - deleted <= page.total):
        return whole
    is_contradictory = is_repeated or page.total_count is not None
    return structs.replace(whole, total_count=at + may_go_on, is_counted=not (may_go_on or is_contradictory))


def _not_among(found: Sequence[T], items: Sequence[T]) -> list[T]:
    """The records that weren't found yet: where some were, pages overlap, and another record may be on none of them."""
    ids = {getattr(item, "id", None) for item in found} - {None}
    return [item for item in items if getattr(item, "id", None) not in ids]


_MOST_PIECES = 40
"""A list in smaller pieces isn't read to its end; it is counted as "at least"."""


def read_every_page(
    read: Callable[[int, int], PagedResult[T]], *, most: int = CAP, chunk: int = CHUNK
) -> Listed[T]:
    """The records of a list, at most `most`, read by `read(skip, limit)`, `chunk` at a time."""
    found: list[T] = []
    received = 0
    is_readable = is_whole = True
    while received < most:
        page = read(received, chunk)
        new = _not_among(found, page.items)
        found.extend(new)
        received += page.received
        is_readable = is_readable and not page.unreadable and len(new) == len(page.items)
        is_whole = received >= page.total and (page.is_counted or not page.received)
        if not page.received or received >= page.total:
            break
    return Listed(tuple(found[:most]), is_readable and is_whole and received <= most)
