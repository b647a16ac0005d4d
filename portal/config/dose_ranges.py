"""The usual range of a dose for each medicine and unit: the portal's own and those that a clinic sets in the tenants file."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from portal.config.table import Source, setting, text

_FILE = Path(__file__).with_suffix(".toml")
_SAME = {"ui": "iu", "i.u.": "iu", "mcg": "µg", "ug": "µg", "μg": "µg"}


def _number(value: Any, source: Source) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not value >= 0:
        raise ValueError("must be a number")
    return float(value)


@dataclass(frozen=True, slots=True)
class DoseRange:
    """The usual range of one dose: of medicines whose name contains `drug`, in `unit`."""

    drug: str = setting(text, "follitropin delta", "in the medicine's name")
    unit: str = setting(text, "µg")
    least: float = setting(_number, 2)
    most: float = setting(_number, 20)

    def __post_init__(self) -> None:
        if not self.least < self.most:
            raise ValueError("least must be below most")


@cache
def usual_ranges() -> tuple[DoseRange, ...]:
    """The ranges that ship with the portal, longest names first."""
    given = tomllib.loads(_FILE.read_text("utf-8"))["ranges"]
    return tuple(sorted((DoseRange(**row) for row in given), key=lambda row: -len(row.drug)))


def range_of(ranges: Iterable[DoseRange], drug: str, unit: str) -> DoseRange | None:
    name, measured = drug.casefold(), _unit(unit)
    return next(
        (limit for limit in ranges if limit.drug.casefold() in name and _unit(limit.unit) == measured), None
    )


def _unit(unit: str) -> str:
    folded = unit.strip().casefold().replace("μ", "µ")
    return _SAME.get(folded, folded)
