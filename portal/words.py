"""Gettext, typed: every word that a person reads goes through one of these (Flask-Babel)."""

from __future__ import annotations

from typing import Any, cast

import flask_babel

_babel = cast("Any", flask_babel)


def _(text: str, **values: object) -> str:
    """Return the text in the language of this request, with `%(name)s` filled in."""
    return _babel.gettext(text, **values)


def ngettext(one: str, many: str, num: int, **values: object) -> str:
    """Return the form of the text that fits the number `num`."""
    return _babel.ngettext(one, many, num, **values)


def lazy(text: str) -> Any:
    """Return the text so that it is translated when it is shown, for labels of forms."""
    return _babel.lazy_gettext(text)
