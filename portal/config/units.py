"""The spellings of a dose's unit, in every language of the portal."""

from __future__ import annotations

INTERNATIONAL_UNITS = frozenset(
    {"iu", "i.u.", "ui", "u", "unit", "units", "unidad", "unidades", "وحدة", "وحدات"}
)
MICROGRAMS = frozenset(
    {"µg", "ug", "mcg", "microgram", "micrograms", "microgramo", "microgramos", "ميكروغرام"}
)
_SPELLINGS = {"IU": INTERNATIONAL_UNITS, "µg": MICROGRAMS}

CONFUSABLE = ("IU", "µg", "mg", "g")
"""Units of which one is easily taken for another."""


def folded_unit(unit: str) -> str:
    """Return the unit in small letters, with one of the two characters for micro: `µg`."""
    return unit.strip().casefold().replace("\N{GREEK SMALL LETTER MU}", "\N{MICRO SIGN}")


def unit_of(spelling: str) -> str:
    """Return `IU`, `µg`, `mg` or `g` for each of their spellings; another unit in small letters."""
    folded = folded_unit(spelling)
    found = (unit for unit, spellings in _SPELLINGS.items() if folded in spellings)
    return next(found, folded)


def is_same_unit(one: str, other: str) -> bool:
    """Return whether two spellings mean one unit: `IU` and `units`."""
    return unit_of(one) == unit_of(other)
