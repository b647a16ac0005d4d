"""The language of texts that the portal didn't write, so that a screen reader speaks them as they are (WCAG 2.2, 3.1.2).

The care API doesn't name it, except for forms. The clinic writes in the first of its languages; letters that can't be
that language's say otherwise.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any, cast

from flask import Flask
from markupsafe import Markup

from portal.i18n.locale import language
from portal.request_values import clinic

_LETTER = re.compile(r"[^\W\d_]")
_ARABIC = re.compile(r"[\u0600-\u06ff]")


def init_app(app: Flask) -> None:
    cast("Any", app.jinja_env).filters.update(with_lang=with_lang, foreign=foreign)


def with_lang(text: str | None, spoken: str | None = None, html: Markup | None = None) -> Markup | str:
    """The text as HTML, marked with its language (`spoken`, if it is known) if that isn't the page's; empty for none.

    `html` is what was made of it. A text that is HTML already is the portal's own.
    """
    if not text or isinstance(text, Markup):
        return text or ""
    if not spoken and text.isascii() and _writes_as_shown(clinic(), language()):
        return html or text
    other = foreign(text, spoken)
    return (
        Markup('<span lang="{}" dir="auto">{}</span>').format(other, html or text) if other else html or text
    )


def foreign(text: str, spoken: str | None = None) -> str | None:
    """The language of a text if it isn't the page's, else None."""
    spoken = spoken or _language_of(text)
    return None if spoken is None or primary_language(spoken) == primary_language(language()) else spoken


def _writes_as_shown(written_by: Any, page: str) -> bool:
    """Whether what is written in Latin letters is in the page's language, or nobody knows."""
    return written_by is None or (
        (own := primary_language(written_by.languages[0])) != "ar" and own == primary_language(page)
    )


def _language_of(text: str) -> str | None:
    first, written_by = _LETTER.search(text), clinic()
    if first is None or written_by is None:
        return None
    own = primary_language(written_by.languages[0])
    if bool(_ARABIC.match(first[0])) == (own == "ar"):
        return own
    return "en" if own == "ar" else "ar"


@cache
def primary_language(code: str) -> str:
    """Return the primary language subtag of a tag, also of one with `_` (RFC 5646): `es` of `es-MX`."""
    return code.replace("_", "-").partition("-")[0].casefold()
