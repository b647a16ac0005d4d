"""Building SVG: elements whose attributes and text are always escaped, and numbers that are always finite."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from itertools import pairwise

from markupsafe import Markup, escape

from portal.values import Value


def element(name: str, *content: str | Markup, **attributes: str | float | None) -> Markup:
    """Return one element; `text_anchor` becomes `text-anchor`, `class_` becomes `class`, None leaves it out.

    Content that isn't Markup is escaped. Numbers are written with one decimal at most.
    """
    given = "".join(
        [
            f' {_name(key)}="{escape(value) if isinstance(value, str) else _written(value)}"'
            for key, value in attributes.items()
            if value is not None
        ]
    )
    inside = "".join([escape(part) for part in content])
    return Markup(f"<{name}{given}>{inside}</{name}>")  # noqa: S704 (each value and text is escaped)


@cache
def _name(key: str) -> str:
    """An attribute's name, as it is written in SVG."""
    return key.rstrip("_").replace("_", "-")


def drawing(
    width: float, height: float, *content: Markup, id_: str, title: str, description: str, rtl: bool = False
) -> Markup:
    """Return a whole picture with its name and description for those who can't see it (SVG-AAM §5).

    With `rtl` its texts run from right to left; its places are to be mirrored by `sides`.
    """
    return element(
        "svg",
        element("title", title, id=f"{id_}-title"),
        element("desc", description, id=f"{id_}-desc"),
        element("g", *content, direction="rtl" if rtl else None),
        viewBox=f"0 0 {_written(width)} {_written(height)}",
        role="img",
        aria_labelledby=f"{id_}-title",
        aria_describedby=f"{id_}-desc",
    )


def label(
    text: str,
    x: float,
    y: float,
    *,
    class_: str = "chart-axis",
    anchor: str | None = None,
    lang: str | None = None,
) -> Markup:
    """Return a text; its anchor is start unless given (start, middle, end), its language (`lang`) the page's."""
    return element("text", text, class_=class_, x=x, y=y, text_anchor=anchor, lang=lang)


def path(points: Iterable[tuple[float, float]], class_: str) -> Markup:
    steps = " ".join(f"{_written(x)} {_written(y)}" for x, y in points)
    return element("path", class_=class_, d=f"M{steps}")


def dot(x: float, y: float, radius: float, class_: str = "chart-dot") -> Markup:
    return element("circle", class_=class_, cx=x, cy=y, r=radius)


class Axis(Value, frozen=True):
    """Where values of `low` to `high` stand between the places `start` and `end`; one value alone in the middle."""

    low: float
    high: float
    start: float
    end: float

    def at(self, value: float) -> float:
        if self.high == self.low:
            return (self.start + self.end) / 2
        return self.start + (value - self.low) / (self.high - self.low) * (self.end - self.start)


def sides(width: float, *, rtl: bool) -> Callable[[float], float]:
    """Return what gives a place across its side: mirrored in a drawing that is read from right to left."""
    return lambda x: width - x if rtl else x


def measured(values: Iterable[float | None]) -> list[float]:
    """Return the values that can be drawn: given, finite and not below zero."""
    return [value for value in values if value is not None and math.isfinite(value) and value >= 0]


def spread(places: Sequence[float], gap: float) -> list[float]:
    """Return the places moved apart, in their order, so that neighbours stand at least `gap` from each other."""
    order = sorted(range(len(places)), key=lambda index: places[index])
    moved = list(places)
    for before, index in pairwise(order):
        moved[index] = max(moved[index], moved[before] + gap)
    shift = sum(moved[i] - places[i] for i in order) / len(order) if order else 0.0
    return [place - shift for place in moved]


def round_up(value: float) -> float:
    """Return the next round number: 1, 2, 2.5 or 5 times a power of ten."""
    if value <= 0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(value))
    return next(step * power for step in (1, 2, 2.5, 5, 10) if value <= step * power * (1 + 1e-9))


def _written(value: float) -> str:
    if not math.isfinite(value):
        raise ValueError("a drawing holds finite numbers only")
    return f"{round(value, 1):g}" if abs(value) < 1e5 else f"{value:.0f}"
