"""Gettext, typed: every word that a person reads goes through one of these (Flask-Babel finds the catalogue).

A page says a few hundred words, so the catalogue of the request's language is looked up once.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, wraps
from pathlib import Path
from typing import TypeVar

from babel.support import NullTranslations, Translations

from portal.i18n.locale import language

T = TypeVar("T")

_FOLDER = Path(__file__).parent / "translations"


def for_each_language(make: Callable[[], T]) -> Callable[[], T]:
    """Let `make`, which says fixed words alone, run once for each language."""
    made: dict[str, T] = {}

    @wraps(make)
    def kept() -> T:
        spoken = language()
        try:
            return made[spoken]
        except KeyError:
            return made.setdefault(spoken, make())

    return kept


def catalogue() -> NullTranslations:
    """Return the words of this request's language."""
    return catalogue_of(language())


@cache
def catalogue_of(language: str) -> NullTranslations:
    """Return the words of a language; where there are none they stay as they are written."""
    return Translations.load(_FOLDER, [language])


def _(text: str, **values: object) -> str:
    """Return the text in the language of this request, with `%(name)s` filled in."""
    translated = catalogue().gettext(text)
    return translated % values if values else translated


def ngettext(one: str, many: str, num: int, **values: object) -> str:
    """Return the form of the text that fits the number `num`."""
    return catalogue().ngettext(one, many, num) % {"num": num, **values}
