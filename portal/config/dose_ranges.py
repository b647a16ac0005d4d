"""The usual range of a dose for each medicine and unit: the portal's own and those that a clinic sets in the tenants file."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import cast

_FILE = Path(__file__).with_suffix(".toml")
_MEMBERS = ("drug", "unit", "least", "most")
_SAME = {"ui": "iu", "i.u.": "iu", "mcg": "µg", "ug": "µg", "μg": "µg"}


@dataclass(frozen=True, slots=True)
class DoseRange:
    """The usual range of one dose: of medicines whose name contains `drug`, in `unit`."""

    drug: str
    unit: str
    least: float
    most: float


@cache
def usual_ranges() -> tuple[DoseRange, ...]:
    """The ranges that ship with the portal, longest names first."""
    given = tomllib.loads(_FILE.read_text("utf-8"))["ranges"]
    return tuple(sorted((DoseRange(**one) for one in given), key=lambda one: -len(one.drug)))


def range_of(ranges: Iterable[DoseRange], drug: str, unit: str) -> DoseRange | None:
    """The first range for this medicine in this unit, or None."""
    name, measured = drug.casefold(), _unit(unit)
    return next((one for one in ranges if one.drug.casefold() in name and _unit(one.unit) == measured), None)


def read_dose_ranges(given: object, where: str) -> tuple[tuple[DoseRange, ...], list[str]]:
    """Return the clinic's ranges followed by the portal's, and one fault for each error; `where` names the table."""
    if not isinstance(given, list):
        return usual_ranges(), [f"{where}: must be a list of tables with {', '.join(_MEMBERS)}"]
    found: list[DoseRange] = []
    faults: list[str] = []
    for number, entry in enumerate(cast("Sequence[object]", given), 1):
        one = _range(cast("Mapping[str, object]", entry)) if isinstance(entry, dict) else None
        if one is None:
            faults.append(
                f"{where}: entry {number} must have drug and unit (texts) and least below most (numbers)"
            )
        else:
            found.append(one)
    return (*found, *usual_ranges()), faults


def _range(entry: Mapping[str, object]) -> DoseRange | None:
    drug, unit, least, most = (entry.get(name) for name in _MEMBERS)
    if not (isinstance(drug, str) and drug.strip() and isinstance(unit, str) and unit.strip()):
        return None
    if isinstance(least, bool) or isinstance(most, bool) or entry.keys() - set(_MEMBERS):
        return None
    if not (isinstance(least, int | float) and isinstance(most, int | float) and 0 <= least < most):
        return None
    return DoseRange(drug.strip(), unit.strip(), float(least), float(most))


def _unit(unit: str) -> str:
    folded = unit.strip().casefold().replace("μ", "µ")
    return _SAME.get(folded, folded)
