"""The plan of a treatment as a grid of days: one bar for each medicine, a mark for each check."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate
from textwrap import wrap

from markupsafe import Markup

from portal.i18n.gettext import _, ngettext
from portal.services.protocols import Check, Medication
from portal.services.rules.doses import courses, horizon
from portal.values import Value
from portal.web.drawings.svg import Axis, drawing, element, label, path, sides
from portal.web.filters import number
from portal.web.text_language import foreign

_WIDTH = 480.0
_START, _END = 4.0, 476.0
_ROW = 50.0
_TOP = 34.0
_LETTER = 14.0
"""How wide a letter may be on the narrowest telephone, where letters are largest in the drawing."""
_LONGEST_LINE = int((_END - _START) / _LETTER)
_LINE = 22.0
"""How far the lines of a long name stand from each other."""
_LONGEST = 400
"""Days that are drawn at most; a plan that claims more is cut there."""


class Bar(Value, frozen=True):
    """A row's days with doses, of all its hours; `is_open` if nothing tells when it ends."""

    medication: Medication
    days: tuple[int, ...]
    is_open: bool

    @property
    def start(self) -> int:
        """The first day."""
        return self.days[0]

    @property
    def end(self) -> int:
        """The last day that is drawn."""
        return self.days[-1]


def bars(medications: Sequence[Medication], today: int | None = None) -> list[Bar]:
    """Return each row with its days on the calendar of doses; one without an end runs to the last day that is known."""
    of = courses(medications)
    until = horizon(of, today)
    found: dict[int, Bar] = {}
    for course in of:
        row = course.medication
        drawn = course.days(min(until, course.first + _LONGEST))
        days = {day - course.lists_before for day in drawn}
        if before := found.get(id(row)):
            days.update(before.days)
        if days:
            found[id(row)] = Bar(row, tuple(sorted(days)), course.last is None)
    return list(found.values())


def medication_grid(
    medications: Sequence[Medication],
    checks: Sequence[Check] = (),
    *,
    today: int | None = None,
    name_day: Callable[[int], str] | None = None,
    amount: Callable[[Medication], str] = lambda row: (
        row.unit if row.dose is None else f"{row.dose:g} {row.unit}"
    ),
    rtl: bool = False,
) -> Markup | None:
    """Draw the plan, or return None when it holds nothing; `today` is a day of the plan, day 1 its start.

    `name_day` writes the date of a day of the plan; without it the axis counts days.
    """
    rows = bars(medications, today)
    if not rows and not checks:
        return None
    days = [bar.start for bar in rows] + [check.day for check in checks]
    first = min(days)
    last = min(max([bar.end for bar in rows] + days), first + _LONGEST)
    across = Axis(first, last + 1, _START, _END)
    side = sides(_WIDTH, rtl=rtl)
    lines = [_lines(bar.medication.drug, amount(bar.medication)) for bar in rows]
    heights = [_ROW + _LINE * (len(of_row) - 1) for of_row in lines]
    tops = list(accumulate(heights, initial=_TOP))
    bottom = tops[-1] + (44 if checks else 0)
    is_now = today is not None and first <= today <= last

    return drawing(
        _WIDTH,
        bottom + 8,
        _grid(
            across,
            first,
            last,
            bottom,
            side,
            name_day or number,
            today if is_now else None,
            is_dated=bool(name_day),
        ),
        *(
            _row(bar, of_row, across, last, top, side, today)
            for bar, of_row, top in zip(rows, lines, tops, strict=False)
        ),
        _checks(checks, across, last, bottom - 14, side, today) if checks else Markup(),
        id_="schedule",
        title=_("The plan, day by day"),
        description=_describe(rows, checks),
        rtl=rtl,
    )


def _describe(rows: Sequence[Bar], checks: Sequence[Check]) -> str:
    told = [
        _("%(drug)s from day %(start)s.", drug=bar.medication.drug, start=number(bar.start))
        if bar.is_open
        else _(
            "%(drug)s from day %(start)s to day %(end)s.",
            drug=bar.medication.drug, start=number(bar.start), end=number(bar.end),
        )
        for bar in rows
    ]  # fmt: skip
    if checks:
        told.append(ngettext("%(num)s check-up.", "%(num)s check-ups.", len(checks)))
    return " ".join(told)


def _grid(
    across: Axis,
    first: int,
    last: int,
    bottom: float,
    side: Callable[[float], float],
    name: Callable[[int], str],
    today: int | None,
    *,
    is_dated: bool,
) -> Markup:
    """Dates or day numbers above, as many as find room, and a band over today."""
    longest = max(len(name(day)) for day in (first, last))
    most = min(5, int((_END - _START) / (_LETTER * longest))) if is_dated else 12
    step = next(
        step for step in (1, 2, 5, 7, 14, 28, 56, 112) if (last - first + 1) / step <= most or step == 112
    )
    labelled = [day for day in range(first, last + 1) if (day - first) % step == 0]
    half = (across.at(first + 1) - across.at(first)) / 2
    parts: list[Markup] = []
    if today is not None:
        x = min(side(across.at(today)), side(across.at(today + 1)))
        parts.append(
            element("rect", class_="chart-band", x=x, y=4, width=max(2 * half, 3), height=bottom - 4, rx=4)
        )
        middle = side(across.at(today) + half)
        parts.append(
            label(_("Today"), min(max(middle, 26), _WIDTH - 26), 18, class_="chart-label", anchor="middle")
        )
    clear = (76 if is_dated else 46) if today is not None else 0
    for day in labelled:
        x = side(across.at(day) + half)
        if today is None or abs(x - side(across.at(today) + half)) >= clear:
            edge = 32 if is_dated else 0
            parts.append(label(name(day), min(max(x, edge), _WIDTH - edge), 18, anchor="middle"))
    return element("g", *parts)


def _lines(drug: str, dose: str) -> list[str]:
    """A medicine's name and dose, in as many lines as a telephone needs; a dose is parted only if it doesn't fit into one."""
    lines = wrap(drug, _LONGEST_LINE) or [""]
    together = f"{lines[-1]} {dose}".strip()
    return [*lines[:-1], together] if len(together) <= _LONGEST_LINE else [*lines, *wrap(dose, _LONGEST_LINE)]


def _row(
    bar: Bar,
    lines: Sequence[str],
    across: Axis,
    last: int,
    top: float,
    side: Callable[[float], float],
    today: int | None,
) -> Markup:
    """A medicine: its name and dose, below them its days; those gone by quieter, an open end as a dashed line."""

    low = top + _LINE * (len(lines) - 1)

    def days(begin: float, finish: float, *, is_past: bool) -> Markup:
        edges = sorted((side(begin), side(finish)))
        return element(
            "rect", class_="chart-bar", x=edges[0], y=low + 25, width=max(edges[1] - edges[0], 4), height=10, rx=5,
            data_past="" if is_past else None,
        )  # fmt: skip

    begin, finish = across.at(bar.start), across.at(min(bar.end, last) + 1)
    is_over = today is not None and bar.end < today
    place = max(_START, min(begin + 1, _END - _LETTER * max(map(len, lines))))
    parts = [
        *(
            label(
                line,
                side(place),
                top + 17 + _LINE * index,
                class_="chart-axis" if is_over else "chart-label",
                lang=foreign(bar.medication.drug),
            )
            for index, line in enumerate(lines)
        ),
        *(
            days(across.at(start) + 1, across.at(end + 1) - 1, is_past=today is not None and end < today)
            for start, end in _runs(bar.days, today)
            if start <= last
        ),
    ]
    if bar.is_open and finish < _END - 4:
        parts.append(
            path([(side(finish + 3), low + 30), (side(min(finish + 34, _END)), low + 30)], "chart-threshold")
        )
    return element("g", *parts, class_="series-1")


def _runs(days: Sequence[int], today: int | None) -> list[tuple[int, int]]:
    """The days as runs of consecutive ones, parted before today."""
    found: list[tuple[int, int]] = []
    for day in days:
        if found and day == found[-1][1] + 1 and day != today:
            found[-1] = (found[-1][0], day)
        else:
            found.append((day, day))
    return found


def _checks(
    checks: Sequence[Check],
    across: Axis,
    last: int,
    y: float,
    side: Callable[[float], float],
    today: int | None,
) -> Markup:
    """The check-ups as dots; those to come are hollow."""
    half = (across.at(1) - across.at(0)) / 2
    days = sorted({check.day for check in checks if check.day <= last})
    dots = [
        element(
            "circle", class_="chart-dot", cx=side(across.at(day) + half), cy=y, r=6,
            data_planned="" if today is not None and day >= today else None,
        )
        for day in days
    ]  # fmt: skip
    end = across.at(days[-1]) + 2 * half + 6 if days else _END
    if end < _END - 110:
        dots.append(label(_("Check-ups"), side(end), y + 5))
    else:
        dots.append(label(_("Check-ups"), side(_START), y - 12))
    return element("g", *dots, class_="series-2")
