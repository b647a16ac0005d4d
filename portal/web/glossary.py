"""The glossary of treatment terms, in the page's language (portal/web/glossary.toml)."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from portal.i18n.locale import language

_FILE = Path(__file__).with_name("glossary.toml")


@dataclass(frozen=True, slots=True)
class Word:
    """A term and its explanation; `id` is the same in every language."""

    id: str
    term: str
    meaning: str


def glossary() -> tuple[Word, ...]:
    """Return all terms, in the order in which they occur in a treatment."""
    return tuple(by_language()[language()].values())


def word(id_: str) -> Word:
    """Return one term; raise KeyError for an unknown id."""
    return by_language()[language()][id_]


@cache
def by_language() -> dict[str, dict[str, Word]]:
    """Return the terms by language code and id."""
    texts_by_id = tomllib.loads(_FILE.read_text(encoding="utf-8"))
    codes = dict.fromkeys(code for texts in texts_by_id.values() for code in texts)
    return {code: {id_: Word(id_, *texts[code]) for id_, texts in texts_by_id.items()} for code in codes}
