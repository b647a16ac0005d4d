"""A proxy between the portal and the care API: forwards every call, or makes it fail in one of the ways that
real networks, proxies and services do.

    board = Switchboard(care_service_port)
    with board.failing("read time-out", only=r"GET .*/consent-forms"):
        …
"""

from __future__ import annotations

import http.client
import json
import re
import socket
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit

SECRET_WORDS = "Zugriff verweigert durch Regel 4711 in Modul Kern"
"""In the body of every failure that has one: no page may ever show it."""

RETRY_AFTER = 7
ELSEWHERE = "/somewhere-else"
_HUGE = 50 * 1024 * 1024
_CHUNK = b" " * 65536


@dataclass(frozen=True, slots=True)
class Forwarded:
    """What the care service answered."""

    status: int
    headers: list[tuple[str, str]]
    body: bytes


class Switchboard:
    """An HTTP proxy on this machine, whose calls fail as tests say. `calls` holds (method, path, failed)."""

    def __init__(self, upstream: int) -> None:
        self.upstream = upstream
        self.calls: list[tuple[str, str, bool]] = []
        self._fault: Fault | None = None
        self._only = re.compile("")
        self._released = threading.Event()
        self._connections: set[socket.socket] = set()
        self._server = self._listen(0)
        self.port = self._server.server_port

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @contextmanager
    def failing(self, fault: str, *, only: str = "") -> Iterator[None]:
        """Let calls whose "METHOD /path" match `only` fail like `fault`, one of `FAULTS`; then all is well again."""
        self._released.clear()
        whole = LINE_FAULTS.get(fault)
        self._fault, self._only = FAULTS.get(fault), re.compile(only)
        try:
            if whole is None:
                yield
            else:
                with self._down(fills_queue=whole):
                    yield
        finally:
            self._fault = None
            self._released.set()

    def stop(self) -> None:
        self._released.set()
        self._server.shutdown()
        self._server.server_close()
        self._hang_up()

    @contextmanager
    def _down(self, *, fills_queue: bool) -> Iterator[None]:
        """Nobody listens; or somebody does, whose queue is full, so that a connection never comes about."""
        self._server.shutdown()
        self._server.server_close()
        self._hang_up()
        held: list[socket.socket] = []
        if fills_queue:
            deaf = socket.socket()
            deaf.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            deaf.bind(("127.0.0.1", self.port))
            deaf.listen(0)
            held = [deaf]
            for _ in range(4):
                caller = socket.socket()
                caller.setblocking(False)
                with suppress(BlockingIOError):
                    caller.connect(("127.0.0.1", self.port))
                held.append(caller)
        try:
            yield
        finally:
            for one in reversed(held):
                one.close()
            self._server = self._listen(self.port)

    def _listen(self, port: int) -> ThreadingHTTPServer:
        board = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def setup(self) -> None:
                super().setup()
                board._connections.add(self.connection)

            def finish(self) -> None:
                board._connections.discard(self.connection)
                with suppress(OSError):
                    super().finish()

            def do_GET(self) -> None:
                with suppress(ConnectionError):
                    board._answer(self)

            do_POST = do_PUT = do_DELETE = do_GET  # noqa: N815 (the names are http.server's)

            def log_message(self, format: str, *args: Any) -> None:
                """Calls are noted in `calls`."""

        server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
        server.daemon_threads = True
        server.handle_error = lambda *_: None  # type: ignore[method-assign] (a portal that hangs up is no fault here)
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        return server

    def _hang_up(self) -> None:
        for connection in list(self._connections):
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    def _answer(self, handler: BaseHTTPRequestHandler) -> None:
        path = urlsplit(handler.path).path
        sent = handler.rfile.read(int(handler.headers.get("Content-Length") or 0))
        fault = self._fault
        failing = fault is not None and self._only.search(f"{handler.command} {path}") is not None
        self.calls.append((handler.command, path, failing))
        way = Way(handler, lambda: self._forward(handler, sent), self._released)
        if fault is not None and failing:
            fault(way)
        else:
            answer = way.forward()
            way.send(answer.status, answer.headers, answer.body)

    def _forward(self, handler: BaseHTTPRequestHandler, sent: bytes) -> Forwarded:
        line = http.client.HTTPConnection("127.0.0.1", self.upstream, timeout=30)
        line.request(handler.command, handler.path, sent or None, dict(handler.headers))
        answer = line.getresponse()
        body = answer.read()
        line.close()
        return Forwarded(answer.status, answer.getheaders(), body)


@dataclass(frozen=True, slots=True)
class Way:
    """A call that a fault handles."""

    handler: BaseHTTPRequestHandler
    forward: Callable[[], Forwarded]
    released: threading.Event

    def send(
        self, status: int, headers: list[tuple[str, str]], body: bytes, length: int | None = None
    ) -> None:
        """Answer; `length` is what the answer says of its body, by default the truth."""
        self.handler.send_response_only(status)
        for name, value in headers:
            if name.lower() not in ("content-length", "transfer-encoding", "connection"):
                self.handler.send_header(name, value)
        self.handler.send_header("Content-Length", str(len(body) if length is None else length))
        self.handler.end_headers()
        self.handler.wfile.write(body)

    def reset(self) -> None:
        """Cut the connection with RST instead of FIN."""
        self.handler.wfile.flush()
        self.handler.close_connection = True
        self.handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.handler.connection.close()


Fault = Callable[[Way], None]
_JSON = [("Content-Type", "application/json")]
_HTML = [("Content-Type", "text/html")]
_ERROR = json.dumps({"error": {"code": None, "message": SECRET_WORDS, "details": SECRET_WORDS}}).encode()
_RULE = json.dumps({"error": {"code": "Care:NotNow", "message": SECRET_WORDS}}).encode()


def _status(status: int, body: bytes = _ERROR, *headers: tuple[str, str]) -> Fault:
    kind = _HTML if body.startswith(b"<") else _JSON
    return lambda way: way.send(status, [*kind, *headers], body)


def _read_time_out(way: Way) -> None:
    way.released.wait(30)
    way.handler.close_connection = True


def _reset_in_mid_body(way: Way) -> None:
    answer = way.forward()
    way.send(answer.status, answer.headers, answer.body[: len(answer.body) // 2], len(answer.body) or 100)
    way.reset()


def _truncated(way: Way) -> None:
    answer = way.forward()
    way.send(answer.status, answer.headers, answer.body[: len(answer.body) // 2] or b"{")


def _malformed(way: Way) -> None:
    way.forward()
    way.send(200, _JSON, b'{"items": [}')


def _wrong_types(way: Way) -> None:
    answer = way.forward()
    body = json.dumps(_twisted(json.loads(answer.body or b"{}"))).encode()
    way.send(answer.status, _JSON, body)


def _twisted(value: Any) -> Any:
    """The same shape, every plain value an object and every object's list a number."""
    if isinstance(value, dict):
        return {name: _twisted(one) for name, one in value.items()} or {"id": {"wrong": "type"}}
    if isinstance(value, list):
        return 7
    return {"wrong": "type"}


def _huge(way: Way) -> None:
    way.handler.send_response_only(200)
    way.handler.send_header("Content-Type", "application/json")
    way.handler.send_header("Content-Length", str(_HUGE))
    way.handler.end_headers()
    for _ in range(_HUGE // len(_CHUNK)):
        way.handler.wfile.write(_CHUNK)


def _drip(way: Way) -> None:
    way.handler.send_response_only(200)
    way.handler.send_header("Content-Type", "application/json")
    way.handler.send_header("Content-Length", "100000")
    way.handler.end_headers()
    while not way.released.wait(0.1):
        way.handler.wfile.write(b" ")
    way.handler.close_connection = True


LINE_FAULTS = {"connection refused": False, "connect time-out": True}
"""Faults of the line itself, which no single call has; the value: whether somebody holds the port, deaf."""

FAULTS: dict[str, Fault] = {
    "read time-out": _read_time_out,
    "reset in mid-body": _reset_in_mid_body,
    "truncated JSON": _truncated,
    "malformed JSON": _malformed,
    "wrong types": _wrong_types,
    "HTML 502": _status(502, f"<html><h1>{SECRET_WORDS}</h1></html>".encode()),
    "500": _status(500),
    "503 with Retry-After": _status(503, _ERROR, ("Retry-After", str(RETRY_AFTER))),
    "429": _status(429, _ERROR, ("Retry-After", str(RETRY_AFTER))),
    "401": _status(401),
    "empty 403": _status(403, b""),
    "403 with a code": _status(403, _RULE),
    "404": _status(404),
    "409": _status(409),
    "412": _status(412),
    "501": _status(501),
    "redirect elsewhere": _status(302, b"", ("Location", ELSEWHERE)),
    "50 MB body": _huge,
    "slow drip": _drip,
}
EVERY_FAULT = (*LINE_FAULTS, *FAULTS)

ACTED = frozenset({"reset in mid-body", "truncated JSON", "malformed JSON", "wrong types"})
"""Faults of the answer: the care service has done what it was asked."""

IN_THE_BODY = frozenset({"truncated JSON", "malformed JSON", "wrong types"})
"""Faults that only JSON can have: to a file they are its bytes."""
