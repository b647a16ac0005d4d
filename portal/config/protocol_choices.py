"""The choices in a protocol form's rows: the portal's own and those that a clinic adds in the tenants file.

They are stored in the record as they are, and so aren't translated.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import cast

from portal.parse import line

_LONGEST = 200
_MOST = 200


@dataclass(frozen=True, slots=True)
class ProtocolChoices:
    """The choices for each column of a medicine (`drugs` to `instructions`) and for monitoring (`checks`)."""

    drugs: tuple[str, ...] = (
        "rFSH (follitropin alfa)",
        "rFSH (follitropin beta)",
        "hMG (menotropin)",
        "Cetrorelix",
        "Ganirelix",
        "Triptorelin",
        "Buserelin",
        "Medroxyprogesterone acetate",
        "Choriogonadotropin alfa",
        "Oestradiol valerate",
        "Progesterone",
        "Letrozole",
    )
    classes: tuple[str, ...] = (
        "Gonadotropin",
        "GnRH antagonist",
        "GnRH agonist",
        "Progestin (PPOS)",
        "hCG trigger",
        "GnRH agonist trigger",
        "Oestrogen",
        "Luteal support",
        "Aromatase inhibitor",
    )
    units: tuple[str, ...] = ("IU", "mg", "µg", "mL")
    routes: tuple[str, ...] = ("Subcutaneous", "Intramuscular", "Oral", "Vaginal", "Transdermal", "Nasal")
    instructions: tuple[str, ...] = (
        "Once, at exactly this time",
        "Rotate the injection site",
        "With food",
    )
    checks: tuple[str, ...] = ("Baseline scan", "Scan and bloods", "Scan", "Bloods (E2, LH, P4)")


def read_protocol_choices(table: Mapping[str, object], where: str) -> tuple[ProtocolChoices, list[str]]:
    """Return the portal's choices followed by the clinic's, and one fault for each error.

    `where` names the table in the faults.
    """
    usual = ProtocolChoices()
    names = [field.name for field in fields(ProtocolChoices)]
    faults = [f"{where}.{name}: is none of {', '.join(names)}" for name in sorted(table.keys() - set(names))]
    columns: dict[str, tuple[str, ...]] = {}
    for name in names:
        own = cast("tuple[str, ...]", getattr(usual, name))
        given = table.get(name, [])
        if not isinstance(given, list):
            faults.append(f"{where}.{name}: must be a list of strings")
            continue
        added = _words(cast("list[object]", given), own, f"{where}.{name}", faults)
        columns[name] = own + added
    return ProtocolChoices(**columns), faults


def _words(given: list[object], own: tuple[str, ...], where: str, faults: list[str]) -> tuple[str, ...]:
    if len(given) > _MOST:
        faults.append(f"{where}: must have at most {_MOST} entries")
        return ()
    known = {word.casefold() for word in own}
    words: list[str] = []
    for number, word in enumerate(given, 1):
        if not isinstance(word, str) or not word.strip() or line(word, longest=_LONGEST) != word.strip():
            faults.append(f"{where}: entry {number} must be one line of 1 to {_LONGEST} characters")
        elif word.strip().casefold() in known:
            faults.append(f"{where}: {word.strip()!r} is already listed")
        else:
            known.add(word.strip().casefold())
            words.append(word.strip())
    return tuple(words)
