"""What of the embryos in storage is looked for: a list, a place and words."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import date, timedelta
from enum import StrEnum
from urllib.parse import urlencode

from flask import url_for

from portal import parse
from portal.folding import folded
from portal.i18n.gettext import _
from portal.services.storage import NO_LOCATION, EmbryoStatus
from portal.values import Value
from portal.views.embryo_view import LOCATION, SOON_DAYS, EmbryoView, paid_until
from portal.web.filters import today

_LONGEST = 100


_MARKS = re.compile(r"[›>/·,;\s\u00a0]+")
"""What may stand between the parts of a place that was typed or pasted."""


class StoredList(StrEnum):
    ALL = "all"
    HELD = "on-hold"
    UNPAID = "unpaid"
    ENDING = "ending"
    ENDED = "ended"
    WARMED = "warmed"
    NO_DATE = "no-date"
    NO_PLACE = "no-place"


class Selection(Value, frozen=True):
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
        return self._address({"sheet": "1"} if self.is_sheet else {})

    @property
    def sheet_href(self) -> str:
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
        return self._address({}, "storage.cryo_room.go_on")

    def _address(self, more: Mapping[str, str], endpoint: str = "storage.index") -> str:
        query = urlencode({**self.query, **more})
        return url_for(endpoint) + (f"?{query}" if query else "")

    def fits(self, view: EmbryoView) -> bool:
        return _IS_IN[self.which](view, today()) and _matches(view, self.text)

    def is_at(self, view: EmbryoView) -> bool:
        return place_of(view)[: len(self.place)] == self.place


def place_of(view: EmbryoView) -> tuple[str, str, str, str, str]:
    """Facility, tank, canister, cane and position, each empty if it isn't given."""
    at = view.embryo.location
    return (at or NO_LOCATION).parts


def list_name(which: StoredList) -> str:
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


def days_until(view: EmbryoView) -> tuple[date | None, date | None, date | None]:
    embryo = view.embryo
    return embryo.storage_consented_until, paid_until(embryo), embryo.statutory_limit


def _passed(day: date | None, now: date) -> bool:
    return day is not None and day < now


def ends_soon(view: EmbryoView, now: date) -> bool:
    return any(day and now <= day <= now + timedelta(days=SOON_DAYS) for day in days_until(view))


def _has_ended(view: EmbryoView, now: date) -> bool:
    consented, _paid, limit = days_until(view)
    return _passed(consented, now) or _passed(limit, now)


_IS_IN: Mapping[StoredList, Callable[[EmbryoView, date], bool]] = {
    StoredList.ALL: lambda view, _now: view.is_stored,
    StoredList.HELD: lambda view, _now: view.embryo.is_stopped,
    StoredList.UNPAID: lambda view, now: view.is_stored and _passed(days_until(view)[1], now),
    StoredList.ENDING: lambda view, now: view.is_stored and ends_soon(view, now),
    StoredList.ENDED: lambda view, now: view.is_stored and _has_ended(view, now),
    StoredList.WARMED: lambda view, _now: view.embryo.status == EmbryoStatus.THAWED,
    StoredList.NO_DATE: lambda view, _now: view.is_stored and None in days_until(view)[:2],
    StoredList.NO_PLACE: lambda view, _now: view.is_stored and not place_of(view)[1],
}


def _matches(view: EmbryoView, text: str) -> bool:
    """Whether each word is a part of its place, or begins its code, its record number or a name of its patient's."""
    return all(_has_word(view, word) for word in words_of(text))


def words_of(text: str) -> list[str]:
    """The words of a text that was typed or pasted, folded: `T4 › C2` is `t4` and `c2`."""
    return [word for word in _MARKS.split(folded(text)) if word]


def _has_word(view: EmbryoView, word: str) -> bool:
    patient = view.owner or view.episode.patient
    begins = (view.embryo.embryo_code, patient.mrn, *patient.full_name.replace("-", " ").split())
    return word in map(folded, place_of(view)) or any(folded(begin).startswith(word) for begin in begins)
