"""Pages of a list, and walks through all of them, however the API pages."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any, cast

import pytest

from portal.services.api import Query
from portal.services.cursors import Followed
from portal.services.decoding import PagedResult
from portal.services.errors import BadResponse, Unavailable
from portal.services.listed import Count, Listed
from portal.services.notifications import Notification
from portal.services.paging import CAP, read_every_page, read_page, requested_page
from portal.services.responses import refuse_untold


def page(count, total=None) -> PagedResult[int]:
    return PagedResult(items=tuple(range(count)), total_count=total)


@pytest.mark.parametrize(
    ("given", "skip", "total", "here"),
    [
        (page(10, 35), 10, 35, 10),
        (page(10), 10, 21, 10),
        (page(4), 10, 14, 4),
        (page(0), 10, 10, 0),
        (page(35), 10, 35, 10),
        (page(35), 30, 35, 5),
    ],
    ids=["counted", "uncounted", "uncounted last", "beyond", "unpaged", "unpaged last"],
)
def test_a_page_has_the_requested_size_however_the_api_pages(given, skip, total, here):
    fit = requested_page(given, skip, 10)
    assert (fit.total, len(fit.items)) == (total, here)


def test_an_unpaged_list_is_sliced_to_the_requested_page():
    assert requested_page(page(35), 30, 10).items == (30, 31, 32, 33, 34)


def test_reading_an_endless_list_stops_at_the_cap():
    read = read_every_page(lambda skip, limit: page(limit, 10**9))
    assert read.count == Count(CAP, is_whole=False)


def test_the_next_page_begins_after_unreadable_records_too() -> None:
    asked: list[int] = []

    def read(skip: int, limit: int) -> PagedResult[int]:
        asked.append(skip)
        items = tuple(range(skip, min(25, skip + limit)))
        return PagedResult(items=items[1:], unreadable=(str(items[0]),), total_count=25)

    everything = read_every_page(read, chunk=10)
    assert asked == [0, 10, 20]
    assert everything == Listed(tuple(n for n in range(25) if n % 10), is_whole=False)


def test_reading_stops_at_an_empty_page():
    assert read_every_page(lambda skip, limit: page(0, 5)) == Listed((), is_whole=False)


def api(length: int, largest: int, *, numbers: bool, counts: bool):
    """A list of `length` records whose pages are cut to `largest`; with `numbers`, it counts in pages of that size."""

    def read(skip: int, limit: int) -> PagedResult[int]:
        size = min(limit, largest)
        begins = skip // limit * size if numbers else skip
        items = tuple(range(length))[begins : begins + size]
        return PagedResult(items=items, total_count=length if counts else None)

    return read


@pytest.mark.parametrize("numbers", [False, True], ids=["offsets", "page numbers"])
@pytest.mark.parametrize("counts", [False, True], ids=["uncounted", "counted"])
@pytest.mark.parametrize("largest", [5, 12, 100])
@pytest.mark.parametrize("length", [0, 3, 5, 13, 24, 60])
def test_every_page_is_whole_whatever_size_the_api_grants(
    length: int, largest: int, counts: bool, numbers: bool
) -> None:
    read = api(length, largest, numbers=numbers, counts=counts)
    known = largest if not counts else None
    for skip in (0, 12, 24):
        page = read_page(read, skip, 12, known)
        assert page.items == tuple(range(length))[skip : skip + 12]
        if counts or (page.is_counted and page.items):
            assert page.total == length
    everything = read_every_page(lambda skip, limit: read_page(read, skip, limit, known))
    assert everything.items == tuple(range(length))
    assert everything.is_whole


def test_a_list_that_ends_before_its_count_is_not_whole() -> None:
    def read(skip: int, limit: int) -> PagedResult[int]:
        return PagedResult(items=tuple(range(5))[skip : skip + limit], total_count=13)

    assert read_every_page(lambda skip, limit: read_page(read, skip, limit)) == Listed(
        (0, 1, 2, 3, 4), is_whole=False
    )


@pytest.mark.parametrize("numbers", [False, True], ids=["offsets", "page numbers"])
@pytest.mark.parametrize("counts", ["its own length", "nothing"])
@pytest.mark.parametrize("largest", [5, 50, 100, 200])
@pytest.mark.parametrize("length", [5, 20, 50, 100, 230])
def test_a_page_that_counts_itself_is_not_taken_for_the_list(
    length: int, largest: int, counts: str, numbers: bool
) -> None:
    def read(skip: int, limit: int) -> PagedResult[int]:
        page = api(length, largest, numbers=numbers, counts=False)(skip, limit)
        return PagedResult(
            items=page.items, total_count=len(page.items) if counts == "its own length" else None
        )

    known = largest if largest == 5 else None
    everything = read_every_page(lambda skip, limit: read_page(read, skip, limit, known))
    assert everything.items == tuple(range(length))
    first = read_page(read, 0, 20, known)
    assert first.items == tuple(range(length))[:20]
    assert first.is_counted == (length <= 20) or not first.listed.is_whole


def test_a_whole_list_is_cut_to_the_page_though_it_is_counted() -> None:
    assert read_page(lambda _skip, _limit: page(35, 35), 10, 10).items == tuple(range(10, 20))


def test_a_list_that_ends_with_a_page_is_whole() -> None:
    assert read_page(lambda skip, limit: page(20 if skip == 0 else 0, 20), 0, 20).count == Count(20)
    assert read_page(lambda _skip, _limit: page(20, 20), 0, 20).count == Count(20)


@pytest.mark.parametrize("read_all", [False, True])
def test_pages_that_overlap_are_no_whole_list(read_all: bool) -> None:
    """Of an API that counts records from 1, each page but the first begins one record early."""
    news = [Notification(id=f"n-{number}") for number in range(13)]

    def read(skip: int, limit: int) -> PagedResult[Notification]:
        begins = max(skip, 1) - 1
        return PagedResult(items=tuple(news[begins : begins + min(limit, 5)]), total_count=13)

    found = read_every_page(read, chunk=5) if read_all else read_page(read, 0, 50).listed
    assert not found.is_whole
    assert len({one.id for one in found.items}) == len(found.items)


def test_a_list_in_tiny_pieces_is_not_read_for_ever() -> None:
    asked: list[int] = []

    def read(skip: int, limit: int) -> PagedResult[int]:
        asked.append(skip)
        return api(1000, 2, numbers=False, counts=True)(skip, limit)

    page = read_page(read, 0, 200)
    assert len(asked) <= 42
    assert not page.listed.is_whole


@pytest.mark.parametrize("counts", [False, True])
def test_a_page_that_comes_again_and_again_is_shown_once(counts: bool) -> None:
    page = read_page(
        lambda _skip, _limit: PagedResult(items=(1, 2, 3, 4), total_count=13 if counts else None), 0, 12, 4
    )
    assert page.items == (1, 2, 3, 4)
    assert not page.listed.is_whole and not page.count.is_whole


@pytest.mark.parametrize("largest", [None, 4])
@pytest.mark.parametrize("total", [None, 13, 20])
def test_pages_that_name_the_next_one_are_followed_once(largest: int | None, total: int | None) -> None:
    asked: list[object] = []

    def read(query: Query) -> PagedResult[int]:
        asked.append(query["SkipCount"])
        at, size = int(str(query["SkipCount"] or 0)), int(str(query["MaxResultCount"]))
        kept = tuple(one for one in range(13)[at : at + size] if one != 2)
        end = at + size
        return PagedResult(
            items=kept, total_count=total, deleted=int(at <= 2 < end), next=str(end) if end < 13 else None
        )

    followed = Followed()

    def part(skip: int, limit: int) -> PagedResult[int]:
        return followed.page({"SkipCount": skip, "MaxResultCount": limit}, read, largest)

    everyone = tuple(one for one in range(13) if one != 2)
    assert part(0, 5).items == everyone[:5]
    assert part(10, 5).items == everyone[10:]
    everything = read_every_page(lambda skip, limit: read_page(part, skip, limit))
    assert everything.items == everyone
    assert everything.is_whole is (total != 20), "a list that ends before its count"
    assert len(asked) == len(set(asked))


@pytest.mark.parametrize("cursor", ["", "same"])
def test_pages_that_lead_nowhere_are_no_whole_list(cursor: str) -> None:
    followed = Followed()
    page = followed.page(
        {"SkipCount": 0, "MaxResultCount": 12}, lambda _query: PagedResult(items=(1,), next=cursor), None
    )
    assert set(page.items) == {1}
    assert not page.listed.is_whole and not page.count.is_whole


def test_a_next_page_that_could_not_be_read_is_asked_for_again() -> None:
    followed, asked = Followed(), list[object]()

    def read(query: Query) -> PagedResult[int]:
        asked.append(query["SkipCount"])
        if len(asked) == 2:
            raise Unavailable("cut")
        return PagedResult(items=(2,)) if query["SkipCount"] else PagedResult(items=(1,), next="second")

    query: Query = {"SkipCount": 0, "MaxResultCount": 2}
    with pytest.raises(Unavailable):
        followed.page(query, read, 1)
    assert followed.page(query, read, 1).items == (1, 2)
    assert asked == [None, "second", "second"]


def test_deleted_records_are_counted_over_all_pieces():
    def read(skip: int, limit: int) -> PagedResult[int]:
        kept = tuple(one for one in range(skip, min(skip + 2, 5)) if one != 1)
        return PagedResult(items=kept, total_count=5, deleted=int(skip == 0))

    whole = read_page(read, 0, 25, 2)
    assert (whole.items, whole.received, whole.count) == ((0, 2, 3, 4), 5, Count(4))
    assert read_every_page(lambda skip, limit: read_page(read, skip, limit, 2)) == Listed((0, 2, 3, 4))


@pytest.mark.parametrize("largest", [None, 2])
def test_a_count_below_what_came_is_no_count(largest: int | None):
    def read(skip: int, limit: int) -> PagedResult[int]:
        return PagedResult(items=tuple(range(5))[skip : skip + limit], total_count=1)

    page = read_page(read, 0, 25, largest)
    assert page.count == Count(5, is_whole=False)
    assert read_every_page(lambda skip, limit: read_page(read, skip, limit, largest)).count == page.count


@pytest.mark.parametrize(
    ("query", "members", "is_empty"),
    [
        ({}, {}, False),
        ({}, {"next": ""}, False),
        ({}, {"next": "b"}, True),
        ({"IsRead": False}, {}, False),
        ({"IsRead": False}, {"unread_count": 1}, False),
        ({"IsRead": False}, {"unread_count": 0}, True),
        ({"IsRead": None}, {"unread_count": 0}, False),
        ({"Filter": None}, {}, False),
        ({"Filter": "amelia"}, {}, True),
    ],
)
def test_a_first_page_with_a_count_may_be_empty_where_something_says_why(
    query: dict[str, object], members: dict[str, Any], is_empty: bool
) -> None:
    page = PagedResult[object](items=(), total_count=4, **members)
    asked = cast("Query", {"SkipCount": 0, "MaxResultCount": 20, **query})
    with nullcontext() if is_empty else pytest.raises(BadResponse):
        refuse_untold(page, asked)
