"""The order of words as a language's dictionaries have it (CLDR 46, collation), for the languages that people read here.

Letters decide first, then accents and marks, then case, small letters before capitals. Spaces and punctuation come before all letters.
"""

from __future__ import annotations

import unicodedata

from portal.folding import folded

_AFTER = "\uffff"
"""Sorts a letter behind all words that begin with the one before it."""
_LETTERS = {
    "es": str.maketrans({"ñ": f"n{_AFTER}"}),
    "ar": str.maketrans({"ة": "ت", "ى": "ي", "ـ": ""}),
}
"""What counts as another letter, or as none, in a language (CLDR's tailorings of `es` and `ar`)."""


def sort_key(text: str, language: str) -> tuple[str, str, str]:
    """Return what sorts a text among others in a language, given by its code (`en`, `es`, `ar`)."""
    plain = folded(unicodedata.normalize("NFC", text.casefold()).translate(_LETTERS.get(language, {})))
    letters = "".join(one if one.isalnum() or one == _AFTER else " " for one in plain)
    if language == "ar":  # its own script first
        letters = "".join(one if _is_arabic(one) or one == " " else f"\ufffe{one}" for one in letters)
    return letters, unicodedata.normalize("NFD", text.casefold()), text.swapcase()


def _is_arabic(letter: str) -> bool:
    return "\u0600" <= letter <= "\u06ff"
