"""The drawing of a laboratory's cut-offs, and its description."""

from __future__ import annotations

import re

import pytest
from flask import Flask

from portal.web.drawings.cut_offs import cut_off_chart

NAMES = ("Euploid", "Mosaic", "Aneuploid")


def draw(
    below: float | None,
    above: float | None,
    percent: float | None = None,
    *,
    rtl: bool = False,
    names: tuple[str, str, str] = NAMES,
) -> str:
    app = Flask(__name__)
    with app.test_request_context("/"):
        drawn = cut_off_chart(
            below, above, percent, current=1, names=names, said="All of it.", number="{:g}".format, rtl=rtl
        )
        return str(drawn or "")


def test_bands_reach_from_0_to_100_and_the_result_is_highlighted() -> None:
    svg = draw(25, 75)
    widths = [float(one) for one in re.findall(r'<rect [^>]*?width="([\d.]+)"', svg)]
    assert len(widths) == 3 and abs(widths[1] / widths[0] - 2) < 0.1, "a linear scale"
    assert svg.count("data-current") == 1
    for words in (*NAMES, "0%", "25%", "75%", "100%", "All of it."):
        assert words in svg
    assert "This embryo" not in svg


@pytest.mark.parametrize(("percent", "rtl", "share"), [(32, False, 0.32), (32, True, 0.68), (0, False, 0.0)])
def test_the_marker_is_at_the_embryos_percentage(percent: float, rtl: bool, share: float) -> None:
    svg = draw(20, 80, percent, rtl=rtl)
    (x,) = re.findall(r'chart-today" d="M([\d.]+) ', svg)
    assert abs(float(x) - (6 + 468 * share)) < 1
    assert f"This embryo: {percent}%" in svg


@pytest.mark.parametrize(
    ("below", "above"), [(None, 80), (20, None), (80, 20), (0, 50), (20, 100), (-5, 500)]
)
def test_invalid_limits_draw_nothing(below: float | None, above: float | None) -> None:
    assert draw(below, above) == ""


@pytest.mark.parametrize(
    ("names", "limits", "is_in_line"),
    [
        (NAMES, (20, 80), True),
        (("Euploide", "Mosaico", "Aneuploide"), (20, 80), True),
        (("سويّ الصيغة الصبغية", "فسيفسائي", "مختل الصيغة الصبغية"), (20, 80), False),
        (NAMES, (10, 20), False),
    ],
    ids=["short", "spanish", "arabic", "narrow"],
)
def test_labels_of_bands_never_overlap(
    names: tuple[str, str, str], limits: tuple[float, float], is_in_line: bool
) -> None:
    svg = draw(*limits, names=names)
    first, between, last = (
        float(found[1]) for name in names if (found := re.search(rf'y="([\d.]+)"[^>]*>{name}<', svg))
    )
    assert first == last
    assert (between == first) == is_in_line
    assert float(re.findall(r'viewBox="0 0 [\d.]+ ([\d.]+)"', svg)[0]) >= between + 6


@pytest.mark.parametrize("percent", [-1, 101, float("nan"), float("inf")])
def test_an_invalid_percentage_has_no_marker(percent: float) -> None:
    assert "This embryo" not in draw(20, 80, percent)
