"""A request's head, from the wire to a WSGI environ (RFC 9112, PEP 3333).

llhttp parses it in strict mode. Anything else that a proxy and this server could interpret differently (request
smuggling) is refused too: line ends other than CRLF, folded lines, a repeated length, a length with a transfer coding.
"""

from __future__ import annotations

import io
from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote_to_bytes

import httptools

from portal.values import Value

END = b"\r\n\r\n"
_NOT_REPEATABLE = frozenset({"HTTP_HOST", "CONTENT_LENGTH", "CONTENT_TYPE", "HTTP_TRANSFER_ENCODING"})
_MAX_KEYS = 512
_MAX_FRAMING = 16 * 1024
"""How many bytes of framing, such as chunk extensions, a chunked body may have besides one for each byte of its own."""

_keys: dict[bytes, str] = {}


class InvalidRequest(Exception):
    """A request that the server itself answers with this status before it closes the connection."""

    def __init__(self, status: int) -> None:
        super().__init__(status)
        self.status = status


class Limits(Value, frozen=True):
    """Limits on a head: the request line and each field in bytes, the number of fields, the whole head in bytes."""

    line: int = 8190
    fields: int = 100
    field: int = 8190
    head: int = 65536


class Request:
    """A request whose head is complete; the methods named `on_…` are llhttp's callbacks.

    `length` is the body's length in bytes according to the head, None if it is chunked; `received` counts the bytes
    after the head so far, with those of the chunks' framing.
    """

    __slots__ = (
        "_fields",
        "_host",
        "_is_head_read",
        "_parser",
        "_target",
        "body",
        "environ",
        "expects_continue",
        "has_upgrade",
        "is_complete",
        "is_http_1_0",
        "keep_alive",
        "length",
        "method",
        "received",
    )

    def __init__(self, head: bytes, base: Mapping[str, Any], limits: Limits) -> None:
        """Parse a head, including its empty line, that has passed `check_head`; raise InvalidRequest."""
        self._fields: list[tuple[bytes, bytes]] = []
        self._target = b""
        self._host: str | None = None
        self._is_head_read = False
        self.body = bytearray()
        self.received = 0
        self.is_complete = False
        self.has_upgrade = False
        if head.count(b" ", 0, head.index(b"\r\n")) != 2:
            raise InvalidRequest(400)
        self._parser: Any = httptools.HttpRequestParser(self)
        try:
            self._parser.feed_data(head)
        except httptools.HttpParserUpgrade:
            self.has_upgrade = True  # offered by the client, not accepted
        except httptools.HttpParserError:
            raise InvalidRequest(400) from None
        self._is_head_read = True
        version: str = self._parser.get_http_version()
        if version not in ("1.1", "1.0"):
            raise InvalidRequest(505)
        self.is_http_1_0 = version == "1.0"
        self.method: str = self._parser.get_method().decode("ascii")
        self.environ = environ = {**base, "REQUEST_METHOD": self.method, "SERVER_PROTOCOL": f"HTTP/{version}"}
        self._read_target(environ)
        self._read_fields(environ, limits)
        self._read_framing(environ)
        connection = environ.get("HTTP_CONNECTION")
        options = [option.strip() for option in connection.lower().split(",")] if connection else ()
        self.keep_alive = "keep-alive" in options if self.is_http_1_0 else "close" not in options
        expected = environ.get("HTTP_EXPECT")
        if expected is not None and expected.lower() != "100-continue":
            raise InvalidRequest(417)
        self.expects_continue = expected is not None and not self.is_http_1_0

    def on_url(self, target: bytes) -> None:
        self._target += target

    def on_header(self, name: bytes, value: bytes | None) -> None:
        if self._is_head_read:  # a trailer field, which no limit on heads applies to
            raise InvalidRequest(400)
        self._fields.append((name, value or b""))

    def on_body(self, data: bytes) -> None:
        if not self.is_complete:
            self.body += data

    def on_message_complete(self) -> None:
        self.is_complete = True

    def feed(self, data: bytes) -> None:
        """Parse more of a chunked body; raise InvalidRequest, also for trailer fields (RFC 9112 §7.1.2).

        Data after the last chunk are ignored.
        """
        self.received += len(data)
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserError:
            if not self.is_complete:
                raise InvalidRequest(400) from None
        # The parser keeps an unfinished trailer field, of which it says nothing.
        if not self.is_complete and self.received - len(self.body) > len(self.body) + _MAX_FRAMING:
            raise InvalidRequest(400)

    def complete_environ(self, data: bytes) -> dict[str, Any]:
        """Return the WSGI environ with the body."""
        environ = self.environ
        environ["wsgi.input"] = io.BytesIO(data)
        if self.length is None:
            environ["CONTENT_LENGTH"] = str(len(data))
            environ.pop("HTTP_TRANSFER_ENCODING", None)
        return environ

    def _read_target(self, environ: dict[str, Any]) -> None:
        target = self._target
        if not target.isascii() or b"#" in target or self.method == "CONNECT":
            raise InvalidRequest(400)
        path, _, query = target.partition(b"?")
        if path[:1] != b"/" and (path != b"*" or self.method != "OPTIONS"):
            path, self._host = _path_and_host(target)
        if b"%" in path:
            environ["PATH_INFO"] = unquote_to_bytes(path).decode("latin-1")
        else:
            environ["PATH_INFO"] = path.decode("latin-1")
        environ["QUERY_STRING"] = query.decode("latin-1")
        environ["RAW_URI"] = target.decode("latin-1")
        if prefix := environ["SCRIPT_NAME"]:
            if not environ["PATH_INFO"].startswith(prefix):
                raise InvalidRequest(404)
            environ["PATH_INFO"] = environ["PATH_INFO"][len(prefix) :]

    def _read_fields(self, environ: dict[str, Any], limits: Limits) -> None:
        if len(self._fields) > limits.fields:
            raise InvalidRequest(431)
        for name, value in self._fields:
            key = _keys.get(name)
            if key is None:
                key = _key(name)
            if not key:
                continue
            if len(name) + len(value) > limits.field:
                raise InvalidRequest(431)
            text = value.decode("latin-1")
            if key in environ:
                if key in _NOT_REPEATABLE:
                    raise InvalidRequest(400)
                separator = "; " if key == "HTTP_COOKIE" else ","
                text = f"{environ[key]}{separator}{text}"
            environ[key] = text
        if "HTTP_HOST" not in environ and not self.is_http_1_0:
            raise InvalidRequest(400)
        if self._host is not None:
            environ["HTTP_HOST"] = self._host

    def _read_framing(self, environ: dict[str, Any]) -> None:
        coding = environ.get("HTTP_TRANSFER_ENCODING")
        length = environ.get("CONTENT_LENGTH")
        if coding is not None:
            if length is not None or self.is_http_1_0 or self.has_upgrade:
                raise InvalidRequest(400)
            if coding.lower() != "chunked":
                raise InvalidRequest(501)
            self.length = None
        elif length is None:
            self.length = 0
        elif not (length.isascii() and length.isdigit() and len(length) < 16):
            raise InvalidRequest(400)
        else:
            self.length = int(length)


def check_head(data: bytearray, *, start: int, end: int, limits: Limits) -> None:
    """Raise InvalidRequest if the head received so far, or the part of it from `start` to `end`, is invalid."""
    if data.count(b"\n", start, end) != data.count(b"\r\n", max(0, start - 1), end):
        raise InvalidRequest(400)
    # A trailing CR may be the first half of a CRLF.
    last = end - 1 if data.endswith(b"\r", 0, end) else end
    if data.count(b"\r", start, last) != data.count(b"\r\n", start, end):
        raise InvalidRequest(400)
    line = data.find(b"\r\n", 0, min(end, limits.line + 2))
    if line < 0 and end > limits.line:
        raise InvalidRequest(414)
    if end > limits.head:
        raise InvalidRequest(431)
    if data.find(b"\r\n ", max(0, start - 2), end) >= 0 or data.find(b"\r\n\t", max(0, start - 2), end) >= 0:
        raise InvalidRequest(400)


def _key(name: bytes) -> str:
    """The field's name in the environ; empty if two fields could share it (RFC 9110 §17.10)."""
    if b"_" in name:
        key = ""
    else:
        text = name.decode("latin-1").upper().replace("-", "_")
        key = text if text in ("CONTENT_TYPE", "CONTENT_LENGTH") else f"HTTP_{text}"
    if len(_keys) < _MAX_KEYS:
        _keys[name] = key
    return key


def _path_and_host(target: bytes) -> tuple[bytes, str]:
    """Return path and host of a target in absolute form; its host takes the place of the Host field (RFC 9112 §3.2.2)."""
    try:
        url: Any = httptools.parse_url(target)
    except httptools.HttpParserInvalidURLError:
        raise InvalidRequest(400) from None
    if url.schema not in (b"http", b"https") or url.userinfo is not None or not url.host:
        raise InvalidRequest(400)
    host: str = url.host.decode("ascii")
    host = f"[{host}]" if ":" in host else host
    return url.path or b"/", host if url.port is None else f"{host}:{url.port}"
