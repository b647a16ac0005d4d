"""Global functions, tests and filters of templates, and the context of the layout (`portal.web.pages.Frame`)."""

from __future__ import annotations

from typing import Any, cast

from flask import Flask, g, request

from portal.context import session
from portal.i18n.locale import direction, language
from portal.request_values import is_seen_by_staff, reader_is_staff
from portal.services.errors import CareError, NotOffered
from portal.signin.flow import local_path
from portal.web import (
    advice,
    bell,
    clinic_contact,
    filters,
    glossary,
    headers,
    htmx,
    locale_selector,
    modules,
    read_only,
    templates,
    text_language,
    visit_times,
)
from portal.web.explanations import please_tell
from portal.web.guard import page_to_return_to
from portal.web.navigation import navigation
from portal.web.not_given import not_given
from portal.web.pages import Frame
from portal.web.preferred_name import preferred_name
from portal.web.routing import current_address, is_this_page


def init_app(app: Flask) -> None:
    """Configure the Jinja environment: globals, tests, filters, macros and the layout's context."""
    env = cast("Any", app.jinja_env)
    templates.init_app(app)
    env.globals.update(
        hx=htmx.hx,
        nonce=headers.nonce,
        toasts=htmx.toasts,
        now=filters.now,
        today=filters.today,
        not_given=not_given,
        please_tell=please_tell,
        reader_is_staff=reader_is_staff,
        session_tag=_session_tag,
        glossary_word=glossary.word,
        explained_terms=glossary.explained,
        has_module=modules.has_module,
        is_read_only=read_only.is_read_only,
        is_this_page=is_this_page,
    )
    env.tests["failed"] = _is_failed
    env.tests["not_offered"] = _is_not_offered
    env.filters |= {"terms_in": glossary.terms_in, "with_terms": glossary.with_terms}
    filters.init_app(app)
    visit_times.init_app(app)
    advice.init_app(app)
    text_language.init_app(app)
    modules.init_app(app)
    clinic_contact.init_app(app)
    app.context_processor(_context)


def _is_failed(value: object) -> bool:
    return isinstance(value, CareError)


def _session_tag() -> str:
    return session().tag or ""


def _is_not_offered(value: object) -> bool:
    return isinstance(value, NotOffered)


def _context() -> dict[str, object]:
    tenant = g.get("tenant")
    current = session()
    person = g.get("person") if is_seen_by_staff() else current.person if tenant else None
    known = bell.KNOWN.get(person) if person and not htmx.is_htmx() else bell.KNOWN.default
    frame = Frame(
        tenant=tenant,
        person=person,
        preferred_name=preferred_name(person) if person else "",
        locale=language(),
        # The home page instead of an address with control characters.
        current_address=local_path(page_to_return_to() if request.method == "POST" else current_address()),
        direction=direction(),
        languages=[{"code": code, "name": locale_selector.NAMES[code]} for code in tenant.languages]
        if tenant
        else [],
        nav=navigation(person) if person else [],
        unread_count=known.count,
        bell_htmx=htmx.bell_htmx(known.count, at_once=not bell.is_fresh(known)) if person else "",
        session_lasts=current.lasts if person else None,
        unreadable=g.get("unreadable", 0),
        lacks_details=g.get("lacks_details", False),
        banner=None,
        is_banner_pinned=False,
        as_seen=g.get("as_seen"),
    )
    return dict(vars(frame))
