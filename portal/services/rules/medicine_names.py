"""Whether a text of the clinic speaks of a medicine, so that it is shown where the medicine is."""

from __future__ import annotations

import re
from collections.abc import Iterable

_PART = re.compile(r"[^\W\d_]{4,}")
_NOT_A_NAME = frozenset(
    ("acetate", "valerate", "alfa", "alpha", "beta", "delta", "acid", "sodium", "unit", "units")
)
_SHORTEST_STEM = 6


def speaks_of(text: str, names: Iterable[str]) -> bool:
    """Whether the text names a medicine by one of these names, or by a word of one, in the forms of several languages.

    "Progesterona" is progesterone and "Oestradiol" estradiol; "alfa" alone names nothing.
    """
    words = [_spelled(word) for word in _PART.findall(text)]
    return any(
        word == part or (len(part) > _SHORTEST_STEM and word.startswith(part[:-1]))
        for name in names
        for part in map(_spelled, _PART.findall(name))
        if part not in _NOT_A_NAME
        for word in words
    )


def _spelled(word: str) -> str:
    return word.casefold().replace("oe", "e")
