"""Texts without characters that hide or reorder what is shown: titles, names, reasons, signatures."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from typing import Annotated

import msgspec

_JOINERS = "\u200c\u200d"
_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
_ALLOWED = "allowed"

ONE_LINE = msgspec.Meta(
    extra={_ALLOWED: _JOINERS},
    description="no control, bidirectional or other invisible characters, except joiners (ZWJ, ZWNJ)",
)
SEVERAL_LINES = msgspec.Meta(
    extra={_ALLOWED: _JOINERS + "\n\r\t"},
    description="no control, bidirectional or other invisible characters, except joiners, line breaks and tabs",
)

TimeOfDay = Annotated[str, msgspec.Meta(max_length=5, pattern=r"^([01][0-9]|2[0-3]):[0-5][0-9]$")]
"""HH:MM; its pattern alone would let a line break follow."""


def has_hidden_characters(text: str, marks: Mapping[str, str] | None) -> bool:
    """Whether `text` contains characters that its type doesn't allow; `marks` are the `extra` of its annotation."""
    allowed = (marks or {}).get(_ALLOWED)
    return allowed is not None and any(
        unicodedata.category(character) in _HIDDEN for character in text if character not in allowed
    )
