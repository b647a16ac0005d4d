"""The inventory as the page shows it: lists with their counts, and by place, from tank to canister to cane (`T4 C2`)."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from datetime import date
from itertools import groupby

from msgspec.structs import replace

from portal.folding import folded
from portal.i18n.gettext import _
from portal.services.listed import Count, Listed
from portal.values import Value
from portal.views.embryo_view import SOON_DAYS, EmbryoView, nearness
from portal.views.storage.selection import Selection, StoredList, days_until, list_name, place_of
from portal.web.filters import today

PAGE = 100
_LONGEST = 100
_DIGITS = re.compile(r"(\d+)")


_ALWAYS = (StoredList.ALL, StoredList.HELD, StoredList.UNPAID, StoredList.ENDING)
"""The lists that are offered even if they are empty."""


class Link(Value, frozen=True):
    """A counted link to a list or place; `current` if it is shown."""

    label: str
    href: str
    current: bool
    count: Count


class EndDate(Value, frozen=True):
    """A date that ends something of an embryo's storage; `word` says how near it is, empty if it is over 60 days away."""

    term: str
    day: date
    word: str
    tone: str


class Row(Value, frozen=True):
    """An embryo of the inventory; `dates` are those that have passed or are near, or else the next one."""

    view: EmbryoView
    dates: tuple[EndDate, ...]


class Canister(Value, frozen=True):
    """The embryos in one canister of a tank, with its name, on one page of the inventory."""

    name: str
    rows: list[Row]


class Shelves(Value, frozen=True):
    views: Listed[EmbryoView]
    selection: Selection

    @property
    def stored(self) -> Count:
        return self._count(Selection())

    @property
    def shown(self) -> Listed[EmbryoView]:
        fitting = self.views.where(lambda view: self.selection.fits(view) and self.selection.is_at(view))
        return fitting.through(lambda views: sorted(views, key=_order))

    @property
    def on_page(self) -> tuple[EmbryoView, ...]:
        """Those on this page; a sheet for printing has one page."""
        first = (self.selection.page - 1) * PAGE
        items = self.shown.items
        return items if self.selection.is_sheet else items[first : first + PAGE]

    @property
    def pages(self) -> int:
        return 1 if self.selection.is_sheet else max(1, -(-len(self.shown.items) // PAGE))

    @property
    def canisters(self) -> list[Canister]:
        several = self._has_several_facilities
        return [
            Canister(place_name(place, with_facility=several), [_row(view) for view in views])
            for place, views in groupby(self.on_page, key=lambda view: place_of(view)[:3])
        ]

    @property
    def lists(self) -> list[Link]:
        links: list[Link] = []
        for which in StoredList:
            selection = replace(self.selection, which=which, page=1, is_sheet=False)
            count = self._count(selection)
            if count or which in _ALWAYS or which is self.selection.which:
                links.append(Link(list_name(which), selection.href, which is self.selection.which, count))
        return links

    @property
    def steps(self) -> list[Link]:
        """The place that is selected and those around it, from the outside in, each as a link to it."""
        place = self.selection.place
        ends = range(2, len(place) + 1)
        everywhere = replace(self.selection, place=(), page=1, is_sheet=False)
        return [
            Link(_("All tanks"), everywhere.href, not place, self._count(everywhere)),
            *(self._place_link(place[:end]) for end in ends),
        ]

    @property
    def inside(self) -> list[Link]:
        """The places directly inside the selected one: tanks, canisters of a tank, canes of a canister."""
        place = self.selection.place
        depth = max(len(place), 1) + 1
        if depth > 4:
            return []
        fitting = [view for view in self.views if self.selection.fits(view) and self.selection.is_at(view)]
        found = Counter(place_of(view)[:depth] for view in fitting if place_of(view)[depth - 1])
        return [self._place_link(inner) for inner in sorted(found, key=natural)]

    @property
    def _has_several_facilities(self) -> bool:
        return len({place_of(view)[0] for view in self.views}) > 1

    def _place_link(self, place: tuple[str, ...]) -> Link:
        selection = replace(self.selection, place=place, page=1, is_sheet=False)
        name = place_name(place, with_facility=self._has_several_facilities)
        return Link(name, selection.href, place == self.selection.place, self._count(selection))

    def _count(self, selection: Selection) -> Count:
        return self.views.where(lambda view: selection.fits(view) and selection.is_at(view)).count


def place_name(place: tuple[str, ...], *, with_facility: bool) -> str:
    """`T4 › C2`, after the facility's name if there are several."""
    facility, *parts = place
    named = [facility or _("Facility not given")] if with_facility else []
    return " › ".join([*named, *(part for part in parts if part)]) or _("Place not given")


def _row(view: EmbryoView) -> Row:
    terms = (_("Consented until"), _("Paid until"), _("Statutory limit"))
    dates = [_end_date(term, day) for term, day in zip(terms, days_until(view), strict=True) if day]
    pressing = tuple(date_ for date_ in dates if date_.word)
    return Row(view, pressing or tuple(sorted(dates, key=lambda date_: date_.day)[:1]))


def _end_date(term: str, day: date) -> EndDate:
    days = (day - today()).days
    if days > SOON_DAYS:
        return EndDate(term, day, "", "neutral")
    word, tone = nearness(days)
    return EndDate(term, day, _("Passed") if days < 0 else word, tone)


def _order(view: EmbryoView) -> tuple[bool, tuple[tuple[tuple[bool, int, str], ...], ...], str]:
    place = place_of(view)
    return not place[1], natural(place), view.embryo.embryo_code


def natural(parts: Iterable[str]) -> tuple[tuple[tuple[bool, int, str], ...], ...]:
    """A sort key that puts C2 before C10."""
    return tuple(
        tuple(
            (piece.isdecimal(), int(piece) if piece.isdecimal() else 0, folded(piece))
            for piece in _DIGITS.split(part[:_LONGEST])
        )
        for part in parts
    )
