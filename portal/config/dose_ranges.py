"""The usual range of a dose for each medicine and unit: the portal's own and those that a clinic sets in the tenants file."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from portal.config.routes import route_of
from portal.config.table import Source, setting, text
from portal.config.units import CONFUSABLE, is_same_unit, unit_of

_FILE = Path(__file__).with_suffix(".toml")


def _number(value: Any, source: Source) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not value >= 0:
        raise ValueError("must be a number")
    return float(value)


def _route(value: Any, source: Source) -> str:
    return text(value, source) if value else ""


@dataclass(frozen=True, slots=True)
class DoseRange:
    """The usual range of one dose: of medicines whose name contains `drug`, in `unit`, by this `route` or by any."""

    drug: str = setting(text, "follitropin delta", "in the medicine's name")
    unit: str = setting(text, "µg")
    least: float = setting(_number, 2)
    most: float = setting(_number, 20)
    route: str = setting(_route, "subcutaneous", "without it, by any", "")

    def __post_init__(self) -> None:
        if not self.least < self.most:
            raise ValueError("least must be below most")


@cache
def usual_ranges() -> tuple[DoseRange, ...]:
    """The ranges that ship with the portal."""
    return tuple(DoseRange(**row) for row in tomllib.loads(_FILE.read_text("utf-8"))["ranges"])


def range_of(ranges: Iterable[DoseRange], drug: str, unit: str, route: str = "") -> DoseRange | None:
    """Return the first range for a medicine in this unit and by this route, however they are spelt."""
    fits = (limit for limit in _of_drug(ranges, drug) if is_same_unit(limit.unit, unit))
    return next(
        (limit for limit in fits if not limit.route or route_of(limit.route) == route_of(route)), None
    )


def usual_units(ranges: Iterable[DoseRange], drug: str, unit: str) -> list[str]:
    """Return the units in which a medicine is usually given, where `unit` is another that is easily taken for one; else none."""
    if unit_of(unit) not in CONFUSABLE:
        return []
    found = _of_drug(ranges, drug)
    longest = max((len(limit.drug) for limit in found), default=0)
    # `follitropin delta` says more of that medicine than `FSH`
    units = list(dict.fromkeys(limit.unit for limit in found if len(limit.drug) == longest))
    return [] if any(is_same_unit(usual, unit) for usual in units) else units


def _of_drug(ranges: Iterable[DoseRange], drug: str) -> list[DoseRange]:
    """The ranges of the words in its name, but for words that end those of another: a clinic's own `progesterone` isn't of
    `medroxyprogesterone`.
    """
    name = drug.casefold()
    found = [(limit, words) for limit in ranges if (words := limit.drug.casefold()) in name]
    return [limit for limit, words in found if not any(words in longer[1:] for _limit, longer in found)]
