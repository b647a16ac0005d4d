"""What templates may use: the macros as `ui`, the helpers, and what is known of the person and the clinic."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

from flask import Flask, g, request
from flask_babel import get_locale
from jinja2 import StrictUndefined

from portal.parts import session
from portal.services.errors import CareError, NotOffered
from portal.signin.flow import local_path
from portal.web import bell, filters, headers, htmx, language
from portal.web.navigation import navigation

FOLDER = Path(__file__).parents[2] / "templates"


def init_app(app: Flask) -> None:
    """Give the Jinja environment its globals, tests and macros."""
    env = cast("Any", app.jinja_env)
    env.undefined = StrictUndefined
    env.trim_blocks = env.lstrip_blocks = True
    env.add_extension("jinja2.ext.do")
    env.globals.update(
        hx=htmx.hx,
        nonce=headers.nonce,
        toasts=htmx.toasts,
        now=filters.now,
        today=filters.today,
    )
    env.tests["failed"] = _is_failed
    env.tests["not_offered"] = _is_not_offered
    filters.init_app(app)
    _add_macros(env)
    app.context_processor(_context)


def _add_macros(env: Any) -> None:
    """All macros of templates/ui as one namespace: a block that is rendered alone sees no import."""
    ui = env.globals["ui"] = SimpleNamespace()
    for file in sorted((FOLDER / "ui").glob("*.html")):
        module = env.get_template(f"ui/{file.name}").module
        for name, value in cast("dict[str, object]", vars(module)).items():
            if not name.startswith("_") and callable(value):
                setattr(ui, name, value)


def _is_failed(value: object) -> bool:
    return isinstance(value, CareError)


def _is_not_offered(value: object) -> bool:
    return isinstance(value, NotOffered)


def _context() -> dict[str, object]:
    tenant = g.get("tenant")
    here = session()
    person = here.person if tenant else None
    chosen = str(get_locale() or "en")
    known = bell.look(person) if person and not htmx.is_htmx() else None
    unread = known.count if known else None
    return {
        "tenant": tenant,
        "person": person,
        "locale": chosen,
        # Where to come back to; an address with control characters in it leads home instead.
        "here": local_path(request.full_path if request.query_string else request.path),
        "direction": language.direction(chosen),
        "languages": [{"code": code, "name": language.NAMES[code]} for code in tenant.languages]
        if tenant
        else [],
        "nav": navigation(person) if person else [],
        "unread_count": unread,
        "bell_htmx": htmx.bell_htmx(unread, at_once=not bell.is_fresh(known)) if person else "",
        "session_expires_at": datetime.fromtimestamp(here.expires_at, UTC) if person else None,
    }
