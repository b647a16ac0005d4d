"""Where a clinic's visits take place and how to prepare for one, in the clinic's own words."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from portal.config.table import Source, by_language, optional_https_address, setting, text

_LONGEST_ARRIVAL = 240


def _address(value: Any, source: Source) -> tuple[str, ...]:
    return tuple(filter(None, map(str.strip, text(value, source).splitlines())))


def _minutes(value: Any, source: Source) -> int:
    if type(value) is not int or not 0 <= value <= _LONGEST_ARRIVAL:
        raise ValueError(f"must be a whole number of minutes, 0 to {_LONGEST_ARRIVAL} (found {value!r})")
    return value


@dataclass(frozen=True, slots=True)
class Place:
    """The address of the visits whose location is this name, or begins with it as in `Quayside, room 2`."""

    location: str = setting(text, "Quayside", "as the appointments' location begins")
    address: tuple[str, ...] = setting(_address, "Riverside House\n1 Quayside", "")
    map: str = setting(optional_https_address, "https://maps.example/riverside", "", "")


@dataclass(frozen=True, slots=True)
class VisitAdvice:
    """How to prepare for the visits of this kind."""

    kind: str = setting(text, "Monitoring scan", "as in the appointments")
    arrive_minutes: int = setting(_minutes, 10, "how long before it to arrive", 0)
    prepare: Mapping[str, str] = setting(
        by_language, {"en": "Come with an empty bladder."}, "what to do and bring", {}
    )

    def __post_init__(self) -> None:
        if not (self.arrive_minutes or self.prepare):
            raise ValueError("must have arrive_minutes or prepare")


def place_of(places: Iterable[Place], location: str | None) -> Place | None:
    """The place of a visit's location, the most exact of several; None for another place, or where none is given."""
    found = [place for place in places if location and _is_at(place, location)]
    return max(found, key=lambda place: len(place.location), default=None)


def folded_kind(kind: str) -> str:
    """A visit's kind or status to compare with others: `EggCollection` is `Egg collection`."""
    return re.sub(r"[\W_]", "", kind).casefold()


def is_settled(status: str) -> bool:
    """Whether a visit of this status needs nobody's confirmation; the words for that are few, those for the contrary aren't."""
    return folded_kind(status) in _SETTLED


_SETTLED = frozenset(
    {
        *("", "booked", "confirmed", "scheduled", "planned", "accepted", "approved", "active", "created"),
        *("arrived", "checkedin", "inprogress", "ongoing", "started"),
        *("attended", "fulfilled", "completed", "complete", "done", "finished", "closed"),
    }
)


def _is_at(place: Place, location: str) -> bool:
    name, whole = place.location.casefold(), location.strip().casefold()
    return whole == name or (whole.startswith(name) and not whole[len(name)].isalnum())
