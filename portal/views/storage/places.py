"""The inventory by place and by what presses: counted lists, tank › canister › cane, and text such as `T4 C2`."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import date, timedelta
from enum import StrEnum
from itertools import groupby
from urllib.parse import urlencode

from flask import url_for

from portal import parse
from portal.folding import folded
from portal.i18n.gettext import _, ngettext
from portal.services.listed import Count, Listed
from portal.services.storage import EmbryoStatus
from portal.views.storage.view import LOCATION, EmbryoView, paid_until
from portal.web.filters import today

SOON_DAYS = 60
PAGE = 100
_NEAR_DAYS = 2
_LONGEST = 100
_DIGITS = re.compile(r"(\d+)")
_MARKS = re.compile(r"[›>/·,;\s\u00a0]+")
"""What may stand between the parts of a place that was typed or pasted."""


class StoredList(StrEnum):
    """The lists, by their name in the query."""

    ALL = "all"
    HELD = "on-hold"
    UNPAID = "unpaid"
    ENDING = "ending"
    ENDED = "ended"
    WARMED = "warmed"
    NO_DATE = "no-date"
    NO_PLACE = "no-place"


_ALWAYS = (StoredList.ALL, StoredList.HELD, StoredList.UNPAID, StoredList.ENDING)
"""The lists that are offered even if they are empty."""


@dataclass(frozen=True, slots=True)
class Selection:
    """What of the inventory is shown: a list, a place from the outside in, and text; from the query."""

    which: StoredList = StoredList.ALL
    place: tuple[str, ...] = ()
    text: str = ""
    page: int = 1
    is_sheet: bool = False

    @staticmethod
    def read(args: Mapping[str, str]) -> Selection:
        """Parse the query; what isn't known falls back to everything."""
        place: list[str] = []
        for name in LOCATION[:4]:
            if name not in args:
                break
            place.append(parse.line(args[name], longest=_LONGEST))
        name = args.get("list", "")
        return Selection(
            StoredList(name) if name in set(StoredList) else StoredList.ALL,
            tuple(place),
            parse.line(args.get("q"), longest=_LONGEST),
            parse.page_number(args.get("page")),
            is_sheet="sheet" in args,
        )

    @property
    def query(self) -> dict[str, str]:
        """The parameters, without those that have their default value, nor the page."""
        place = dict(zip(LOCATION, self.place, strict=False))
        return {
            **({"list": str(self.which)} if self.which is not StoredList.ALL else {}),
            **place,
            **({"q": self.text} if self.text else {}),
        }

    @property
    def href(self) -> str:
        """The address."""
        return self._address({"sheet": "1"} if self.is_sheet else {})

    @property
    def sheet_href(self) -> str:
        """The address of the same on one page, to print."""
        return self._address({"sheet": "1"})

    @property
    def again_href(self) -> str:
        """The address that reads everything anew."""
        return self._address({"again": "1"})

    @property
    def kept(self) -> dict[str, str]:
        """The parameters that a new search keeps."""
        return {name: value for name, value in self.query.items() if name != "q"}

    @property
    def read_on_href(self) -> str:
        """The address that reads more and returns here."""
        return self._address({}, "storage.cryo_room.go_on")

    def _address(self, more: Mapping[str, str], endpoint: str = "storage.index") -> str:
        query = urlencode({**self.query, **more})
        return url_for(endpoint) + (f"?{query}" if query else "")

    def fits(self, view: EmbryoView) -> bool:
        """Whether the embryo is shown, wherever it is."""
        return _IS_IN[self.which](view, today()) and _matches(view, self.text)

    def is_at(self, view: EmbryoView) -> bool:
        """Whether the embryo is at the place."""
        return place_of(view)[: len(self.place)] == self.place


@dataclass(frozen=True, slots=True)
class Link:
    """A counted link to a list or place; `current` if it is shown."""

    label: str
    href: str
    current: bool
    count: Count


@dataclass(frozen=True, slots=True)
class EndDate:
    """A date that ends something of an embryo's storage; `word` says how near it is, empty if it is over 60 days away."""

    term: str
    day: date
    word: str
    tone: str


@dataclass(frozen=True, slots=True)
class Row:
    """An embryo of the inventory; `dates` are those that have passed or are near, or else the next one."""

    view: EmbryoView
    dates: tuple[EndDate, ...]


@dataclass(frozen=True, slots=True)
class Canister:
    """The embryos in one canister of a tank, with its name, on one page of the inventory."""

    name: str
    rows: list[Row]


@dataclass(frozen=True, slots=True)
class Shelves:
    """The inventory as selected."""

    views: Listed[EmbryoView]
    selection: Selection

    @property
    def stored(self) -> Count:
        """How many embryos are in storage."""
        return self._count(Selection())

    @property
    def shown(self) -> Listed[EmbryoView]:
        """The selected embryos, by place."""
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
        """How many pages there are."""
        return 1 if self.selection.is_sheet else max(1, -(-len(self.shown.items) // PAGE))

    @property
    def canisters(self) -> list[Canister]:
        """The embryos of this page by canister."""
        several = self._has_several_facilities
        return [
            Canister(place_name(place, with_facility=several), [_row(view) for view in views])
            for place, views in groupby(self.on_page, key=lambda view: place_of(view)[:3])
        ]

    @property
    def lists(self) -> list[Link]:
        """The lists, each counted at the place that is selected."""
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


def place_of(view: EmbryoView) -> tuple[str, str, str, str, str]:
    """Facility, tank, canister, cane and position, each empty if it isn't given."""
    at = view.embryo.location
    return (at.facility, at.tank, at.canister, at.cane, at.position) if at else ("", "", "", "", "")


def place_name(place: tuple[str, ...], *, with_facility: bool) -> str:
    """`T4 › C2`, after the facility's name if there are several."""
    facility, *parts = place
    named = [facility or _("Facility not given")] if with_facility else []
    return " › ".join([*named, *(part for part in parts if part)]) or _("Place not given")


def list_name(which: StoredList) -> str:
    """A list's name."""
    names = {
        StoredList.ALL: _("In storage"),
        StoredList.HELD: _("On hold"),
        StoredList.UNPAID: _("Unpaid"),
        StoredList.ENDING: _("Ends within 60 days"),
        StoredList.ENDED: _("Consent or limit passed"),
        StoredList.WARMED: _("Warmed or thawed"),
        StoredList.NO_DATE: _("A date is missing"),
        StoredList.NO_PLACE: _("Without a place"),
    }
    return names[which]


def _row(view: EmbryoView) -> Row:
    terms = (_("Consented until"), _("Paid until"), _("Statutory limit"))
    dates = [_end_date(term, day) for term, day in zip(terms, _days(view), strict=True) if day]
    pressing = tuple(one for one in dates if one.word)
    return Row(view, pressing or tuple(sorted(dates, key=lambda one: one.day)[:1]))


def _end_date(term: str, day: date) -> EndDate:
    days = (day - today()).days
    if days < 0:
        return EndDate(term, day, _("Passed"), "urgent")
    if days > SOON_DAYS:
        return EndDate(term, day, "", "neutral")
    word = ngettext("In %(num)s day", "In %(num)s days", days) if days else _("Today")
    return EndDate(
        term, day, word, "urgent" if not days else "attention" if days <= _NEAR_DAYS else "neutral"
    )


def _days(view: EmbryoView) -> tuple[date | None, date | None, date | None]:
    embryo = view.embryo
    return embryo.storage_consented_until, paid_until(embryo), embryo.statutory_limit


def _passed(day: date | None, now: date) -> bool:
    return day is not None and day < now


def _ends_soon(view: EmbryoView, now: date) -> bool:
    return any(day and now <= day <= now + timedelta(days=SOON_DAYS) for day in _days(view))


def _has_ended(view: EmbryoView, now: date) -> bool:
    consented, _paid, limit = _days(view)
    return _passed(consented, now) or _passed(limit, now)


_IS_IN: Mapping[StoredList, Callable[[EmbryoView, date], bool]] = {
    StoredList.ALL: lambda view, _now: view.is_stored,
    StoredList.HELD: lambda view, _now: view.embryo.is_stopped,
    StoredList.UNPAID: lambda view, now: view.is_stored and _passed(_days(view)[1], now),
    StoredList.ENDING: lambda view, now: view.is_stored and _ends_soon(view, now),
    StoredList.ENDED: lambda view, now: view.is_stored and _has_ended(view, now),
    StoredList.WARMED: lambda view, _now: view.embryo.status == EmbryoStatus.THAWED,
    StoredList.NO_DATE: lambda view, _now: view.is_stored and None in _days(view)[:2],
    StoredList.NO_PLACE: lambda view, _now: view.is_stored and not place_of(view)[1],
}


def _matches(view: EmbryoView, text: str) -> bool:
    """Whether each word is a part of its place, or begins its code, its record number or a name of its patient's."""
    return all(_has_word(view, word) for word in words_of(text))


def words_of(text: str) -> list[str]:
    """The words of a text that was typed or pasted, folded: `T4 › C2` is `t4` and `c2`."""
    return [word for word in _MARKS.split(folded(text)) if word]


def _has_word(view: EmbryoView, word: str) -> bool:
    patient = view.episode.patient
    begins = (view.embryo.embryo_code, patient.mrn, *patient.full_name.replace("-", " ").split())
    return word in map(folded, place_of(view)) or any(folded(one).startswith(word) for one in begins)


def _order(view: EmbryoView) -> tuple[bool, tuple[tuple[tuple[bool, int, str], ...], ...], str]:
    """By place, without one last; then by code."""
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
