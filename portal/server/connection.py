"""A client's connection: reads complete requests, hands them to a thread, and writes responses to slow clients.

Everything runs in the worker's event loop, except `send_part`, `send_response` and `send_stream`, which are called by the thread
that handles the request. `state` says whose turn it is: while it is `BUSY`, the thread may write, and the loop only buffers input.
"""

from __future__ import annotations

import math
import socket
import time
from collections import deque
from collections.abc import Mapping
from contextlib import suppress
from selectors import EVENT_READ, EVENT_WRITE
from typing import Any

from portal.server.interfaces import Loop
from portal.server.request import END, InvalidRequest, Request, check_head
from portal.server.response import error_response
from portal.server.socket_buffers import limit_unsent, unacknowledged
from portal.server.state import ConnectionState
from portal.server.stream import Stream

_RECEIVE = 65536
_MAX_PIPELINED = 65536
"""How many bytes of further requests are read while the current one is being handled."""


class Connection:
    """A client's connection; `deadline` (`time.monotonic`) is when it is dropped."""

    __slots__ = (
        "_counted_bytes",
        "_input",
        "_mask",
        "_output",
        "_request",
        "_scanned",
        "_sock",
        "_stream",
        "_unacknowledged",
        "_worker",
        "base",
        "closes",
        "deadline",
        "is_broken",
        "is_half_closed",
        "is_new",
        "since",
        "state",
        "trusted",
    )  # fmt: skip

    def __init__(
        self, worker: Loop[Connection], sock: socket.socket, base: dict[str, Any], *, trusted: bool
    ) -> None:
        """`base` is the common part of this connection's environs; `trusted`: a proxy whose scheme is believed."""
        self._worker = worker
        self._sock = sock
        self.base = base
        self.trusted = trusted
        self._input = bytearray()
        self._scanned = 0
        self._counted_bytes = 0
        self._request: Request | None = None
        self._output: deque[memoryview] = deque()
        self._stream: Stream | None = None
        self._unacknowledged = 0
        self._mask = 0
        self.state = ConnectionState.HEAD
        self.is_new = True  # no request so far
        self.is_half_closed = False  # the client has closed its sending side
        self.is_broken = False  # nothing more can be sent
        self.closes = False
        self.since = time.monotonic()
        self.deadline = self.since + worker.timeouts.head
        self._subscribe(EVENT_READ)

    @property
    def is_idle(self) -> bool:
        """Whether it is kept alive between two requests."""
        return self.state is ConnectionState.HEAD and not self._input and not self.is_new

    @property
    def is_receiving(self) -> bool:
        """Whether a request is being received, or the first one is expected."""
        return self.state is ConnectionState.BODY or (
            self.state is ConnectionState.HEAD and (bool(self._input) or self.is_new)
        )

    # Called by the loop

    def on_event(self, mask: int) -> None:
        """Read or write as far as possible without blocking."""
        if mask & EVENT_WRITE:
            self._flush()
        if mask & EVENT_READ and self.state is not ConnectionState.CLOSED:
            self._receive()

    def resume(self) -> None:
        """Continue where a thread or a pump left off."""
        if self.is_broken:
            self.drop()
        elif self.state is ConnectionState.WRITING:
            self._flush()
        elif self.state is ConnectionState.HEAD:
            if self.closes:
                self._close_lingering()
            elif self._input:
                self._resume_reading()
                self._parse_next()
            elif self.is_half_closed:
                self.drop()

    def expire(self) -> None:
        """Handle a timeout: answer 408 to a client that sends too slowly, drop one that doesn't read."""
        is_in_time = self._stream is None or time.monotonic() < self._stream.ends_at
        if self.state is ConnectionState.WRITING and is_in_time and self._is_progressing():
            return
        if self.state is ConnectionState.BODY or (self.state is ConnectionState.HEAD and self._input):
            self.refuse(408)
        else:
            self.drop()

    def drop(self) -> None:
        """Close it, whatever is in progress."""
        if self.state is ConnectionState.CLOSED:
            return
        self._count_bytes(0)
        self._request = None
        self.state = ConnectionState.CLOSED
        self._subscribe(0)
        self._sock.close()
        self._input.clear()
        self._output.clear()
        if self._stream is not None:
            self._stream.abandon()
            self._stream = None
        self._worker.remove(self)

    def shorten_keepalive(self) -> None:
        """Shorten the wait for another request, because the worker is shutting down."""
        if self.state is ConnectionState.HEAD and not self._input:
            self.deadline = min(self.deadline, time.monotonic() + self._worker.timeouts.shutdown)

    # Called by the thread that handles the request

    def send_part(self, data: bytes) -> None:
        """Send a part of a response whose rest isn't known yet; keep for then what the client doesn't accept at once."""
        sent = 0
        if not self._output:
            with suppress(OSError):  # a broken connection shows again when the rest is sent
                sent = self._sock.send(data)
        if sent < len(data):
            self._output.append(memoryview(data)[sent:])

    def send_response(self, pieces: list[bytes], *, closes: bool) -> None:
        """Send a complete response, or the rest of one; leave to the loop what the client doesn't accept at once."""
        self.closes = closes
        data = pieces[0] if len(pieces) == 1 else b"".join(pieces)
        if self._output:
            self._output.append(memoryview(data))
            self._start_writing()
            return
        try:
            sent = self._sock.send(data)
        except BlockingIOError:
            sent = 0
        except OSError:
            self.is_broken = True
            self._worker.schedule(self)
            return
        if sent < len(data):
            self._output.append(memoryview(data)[sent:])
            self._start_writing()
            return
        self._finish_response()
        if self._input or self.is_half_closed or closes:
            self._worker.schedule(self)

    def send_stream(self, head: list[bytes], stream: Stream, *, closes: bool) -> None:
        self.closes = closes
        self._output.append(memoryview(b"".join(head)))
        self._stream = stream
        self._start_writing()

    def body_progressed(self) -> None:
        """Notify the loop that the body has made progress."""
        self._worker.schedule(self)

    def error_headers(self, environ: Mapping[str, Any]) -> Mapping[str, str]:
        """Return the headers of the server's own response to this request."""
        worker = self._worker
        return (
            worker.error_headers_over_tls if environ["wsgi.url_scheme"] == "https" else worker.error_headers
        )

    def _start_writing(self) -> None:
        self._count_bytes(0)
        self._unacknowledged = -1
        self.deadline = time.monotonic() + self._worker.timeouts.stall
        self.state = ConnectionState.WRITING
        self._worker.schedule(self)

    def _finish_response(self) -> None:
        self._count_bytes(0)
        # Set the deadline before the state: after that, the loop may already be handling the next request.
        self.is_new = False
        self.deadline = time.monotonic() + self._worker.keepalive()
        self.state = ConnectionState.HEAD

    # Reading

    def _receive(self) -> None:
        try:
            data = self._sock.recv(_RECEIVE)
        except BlockingIOError:
            return
        except OSError:
            data = b""
            self.is_broken = True
        if not data:
            self.is_half_closed = True
            self._subscribe(self._mask & ~EVENT_READ)
            # A client that still waits for a response may have closed only its sending side.
            if self.state not in (ConnectionState.BUSY, ConnectionState.WRITING) or (
                self.is_broken and self.state is not ConnectionState.BUSY
            ):
                self.drop()
            return
        if self.closes and self.state is not ConnectionState.BODY:
            return  # no more requests are accepted on this connection
        if self.state is ConnectionState.BODY:
            self._receive_body(data)
            return
        if not self._input and self.state is ConnectionState.HEAD:
            self.since = time.monotonic()
            self.deadline = self.since + self._worker.timeouts.head
        self._input += data
        if self.state is ConnectionState.HEAD:
            self._parse_next()
        elif len(self._input) > _MAX_PIPELINED:
            self._subscribe(self._mask & ~EVENT_READ)

    def _parse_next(self) -> None:
        """Handle the next request, if its head is complete."""
        data = self._input
        while data.startswith(b"\r\n"):  # RFC 9112 §2.2
            del data[:2]
        end = data.find(END, self._scanned)
        limits = self._worker.limits
        try:
            if end < 0:
                check_head(data, start=self._scanned, end=len(data), limits=limits)
                self._scanned = max(0, len(data) - 3)
                return
            check_head(data, start=self._scanned, end=end + 2, limits=limits)
            self._scanned = 0
            head = bytes(data[: end + 4])
            del data[: end + 4]
            request = Request(head, self.base, limits)
        except InvalidRequest as error:
            self.refuse(error.status)
            return
        self.since = time.monotonic()
        length = request.length
        if length == 0:
            self._worker.dispatch(self, request, b"")
        elif length is not None and length <= len(data):
            body = bytes(data[:length])
            del data[:length]
            self._worker.dispatch(self, request, body)
        elif length is not None and length > self._worker.largest_body:
            self.closes = True
            self._worker.dispatch(self, request, None)
        else:
            self._start_body(request)

    def _start_body(self, request: Request) -> None:
        self.state = ConnectionState.BODY
        self._request = request
        self.deadline = self.since + self._worker.timeouts.body
        early = bytes(self._input)
        self._input.clear()
        if request.expects_continue and not early:
            try:
                self._sock.send(b"HTTP/1.1 100 Continue\r\n\r\n")
            except OSError:
                self.drop()
                return
        if early:
            self._receive_body(early)

    def _receive_body(self, data: bytes) -> None:
        request = self._request
        if request is None:
            return
        body = request.body
        if request.length is None:
            self.closes = True  # data after the last chunk are ignored
            try:
                request.feed(data)
            except InvalidRequest as error:
                self.refuse(error.status)
                return
            is_complete = request.is_complete
        else:
            body += data
            is_complete = len(body) >= request.length
            if len(body) > request.length:  # the rest belongs to the next request
                self._input += body[request.length :]
                del body[request.length :]
            request.received = len(body)
        self._count_bytes(request.received)
        if len(body) > self._worker.largest_body:
            self._count_bytes(0)
            self._request = None
            self._worker.dispatch(self, request, None)
            return
        timeouts = self._worker.timeouts
        self.deadline = self.since + timeouts.body + len(body) / timeouts.rate
        self._worker.limit_body_bytes()
        if is_complete and self.state is ConnectionState.BODY:
            self._request = None
            complete = bytes(body)
            body.clear()
            self._worker.dispatch(self, request, complete)

    def _count_bytes(self, size: int) -> None:
        """Count this many bytes as held for the request in hand, from its first byte until it is answered."""
        if size != self._counted_bytes:
            self._worker.count_body_bytes(size - self._counted_bytes)
            self._counted_bytes = size

    # Writing

    def _flush(self) -> None:
        """Send as much as the client accepts now; continue with the next request when everything is sent."""
        out, stream = self._output, self._stream
        if stream is not None and time.monotonic() > stream.ends_at:
            self.drop()
            return
        while True:
            if not out and stream is not None:
                out.extend(map(memoryview, stream.take()))
            if not out:
                break
            try:
                sent = self._sock.send(out[0])
            except BlockingIOError:
                self._subscribe(self._mask | EVENT_WRITE)
                return
            except OSError:
                self.drop()
                return
            if sent < len(out[0]):
                out[0] = out[0][sent:]
            else:
                out.popleft()
            self.deadline = time.monotonic() + self._worker.timeouts.stall
        if stream is not None:
            if stream.is_broken:
                self.drop()
                return
            self._subscribe(self._mask & ~EVENT_WRITE)
            if not stream.is_over:
                return
            self._stream = None
        self._subscribe(self._mask & ~EVENT_WRITE)
        self._resume_reading()
        self._finish_response()
        self.resume()

    def _is_progressing(self) -> bool:
        """Whether the client still reads: fewer bytes are unacknowledged than at the last call."""
        unsent = unacknowledged(self._sock)
        if unsent is None:
            return False
        moves = self._unacknowledged < 0 or unsent < self._unacknowledged
        self._unacknowledged = unsent
        if moves:
            self.deadline = time.monotonic() + self._worker.timeouts.stall
        return moves

    # Closing

    def refuse(self, status: int) -> None:
        """Respond on behalf of the application, and close."""
        self._count_bytes(0)
        self._request = None
        self.closes = True
        self._worker.errors.debug("invalid request: %d", status)
        try:
            self._sock.send(error_response(status, self._worker.error_headers))
        except OSError:
            self.drop()
            return
        self._close_lingering()

    def _close_lingering(self) -> None:
        """Close it so that the client can read its response: closing with unread input would reset the connection."""
        if self.is_half_closed:
            self.drop()
            return
        try:
            self._sock.shutdown(socket.SHUT_WR)
        except OSError:
            self.drop()
            return
        self.state = ConnectionState.LINGERING
        self._input.clear()
        self.deadline = time.monotonic() + self._worker.timeouts.linger
        self._subscribe(EVENT_READ)

    def _resume_reading(self) -> None:
        if not self.is_half_closed:
            self._subscribe(self._mask | EVENT_READ)

    def _subscribe(self, mask: int) -> None:
        """Subscribe to these events of the socket."""
        if mask == self._mask:
            return
        poller = self._worker.poller
        if not self._mask:
            poller.register(self._sock, mask, self.on_event)
        elif mask:
            poller.modify(self._sock, mask, self.on_event)
        else:
            poller.unregister(self._sock)
        if mask & EVENT_WRITE:
            limit_unsent(self._sock)
        self._mask = mask

    def mark_busy(self) -> None:
        """Mark the request as being handled by a thread."""
        self.state = ConnectionState.BUSY
        self.deadline = math.inf
