"""Responses with a PDF rendered from a template, or with an error page if it can't be made."""

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
from portal.printing import AttachedFile, CannotPrint, Seal, pdf
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
"""How long a document waits while another one is made for the same person."""

_POLL_SECONDS = 0.1
_BEGINNING = datetime(1970, 1, 1, tzinfo=UTC)
_limit = limiter.shared_limit(
    lambda: context().settings.limit_printing,
    scope="printing",
    key_func=lambda: f"{g.tenant.key}:{g.person.sub}",
)


def exact(value: datetime) -> str:
    """Return `27 November 2026, 09:30:12 (UTC+00:00)`, in the clinic's time zone with its offset."""
    local_time = local(value)
    zone = local_time.strftime("%z")
    clock = f"{local_time:%H:%M:%S}"
    return _(
        "%(date)s, %(time)s (UTC%(offset)s)",
        date=long_date(value),
        time=clock,
        offset=f"{zone[:3]}:{zone[3:5]}",
    )


class Document(Page):
    """The context of a PDF's template; `stamp` is printed across each page if the record isn't in force."""

    stamp: str | None
    made_at: datetime = field(default_factory=now)
    exact: Callable[[datetime], str] = exact


class FailedPage(Page, template="print/failed.html"):
    """The error page: `by_hand` is the address of a page to print instead, `again` that of the PDF."""

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
    attached: tuple[AttachedFile, ...] = (),
    sealed_as: str | None = None,
) -> Response:
    """Return a response that saves the document as `name` (without extension), or a page with status 503.

    `by_hand` is the page to print from the browser if no PDF can be made. `about` is the audit record's event, kind of
    record and id. `sealed_as` is the reason stated in the seal; without it, or if the clinic has no seal, the document isn't
    sealed.

    Each person can have `PORTAL_LIMIT_PRINTING` documents made, one at a time, so that one person doesn't delay others. A
    document that was made from the same content some minutes ago is reused.
    """
    event, kind, id_ = about
    seal = _seal(document, sealed_as)
    digest = _digest(document, attached, seal)
    try:
        with _one_at_a_time():
            content = context().copies.find(session().name or "", "\0".join(about), digest)
            if content is None:
                with _limit:
                    html = templates.render(document.template, document.context())
                content = pdf(html, *attached, seal=seal)
                _cache(about, digest, content)
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
def _one_at_a_time() -> Generator[None]:
    """Hold a lock per person, across all machines, while a document is made; raise CannotPrint after `_TURN_SECONDS`.

    If the store is full and can't hold the lock, continue without it.
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


def _cache(about: tuple[str, str, str], digest: bytes, content: bytes) -> None:
    try:
        context().copies.keep(session().name or "", "\0".join(about), digest, content)
    except StoreDown as error:
        log.warning("PDF not kept: %s", error)


def _digest(document: Document, attached: tuple[AttachedFile, ...], seal: Seal | None) -> bytes:
    """Return a digest of everything in the document but its creation time; equal digests, same document."""
    timeless = dataclasses.replace(document, made_at=_BEGINNING)
    parts = [templates.render(timeless.template, timeless.context()).encode()]
    parts += [part for file in attached for part in (file.name.encode(), file.content)]
    parts += [_version(Path(file)) for file in (seal.certificate, seal.key_file)] if seal else []
    return hashlib.sha256(b"\0".join(hashlib.sha256(part).digest() for part in parts)).digest()


def _version(file: Path) -> bytes:
    """Return modification time, size and inode, so that a changed or missing key takes effect at once."""
    try:
        stat = file.stat()
    except OSError:
        return b"none"
    return f"{stat.st_mtime_ns} {stat.st_size} {stat.st_ino}".encode()


def _seal(document: Document, sealed_as: str | None) -> Seal | None:
    files = g.tenant.document_seal
    if files is None or sealed_as is None:
        return None
    return Seal(str(files.certificate), str(files.key_file), g.tenant.name, sealed_as, document.made_at)
