"""Typed gettext functions: every text that users read goes through one of these (`language` finds the catalogue).

A page has a few hundred texts, so the catalogue of the request's language is looked up once.
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
    """Cache the result of `make`, which may only depend on the language, for each language."""
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
    """Return the translations for this request's language."""
    return catalogue_of(language())


@cache
def catalogue_of(language: str) -> NullTranslations:
    """Return the translations for a language; without any, texts are returned unchanged."""
    return Translations.load(_FOLDER, [language])


def _(text: str, **values: object) -> str:
    """Return the text in the language of this request, with `%(name)s` filled in."""
    translated = catalogue().gettext(text)
    return translated % values if values else translated


def ngettext(one: str, many: str, num: int, **values: object) -> str:
    """Return the singular or plural form of the text that fits `num`."""
    return catalogue().ngettext(one, many, num) % {"num": num, **values}
