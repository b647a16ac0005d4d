"""The language of a page: the one chosen in this browser, else the profile's, else the browser's, else the clinic's first."""

from __future__ import annotations

from contextlib import suppress

from flask import g, request

from portal.context import session
from portal.store import StoreDown

NAMES = {"en": "English", "es": "Español", "ar": "العربية"}
COOKIE = "__Host-language"
"""A session cookie with the language chosen in this browser."""


def choose() -> str:
    """Return the language code for this request, one of the clinic's; `en` if the host is no clinic's."""
    tenant = g.get("tenant")
    if tenant is None:
        return "en"
    offered: tuple[str, ...] = tenant.languages
    for tag in _preferred_tags():
        if isinstance(tag, str) and tag.replace("_", "-").split("-")[0].lower() in offered:
            return tag.replace("_", "-").split("-")[0].lower()
    return request.accept_languages.best_match(offered) or offered[0]


def language_of(tag: str | None) -> str:
    """Return the portal's language for somebody other than the reader, by a tag such as `es-MX` (BCP 47), else the clinic's first."""
    spoken = (tag or "").replace("_", "-").partition("-")[0].casefold()
    return spoken if spoken in NAMES else str(g.tenant.languages[0])


def _preferred_tags() -> tuple[object, ...]:
    """Return the language tags of the cookie and the profile; without the profile's while the store is down."""
    person = None
    if not g.get("is_store_down"):
        with suppress(StoreDown):
            person = session().person
    return request.cookies.get(COOKIE), person.locale if person else None
