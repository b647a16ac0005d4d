"""The choices in a protocol form's rows: the portal's own and those that a clinic adds in the tenants file.

They are stored in the record as they are, and so aren't translated.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, cast

from portal.config.table import Source, setting
from portal.parse import line

_LONGEST = 200
_MOST = 200


def _after(*own: str) -> Callable[[Any, Source], tuple[str, ...]]:
    """The portal's own choices, followed by the clinic's."""

    def parse(value: Any, source: Source) -> tuple[str, ...]:
        if not isinstance(value, list):
            raise ValueError("must be a list of strings")
        given = cast("list[Any]", value)
        if len(given) > _MOST:
            raise ValueError(f"must have at most {_MOST} entries")
        known = {word.casefold() for word in own}
        words, faults = list[str](), list[str]()
        for number, word in enumerate(given, 1):
            if not isinstance(word, str) or not word.strip() or line(word, longest=_LONGEST) != word.strip():
                faults.append(f"entry {number} must be one line of 1 to {_LONGEST} characters")
            elif word.strip().casefold() in known:
                faults.append(f"{word.strip()!r} is already listed")
            else:
                known.add(word.strip().casefold())
                words.append(word.strip())
        if faults:
            raise ValueError(*faults)
        return (*own, *words)

    return parse


_DRUGS = _after(
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
_CLASSES = _after(
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
_UNITS = _after("IU", "mg", "µg", "mL")
_ROUTES = _after("Subcutaneous", "Intramuscular", "Oral", "Vaginal", "Transdermal", "Nasal")
_INSTRUCTIONS = _after("Once, at exactly this time", "Rotate the injection site", "With food")
_CHECKS = _after("Baseline scan", "Scan and bloods", "Scan", "Bloods (E2, LH, P4)")


@dataclass(frozen=True, slots=True)
class ProtocolChoices:
    """The choices for each column of a medicine (`drugs` to `instructions`) and for monitoring (`checks`)."""

    drugs: tuple[str, ...] = setting(_DRUGS, ["Follitropin delta"], "", [])
    classes: tuple[str, ...] = setting(_CLASSES, [], "", [])
    units: tuple[str, ...] = setting(_UNITS, ["ampoule"], "", [])
    routes: tuple[str, ...] = setting(_ROUTES, ["Rectal"], "", [])
    instructions: tuple[str, ...] = setting(
        _INSTRUCTIONS,
        ["After a meal"],
        "how a medicine is taken; how often is said by its hours and days",
        [],
    )
    checks: tuple[str, ...] = setting(_CHECKS, ["Hysteroscopy"], "examinations on a day of the protocol", [])
