"""The drawings: what they show, their safety, and unusual records."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from datetime import date, timedelta
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from flask import Flask
from markupsafe import Markup

from portal.services.episodes import Follicles, MonitoringDay
from portal.services.protocols import Check, Medication
from portal.web.drawings.cut_offs import cut_off_chart
from portal.web.drawings.monitoring import monitoring_chart, monitoring_days
from portal.web.drawings.schedule import bars, medication_grid
from portal.web.drawings.storage import DatedBar, storage_chart
from portal.web.drawings.svg import Axis, element, round_up, spread
from portal.web.drawings.week import Column, week

START = date(2026, 11, 14)


def day(
    after: int, left: tuple[float, ...] = (), right: tuple[float, ...] = (), **more: Any
) -> MonitoringDay:
    return MonitoringDay(date=START + timedelta(after), follicles=Follicles(left=left, right=right), **more)


CYCLE = [
    day(0, (5, 4), (6, 5), cycle_day=2, e2=141, endometrium_mm=3.1, unit="pmol/L"),
    day(3, (9, 8), (9.5, 7), cycle_day=5, e2=786, endometrium_mm=5.4, unit="pmol/L"),
    day(7, (15, 14), (17.5, 17), cycle_day=9, e2=3910, endometrium_mm=8.4, unit="pmol/L"),
]
PLAN = [
    Medication(drug="rFSH", dose=225, unit="IU", start_day=1, stop_rule="Until trigger"),
    Medication(drug="Cetrorelix", dose=0.25, unit="mg", start_day=5, end_day=9),
    Medication(drug="hCG", drug_class="hCG trigger", dose=250, unit="µg", start_day=10, end_day=10),
]


def drawn(picture: Markup | None) -> ElementTree.Element:
    assert picture is not None
    root = ElementTree.fromstring(picture)  # noqa: S314 (our own markup)
    assert root.get("role") == "img"
    named = root.get("aria-labelledby")
    assert root.find("title") is not None and root.find("title").get("id") == named  # type: ignore[union-attr]
    assert not re.search(
        r"nan|inf", " ".join(v for e in root.iter() for k, v in e.items() if k not in ("id", "class"))
    )
    assert not any(name == "style" or name.startswith("on") for e in root.iter() for name in e.attrib)
    return root


def texts(root: ElementTree.Element) -> list[str]:
    return [element.text or "" for element in root.iter("text")]


def test_the_chart_names_the_leading_follicle_of_each_ovary_and_the_last_values() -> None:
    root = drawn(monitoring_chart(CYCLE))
    assert {"Left 15", "Right 17.5", "3910", "8.4", "17 mm or more", "Oestradiol, pmol/L"} <= set(texts(root))


@pytest.mark.parametrize("rtl", [False, True])
def test_values_are_beside_their_points_and_the_last_one_is_clear_of_today(rtl: bool) -> None:
    days = [day(0, e2=141.0), day(3, e2=786.0), day(4, e2=2480.0), day(6, e2=3910.0)]
    root = drawn(monitoring_chart(days, today=days[-1].date + timedelta(days=1), rtl=rtl))
    places = {text.text: float(text.get("x", 0)) for text in root.iter("text")}
    points = [float(circle.get("cx", 0)) for circle in root.iter("circle")]
    assert places["141"] == points[0] and places["2480"] == points[2]
    assert "786" not in places, "it would touch the next dot"
    assert (places["3910"] - places["Today"]) * (-1 if rtl else 1) > 10


@pytest.mark.parametrize("rtl", [False, True])
def test_each_day_is_one_focus_stop_with_all_its_values(rtl: bool) -> None:
    days = [*CYCLE, day(9, (), (9, 18, 17, 16, 15.5, 14, 13, 12), e2=5200, unit="pmol/L")]
    overlay = ElementTree.fromstring(monitoring_days(days, rtl=rtl) or "")  # noqa: S314 (our own markup)
    stops = [one for one in overlay.iter("g") if one.get("tabindex") == "0"]
    assert [stop.get("aria-label", "").partition(";")[0] for stop in stops] == [
        one.date.isoformat() for one in days
    ]
    assert [row.text for row in stops[2].iter("tspan")] == [
        days[2].date.isoformat(),
        *("Left: 15 · 14 mm", "Right: 17.5 · 17 mm", "Oestradiol: 3910 pmol/L", "Lining: 8.4 mm"),
    ]
    assert "Right: 18 · 17 · 16 · 15.5 · 14 · 13 · 12 · 9 mm" in stops[3].get("aria-label", "")
    points = {float(c.get("cx", 0)) for c in drawn(monitoring_chart(days, rtl=rtl)).iter("circle")}
    areas = [one for stop in stops for one in stop.iter("rect")]
    edges = [(float(a.get("x", 0)), float(a.get("x", 0)) + float(a.get("width", 0))) for a in areas]
    assert all(any(low <= point <= high for low, high in edges) for point in points)


def test_the_chart_describes_its_last_day_in_words() -> None:
    described = drawn(monitoring_chart(CYCLE)).findtext("desc")
    assert (
        described
        == "The largest follicle measures 17.5 mm. 2 follicles are at 17 mm or more. The lining is 8.4 mm."
    )


def test_every_size_of_every_day_is_a_dot() -> None:
    root = drawn(monitoring_chart(CYCLE))
    assert len(list(root.iter("circle"))) == 12 + 3 + 3


@pytest.mark.parametrize("rtl", [False, True])
def test_follicles_of_equal_size_are_side_by_side_on_their_ovarys_side(rtl: bool) -> None:
    root = drawn(monitoring_chart([day(0, (9.0, 9.0, 9.5, 8.5), (9.0, 9.0))], rtl=rtl))
    left, right = ([float(c.get("cx", 0)) for c in g.iter("circle")] for g in root.iter("g") if is_ovary(g))
    assert len(left) == 4 and len(right) == 2
    assert (max(left) < min(right)) if not rtl else (min(left) > max(right))
    places = [(c.get("cx"), c.get("cy")) for c in root.iter("circle")]
    assert len(set(places)) == len(places), "one dot hides another"


def is_ovary(group: ElementTree.Element) -> bool:
    return "series" in (group.get("class") or "") and group.find("circle") is not None


def test_later_days_are_further_along_and_larger_follicles_higher() -> None:
    root = drawn(monitoring_chart([day(0, (5,)), day(4, (15,))]))
    first, last = list(root.iter("circle"))
    assert float(first.get("cx", 0)) < float(last.get("cx", 0))
    assert float(first.get("cy", 0)) > float(last.get("cy", 0))


def test_time_runs_to_the_left_in_right_to_left_languages() -> None:
    root = drawn(monitoring_chart([day(0, (5,)), day(4, (15,))], rtl=True))
    first, last = list(root.iter("circle"))
    assert float(first.get("cx", 0)) > float(last.get("cx", 0))
    assert root.find("g").get("direction") == "rtl"  # type: ignore[union-attr]


@pytest.mark.parametrize("days", [[], [day(0)], [day(0, e2=float("nan"))], [day(0, (-1.0,))]])
def test_an_empty_chart_draws_nothing(days: list[MonitoringDay]) -> None:
    assert monitoring_chart(days) is None


@pytest.mark.parametrize(
    "days",
    [
        [day(0, (12,))],
        [day(0, e2=0.0)],
        [day(0, endometrium_mm=8.0)],
        [day(0, (12,)), day(0, (13,))],
        [day(0, (12,)), day(2, e2=900.0), day(4, endometrium_mm=9)],
        [day(0, (40.0, 3.0)), day(400, (5.0,))],
        [day(0, e2=1e300)],
    ],
)
def test_single_points_gaps_and_invalid_values_still_draw(days: list[MonitoringDay]) -> None:
    drawn(monitoring_chart(days))


def test_a_unit_cannot_become_markup() -> None:
    picture = monitoring_chart([day(0, e2=100.0, unit='<script>"&')])
    assert "<script" not in str(picture)
    assert 'Oestradiol, <script>"&' in texts(drawn(picture))


def test_the_same_days_give_the_same_picture_in_any_order() -> None:
    assert monitoring_chart(CYCLE) == monitoring_chart(list(reversed(CYCLE)))


def test_a_medicine_until_the_trigger_is_drawn_to_the_day_before_its_evening() -> None:
    assert [(bar.medication.drug, bar.start, bar.end, bar.is_open) for bar in bars(PLAN)] == [
        ("rFSH", 1, 9, False),
        ("Cetrorelix", 5, 9, False),
        ("hCG", 10, 10, False),
    ]


def test_the_plan_has_a_bar_for_each_medicine_with_its_dose_and_a_dot_for_each_check() -> None:
    root = drawn(medication_grid(PLAN, [Check(day=1), Check(day=4), Check(day=4)], today=4))
    assert {"rFSH 225 IU", "Cetrorelix 0.25 mg", "hCG 250 µg", "Today", "Check-ups"} <= set(texts(root))
    assert len({bar.get("y") for bar in bars_of(root)}) == 3
    assert len(list(root.iter("circle"))) == 2


@pytest.mark.parametrize(
    ("drug", "unit", "lines"),
    [
        (
            "Choriogonadotropin alfa, prefilled",
            "micrograms",
            ["Choriogonadotropin alfa,", "prefilled 250 micrograms"],
        ),
        ("Choriogonadotropin alfa", "micrograms", ["Choriogonadotropin alfa", "250 micrograms"]),
        (
            "rFSH",
            "sachets, dissolved in a glass of water",
            ["rFSH", "250 sachets, dissolved in a glass", "of water"],
        ),
        ("Cetrorelix", "mg", ["Cetrorelix 250 mg"]),
    ],
)
def test_name_and_dose_are_whole_in_as_many_lines_as_they_need(
    drug: str, unit: str, lines: list[str]
) -> None:
    row = Medication(drug=drug, start_day=1, dose=250, unit=unit)
    root = drawn(medication_grid([row, Medication(drug="x", start_day=1)]))
    labels = [one for one in root.iter("text") if (one.get("class") or "") == "chart-label"]
    assert [one.text for one in labels] == [*lines, "x"]
    places = [float(one.get("y", 0)) for one in labels]
    bar, after = (float(one.get("y", 0)) for one in bars_of(root))
    assert places == sorted(places) and places[-2] < bar < places[-1] < after


def bars_of(root: ElementTree.Element) -> list[ElementTree.Element]:
    return [one for one in root.iter("rect") if one.get("class") == "chart-bar"]


@pytest.mark.parametrize(("today", "past", "to_come"), [(1, 0, 1), (4, 1, 1), (6, 1, 0)])
def test_past_days_of_a_medicine_are_marked(today: int, past: int, to_come: int) -> None:
    plan = [Medication(drug="x", start_day=1, end_day=5), Medication(drug="y", start_day=9, end_day=9)]
    bars_ = bars_of(drawn(medication_grid(plan, today=today)))[:-1]
    assert [bar.get("data-past") is not None for bar in bars_] == [True] * past + [False] * to_come


def test_a_plan_is_mirrored_in_right_to_left_languages() -> None:
    plain, mirrored = (list(drawn(medication_grid(PLAN, rtl=rtl)).iter("rect"))[1] for rtl in (False, True))
    assert float(plain.get("x", 0)) > float(mirrored.get("x", 0))
    assert plain.get("width") == mirrored.get("width")


@pytest.mark.parametrize(
    "plan",
    [
        [Medication(drug="", start_day=1)],
        [Medication(drug="x", start_day=5, end_day=2), Medication(drug="y", start_day=1)],
        [Medication(drug="x", start_day=-3, end_day=100000)],
        [Medication(drug="<b>&", start_day=1, dose=1e20, unit="<i>")],
    ],
)
def test_an_unusual_plan_still_draws(plan: list[Medication]) -> None:
    drawn(medication_grid(plan, today=3))


def test_an_empty_plan_draws_nothing() -> None:
    assert medication_grid([], []) is None


def test_a_plan_with_only_checks_draws() -> None:
    drawn(medication_grid([], [Check(day=3)]))


def test_a_drawing_refuses_a_coordinate_that_is_not_a_number() -> None:
    with pytest.raises(ValueError, match="finite"):
        element("circle", cx=float("nan"))


def test_overlapping_labels_are_moved_apart() -> None:
    assert spread([10, 12], 18) == [2, 20]
    assert spread([], 18) == []
    assert Axis(5, 5, 0, 10).at(5) == 5
    assert [round_up(value) for value in (0, 8.4, 3910, 10)] == [1, 10, 5000, 10]


DRAWINGS: dict[str, Callable[[bool], Markup | None]] = {
    "cut-offs": lambda rtl: cut_off_chart(
        25, 75, 40, current=1, names=("Euploid", "Mosaic", "Aneuploid"), said="All of it.", number="{:g}".format, rtl=rtl
    ),
    "monitoring": lambda rtl: monitoring_chart(CYCLE, today=START + timedelta(days=9), rtl=rtl),
    "days of monitoring": lambda rtl: monitoring_days(CYCLE, rtl=rtl),
    "plan": lambda rtl: medication_grid(PLAN, [Check(day=1), Check(day=4)], today=6, rtl=rtl),
    "storage": lambda rtl: storage_chart(
        [DatedBar(f"Until {days}", START + timedelta(days=days)) for days in (-9, 20, 900, 20_000)],
        today=START,
        write=date.isoformat,
        rtl=rtl,
    ),
    "week": lambda rtl: week(
        [Column("Mon", [(9, 12.5), (14, 17)], [(10, 11)]), Column("Tue", [], [(9, 10)], is_today=True)],
        opens=8,
        closes=18,
        hours=[f"{hour:02}:00" for hour in range(25)],
        title="The week",
        description="What there is.",
        id_="week",
        rtl=rtl,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", DRAWINGS)
def test_each_drawing_is_as_it_was_looked_at(name: str) -> None:
    """After a change that is meant, WRITE_FACTS=1 writes the file anew: look at the drawing, then read the difference."""
    app = Flask(__name__)
    with app.test_request_context("/"):
        drawn = "\n".join(f"{DRAWINGS[name](rtl)}" for rtl in (False, True)).replace("><", ">\n<") + "\n"
    file = Path(__file__).with_name("drawn") / f"{name.replace(' ', '_')}.txt"
    if os.environ.get("WRITE_FACTS"):
        file.write_text(drawn, encoding="utf-8")
    assert drawn.splitlines() == file.read_text(encoding="utf-8").splitlines()
