"""Pages of a list, and walks through all of them, however the API pages."""

from __future__ import annotations

import pytest

from portal.services.decoding import Page
from portal.services.listed import Count, Listed
from portal.services.paging import CAP, read_every_page, requested_page


def page(count, total=None) -> Page[int]:
    return Page(items=tuple(range(count)), total_count=total)


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


def test_reading_stops_at_an_empty_page():
    assert read_every_page(lambda skip, limit: page(0, 5)) == Listed((), is_whole=False)
