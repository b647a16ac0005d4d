"""The words of a treatment and what they mean, in the language of the page (portal/web/glossary.toml)."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from portal.i18n.locale import language

_FILE = Path(__file__).with_name("glossary.toml")


@dataclass(frozen=True, slots=True)
class Word:
    """One word; `id` is the same in every language."""

    id: str
    term: str
    meaning: str


def glossary() -> tuple[Word, ...]:
    """Return all words, in the order of a treatment."""
    return tuple(by_language()[language()].values())


def word(id_: str) -> Word:
    """Return one word. KeyError where there is none."""
    return by_language()[language()][id_]


@cache
def by_language() -> dict[str, dict[str, Word]]:
    """Return the words of each language, by their id."""
    read = tomllib.loads(_FILE.read_text(encoding="utf-8"))
    codes = dict.fromkeys(code for texts in read.values() for code in texts)
    return {code: {id_: Word(id_, *texts[code]) for id_, texts in read.items()} for code in codes}
