"""Names that say the opposite of others: `Unread` of `isRead`, `Preliminary` of `verified`."""

from __future__ import annotations

import re

from portal.connect.dialects.naming import words

_OPPOSITES = frozenset(
    {"un", "not", "non", "no", "withheld", "hidden", "preliminary", "provisional", "disabled", "inactive"}
)


def is_opposite(ours: str, theirs: str) -> bool:
    """Whether a name probably says the opposite of another: one of the two is a negation."""
    return _negations(ours) % 2 != _negations(theirs) % 2


def _negations(name: str) -> int:
    found = words(name.rpartition(".")[2])
    count = sum(word in _OPPOSITES for word in found)
    return count + sum(
        re.fullmatch(r"un(read|verified|checked|shared|locked|disclosed|active)", word) is not None
        for word in found
    )
