"""Which language a page is in: the person's choice, else their profile's, else the browser's, else the clinic's."""

from __future__ import annotations

from flask import g, request

from portal.parts import session

NAMES = {"en": "English", "es": "Español", "ar": "العربية"}
KEY = "language"


def choose() -> str:
    """Return one of the clinic's languages for this request."""
    tenant = g.get("tenant")
    if tenant is None:
        return "en"
    offered: tuple[str, ...] = tenant.languages
    here = session()
    person = here.person
    for wanted in (here.get(KEY), person.locale if person else None):
        if isinstance(wanted, str) and wanted.replace("_", "-").split("-")[0].lower() in offered:
            return wanted.replace("_", "-").split("-")[0].lower()
    return request.accept_languages.best_match(offered) or offered[0]


def direction(language: str) -> str:
    """`rtl` for Arabic, else `ltr`."""
    return "rtl" if language.startswith("ar") else "ltr"
