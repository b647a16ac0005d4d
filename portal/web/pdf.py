"""Answering with a PDF made from a template, or saying honestly that it can't be made now."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import field
from datetime import datetime

from babel.dates import format_time
from flask import Response, g, make_response, request

from portal.context import context
from portal.i18n.gettext import _
from portal.printing import Attached, CannotPrint, Seal, pdf
from portal.web import audit, templates
from portal.web.downloads import disposition, safe_name
from portal.web.extensions import limiter
from portal.web.filters import date_locale, local, long_date, now
from portal.web.htmx import render
from portal.web.pages import Page

log = logging.getLogger("portal")

_RETRY_SECONDS = 10
_limit = limiter.shared_limit(
    lambda: context().settings.limit_printing,
    scope="printing",
    key_func=lambda: f"{g.tenant.key}:{g.person.sub}",
)


def exact(value: datetime) -> str:
    """`27 November 2026, 09:30:12 (UTC+00:00)`: a moment that can be read in any zone; the clinic's is shown."""
    there = local(value)
    zone = there.strftime("%z")
    clock = format_time(there.time().replace(microsecond=0), "medium", locale=date_locale())
    return _(
        "%(date)s, %(time)s (UTC%(offset)s)",
        date=long_date(value),
        time=clock,
        offset=f"{zone[:3]}:{zone[3:5]}",
    )


class Document(Page):
    """What the template of a PDF is given; `stamp` stands on every page of a record that isn't in force."""

    stamp: str | None
    made_at: datetime = field(default_factory=now)
    exact: Callable[[datetime], str] = exact


class FailedPage(Page, template="print/failed.html"):
    """No PDF could be made: `by_hand` is the page to print instead, `again` the address of the PDF."""

    by_hand: str
    again: str
    is_busy: bool


def printed(
    document: Document,
    *,
    name: str,
    by_hand: str,
    about: tuple[str, str, str],
    attached: tuple[Attached, ...] = (),
    sealed_as: str | None = None,
) -> Response:
    """Answer with the document as a PDF to be saved as `name`, or with 503 and why in words.

    `by_hand` is the page to print from the browser when no PDF can be made; `about` is what the audit record says:
    the event, the kind of record and its id. `sealed_as` is what the clinic's seal says that the document is; without
    it, or where the clinic has none, the document isn't sealed. One person may have `PORTAL_LIMIT_PRINTING` documents made.
    """
    event, kind, id_ = about
    with _limit:
        html = templates.render(document.template, document.context())
    try:
        content = pdf(html, *attached, seal=_seal(document, sealed_as))
    except CannotPrint as error:
        log.error("no PDF: %s", error)
        audit.note(event, "failed", kind=kind, id_=id_)
        page = FailedPage(by_hand=by_hand, again=request.path, is_busy=error.is_busy)
        response = render(page, status=503)
        response.headers["Retry-After"] = str(_RETRY_SECONDS)
        return response
    audit.shown(event, kind, id_)
    return make_response(
        content,
        {
            "Content-Type": "application/pdf",
            "Content-Disposition": disposition(f"{safe_name(name)}.pdf", is_saved=True),
        },
    )


def _seal(document: Document, sealed_as: str | None) -> Seal | None:
    files = g.tenant.document_seal
    if files is None or sealed_as is None:
        return None
    return Seal(str(files.certificate), str(files.key_file), g.tenant.name, sealed_as, document.made_at)
