"""The monitoring chart: follicles of both ovaries, oestradiol and the lining, day by day on one axis."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import date
from itertools import pairwise

from markupsafe import Markup

from portal.i18n.gettext import _, ngettext
from portal.services.episodes import MonitoringDay
from portal.values import Value
from portal.web.drawings.svg import Axis, dot, drawing, element, label, measured, path, round_up, spread

READY_MM = 17
"""From this size on a follicle counts for the trigger, in millimetres."""

_STILL_SHOWN = 3
"""So many days after the last measured one the axis reaches, to show today."""
_DATE = 74.0
"""What a date below needs, so that two never touch on a telephone."""
_VALUE = 44.0
"""What a value above a point needs, so that two never touch."""
_WIDTH = 480.0
_LEFT, _RIGHT = 64.0, 388.0
_TOP, _BETWEEN = 28.0, 40.0
"""Where the first panel begins, and what lies between two."""
_APART = 6.0
"""The leading follicles of the left and the right ovary stand this far to either side of their day."""
_LEADING, _FOLLOWING = 5.0, 3.4
"""The radius of the dot of an ovary's largest follicle, and of the others."""
_IN_A_LINE = 6
"""So many sizes stand in one line of a day's values."""
_BESIDE = 2 * _FOLLOWING
"""How far a follicle moves aside that would lie on another of nearly its size."""


class _Frame(Value, frozen=True):
    """What all panels share: the days that were measured, their places, and the side that time runs to.

    `caution` is said of a day that nobody has verified.
    """

    days: tuple[MonitoringDay, ...]
    across: Axis
    rtl: bool
    number: Callable[[float], str]
    write: Callable[[date], str]
    caution: str

    def x(self, day: MonitoringDay) -> float:
        return self.side(self.across.at(day.date.toordinal()))

    def side(self, x: float) -> float:
        return _WIDTH - x if self.rtl else x

    @property
    def columns(self) -> int:
        """How many dots find room side by side between a day and halfway to its neighbour."""
        places = [self.across.at(day.date.toordinal()) for day in self.days]
        gap = min((after - before for before, after in pairwise(places)), default=4 * _RIGHT)
        return max(1, int((gap / 2 - _APART - _FOLLOWING) / _BESIDE) + 1)


def monitoring_chart(
    days: Sequence[MonitoringDay],
    *,
    number: Callable[[float], str] = lambda value: f"{value:g}",
    write: Callable[[date], str] = date.isoformat,
    today: date | None = None,
    rtl: bool = False,
    caution: str = "",
    id_: str = "monitoring",
) -> Markup | None:
    """Draw the days, or return None when nothing was measured that could be drawn.

    Sizes and lining in millimetres, oestradiol in the unit it came in. Panels without a value are left out.
    `number` writes a number in the person's language, `write` a date, shortly; `rtl` lets time run from right to left.
    Today has a line where it is within the days or up to three days after them. `caution` is said if a day isn't verified.
    """
    frame = _frame(days, number, write, today, caution=caution, rtl=rtl)
    if frame is None:
        return None
    bottom = _bottom(frame.days)
    said = "" if all(day.verified for day in frame.days) else caution
    return drawing(
        _WIDTH,
        bottom + 30,
        _guides(frame, bottom),
        _today(frame, today, bottom),
        *_panels(frame),
        _dates(frame, bottom),
        id_=id_,
        title=_("Monitoring, day by day"),
        description=" ".join(filter(None, (describe(frame.days, number), said))),
        rtl=rtl,
    )


def monitoring_days(
    days: Sequence[MonitoringDay],
    *,
    number: Callable[[float], str] = lambda value: f"{value:g}",
    write: Callable[[date], str] = date.isoformat,
    today: date | None = None,
    rtl: bool = False,
    caution: str = "",
) -> Markup | None:
    """Lay over `monitoring_chart` of the same arguments what says the values of a day: the last one's, or those of the day
    that is pointed at or has the focus.

    Each measured day is one stop of the keyboard, and reaches halfway to its neighbours. Its values stand below the chart.
    """
    frame = _frame(days, number, write, today, caution=caution, rtl=rtl)
    if frame is None:
        return None
    bottom = _bottom(frame.days)
    stops = [_stop(frame, day, edges, bottom) for day, edges in zip(frame.days, _columns(frame), strict=True)]
    return element(
        "svg",
        element("g", *stops, direction="rtl" if rtl else None),
        class_="chart-days",
        viewBox=f"0 0 {_WIDTH:g} {bottom + 30:g}",
        role="group",
        aria_label=_("Values, day by day"),
    )


def _frame(
    days: Sequence[MonitoringDay],
    number: Callable[[float], str],
    write: Callable[[date], str],
    today: date | None,
    *,
    caution: str,
    rtl: bool,
) -> _Frame | None:
    shown = tuple(sorted((day for day in days if _has_values(day)), key=lambda day: day.date))
    if not shown:
        return None
    first, last = shown[0].date.toordinal(), shown[-1].date.toordinal()
    if today and 0 < today.toordinal() - last <= _STILL_SHOWN:
        last = today.toordinal()
    return _Frame(shown, Axis(first - 0.5, last + 0.5, _LEFT, _RIGHT), rtl, number, write, caution)


def _panels(frame: _Frame) -> list[Markup]:
    """The panels that have a value, one below the other."""
    drawn: list[Markup] = []
    top = _TOP
    for height, panel in zip(_heights(frame.days), (_follicles, _oestradiol, _lining), strict=True):
        if height:
            drawn.append(panel(frame, top, top + height))
            top += height + _BETWEEN
    return drawn


def _bottom(days: Sequence[MonitoringDay]) -> float:
    """Where the last panel ends."""
    return _TOP - _BETWEEN + sum(height + _BETWEEN for height in _heights(days) if height)


def _heights(days: Sequence[MonitoringDay]) -> tuple[float, float, float]:
    """How high the panels of follicles, oestradiol and lining are; 0 for one without a value."""
    return (
        214 * any(measured(day.sizes) for day in days),
        84 * any(measured([day.e2]) for day in days),
        70 * any(measured([day.endometrium_mm]) for day in days),
    )


def _columns(frame: _Frame) -> list[tuple[float, float]]:
    """The stretch across that belongs to each day: halfway to the days beside it."""
    places = [frame.across.at(day.date.toordinal()) for day in frame.days]
    between = [(before + after) / 2 for before, after in pairwise(places)]
    return list(pairwise((_LEFT, *between, _RIGHT)))


def _stop(frame: _Frame, day: MonitoringDay, edges: tuple[float, float], bottom: float) -> Markup:
    """One day to tap or to tab to: its stretch, a line at its place, and its values below, hidden until then."""
    said = () if day.verified else (frame.caution,)
    lines = list(_values_of(frame, day))
    x, left = frame.x(day), min(frame.side(edges[0]), frame.side(edges[1]))
    start = frame.side(_LEFT)
    rows = [
        element("tspan", text, class_="chart-label" if place == 0 else None, x=start, dy="1.4em")
        for place, text in enumerate(lines)
    ]
    return element(
        "g",
        element("rect", x=left, y=0, width=edges[1] - edges[0], height=bottom + 26),
        path([(x, 28), (x, bottom)], "chart-today"),
        element("text", *rows, class_="chart-axis", x=start, y=bottom + 30),
        class_="chart-day",
        tabindex="0",
        role="img",
        aria_label="; ".join(filter(None, (*lines, *said))).replace(" ·; ", " · "),
    )


def _values_of(frame: _Frame, day: MonitoringDay) -> Iterator[str]:
    """The date, then each value of the day with its name and unit, in lines that a telephone holds."""
    yield frame.write(day.date)
    if sizes := measured(day.follicles.left):
        yield from _in_lines(frame, _("Left: %(sizes)s mm"), sizes)
    if sizes := measured(day.follicles.right):
        yield from _in_lines(frame, _("Right: %(sizes)s mm"), sizes)
    if day.e2 is not None and measured([day.e2]):
        yield _("Oestradiol: %(value)s", value=f"{frame.number(day.e2)} {day.e2_unit}".strip())
    if day.endometrium_mm is not None and measured([day.endometrium_mm]):
        yield _("Lining: %(size)s mm", size=frame.number(day.endometrium_mm))


def _in_lines(frame: _Frame, sentence: str, sizes: Sequence[float]) -> list[str]:
    """The sentence with all sizes, the largest first, cut between two of them where a line is full."""
    found = [frame.number(size) for size in sorted(sizes, reverse=True)]
    lines = [" · ".join(found[place : place + _IN_A_LINE]) for place in range(0, len(found), _IN_A_LINE)]
    return (sentence % {"sizes": " ·\n".join(lines)}).split("\n")


def describe(days: Sequence[MonitoringDay], number: Callable[[float], str]) -> str:
    """Say what the last day of the chart shows, in one sentence or two."""
    last = days[-1]
    ready = last.count_from(READY_MM)
    parts: list[str] = []
    if last.largest is not None:
        parts.append(_("The largest follicle measures %(size)s mm.", size=number(last.largest)))
        parts.append(
            ngettext(
                "%(num)s follicle is at 17 mm or more.", "%(num)s follicles are at 17 mm or more.", ready
            )
            if ready
            else _("None has reached 17 mm yet.")
        )
    if last.endometrium_mm is not None:
        parts.append(_("The lining is %(size)s mm.", size=number(last.endometrium_mm)))
    return " ".join(parts)


def _has_values(day: MonitoringDay) -> bool:
    return bool(measured((*day.sizes, day.e2, day.endometrium_mm)))


def _follicles(frame: _Frame, top: float, bottom: float) -> Markup:
    sizes = measured(size for day in frame.days for size in day.sizes)
    up = Axis(0 if min(sizes) < 3 else 2, max(22.0, round_up(max(sizes))), bottom, top)
    edges = sorted((frame.side(_LEFT), frame.side(_RIGHT)))
    ready = up.at(READY_MM)
    ticks = [value for value in (5, 10, READY_MM, 22) if value <= up.high]
    ovaries = [
        (_("Left"), "series-2", -_APART, [measured(day.follicles.left) for day in frame.days]),
        (_("Right"), "series-1", _APART, [measured(day.follicles.right) for day in frame.days]),
    ]
    return element(
        "g",
        element(
            "rect",
            class_="chart-band",
            x=edges[0],
            y=top,
            width=edges[1] - edges[0],
            height=ready - top,
            rx=4,
        ),
        _gridlines(frame, [up.at(value) for value in ticks if value != READY_MM]),
        path([(edges[0], ready), (edges[1], ready)], "chart-threshold"),
        *(label(frame.number(v), frame.side(_LEFT - 8), up.at(v) + 5, anchor="end") for v in ticks),
        label(_("Follicles, mm"), frame.side(_LEFT), top - 9, class_="chart-label"),
        label(_("17 mm or more"), frame.side(_LEFT + 8), top + 20),
        *(_leaders(frame, up, series, aside, found) for _name, series, aside, found in ovaries),
        *(_ovary(frame, up, series, aside, found) for _name, series, aside, found in ovaries),
        *_ovary_labels(frame, up, [(name, series, found) for name, series, _aside, found in ovaries]),
    )


def _leaders(frame: _Frame, up: Axis, series: str, aside: float, found: list[list[float]]) -> Markup:
    """A line through the leading follicles of one ovary, under the dots of both."""
    aside = -aside if frame.rtl else aside
    leading = [
        (frame.x(day) + aside, up.at(max(sizes)))
        for day, sizes in zip(frame.days, found, strict=True)
        if sizes
    ]
    return element("g", path(leading, "chart-line"), class_=series) if len(leading) > 1 else Markup()


def _ovary(frame: _Frame, up: Axis, series: str, aside: float, found: list[list[float]]) -> Markup:
    """One ovary: a dot for each follicle, those of nearly one size side by side, away from the other ovary's."""
    outwards = (-1 if aside < 0 else 1) * (-1 if frame.rtl else 1)
    dots: list[Markup] = []
    for day, sizes in zip(frame.days, found, strict=True):
        lowest = [-_BESIDE] * frame.columns  # the last dot of each column
        for place, size in enumerate(sorted(sizes, reverse=True)):
            y = up.at(size)
            free = (column for column, last in enumerate(lowest) if y - last >= _BESIDE)
            column = next(free, lowest.index(min(lowest)))
            lowest[column] = y + (_LEADING - _FOLLOWING if place == 0 else 0)
            x = frame.x(day) + outwards * (abs(aside) + column * _BESIDE)
            dots.append(
                dot(x, y, _LEADING) if place == 0 else dot(x, y, _FOLLOWING, "chart-dot chart-dot-small")
            )
    return element("g", *dots, class_=series)


def _ovary_labels(
    frame: _Frame, up: Axis, ovaries: Sequence[tuple[str, str, list[list[float]]]]
) -> list[Markup]:
    """Each ovary's name and its leading follicle at the end of its line, moved apart where they meet."""
    ends = [(name, series, max(found[-1])) for name, series, found in ovaries if found[-1]]
    places = spread([up.at(size) for _name, _series, size in ends], 22)
    return [
        label(
            f"{name} {frame.number(size)}", frame.side(_RIGHT + 6), place + 5, class_=f"chart-label {series}"
        )
        for (name, series, size), place in zip(ends, places, strict=True)
    ]


def _oestradiol(frame: _Frame, top: float, bottom: float) -> Markup:
    values = [day.e2 for day in frame.days]
    unit = next((day.e2_unit for day in reversed(frame.days) if day.e2_unit), "")
    name = _("Oestradiol, %(unit)s", unit=unit) if unit else _("Oestradiol")
    return _line(frame, values, name, "series-3", top, bottom)


def _lining(frame: _Frame, top: float, bottom: float) -> Markup:
    values = [day.endometrium_mm for day in frame.days]
    return _line(frame, values, _("Lining, mm"), "series-1", top, bottom)


def _line(
    frame: _Frame, values: Sequence[float | None], name: str, series: str, top: float, bottom: float
) -> Markup:
    """One value a day as a line with its points; a day without one leaves no point."""
    points = [(day, value) for day, value in zip(frame.days, values, strict=True) if measured([value])]
    given = [(day, float(value)) for day, value in points if value is not None]
    up = Axis(0, round_up(max(value for _day, value in given)), bottom, top)
    places = [(frame.x(day), up.at(value)) for day, value in given]
    return element(
        "g",
        _gridlines(frame, [bottom, top]),
        *(
            label(frame.number(value), frame.side(_LEFT - 8), up.at(value) + 5, anchor="end")
            for value in (0, up.high)
        ),
        label(name, frame.side(_LEFT), top - 9, class_="chart-label"),
        *([path(places, "chart-line")] if len(places) > 1 else []),
        *(dot(x, y, 4.5) for x, y in places),
        *_values(frame, places, [value for _day, value in given]),
        label(
            frame.number(given[-1][1]),
            frame.side(_RIGHT + 6),
            places[-1][1] + 5,
            class_=f"chart-label {series}",
        ),
        class_=series,
    )


def _values(frame: _Frame, places: Sequence[tuple[float, float]], values: Sequence[float]) -> list[Markup]:
    """The values above their points, those left out that would touch the next; the last one stands beside the axis."""
    return [
        label(frame.number(value), x, y - 10, anchor="middle")
        for ((x, y), (after, _y)), value in zip(pairwise(places), values, strict=False)
        if abs(after - x) >= _VALUE
    ]


def _gridlines(frame: _Frame, heights: Sequence[float]) -> Markup:
    edges = (frame.side(_LEFT), frame.side(_RIGHT))
    return element(
        "g", *(path([(edges[0], y), (edges[1], y)], "chart-grid") for y in heights), class_="chart-grid"
    )


def _dates(frame: _Frame, bottom: float) -> Markup:
    """The dates below, the last one first; those too close are left out."""
    labels: list[Markup] = []
    last_x: float | None = None
    for day in reversed(frame.days):
        x = frame.x(day)
        if last_x is None or abs(last_x - x) >= _DATE:
            labels.append(label(frame.write(day.date), x, bottom + 21, anchor="middle"))
            last_x = x
    return element("g", *labels)


def _guides(frame: _Frame, bottom: float) -> Markup:
    """A fine upright line at each measured day, which ties the panels together."""
    lines = [path([(frame.x(day), 28), (frame.x(day), bottom)], "chart-grid") for day in frame.days]
    return element("g", *lines, class_="chart-guides")


def _today(frame: _Frame, today: date | None, bottom: float) -> Markup:
    """A line at today, with its word, when it lies within the days or soon after them."""
    if today is None or not frame.days[0].date < today or today.toordinal() > frame.across.high:
        return Markup()
    x = frame.side(frame.across.at(today.toordinal()))
    return element(
        "g",
        path([(x, 24), (x, bottom)], "chart-today"),
        label(_("Today"), x, 15, class_="chart-label", anchor="middle"),
    )
