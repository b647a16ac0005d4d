"""Contents of files (care API specification §4, group File management)."""

from __future__ import annotations

import base64
import binascii
import json
import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from itertools import chain
from typing import Annotated, ClassVar, cast

import msgspec

from portal.services import decoding
from portal.services.adapter import Adapter
from portal.services.api import Content, Group
from portal.services.client import Care
from portal.services.decoding import Id, Timed, Whole
from portal.services.errors import BadResponse, Unavailable
from portal.services.failures import from_success


class File(Timed, frozen=True, kw_only=True):
    """A document's name, media type and size in bytes; its content is read by its id."""

    shown_on: ClassVar = ("files", "episodes")

    id: Id
    name: Annotated[str, "file name"] = ""
    directory_id: Annotated[Id | None, "its folder"] = None
    media_type: Annotated[str, "whether it can be viewed in the browser"] = ""
    size: Annotated[Whole | None, "file size"] = None
    creation_time: datetime | None = None


class FileQuery(msgspec.Struct, frozen=True, kw_only=True):
    """Which file is asked for."""

    id: Id


READ_FILE_CONTENT = Group("File management").get(
    "/api/file-management/file-descriptor/content", bytes, FileQuery, shows="file"
)


LARGEST_WRAPPED = 64 * 1024 * 1024
"""The maximum size in bytes of base64 in a JSON string, which is read at once; other files are streamed."""


_LONGEST_WRAPPED = 30.0
"""The time limit for reading it, in seconds: a thread waits for all of it."""


def open_file(
    care: Care, file_id: str, *, range_header: str | None = None, if_none_match: str | None = None
) -> Content:
    """The file as a stream, with its metadata.

    Both headers are passed on from the browser (RFC 9110 §14.2, §13.1.2), so the status may be 200, 206, 304 or 416.
    Base64 in a JSON string is decoded; the media type is then unknown.
    """
    content = care.open(
        READ_FILE_CONTENT, query=FileQuery(id=file_id), range_header=range_header, if_none_match=if_none_match
    )
    if content.status == 200 and "json" in content.media_type.lower():
        return _unwrapped(content, care.adapter)
    return content


def _unwrapped(content: Content, adapter: Adapter) -> Content:
    """The content of a JSON response: base64 as a string, or where the dialect says; else a JSON file, which has a name.

    An object without a name is an answer, and no file.
    """
    first = next(content.chunks, b"")
    if first[:64].lstrip()[:1] == b'"':
        return _decoded(content, _from_base64(_text_in(_whole(first, content.chunks))))
    if content.name is not None or first[:64].lstrip()[:1] != b"{":
        return replace(content, chunks=_closing(chain([first], content.chunks), content.chunks))
    body = _whole(first, content.chunks)
    wrapped, name = adapter.file_in(decoding.plain(body))
    if adapter.is_well(body) is not True:
        raise from_success(body, endpoint=READ_FILE_CONTENT, adapter=adapter)
    if wrapped is None:
        raise BadResponse("$")
    return replace(_decoded(content, _from_base64(wrapped)), name=name)


def _decoded(content: Content, data: bytes) -> Content:
    headers = {n: v for n, v in content.headers.items() if n.lower() not in _OF_THE_WRAPPING}
    return replace(
        content, media_type="application/octet-stream", size=len(data), headers=headers, chunks=iter([data])
    )


_OF_THE_WRAPPING = ("content-length", "content-type", "content-encoding", "accept-ranges", "content-range")


def _closing(chunks: Iterator[bytes], source: Iterator[bytes]) -> Iterator[bytes]:
    """Yield `chunks`, and close `source` if they aren't read to the end."""
    try:
        yield from chunks
    finally:
        close = getattr(source, "close", None)
        if close is not None:
            close()


def _whole(first: bytes, rest: Iterator[bytes]) -> bytes:
    whole = bytearray(first)
    until = time.monotonic() + _LONGEST_WRAPPED
    for chunk in _closing(rest, rest):
        whole += chunk
        if time.monotonic() > until:
            raise Unavailable("timed out")
        if len(whole) > LARGEST_WRAPPED:
            raise BadResponse("$")
    return bytes(whole)


def _text_in(wrapped: bytes) -> str:
    try:
        text = cast("object", json.loads(wrapped))
    except (ValueError, RecursionError):
        text = None
    if not isinstance(text, str):
        raise BadResponse("$")
    return text


def _from_base64(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (ValueError, binascii.Error):
        raise BadResponse("$") from None
