"""Brand and strength of the medicines that a clinic dispenses, shown to patients beside the name in the plan."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from portal.config.table import Source, setting
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

    def __post_init__(self) -> None:
        if not (self.drug and self.product):
            raise ValueError("must have drug, and brand or strength or both")

    @property
    def product(self) -> str:
        """`Gonal-f 300 IU pen`."""
        return f"{self.brand} {self.strength}".strip()


def product_of(medicines: Iterable[Medicine], drug: str) -> str:
    """The brand and strength of a medicine; empty if the clinic gave none.

    The whole name has to be the same: a part of it, as in "follitropin", may be another medicine's too.
    """
    name = folded(drug)
    return next((one.product for one in medicines if folded(one.drug) == name), "")


def folded(drug: str) -> str:
    """A medicine's name to compare with others."""
    return " ".join(drug.split()).casefold()
