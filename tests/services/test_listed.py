"""Counts of lists that may be only part of another."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from portal.services.decoding import PagedResult
from portal.services.listed import Count, Listed
from portal.services.paging import read_every_page, requested_page


def page(total: int | None, *items: str, unreadable: int = 0) -> PagedResult[str]:
    return PagedResult(items=items, total_count=total, unreadable=("$.id",) * unreadable)


@pytest.mark.parametrize(
    ("read", "is_whole"),
    [
        (page(2, "a", "b"), True),
        (page(3, "a", "b"), False),
        (page(3, "a", "b", unreadable=1), False),
        (requested_page(page(None, "a", "b"), 0, 2), False),
        (requested_page(page(None, "a", "b"), 0, 3), True),
        (requested_page(page(None, "a", "b", "c"), 0, 2), False),
    ],
)
def test_a_page_knows_whether_it_is_the_whole_list(read: PagedResult[str], is_whole: bool) -> None:
    assert read.listed.is_whole is is_whole
    assert read.listed.where(lambda one: one == "a").count == Count(1, is_whole)
    assert read.listed.where(lambda one: one == "z").is_none is is_whole


@pytest.mark.parametrize("is_whole", [True, False])
def test_the_first_of_a_list_are_counted_with_those_that_are_cut_off(is_whole: bool) -> None:
    first = Listed(("a", "b", "c"), is_whole).first(1)
    assert (first.items, first.left_out, first.count) == (("a",), 2, Count(3, is_whole))
    assert first.through(reversed).count == Count(3, is_whole)
    assert first.first(1) == first
    assert first.where(lambda one: one == "z").count == Count(0, is_whole=False)


def test_a_list_that_may_be_part_of_another_has_no_length() -> None:
    """So that code and templates can't count it as if it were whole."""
    with pytest.raises(TypeError):
        len(Listed(("a",), is_whole=False))  # type: ignore[arg-type]


def test_counts_add_up_to_a_whole_only_if_each_is() -> None:
    assert Count(2) + Count(3) == Count(5)
    assert Count(2) + Count(3, is_whole=False) == Count(5, is_whole=False)


def server(records: int, *, counts: bool) -> Callable[[int, int], PagedResult[str]]:
    def read(skip: int, limit: int) -> PagedResult[str]:
        items = tuple(map(str, range(records)))[skip : skip + limit]
        return requested_page(PagedResult(items=items, total_count=records if counts else None), skip, limit)

    return read


@pytest.mark.parametrize("counts", [True, False])
@pytest.mark.parametrize("records", [0, 1, 4, 5, 8, 9, 12, 13, 20])
def test_reading_every_page_says_whether_the_end_was_reached(records: int, counts: bool) -> None:
    found = read_every_page(server(records, counts=counts), most=12, chunk=4)
    assert found.count.number == min(records, 12)
    assert found.is_whole is (records < 12 or (records == 12 and counts))
