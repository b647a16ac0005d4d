"""The drawing of storage periods, and its description."""

from __future__ import annotations

import itertools
import re
from datetime import date, timedelta

import pytest
from flask import Flask

from portal.web.drawings.storage import DatedBar, storage_chart

TODAY = date(2026, 11, 21)
PAID = DatedBar("Paid until", date(2026, 12, 9))
AGREED = DatedBar("You agreed until", date(2036, 8, 27))
ALLOWED = DatedBar("The law allows until", date(2081, 8, 27))


def draw(*bars: DatedBar, rtl: bool = False) -> str:
    app = Flask(__name__)
    with app.test_request_context("/"):
        return str(storage_chart(bars, today=TODAY, write=date.isoformat, rtl=rtl) or "")


def bars(svg: str) -> list[tuple[float, float]]:
    found = re.findall(r'chart-bar" x="([\d.]+)" y="[\d.]+" width="([\d.]+)"', svg)
    return [(float(x), float(width)) for x, width in found]


def test_the_nearest_date_comes_first_and_later_dates_have_longer_bars() -> None:
    svg = draw(ALLOWED, AGREED, PAID)
    widths = [width for _x, width in bars(svg)]
    assert widths == sorted(widths)
    assert svg.index("Paid until 2026-12-09") < svg.index("You agreed until") < svg.index("The law allows")


def test_the_date_is_below_its_label_to_fit_a_phone() -> None:
    texts = re.findall(r"<text [^>]*>([^<]+)</text>", draw(AGREED))
    assert texts[-2:] == ["You agreed until", "2036-08-27"]


def test_the_description_says_all_that_is_drawn() -> None:
    described = re.search(
        r"<desc[^>]*>(.*?)</desc>", draw(PAID, AGREED, DatedBar("Old", TODAY - timedelta(1)))
    )
    assert described
    assert described[1] == (
        "Old 2026-11-20, which has passed. Paid until 2026-12-09. You agreed until 2036-08-27."
    )


def test_a_past_date_is_a_hollow_dot_at_today() -> None:
    svg = draw(DatedBar("Paid until", TODAY - timedelta(days=40)))
    assert 'data-planned=""' in svg
    assert not bars(svg)


@pytest.mark.parametrize("days", [0, 1, 18, 400, 3650, 20_000, 400_000, 2_900_000])
def test_everything_stays_inside_the_picture_in_both_directions(days: int) -> None:
    bar = DatedBar("Paid until", TODAY + timedelta(days=days))
    for rtl in (False, True):
        svg = draw(bar, AGREED, rtl=rtl)
        assert all(x >= 0 and x + width <= 480 for x, width in bars(svg))
        assert all(0 <= float(x) <= 480 for x in re.findall(r'<text [^>]*?x="([-\d.]+)"', svg))


def test_labels_of_years_never_touch() -> None:
    svg = draw(PAID, AGREED, ALLOWED)
    years = r'chart-axis" x="([\d.]+)" y="[\d.]+"(?: text-anchor="\w+")?>'
    places = sorted(float(x) for x in re.findall(years, svg))
    assert places
    assert all(after - before >= 50 for before, after in itertools.pairwise(places))


def test_without_a_date_nothing_is_drawn() -> None:
    assert draw() == ""


def test_a_bar_is_as_long_as_its_time() -> None:
    near, far = DatedBar("Paid", TODAY + timedelta(days=3650)), DatedBar("Law", TODAY + timedelta(days=18250))
    (_, short), (_, long) = bars(draw(near, far))
    assert abs(long / short - 5) < 0.1, "a linear scale"
