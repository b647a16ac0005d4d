"""Comparing a typed name with the one on record, as people write names."""

from __future__ import annotations

import unicodedata

_JOINERS = "\u200c\u200d"
_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
# Letters with a stroke or of two in one, which Unicode doesn't decompose.
_PLAIN = str.maketrans(
    {"ł": "l", "ø": "o", "đ": "d", "ħ": "h", "ŧ": "t", "ı": "i", "æ": "ae", "œ": "oe", "ð": "d"}
)


def has_hidden_characters(text: str) -> bool:
    """Whether `text` holds control, bidirectional or other unseen characters; joiners (ZWJ, ZWNJ) may be there."""
    return any(unicodedata.category(character) in _HIDDEN for character in text if character not in _JOINERS)


def folded_name(text: str) -> str:
    """Letters and digits of a name alone: case, spaces, accents and punctuation are left out."""
    plain = unicodedata.normalize("NFKD", text).casefold().translate(_PLAIN)
    return "".join(character for character in unicodedata.normalize("NFKD", plain) if character.isalnum())


def has_words(text: str) -> bool:
    """Whether `text` says anything: a letter or a digit at least."""
    return any(character.isalnum() for character in text)
