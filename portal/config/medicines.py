"""Brand and strength of the medicines that a clinic dispenses, shown to patients beside the name in the plan."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import cast

from portal.parse import line

_LONGEST = 120


@dataclass(frozen=True, slots=True)
class Medicine:
    """What the clinic hands out for a medicine that plans call `drug`, in these very words, case aside."""

    drug: str
    brand: str = ""
    strength: str = ""

    @property
    def product(self) -> str:
        """`Gonal-f 300 IU pen`."""
        return f"{self.brand} {self.strength}".strip()


_MEMBERS = tuple(field.name for field in fields(Medicine))


def product_of(medicines: Iterable[Medicine], drug: str) -> str:
    """The brand and strength of a medicine; empty if the clinic gave none.

    The whole name has to be the same: a part of it, as in "follitropin", may be another medicine's too.
    """
    name = _folded(drug)
    return next((one.product for one in medicines if _folded(one.drug) == name), "")


def read_medicines(given: object, where: str) -> tuple[tuple[Medicine, ...], list[str]]:
    """Return the clinic's medicines, and one fault for each error; `where` names the table."""
    if not isinstance(given, list):
        return (), [f"{where}: must be a list of tables with {', '.join(_MEMBERS)}"]
    found: dict[str, Medicine] = {}
    faults: list[str] = []
    for number, entry in enumerate(cast("Sequence[object]", given), 1):
        one = _medicine(cast("Mapping[str, object]", entry)) if isinstance(entry, dict) else None
        if one is None:
            faults.append(f"{where}: entry {number} must have drug, and brand or strength or both (texts)")
        elif _folded(one.drug) in found:
            faults.append(
                f"{where}: entry {number} names {one.drug} a second time; patients could be told either"
            )
        else:
            found[_folded(one.drug)] = one
    return tuple(found.values()), faults


def _medicine(entry: Mapping[str, object]) -> Medicine | None:
    texts = {name: text.strip() for name, text in entry.items() if isinstance(text, str) and name in _MEMBERS}
    one = Medicine(**{"drug": "", **texts})
    is_sound = len(texts) == len(entry) and all(
        line(text, longest=_LONGEST) == text for text in texts.values()
    )
    return one if one.drug and one.product and is_sound else None


def _folded(drug: str) -> str:
    return " ".join(drug.split()).casefold()
