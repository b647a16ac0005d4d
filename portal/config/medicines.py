"""What a clinic tells patients about the medicines it dispenses: brand, strength, how to take one, and what to do if a dose
was missed. The portal has no such advice of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from portal.config.table import Source, by_language, optional_https_address, setting
from portal.parse import line


def _label(value: Any, source: Source) -> str:
    if not isinstance(value, str) or line(value, longest=120) != value.strip():
        raise ValueError("must be one line of at most 120 characters")
    return value.strip()


@dataclass(frozen=True, slots=True)
class Medicine:
    """What the clinic hands out for a medicine that plans call `drug`, in these very words, case aside."""

    drug: str = setting(
        _label,
        "rFSH (follitropin alfa)",
        "the name in plans, in full: a part of it may be another medicine's too",
    )
    brand: str = setting(
        _label, "Follisample", "one of these two may be left out; one product for each name", ""
    )
    strength: str = setting(_label, "300 IU pen", "as the pack says it", "")
    how: Mapping[str, str] = setting(
        by_language, {"en": "Take it out of the fridge half an hour before."}, "how to take it", {}
    )
    missed: Mapping[str, str] = setting(
        by_language,
        {"en": "Call us before you take the next one."},
        "what to do if a dose was missed or is late; without it patients are told to call",
        {},
    )
    guide: str = setting(optional_https_address, "https://riverside.example/pen", "a leaflet or film", "")

    def __post_init__(self) -> None:
        if not self.drug or not (self.product or self.how or self.missed or self.guide):
            raise ValueError("must have drug, and at least one of the others")

    @property
    def product(self) -> str:
        """`Gonal-f 300 IU pen`."""
        return f"{self.brand} {self.strength}".strip()


def medicine_of(medicines: Iterable[Medicine], drug: str) -> Medicine | None:
    """What the clinic tells about a medicine; None if it tells nothing.

    The whole name has to be the same: a part of it, as in "follitropin", may be another medicine's too.
    """
    name = folded_drug(drug)
    return next((medicine for medicine in medicines if folded_drug(medicine.drug) == name), None)


def folded_drug(drug: str) -> str:
    """A medicine's name to compare with others."""
    return " ".join(drug.split()).casefold()
