"""A physician's week as a drawing: seven days side by side, hours downwards, work and what is taken of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from markupsafe import Markup

from portal.values import Value
from portal.web.drawings.svg import Axis, drawing, element, label, sides

_WIDTH = 480.0
_START, _END = 40.0, 478.0
_TOP = 30.0
_HOUR = 16.0
_GAP = 3.0
_EVERY = 2
"""Every how many hours a line is drawn."""


class Column(Value, frozen=True):
    """One day: its name above, and its stretches in hours since midnight, such as (9.0, 17.5)."""

    name: str
    works: Sequence[tuple[float, float]]
    busy: Sequence[tuple[float, float]]
    is_today: bool = False


def week(
    columns: Sequence[Column],
    *,
    opens: int,
    closes: int,
    hours: Sequence[str],
    title: str,
    description: str,
    id_: str,
    rtl: bool = False,
) -> Markup:
    """Draw the days from hour `opens` to hour `closes`; `hours` are the words of the hours 0 to 24."""
    down = Axis(opens, max(closes, opens + 1), _TOP, _TOP + max(closes - opens, 1) * _HOUR)
    across = Axis(0, max(len(columns), 1), _START, _END)
    side = sides(_WIDTH, rtl=rtl)

    lines = [
        Markup().join(
            (
                element(
                    "line",
                    class_="chart-grid",
                    x1=side(_START),
                    x2=side(_END),
                    y1=down.at(hour),
                    y2=down.at(hour),
                ),
                label(hours[hour], side(_START - 6), down.at(hour) + 4, anchor="end"),
            )
        )
        for hour in range(opens, closes + 1)
        if (hour - opens) % _EVERY == 0
    ]
    days = [
        _day(column, across.at(place), across.at(place + 1), down, side)
        for place, column in enumerate(columns)
    ]
    height = down.at(closes) + 8
    return drawing(_WIDTH, height, *lines, *days, id_=id_, title=title, description=description, rtl=rtl)


def _day(column: Column, begin: float, finish: float, down: Axis, side: Callable[[float], float]) -> Markup:
    edges = sorted((side(begin + _GAP), side(finish - _GAP)))
    parts = [
        label(
            column.name,
            side((begin + finish) / 2),
            16,
            class_="chart-label" if column.is_today else "chart-axis",
            anchor="middle",
        )
    ]
    parts += [_block(stretch, edges, down, "week-works", 0) for stretch in column.works]
    parts += [_block(stretch, edges, down, "week-busy", 5) for stretch in column.busy]
    return element("g", *parts)


def _block(
    stretch: tuple[float, float], edges: Sequence[float], down: Axis, class_: str, inset: float
) -> Markup:
    top, bottom = (down.at(min(max(hour, down.low), down.high)) for hour in stretch)
    return element(
        "rect",
        class_=class_,
        x=edges[0] + inset,
        y=top + 0.5,
        width=max(edges[1] - edges[0] - 2 * inset, 2),
        height=max(bottom - top - 1, 2),
        rx=4 if inset == 0 else 2,
    )
