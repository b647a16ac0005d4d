"""A file's response: its headers as the portal passes them on, its bytes as a stream (RFC 9110 §14, RFC 6266)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from email.message import Message
from urllib.parse import unquote

from portal.parse import byte_count
from portal.services.api import Content
from portal.values import Value

_PASSED_ON = ("content-range", "accept-ranges", "etag", "last-modified")


class FileResponse(Value, frozen=True):
    """A file response whose headers have arrived."""

    status: int
    headers: Mapping[str, str]
    chunks: Iterator[bytes]


def content(begun: FileResponse) -> Content:
    headers = begun.headers
    return Content(
        status=begun.status,
        media_type=headers.get("content-type", "application/octet-stream").partition(";")[0].strip().lower(),
        name=_file_name(headers.get("content-disposition", "")),
        size=byte_count(headers.get("content-length")),
        headers={name: headers[name] for name in _PASSED_ON if name in headers},
        chunks=begun.chunks,
    )


def _file_name(disposition: str) -> str | None:
    """Return the file name in a Content-Disposition header (RFC 6266), preferring the extended form."""
    message = Message()
    message["Content-Disposition"] = disposition
    for part in disposition.split(";"):
        key, _, value = part.strip().partition("=")
        if key.lower() == "filename*" and value.lower().startswith("utf-8''"):
            return unquote(value[7:])
    return message.get_filename()


def is_header_text(value: str) -> bool:
    return value.isascii() and value.isprintable() and len(value) < 200


def close(chunks: Iterator[bytes]) -> None:
    close = getattr(chunks, "close", None)
    if close is not None:
        close()
