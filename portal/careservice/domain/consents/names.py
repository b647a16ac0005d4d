"""Comparing a typed name with the one on record, ignoring differences in spelling that don't matter."""

from __future__ import annotations

import unicodedata

_JOINERS = "\u200c\u200d"
_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
# Letters with a stroke and ligatures, which Unicode doesn't decompose.
_PLAIN = str.maketrans(
    {"ł": "l", "ø": "o", "đ": "d", "ħ": "h", "ŧ": "t", "ı": "i", "æ": "ae", "œ": "oe", "ð": "d"}
)


def has_hidden_characters(text: str) -> bool:
    """Whether `text` contains control, bidirectional or other invisible characters; joiners (ZWJ, ZWNJ) are allowed."""
    return any(unicodedata.category(character) in _HIDDEN for character in text if character not in _JOINERS)


def folded_name(text: str) -> str:
    """The letters and digits of a name, without case, spaces, accents and punctuation."""
    plain = unicodedata.normalize("NFKD", text).casefold().translate(_PLAIN)
    return "".join(character for character in unicodedata.normalize("NFKD", plain) if character.isalnum())


def has_words(text: str) -> bool:
    """Whether `text` contains at least one letter or digit."""
    return any(character.isalnum() for character in text)
