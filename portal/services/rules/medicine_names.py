"""Whether a text of the clinic speaks of a medicine, so that it is shown where the medicine is."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

_PART = re.compile(r"[^\W\d_]{3,}")
_NOT_A_NAME = frozenset(
    ("acetate", "valerate", "alfa", "alpha", "beta", "delta", "acid", "sodium", "unit", "units")
)
_SHORTEST_STEM = 6


def speaks_of(text: str, names: Iterable[str]) -> bool:
    """Whether the text names a medicine by one of these names, or by a word of one, in the forms of several languages.

    "Progesterona" is progesterone and "Oestradiol" estradiol; "alfa" alone names nothing. Of three letters only
    abbreviations with capitals are names, such as hCG.
    """
    words = f" {' '.join(_words(text))} "
    return any(sought in words for name in names for sought in _sought(name))


@lru_cache(maxsize=1024)
def _sought(name: str) -> list[str]:
    """The words that name a medicine, or their stems, each after a space; kept, because each text is asked about all of the
    clinic's medicines.
    """
    words = (word for word in _words(name, least=4) if word not in _NOT_A_NAME)
    return [f" {word[:-1]}" if len(word) > _SHORTEST_STEM else f" {word} " for word in words]


def _words(text: str, least: int = 3) -> list[str]:
    """The words of so many letters at `least`, and abbreviations."""
    parts = (part for part in _PART.findall(text) if len(part) >= least or sum(map(str.isupper, part)) > 1)
    return [part.casefold().replace("oe", "e") for part in parts]
