"""Which language a page is in: the person's choice, else their profile's, else the browser's, else the clinic's."""

from __future__ import annotations

from contextlib import suppress

from flask import g, request

from portal.context import session
from portal.store import StoreDown

NAMES = {"en": "English", "es": "Español", "ar": "العربية"}
COOKIE = "__Host-language"
"""What this browser chose, for as long as it is open."""


def choose() -> str:
    """Return one of the clinic's languages for this request."""
    tenant = g.get("tenant")
    if tenant is None:
        return "en"
    offered: tuple[str, ...] = tenant.languages
    for wanted in _wanted():
        if isinstance(wanted, str) and wanted.replace("_", "-").split("-")[0].lower() in offered:
            return wanted.replace("_", "-").split("-")[0].lower()
    return request.accept_languages.best_match(offered) or offered[0]


def _wanted() -> tuple[object, ...]:
    """What was chosen, then what the profile says (not while the store is down, so that a page can say so)."""
    person = None
    if not g.get("is_store_down"):
        with suppress(StoreDown):
            person = session().person
    return request.cookies.get(COOKIE), person.locale if person else None
