"""A small WSGI application and a worker with short timeouts, to test the server under gunicorn."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from portal.server.state import COMPLETE_AT, ClientTimeouts
from portal.server.worker import Worker
from portal.web.headers import FIXED

PIECE = b"x" * 65536
ALL_OF_IT = 320 * len(PIECE)
closed = threading.Semaphore(0)
"""Released when a body of `/file` or `/endless` is closed."""


go = threading.Semaphore(0)


class ImpatientWorker(Worker):
    """The same with short timeouts and little memory, so that tests see their end."""

    error_headers = FIXED
    express_paths = frozenset({"/health"})
    max_buffered = 8 * 1024 * 1024
    timeouts = ClientTimeouts(head=1.0, body=1.0, rate=4096, stall=1.0, linger=1.0, shutdown=0.5)


def app(environ: dict[str, Any], start: Callable[..., Any]) -> Iterable[bytes]:
    match environ["PATH_INFO"]:
        case "/fail":
            raise ValueError(environ["QUERY_STRING"])
        case "/bad-header":
            start("200 OK", [("X-Name", "rtl \u202e")])
            return [b""]
        case "/split-header":
            start("200 OK", [("X-Name", "a\r\nX-Other: b")])
            return [b""]
        case "/measured" if int(environ["CONTENT_LENGTH"]) > Worker.largest_body:
            start("413 Too Large", [])
            return [b"in my own words"]
        case "/short":
            start("200 OK", [("Content-Length", "10")])
            return [b"four"]
        case "/file":
            start("200 OK", [("Content-Length", str(ALL_OF_IT))])
            return Body(PIECE for _ in range(ALL_OF_IT // len(PIECE)))
        case "/bits":
            start("200 OK", [])
            return Body(_bits())
        case "/endless":
            start("200 OK", [])
            return Body(_nothing_yet())
        case "/cut":
            start("200 OK", [("Content-Length", "100000000")])
            return Body(_cut())
        case "/closed":
            start("200 OK", [])
            return [b"closed" if closed.acquire(timeout=0.5 if environ["QUERY_STRING"] else 5) else b"open"]
        case "/go":
            go.release()
            start("200 OK", [])
            return [b"gone"]
        case "/waited":
            start("200 OK", [])
            return [str(time.monotonic() - environ[COMPLETE_AT]).encode()]
        case "/parts":
            return parts(environ["QUERY_STRING"], start)
        case "/slow":
            time.sleep(0.5)
            return said(environ, start)
        case _:
            return said(environ, start)


LONG_PART = 3_000_000
"""How often the first part says `first `, so that no socket takes it at once."""


def parts(how: str, start: Callable[..., Any]) -> list[bytes]:
    """A first part that is written, and the rest when a request of `/go` has come, or a failure."""
    write = start("200 OK", [("Content-Length", "9")] if how == "measured" else [])
    write(b"first " * (LONG_PART if how == "twice" else 1))
    go.acquire(timeout=5)
    if how == "twice":
        write(b"second ")
    if how == "fail":
        raise ValueError
    return [PIECE] * 8 if how == "long" else [b"", b"and"]


def said(environ: dict[str, Any], start: Callable[..., Any]) -> list[bytes]:
    """What the request was, in words."""
    body = environ["wsgi.input"].read()
    names = ("REQUEST_METHOD", "SCRIPT_NAME", "PATH_INFO", "QUERY_STRING", "REMOTE_ADDR", "wsgi.url_scheme")
    fields = sorted(f"{name}={value}" for name, value in environ.items() if name.startswith("HTTP_"))
    text = " | ".join([*(environ[name] for name in names), *fields, str(len(body)), body[:20].decode()])
    start("200 OK", [("Content-Type", "text/plain")])
    return [text.encode("latin-1")]


class Body:
    """A body that comes bit by bit, and notes that it was closed."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces = pieces

    def __iter__(self) -> Iterator[bytes]:
        return self._pieces

    def close(self) -> None:
        closed.release()


def _bits() -> Iterator[bytes]:
    for _ in range(10):
        yield b"bit "
        time.sleep(0.02)


def _nothing_yet() -> Iterator[bytes]:
    yield b"first "
    while True:
        time.sleep(0.01)
        yield b""


def _cut() -> Iterator[bytes]:
    for _ in range(8):
        yield PIECE
    raise ConnectionError("the API hung up")
