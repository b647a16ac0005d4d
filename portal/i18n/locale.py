"""The current request's language and text direction."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from functools import cache

from flask import Flask, current_app

from portal.request_values import request_g

DEFAULT = "en"
"""The language that the portal's texts are written in."""

_RIGHT_TO_LEFT = frozenset({"ar", "he", "fa", "ur"})
_EXTENSION = "portal.language"


def init_app(app: Flask, choose: Callable[[], str]) -> None:
    """Let `choose` say each request's language, as a BCP 47 tag."""
    app.extensions[_EXTENSION] = choose


def language() -> str:
    """Return the language of this request as a BCP 47 tag; outside a request, the default."""
    try:
        return request_g().language
    except AttributeError:
        choose: Callable[[], str] | None = current_app.extensions.get(_EXTENSION)
        request_g().language = choose() if choose else DEFAULT
        return request_g().language
    except RuntimeError:  # no request
        return DEFAULT


@contextmanager
def speaking(other: str) -> Generator[None]:
    """Use another language for a text that somebody else than this request's reader will read."""
    before = language()
    request_g().language = other
    try:
        yield
    finally:
        request_g().language = before


def direction() -> str:
    """Return `rtl` if the current language is written from right to left, else `ltr` (HTML's `dir`)."""
    return "rtl" if is_rtl() else "ltr"


def is_rtl() -> bool:
    """Whether the current language is written from right to left."""
    return _is_rtl(language())


@cache
def _is_rtl(language: str) -> bool:
    return language.partition("_")[0].partition("-")[0] in _RIGHT_TO_LEFT
