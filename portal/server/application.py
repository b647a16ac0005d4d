"""The threads that run the application; each handles one complete request at a time."""

from __future__ import annotations

import logging
import time
from collections import deque
from collections.abc import Callable, Iterator
from threading import Lock, Thread
from typing import IO, TYPE_CHECKING, Any

from portal.server.fair_queue import FairQueue
from portal.server.interfaces import ResponseWriter
from portal.server.request import Request
from portal.server.response import InvalidResponse, Response, error_response
from portal.server.stream import READ_AHEAD, Pumps, Stream

if TYPE_CHECKING:
    from wsgiref.types import WSGIApplication

_COLLECT_SECONDS = 0.05
"""How long a thread waits for the whole response body before it leaves the rest to a pump, in seconds."""

_BLOCK = 65536


class BodyTooLarge(OSError):
    """The request body is larger than this server accepts, and wasn't read."""


class _UnreadBody:
    """Replaces a body that is too large, so that an application that checks Content-Length can send its own error page."""

    def read(self, *_: object) -> bytes:
        raise BodyTooLarge("the body is too large")

    readline = readlines = __iter__ = __next__ = read


class FileWrapper:
    """Yields a file in blocks (PEP 3333, `wsgi.file_wrapper`)."""

    def __init__(self, file: IO[bytes], block: int = _BLOCK) -> None:
        self._file = file
        self._block = max(block, _BLOCK)

    def __iter__(self) -> Iterator[bytes]:
        while piece := self._file.read(self._block):
            yield piece

    def close(self) -> None:
        close = getattr(self._file, "close", None)
        if close is not None:
            close()


_Job = tuple[ResponseWriter, Request, bytes | None]


class ThreadPool:
    """As many threads as needed, up to `size`; `is_alive` says whether a connection may be kept after a response.

    The last `reserve` of them are for tenants that occupy none (`portal.server.fair_queue`).

    The most recently used idle thread goes first, because its caches and connections to the API are still fresh.
    """

    def __init__(
        self,
        application: WSGIApplication,
        pumps: Pumps,
        size: int,
        log: logging.Logger,
        is_alive: Callable[[], bool],
        *,
        reserve: int = 0,
    ) -> None:
        self._application = application
        self._pumps = pumps
        self._size = size
        self._log = log
        self._is_alive = is_alive
        self._jobs: FairQueue[_Job] = FairQueue(size, reserve)
        self._idle: deque[_Thread] = deque()
        self._threads: list[_Thread] = []

    @property
    def active(self) -> int:
        """The number of requests being handled or waiting for a thread."""
        return len(self._threads) - len(self._idle)

    @property
    def waiting(self) -> int:
        """The number of requests that no thread has taken yet."""
        return len(self._jobs)

    def submit(
        self, connection: ResponseWriter, request: Request, body: bytes | None, *, tenant: str = ""
    ) -> None:
        """Hand this request to a thread, now or when its tenant has its turn."""
        self._jobs.put(tenant, (connection, request, body))
        if not self._wake() and len(self._threads) < self._size:
            thread = _Thread(self._jobs, self._idle, self._serve, f"request-{len(self._threads)}")
            self._threads.append(thread)
            thread.start()

    def stop(self, seconds: float) -> None:
        """Stop the threads, waiting at most this many seconds."""
        until = time.monotonic() + seconds
        self._jobs.close()
        while self._wake():
            pass
        for thread in self._threads:
            thread.join(max(0.0, until - time.monotonic()))

    def _wake(self) -> bool:
        try:
            self._idle.pop().wake.release()
        except IndexError:
            return False
        return True

    def _serve(self, connection: ResponseWriter, request: Request, body: bytes | None) -> None:
        environ = request.complete_environ(b"" if body is None else body)
        environ["wsgi.file_wrapper"] = FileWrapper
        if body is None:
            environ["wsgi.input"] = _UnreadBody()
            if request.length is None:  # the part received before it exceeded the limit
                environ["CONTENT_LENGTH"] = str(len(request.body))
        closes = connection.closes or not request.keep_alive or not self._is_alive()
        response = Response(request, closes=closes, send=connection.send_part)
        try:
            result = self._application(environ, response.start)
            close = getattr(result, "close", None)
            try:
                rest = _collect(response, iter(result))
                if rest is None or not response.has_body:
                    wire = response.complete()
                else:
                    head = b"" if response.is_begun else response.head()
                    stream = Stream(response, rest, close, self._pumps, connection.body_progressed)
                    close = None
                    connection.send_stream(
                        [head, *stream.begin(response.pieces)], stream, closes=response.closes
                    )
                    return
            finally:
                if close is not None:
                    close()
        except BaseException as error:  # noqa: BLE001 (the application may raise anything)
            self._handle_failure(connection, environ, error, is_begun=response.is_begun)
            return
        connection.send_response(wire, closes=response.closes)

    def _handle_failure(
        self, connection: ResponseWriter, environ: dict[str, Any], error: BaseException, *, is_begun: bool
    ) -> None:
        if isinstance(error, BodyTooLarge) and not is_begun:
            connection.send_response([error_response(413, connection.error_headers(environ))], closes=True)
            return
        # Neither the address nor the exception's message, which may contain what a person typed.
        reason = str(error) if isinstance(error, InvalidResponse) else type(error).__name__
        self._log.error("A request failed: %s at %s", reason, location(error))
        if is_begun:  # closing tells the client that the rest won't come
            connection.send_response([], closes=True)
            return
        connection.send_response([error_response(500, connection.error_headers(environ))], closes=True)


class _Thread(Thread):
    """One of the threads. It takes jobs until there are none, then waits until it is taken off `idle` and woken."""

    def __init__(
        self, jobs: FairQueue[_Job], idle: deque[_Thread], serve: Callable[..., None], name: str
    ) -> None:
        super().__init__(name=name, daemon=True)
        self._jobs = jobs
        self._idle = idle
        self._serve = serve
        self.wake = Lock()
        self.wake.acquire()

    def run(self) -> None:
        while True:
            taken = self._jobs.take()
            if taken is None:
                if self._jobs.is_closed:
                    return
                self._wait()
                continue
            tenant, job = taken
            try:
                self._serve(*job)
            finally:
                self._jobs.finish(tenant)
            del job, taken

    def _wait(self) -> None:
        self._idle.append(self)
        if self._jobs.has_ready or self._jobs.is_closed:  # since the last look
            try:
                self._idle.remove(self)
            except ValueError:
                pass  # it is already being woken
            else:
                return
        self.wake.acquire()


def _collect(response: Response, body: Iterator[bytes]) -> Iterator[bytes] | None:
    """Collect the body's pieces; return the rest if it is large or slow."""
    size = 0
    until = 0.0
    for piece in body:
        response.pieces.append(piece)
        size += len(piece)
        if until == 0.0:
            until = time.monotonic() + _COLLECT_SECONDS
        elif time.monotonic() > until:
            return body
        if size > READ_AHEAD:
            return body
    return None


def location(error: BaseException) -> str:
    """Where an exception was raised, without its message."""
    frames: list[str] = []
    trace = error.__traceback__
    while trace is not None:
        code = trace.tb_frame.f_code
        frames.append(f"{code.co_filename.rpartition('/')[2]}:{trace.tb_lineno} {code.co_name}")
        trace = trace.tb_next
    return " > ".join(frames[-8:])
