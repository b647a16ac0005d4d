"""Responses, from WSGI to the wire (PEP 3333, RFC 9110, RFC 9112): the application's and the server's own."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from email.utils import formatdate
from http import HTTPStatus
from typing import Any

from portal.server.request import Request

_HOP_BY_HOP = frozenset(
    {
        *("connection", "keep-alive", "proxy-authenticate", "proxy-authorization", "te", "trailers"),
        *("transfer-encoding", "upgrade", "date", "server"),
    }
)
"""Hop-by-hop headers, and those that this server sets itself."""

_EXPLANATIONS = {
    400: "The server couldn't understand this request.",
    404: "Nothing is served here at this address.",
    408: "The request took too long to arrive. Please try again.",
    413: "The request is too large. Nothing was changed.",
    414: "This address is too long.",
    431: "The request's header fields are too large. Deleting this site's cookies may help.",
    500: "Something went wrong on our side. Please try again in a few minutes.",
    503: "The server is too busy right now. Please try again in a minute.",
}


class InvalidResponse(Exception):
    """The application violated PEP 3333. The message says how, without quoting the response."""


class Response:
    """An application's response: `start` is its `start_response`, `head` the bytes sent before the body."""

    __slots__ = (
        "_fields",
        "_request",
        "_send",
        "_status",
        "closes",
        "code",
        "is_begun",
        "is_chunked",
        "length",
        "pieces",
        "written",
    )

    def __init__(self, request: Request, *, closes: bool, send: Callable[[bytes], object]) -> None:
        """`closes`: the connection is closed afterwards. `send` sends a part of the response before the rest is known."""
        self._request = request
        self._send = send
        self._status = ""
        self._fields: list[str] = []
        self.code = 0
        self.closes = closes
        self.is_chunked = False
        self.length: int | None = None
        self.pieces: list[bytes] = []
        self.is_begun = False  # the head has been sent, with `written` bytes of the body
        self.written = 0

    def start(
        self, status: str, headers: Iterable[tuple[str, str]], exc_info: Any = None
    ) -> Callable[[bytes], object]:
        if self._status and not exc_info:
            raise InvalidResponse("start_response was called twice")
        fields: list[str] = []
        length = None
        for name, value in headers:
            lower = name.lower()
            if lower == "content-length":
                length = int(value)
            elif lower not in _HOP_BY_HOP:
                fields.append(f"{name}: {value}")
        self._status, self._fields, self.length = status, fields, length
        self.code = int(status[:3])
        return self._write

    def _write(self, piece: bytes) -> None:
        """Send head and piece at once, before the rest is known (PEP 3333, `write`)."""
        if not piece or not self.has_body:
            return
        head = b"" if self.is_begun else self.head()
        self.is_begun = True
        self.written += len(piece)
        self._send(head + self._framed(piece))

    def _framed(self, piece: bytes) -> bytes:
        return chunked(piece) if self.is_chunked and piece else piece

    @property
    def has_body(self) -> bool:
        return self._request.method != "HEAD" and self.code >= 200 and self.code not in (204, 304)

    def complete(self) -> list[bytes]:
        """Return head and body, or what of them wasn't written yet, for the wire, if the whole body is available."""
        body = self.pieces
        if not self.has_body:
            return [self.head()]
        if self.is_chunked:
            return [*map(self._framed, body), LAST_CHUNK]
        size = self.written + sum(map(len, body))
        if self.length is None and not self.is_begun:
            self.length = size
        elif self.length is not None and size > self.length:
            raise InvalidResponse("the body is longer than its Content-Length")
        elif self.length is not None and size < self.length:
            self.closes = True  # closing tells the client that the rest won't come
        return body if self.is_begun else [self.head(), *body]

    def head(self) -> bytes:
        """Return the status line and all fields; decide how the body is framed."""
        if not self._status:
            raise InvalidResponse("start_response was never called")
        lines = [f"HTTP/1.1 {self._status}", f"Date: {_date()}", *self._fields]
        if self.length is not None and self.code >= 200 and self.code != 204:
            lines.append(f"Content-Length: {self.length}")
        elif self.length is None and self.has_body:
            self.is_chunked = not self._request.is_http_1_0
            self.closes = self.closes or self._request.is_http_1_0
            if self.is_chunked:
                lines.append("Transfer-Encoding: chunked")
        if self.closes:
            lines.append("Connection: close")
        elif self._request.is_http_1_0:
            lines.append("Connection: keep-alive")
        text = "\r\n".join(lines)
        if text.count("\n") != len(lines) - 1 or text.count("\r") != len(lines) - 1 or "\0" in text:
            raise InvalidResponse("a line break or NUL in a header")
        try:
            return f"{text}\r\n\r\n".encode("latin-1")
        except UnicodeEncodeError:
            raise InvalidResponse("a header isn't Latin-1") from None


def chunked(piece: bytes) -> bytes:
    """Return the piece in chunked encoding (RFC 9112 §7.1)."""
    return b"%x\r\n%b\r\n" % (len(piece), piece)


LAST_CHUNK = b"0\r\n\r\n"


def error_response(status: int, headers: Mapping[str, str]) -> bytes:
    """Return a short response by the server itself, with these headers besides; the connection is closed after it."""
    phrase = HTTPStatus(status).phrase
    body = f"{phrase}\n\n{_EXPLANATIONS.get(status, _EXPLANATIONS[400])}\n".encode()
    fields = {
        "Date": _date(),
        **headers,
        **({"Retry-After": "60"} if status == 503 else {}),
        "Content-Type": "text/plain; charset=utf-8",
        "Content-Length": str(len(body)),
        "Connection": "close",
    }
    lines = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
    return f"HTTP/1.1 {status} {phrase}\r\n{lines}\r\n".encode() + body


_cached_second, _cached_date = 0, ""


def _date() -> str:
    """The current time as an HTTP date (RFC 9110 §5.6.7), formatted once a second."""
    global _cached_second, _cached_date
    now = int(time.time())
    if now != _cached_second:
        _cached_date = formatdate(now, usegmt=True)
        _cached_second = now
    return _cached_date
