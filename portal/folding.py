"""Names and words made alike for comparing."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from typing import Literal

_WITHOUT_ACCENT = str.maketrans({"ł": "l", "ø": "o", "đ": "d", "æ": "ae", "œ": "oe", "ı": "i"})
"""Letters that Unicode doesn't take apart into a plain one and its accent."""
_MOST_COMBINING = 30


def normalized(form: Literal["NFC", "NFD", "NFKC", "NFKD"], text: str) -> str:
    """Return the text in a normal form, with at most 30 combining characters in a row (UAX #15, Stream-Safe Text Format).

    The library sorts those of a row by insertion: without a bound, a few kB of accents would take minutes.
    """
    return unicodedata.normalize(form, text if text.isascii() else "".join(_stream_safe(text)))


def _stream_safe(text: str) -> Iterator[str]:
    in_a_row = 0
    for letter in text:
        in_a_row = in_a_row + 1 if unicodedata.combining(letter) else 0
        if in_a_row <= _MOST_COMBINING:
            yield letter


def folded(text: str) -> str:
    if text.isascii():
        return text.lower()
    apart = normalized("NFKD", text.casefold().translate(_WITHOUT_ACCENT))
    return "".join(
        str(unicodedata.decimal(letter, letter)) for letter in apart if not unicodedata.combining(letter)
    )
