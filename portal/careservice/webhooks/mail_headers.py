"""Reads a mail's header section (RFC 5322 §2.2), in one pass and without failing."""

from __future__ import annotations

import re
from dataclasses import dataclass

from portal.careservice.webhooks.outside_text import FIELD_BYTES, cleaned

MAX_HEADERS = 1000
"""How many headers of a mail are read."""

_FOLDED = re.compile(r"\r?\n(?=[ \t])")


@dataclass(frozen=True)
class Headers:
    """Names in lower case and values, unfolded; too long ones are left out.

    `is_cut`: there were too many, or one was left out by which senders are verified.
    """

    pairs: tuple[tuple[str, str], ...]
    is_cut: bool

    def all(self, name: str) -> list[str]:
        """The values of the headers of this name (in lower case), in order."""
        return [value for named, value in self.pairs if named == name]


def read(text: str) -> Headers:
    """The headers in `text`, up to the first line that is none."""
    lines = _FOLDED.sub("", text.lstrip("\r\n").replace("\r\n", "\n")).split("\n", MAX_HEADERS)
    pairs: list[tuple[str, str]] = []
    is_cut = len(lines) > MAX_HEADERS
    for line in lines[:MAX_HEADERS]:
        name, colon, value = line.partition(":")
        if not colon:
            break
        if len(line) > FIELD_BYTES:
            is_cut |= name.strip().lower() == "authentication-results"
        else:
            pairs.append((name.strip().lower(), cleaned(value)))
    return Headers(tuple(pairs), is_cut)
