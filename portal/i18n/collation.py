"""Alphabetical order by the rules of each language (CLDR 46, collation), for the portal's languages.

Texts are compared by letters first, then accents and marks, then case (lower before upper). Spaces and punctuation sort
before all letters.
"""

from __future__ import annotations

from portal.folding import folded, normalized

_AFTER = "\uffff"
"""Appended to a letter to sort what follows after all words that begin with that letter."""
_LETTERS = {"es": str.maketrans({"ñ": f"n{_AFTER}"}), "ar": str.maketrans({"ة": "ت", "ى": "ي", "ـ": ""})}
"""Letters that a language sorts as another letter or ignores (CLDR's tailorings for `es` and `ar`)."""


def sort_key(text: str, language: str) -> tuple[str, str, str]:
    """Return the key that sorts a text in a language, given by its code (`en`, `es`, `ar`)."""
    plain = folded(normalized("NFC", text.casefold()).translate(_LETTERS.get(language, {})))
    letters = "".join(letter if letter.isalnum() or letter == _AFTER else " " for letter in plain)
    if language == "ar":  # its own script first
        letters = "".join(
            letter if _is_arabic(letter) or letter == " " else f"\ufffe{letter}" for letter in letters
        )
    return letters, normalized("NFD", text.casefold()), text.swapcase()


def _is_arabic(letter: str) -> bool:
    return "\u0600" <= letter <= "\u06ff"
