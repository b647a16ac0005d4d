"""The spellings of a medicine's route of administration."""

from __future__ import annotations

from collections.abc import Mapping

from portal.config.visits import folded_kind


def route_of(route: str) -> str:
    """A route to compare with others: `SC` and `s.c.` are `subcutaneous`; an unknown one is itself, in small letters."""
    found = folded_kind(route)
    return next((whole for whole, others in _SPELT.items() if found in others), found)


_SPELT: Mapping[str, tuple[str, ...]] = {
    "subcutaneous": ("subcutaneously", "subcut", "sc", "sq"),
    "intramuscular": ("intramuscularly", "im"),
    "intravenous": ("intravenously", "iv"),
    "oral": ("orally", "po"),
    "vaginal": ("vaginally", "pv"),
    "rectal": ("rectally", "pr"),
}
