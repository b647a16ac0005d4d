"""Comparing a typed name with the one on record, ignoring differences in spelling that don't matter."""

from __future__ import annotations

import unicodedata

# Letters with a stroke and ligatures, which Unicode doesn't decompose.
_PLAIN = str.maketrans(
    {"ł": "l", "ø": "o", "đ": "d", "ħ": "h", "ŧ": "t", "ı": "i", "æ": "ae", "œ": "oe", "ð": "d"}
)
_MOST_COMBINING = 30


def folded_name(text: str) -> str:
    """The letters and digits of a name, without case, spaces, accents and punctuation."""
    plain = _decomposed(text).casefold().translate(_PLAIN)
    return "".join(character for character in _decomposed(plain) if character.isalnum())


def _decomposed(text: str) -> str:
    """NFKD of `text` with at most 30 combining characters in a row (UAX #15, Stream-Safe Text Format).

    The library sorts those of a row by insertion: without a bound, a few kB of accents would take minutes.
    """
    if text.isascii():
        return text
    kept: list[str] = []
    in_a_row = 0
    for character in text:
        in_a_row = in_a_row + 1 if unicodedata.combining(character) else 0
        if in_a_row <= _MOST_COMBINING:
            kept.append(character)
    return unicodedata.normalize("NFKD", "".join(kept))


def has_words(text: str) -> bool:
    """Whether `text` contains at least one letter or digit."""
    return any(character.isalnum() for character in text)
