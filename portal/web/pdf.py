"""Answering with a PDF made from a template, or saying honestly that it can't be made now."""

from __future__ import annotations

import dataclasses
import hashlib
import logging
import secrets
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from dataclasses import field
from datetime import UTC, datetime
from pathlib import Path

from flask import Response, g, make_response, request

from portal.context import context, session
from portal.i18n.gettext import _
from portal.printing import Attached, CannotPrint, Seal, pdf
from portal.store import StoreDown, StoreFull
from portal.web import audit, templates
from portal.web.extensions import limiter
from portal.web.file_names import disposition
from portal.web.filters import local, long_date, now
from portal.web.htmx import render
from portal.web.pages import Page

log = logging.getLogger("portal")

_RETRY_SECONDS = 10
_TURN_SECONDS = 12.0
_POLL_SECONDS = 0.1
_BEGINNING = datetime(1970, 1, 1, tzinfo=UTC)
_limit = limiter.shared_limit(
    lambda: context().settings.limit_printing,
    scope="printing",
    key_func=lambda: f"{g.tenant.key}:{g.person.sub}",
)


def exact(value: datetime) -> str:
    """`27 November 2026, 09:30:12 (UTC+00:00)`: a moment that can be read in any zone; the clinic's is shown."""
    there = local(value)
    zone = there.strftime("%z")
    clock = f"{there:%H:%M:%S}"
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
    is_too_long: bool


def pdf_response(
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
    it, or where the clinic has none, the document isn't sealed. One person may have `PORTAL_LIMIT_PRINTING` documents made,
    one at a time, so that nobody waits for all that another wants; a document that was made some minutes ago from the same
    record is given again.
    """
    event, kind, id_ = about
    seal = _seal(document, sealed_as)
    made_from = _digest(document, attached, seal)
    try:
        with _own_turn():
            content = _kept(about, made_from)
            if content is None:
                with _limit:
                    html = templates.render(document.template, document.context())
                content = pdf(html, *attached, seal=seal)
                _keep(about, made_from, content)
    except CannotPrint as error:
        log.error("no PDF: %s", error)
        audit.note(event, "failed", kind=kind, id_=id_)
        page = FailedPage(
            by_hand=by_hand, again=request.path, is_busy=error.is_busy, is_too_long=error.is_too_long
        )
        response = render(page, status=503)
        if not error.is_too_long:
            response.headers["Retry-After"] = str(_RETRY_SECONDS)
        return response
    audit.shown(event, kind, id_)
    return make_response(
        content,
        {
            "Content-Type": "application/pdf",
            "Content-Disposition": disposition(f"{name}.pdf", "application/pdf", is_saved=True),
        },
    )


@contextmanager
def _own_turn() -> Generator[None]:
    """Let one document of a person be made at a time, by all machines together; raise CannotPrint when it takes too long.

    While the store takes no writes there are no turns.
    """
    store, owner = context().vault.store, secrets.token_hex(8)
    lock = context().vault.name("printing", g.tenant.key, g.person.issuer, g.person.sub)
    until = time.monotonic() + _TURN_SECONDS
    try:
        while not store.lock(lock, owner, seconds=2 * _TURN_SECONDS):
            if time.monotonic() > until:
                raise CannotPrint("this person's last one is still being made", is_busy=True)
            time.sleep(_POLL_SECONDS)
    except StoreFull:
        yield
        return
    try:
        yield
    finally:
        with suppress(StoreDown):
            store.unlock(lock, owner)


def _kept(about: tuple[str, str, str], made_from: bytes) -> bytes | None:
    return context().copies.find(session().name or "", "\0".join(about), made_from)


def _keep(about: tuple[str, str, str], made_from: bytes, content: bytes) -> None:
    try:
        context().copies.keep(session().name or "", "\0".join(about), made_from, content)
    except StoreDown as error:
        log.warning("PDF not kept: %s", error)


def _digest(document: Document, attached: tuple[Attached, ...], seal: Seal | None) -> bytes:
    """Return a digest that shows whether a document made before is still current, apart from its date."""
    timeless = dataclasses.replace(document, made_at=_BEGINNING)
    parts = [templates.render(timeless.template, timeless.context()).encode()]
    parts += [part for one in attached for part in (one.name.encode(), one.content)]
    parts += [_state(Path(file)) for file in (seal.certificate, seal.key_file)] if seal else []
    return hashlib.sha256(b"\0".join(hashlib.sha256(part).digest() for part in parts)).digest()


def _state(file: Path) -> bytes:
    """A key that is changed or gone counts at once."""
    try:
        state = file.stat()
    except OSError:
        return b"none"
    return f"{state.st_mtime_ns} {state.st_size} {state.st_ino}".encode()


def _seal(document: Document, sealed_as: str | None) -> Seal | None:
    files = g.tenant.document_seal
    if files is None or sealed_as is None:
        return None
    return Seal(str(files.certificate), str(files.key_file), g.tenant.name, sealed_as, document.made_at)
