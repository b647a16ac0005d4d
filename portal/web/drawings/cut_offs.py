"""A laboratory's cut-offs: 0 to 100% of changed cells, its three bands, and a marker where this embryo stands.

No band is painted as good or bad: the one of the laboratory's call is set apart, and the words say the rest.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

from markupsafe import Markup

from portal.i18n.gettext import _
from portal.web.drawings.svg import Axis, drawing, element, label, path, sides

_WIDTH = 480.0
_START, _END = 6.0, 474.0
_ABOVE, _HEIGHT = 62.0, 26.0
_LETTER = 12.0
"""How wide a letter may be on a telephone, where letters are largest in the drawing."""
_LINE = 26.0


def cut_off_chart(
    below: float | None,
    above: float | None,
    percent: float | None,
    *,
    current: int | None,
    names: tuple[str, str, str],
    said: str,
    number: Callable[[float], str],
    rtl: bool = False,
) -> Markup | None:
    """Draw the bands, or return None where the limits aren't two percentages in order.

    `names` are the bands' words and `current` the place of the one that was called; `said` is all of it in words.
    """
    if below is None or above is None or not 0 < below < above < 100:
        return None
    across = Axis(0, 100, _START, _END)
    side = sides(_WIDTH, rtl=rtl)

    is_placed = percent is not None and 0 <= percent <= 100
    top = _ABOVE if is_placed else 4.0
    bottom = top + _HEIGHT
    limits = (0.0, below, above, 100.0)
    bands = [
        element(
            "rect",
            class_="pgt-band",
            data_current="" if place == current else None,
            x=min(side(across.at(low)), side(across.at(high))) + 1,
            y=top,
            width=across.at(high) - across.at(low) - 2,
            height=_HEIGHT,
            rx=4,
        )
        for place, (low, high) in enumerate(pairwise(limits))
    ]
    middle = across.at((below + above) / 2)
    lowered = 0.0 if _stand_in_a_line(names, middle) else _LINE
    words = [
        label(names[0], side(_START), bottom + 46, class_="chart-label"),
        label(names[1], side(middle), bottom + 46 + lowered, class_="chart-label", anchor="middle"),
        label(names[2], side(_END), bottom + 46, class_="chart-label", anchor="end"),
    ]
    ticks = [
        label(_("%(percent)s%%", percent=number(at)), side(across.at(at)), bottom + 20, anchor=anchor)
        for at, anchor in ((0.0, None), (below, "middle"), (above, "middle"), (100.0, "end"))
        if at in (below, above) or (at == 0 and below >= 16) or (at == 100 and above <= 76)
    ]
    return drawing(
        _WIDTH,
        bottom + 54 + lowered,
        element("g", *bands),
        *(_marker(percent, across, side, number) if percent is not None and is_placed else []),
        *ticks,
        *words,
        id_="cut-offs",
        title=_("The laboratory’s own cut-offs"),
        description=said,
        rtl=rtl,
    )


def _stand_in_a_line(names: tuple[str, str, str], middle: float) -> bool:
    """Whether the words of the band between leave room to those at both ends."""
    first, between, last = (_LETTER * len(name) for name in names)
    return _START + first + _LETTER <= middle - between / 2 and middle + between / 2 + _LETTER <= _END - last


def _marker(
    percent: float, across: Axis, side: Callable[[float], float], number: Callable[[float], str]
) -> list[Markup]:
    """A line through the bar with the embryo's own percentage above."""
    words = _("This embryo: %(percent)s%%", percent=number(percent))
    x = across.at(percent)
    half = _LETTER * len(words) / 2
    place = min(max(x, _START + half), _END - half)
    return [
        path([(side(x), _ABOVE - 14), (side(x), _ABOVE + _HEIGHT + 4)], "chart-today"),
        label(words, side(place), _ABOVE - 24, class_="chart-label", anchor="middle"),
    ]
