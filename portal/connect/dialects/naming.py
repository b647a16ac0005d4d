"""Naming styles: how an API spells `concurrencyStamp` or `PartiallySigned`."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")


def words(name: str) -> list[str]:
    """The words of a name in lower case; `line2` and `e2` are single words."""
    found: list[str] = []
    for word in _WORD.findall(name):
        if word.isdigit() and found:
            found[-1] += word
        else:
            found.append(word.lower())
    return found


def _camel(name: str) -> str:
    first, *rest = words(name) or [name]
    return first + "".join(map(str.capitalize, rest))


STYLES: Mapping[str, Callable[[str], str]] = {
    "camelCase": _camel,
    "PascalCase": lambda name: "".join(map(str.capitalize, words(name))),
    "snake_case": lambda name: "_".join(words(name)),
    "kebab-case": lambda name: "-".join(words(name)),
    "UPPER_CASE": lambda name: "_".join(words(name)).upper(),
}
"""Functions that convert a name from any style to each style."""


def folded_name(name: str) -> str:
    """A name without case, hyphens and underscores, which is the same in every style."""
    return re.sub(r"[\s_-]", "", name).casefold()
