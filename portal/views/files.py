"""Files: streaming their content, and a page to view them.

A file's type is determined by its first bytes and a short list, never by its name. Other types can only be saved. Every
file is shown in a sandbox (Content Security Policy Level 3, sandbox).
"""

from __future__ import annotations

import codecs
from collections.abc import Callable, Iterator

from flask import Blueprint, Response, request

from portal.i18n.gettext import _
from portal.parse import address_parts, whole_number
from portal.services.api import Content
from portal.services.files import open_file
from portal.values import Value
from portal.web.downloads import Download, Downloads
from portal.web.extensions import address, limit_files, limiter, person_or_address
from portal.web.file_names import disposition, file_name
from portal.web.filters import file_size
from portal.web.guard import referring_page
from portal.web.handlers import Care, Page, Person, Side, audit, render, signed_in

bp = Blueprint("files", __name__, url_prefix="/files")


downloads = Downloads()

_SANDBOX = "sandbox; default-src 'none'; frame-ancestors 'self'"
_UNKNOWN = "application/octet-stream"
_SIGNS = {"application/pdf": b"%PDF-", "image/png": b"\x89PNG\r\n\x1a\n", "image/jpeg": b"\xff\xd8\xff"}
_LARGEST = 10**15
_PASSED_ON = {"content-range": "Content-Range", "etag": "ETag", "last-modified": "Last-Modified"}


class PreviewPage(Page, template="files/preview.html"):
    """A file shown in the page; `size` is in words, `back` the page with its link."""

    file_id: str
    name: str
    media_type: str
    size: str
    back: str


@bp.get("/<record:file_id>")
@limiter.limit(limit_files, key_func=person_or_address)
@signed_in(Side.PATIENT, Side.STAFF, is_file=True)
def content(care: Care, person: Person, file_id: str) -> Response:
    """Stream the file, whole or in ranges (RFC 9110 §14); `?download=1` saves it."""
    end = downloads.begin(person_or_address(), address())
    try:
        opened = _open(
            care,
            file_id,
            range_header=request.headers.get("Range"),
            if_none_match=request.headers.get("If-None-Match"),
        )
    except BaseException:
        end()
        raise
    download = Download(opened.pieces, opened.close, end)
    is_saved = request.args.get("download") == "1" or opened.media_type == _UNKNOWN
    if opened.source.status != 304:
        audit.shown("file.download" if is_saved else "file.read", "file", file_id)
    response = Response(download, opened.source.status, direct_passthrough=True)
    response.call_on_close(download.close)
    response.headers.update(_headers(opened, is_saved=is_saved))
    return response


@bp.get("/<record:file_id>/preview")
@limiter.limit(limit_files, key_func=person_or_address)
@signed_in(Side.PATIENT, Side.STAFF)
def preview(care: Care, person: Person, file_id: str) -> Response:
    """Show a PDF, picture or text in the page, with its name and a download link."""
    opened = _open(care, file_id, range_header="bytes=0-1023")
    opened.close()
    audit.shown("file.preview", "file", file_id)
    back = referring_page()
    page = PreviewPage(
        file_id=file_id,
        name=opened.name or _("Document"),
        media_type=opened.media_type,
        size=file_size(_whole_size(opened.source)),
        back=back if back and address_parts(back).path != request.path else "/",
    )
    return render(page)


class Opened(Value, frozen=True):
    """A file with its detected media type; `pieces` are its bytes, `close` releases them."""

    source: Content
    media_type: str
    name: str
    pieces: Iterator[bytes]
    close: Callable[[], None]


def _open(care: Care, file_id: str, *, range_header: str | None, if_none_match: str | None = None) -> Opened:
    source = open_file(care, file_id, range_header=range_header, if_none_match=if_none_match)
    first = next(source.chunks, b"")
    close = getattr(source.chunks, "close", lambda: None)
    pieces = _after(first, source.chunks)
    type_ = media_type(source, first)
    return Opened(source, type_, file_name(source.name or "", type_), pieces, close)


def _after(first: bytes, rest: Iterator[bytes]) -> Iterator[bytes]:
    if first:
        yield first
    yield from rest


def media_type(source: Content, first: bytes) -> str:
    """Return the media type from the first bytes; for a later range, the declared type is trusted if on the list."""
    claimed = source.media_type
    if source.status == 206 and not source.headers.get("content-range", "").startswith("bytes 0-"):
        return claimed if claimed in _SIGNS or claimed == "text/plain" else _UNKNOWN
    for known, sign in _SIGNS.items():
        if first.startswith(sign):
            return known
    return "text/plain" if claimed == "text/plain" and _is_text(first) else _UNKNOWN


def _headers(opened: Opened, *, is_saved: bool) -> dict[str, str]:
    source = opened.source
    headers = {_PASSED_ON[name]: value for name, value in source.headers.items() if name in _PASSED_ON}
    headers["Content-Security-Policy"] = _SANDBOX
    if source.status in (200, 206):
        is_text = opened.media_type == "text/plain"
        headers["Content-Type"] = "text/plain; charset=utf-8" if is_text else opened.media_type
        headers["Content-Disposition"] = disposition(opened.name, opened.media_type, is_saved=is_saved)
        headers["Accept-Ranges"] = "bytes"
        if source.size is not None:
            headers["Content-Length"] = str(source.size)
    return headers


def _whole_size(source: Content) -> int | None:
    total = source.headers.get("content-range", "").rpartition("/")[2]
    size = whole_number(total, most=_LARGEST)
    return source.size if size is None else size


def _is_text(first: bytes) -> bool:
    """Whether the bytes are valid UTF-8; the last character may be incomplete."""
    try:
        return "\0" not in codecs.getincrementaldecoder("utf-8")().decode(first)
    except UnicodeDecodeError:
        return False
