"""How long storage lasts from today: paid, agreed and allowed, one above the other on a scale of years.

The scale is linear: what is near looks near beside a limit that is decades away. The days are in words on each bar, and the
years are named below.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import date

from markupsafe import Markup

from portal.i18n.gettext import _, ngettext
from portal.values import Value
from portal.web.drawings.svg import Axis, drawing, element, label, path, sides

_WIDTH = 480.0
_START, _END = 4.0, 476.0
_ROW = 76.0
_TOP = 6.0
_DAYS = 365.25
_YEARS = (1, 2, 5, 10, 20, 30, 40, 50, 75, 100)
_GAP = 100.0
"""What the word of a year needs, so that two never touch."""


class DatedBar(Value, frozen=True):
    """One of the dates: its words and the day."""

    words: str
    until: date


def storage_chart(
    bars: Sequence[DatedBar], *, today: date, write: Callable[[date], str], rtl: bool = False
) -> Markup | None:
    """Draw them, the nearest first, or return None when there is none; `write` gives a day in words."""
    if not bars:
        return None
    rows = sorted(bars, key=lambda bar: bar.until)
    longest = max(max((row.until - today).days for row in rows) / _DAYS, 1.0)
    across = Axis(0, longest, _START, _END)
    side = sides(_WIDTH, rtl=rtl)
    bottom = _TOP + len(rows) * _ROW

    def at(years: float) -> float:
        return across.at(max(years, 0.0))

    return drawing(
        _WIDTH,
        bottom + 26,
        _scale(longest, at, bottom, side),
        *(_row(bar, at, _TOP + index * _ROW, side, today, write, index) for index, bar in enumerate(rows)),
        id_="storage-reach",
        title=_("How long storage lasts"),
        description=" ".join(_sentence(row, today, write) for row in rows),
        rtl=rtl,
    )


def _sentence(bar: DatedBar, today: date, write: Callable[[date], str]) -> str:
    if bar.until < today:
        return _("%(what)s %(day)s, which has passed.", what=bar.words, day=write(bar.until))
    return _("%(what)s %(day)s.", what=bar.words, day=write(bar.until))


def _scale(
    longest: float, at: Callable[[float], float], bottom: float, side: Callable[[float], float]
) -> Markup:
    """Fine lines for some round years, as many as find room, and a line for today."""
    parts = [
        path([(side(_START), 0), (side(_START), bottom)], "chart-today"),
        label(_("Today"), side(_START), bottom + 20, class_="chart-label"),
    ]
    before = _START
    for years in (year for year in _YEARS if year <= longest):
        x = at(years)
        if x - before < _GAP:
            continue
        before = x
        parts.append(path([(side(x), 0), (side(x), bottom)], "chart-grid"))
        is_last = x > _END - 30
        words = ngettext("%(num)s year", "%(num)s years", years)
        parts.append(
            label(words, side(_END if is_last else x), bottom + 20, anchor="end" if is_last else "middle")
        )
    return element("g", *parts)


def _row(
    bar: DatedBar,
    at: Callable[[float], float],
    top: float,
    side: Callable[[float], float],
    today: date,
    write: Callable[[date], str],
    index: int,
) -> Markup:
    """The words and the day above, below them a bar from today; one that has passed is a hollow dot at today.

    Two lines, because in some languages the two don't find room side by side on a telephone; letters are larger there,
    so the upper line keeps its distance in letters.
    """
    days = (bar.until - today).days
    words = element(
        "g",
        element("text", bar.words, class_="chart-axis", x=side(_START + 8), y=top + 50, dy="-1.25em"),
        label(write(bar.until), side(_START + 8), top + 50, class_="chart-label"),
    )
    if days <= 0:
        mark = element("circle", class_="chart-dot", cx=side(_START + 13), cy=top + 62, r=5, data_planned="")
    else:
        edges = sorted((side(_START + 1), side(max(at(days / _DAYS), _START + 9))))
        mark = element(
            "rect", class_="chart-bar", x=edges[0], y=top + 57, width=edges[1] - edges[0], height=10, rx=5
        )
    return element("g", words, mark, class_=f"series-{min(index, 2) + 1}")
