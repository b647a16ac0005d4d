"""The spellings of a dose's unit, in every language of the portal."""

from __future__ import annotations

INTERNATIONAL_UNITS = frozenset(
    {
        *("iu", "i.u.", "unit", "units", "international unit", "international units", "u"),
        *("ui", "u.i.", "unidad", "unidades", "unidad internacional", "unidades internacionales"),
        *("وحدة", "وحدات", "وحدة دولية", "وحدات دولية"),
    }
)
MICROGRAMS = frozenset(
    {
        *("µg", "ug", "mcg", "microgram", "micrograms", "microgramo", "microgramos"),
        *("ميكروغرام", "ميكروجرام", "مكغ", "مكجم"),
    }
)
_MILLIGRAMS = frozenset(
    {
        *("mg", "milligram", "milligrams", "miligramo", "miligramos"),
        *("ملغ", "مغ", "مجم", "ملغم", "ملليغرام", "ملليجرام", "ميليغرام"),
    }
)
_SPELLINGS = {"IU": INTERNATIONAL_UNITS, "µg": MICROGRAMS, "mg": _MILLIGRAMS}

CONFUSABLE = ("IU", "µg", "mg", "g", "ml")
"""Units of which one is easily taken for another."""


def folded_unit(unit: str) -> str:
    """Return the unit in small letters, with one of the two characters for micro: `µg`."""
    return unit.strip().casefold().replace("\N{GREEK SMALL LETTER MU}", "\N{MICRO SIGN}")


def unit_of(spelling: str) -> str:
    """Return `IU`, `µg` or `mg` for each of their spellings; another unit in small letters."""
    folded = folded_unit(spelling)
    found = (unit for unit, spellings in _SPELLINGS.items() if folded in spellings)
    return next(found, folded)


def is_same_unit(one: str, other: str) -> bool:
    """Return whether two spellings mean one unit: `IU` and `units`."""
    return unit_of(one) == unit_of(other)
