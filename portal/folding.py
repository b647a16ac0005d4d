"""Names and words made alike for comparing."""

from __future__ import annotations

import unicodedata

_WITHOUT_ACCENT = str.maketrans({"ł": "l", "ø": "o", "đ": "d", "æ": "ae", "œ": "oe", "ı": "i"})
"""Letters that Unicode doesn't take apart into a plain one and its accent."""


def folded(text: str) -> str:
    """Return the text without case and accents."""
    apart = unicodedata.normalize("NFKD", text.casefold().translate(_WITHOUT_ACCENT))
    return "".join(letter for letter in apart if not unicodedata.combining(letter))
