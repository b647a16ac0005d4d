"""The current request's language and text direction."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from functools import cache
from typing import Any, cast

import flask_babel

from portal.request_values import here

DEFAULT = "en"
"""The language that the portal's texts are written in."""

_RIGHT_TO_LEFT = frozenset({"ar", "he", "fa", "ur"})
_babel = cast("Any", flask_babel)


def language() -> str:
    """Return the language of this request as a BCP 47 tag; outside a request, the default."""
    try:
        return here().language
    except AttributeError:
        here().language = str(_babel.get_locale() or DEFAULT)
        return here().language
    except RuntimeError:  # no request
        return DEFAULT


@contextmanager
def speaking(other: str) -> Generator[None]:
    """Use another language for a text that somebody else than this request's reader will read."""
    before = language()
    here().language = other
    try:
        yield
    finally:
        here().language = before


def direction() -> str:
    """Return `rtl` if the current language is written from right to left, else `ltr` (HTML's `dir`)."""
    return "rtl" if is_rtl() else "ltr"


def is_rtl() -> bool:
    """Whether the current language is written from right to left."""
    return _is_rtl(language())


@cache
def _is_rtl(language: str) -> bool:
    return language.partition("_")[0].partition("-")[0] in _RIGHT_TO_LEFT
