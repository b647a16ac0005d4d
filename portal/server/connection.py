"""A client's connection: reads complete requests, hands them to a thread, and writes responses to slow clients.

Everything runs in the worker's event loop, except `answered` and `streams`, which are called by the thread that handles
the request. `state` says whose turn it is: while it is `BUSY`, the thread may write, and the loop only buffers input.
"""

from __future__ import annotations

import math
import socket
import time
from collections import deque
from selectors import EVENT_READ, EVENT_WRITE
from typing import Any

from portal.server.answer import own_answer
from portal.server.interfaces import Loop
from portal.server.request import END, Refused, Request, check
from portal.server.socket_buffers import buffer_little, unacknowledged
from portal.server.state import State
from portal.server.stream import Stream

_PIECE = 65536
_MOST_AHEAD = 65536
"""How many bytes of further requests are read while one is being handled."""


class Connection:
    """A client's connection; `deadline` (`time.monotonic`) is when it is dropped."""

    __slots__ = (
        "_data", "_held", "_mask", "_out", "_request", "_scanned", "_sock", "_stream", "_unsent", "_worker",
        "base", "closes", "deadline", "is_broken", "is_new", "is_over", "since", "state", "trusted",
    )  # fmt: skip

    def __init__(
        self, worker: Loop[Connection], sock: socket.socket, base: dict[str, Any], *, trusted: bool
    ) -> None:
        """`base` is the common part of this connection's environs; `trusted`: a proxy whose scheme is believed."""
        self._worker = worker
        self._sock = sock
        self.base = base
        self.trusted = trusted
        self._data = bytearray()
        self._scanned = 0
        self._held = 0
        self._request: Request | None = None
        self._out: deque[memoryview] = deque()
        self._stream: Stream | None = None
        self._unsent = 0
        self._mask = 0
        self.state = State.HEAD
        self.is_new = True  # no request so far
        self.is_over = False  # the client has closed its sending side
        self.is_broken = False  # nothing more can be sent
        self.closes = False
        self.since = time.monotonic()
        self.deadline = self.since + worker.patience.head
        self._want(EVENT_READ)

    @property
    def is_idle(self) -> bool:
        """Whether it is kept alive between two requests."""
        return self.state is State.HEAD and not self._data and not self.is_new

    @property
    def is_arriving(self) -> bool:
        """Whether a request is being received, or the first one is expected."""
        return self.state is State.BODY or (self.state is State.HEAD and (bool(self._data) or self.is_new))

    # Called by the loop

    def on_event(self, mask: int) -> None:
        """Read or write as far as possible without blocking."""
        if mask & EVENT_WRITE:
            self._flush()
        if mask & EVENT_READ and self.state is not State.CLOSED:
            self._read()

    def go_on(self) -> None:
        """Continue where a thread or a pump left off."""
        if self.is_broken:
            self.drop()
        elif self.state is State.WRITING:
            self._flush()
        elif self.state is State.HEAD:
            if self.closes:
                self._hang_up()
            elif self._data:
                self._want_to_read()
                self._advance()
            elif self.is_over:
                self.drop()

    def expire(self) -> None:
        """Handle a timeout: answer 408 to a client that sends too slowly, drop one that doesn't read."""
        is_in_time = self._stream is None or time.monotonic() < self._stream.until
        if self.state is State.WRITING and is_in_time and self._moves():
            return
        if self.state is State.BODY or (self.state is State.HEAD and self._data):
            self._refuse(408)
        else:
            self.drop()

    def drop(self) -> None:
        """Close it, whatever is in progress."""
        if self.state is State.CLOSED:
            return
        self._hold(0)
        self._request = None
        self.state = State.CLOSED
        self._want(0)
        self._sock.close()
        self._data.clear()
        self._out.clear()
        if self._stream is not None:
            self._stream.abandon()
            self._stream = None
        self._worker.forget(self)

    def stop_soon(self) -> None:
        """Shorten the wait for another request, because the worker is shutting down."""
        if self.state is State.HEAD and not self._data:
            self.deadline = min(self.deadline, time.monotonic() + self._worker.patience.last)

    # Called by the thread that handles the request

    def answered(self, pieces: list[bytes], *, closes: bool) -> None:
        """Send a complete response; leave to the loop what the client doesn't accept at once."""
        self.closes = closes
        data = pieces[0] if len(pieces) == 1 else b"".join(pieces)
        try:
            sent = self._sock.send(data)
        except BlockingIOError:
            sent = 0
        except OSError:
            self.is_broken = True
            self._worker.post(self)
            return
        if sent < len(data):
            self._out.append(memoryview(data)[sent:])
            self._begin_to_write()
            return
        self._end_answer()
        if self._data or self.is_over or closes:
            self._worker.post(self)

    def streams(self, head: list[bytes], stream: Stream, *, closes: bool) -> None:
        """Send a response whose body is streamed."""
        self.closes = closes
        self._out.append(memoryview(b"".join(head)))
        self._stream = stream
        self._begin_to_write()

    def moved(self) -> None:
        """Notify the loop that the body has made progress."""
        self._worker.post(self)

    def _begin_to_write(self) -> None:
        self._hold(0)
        self._unsent = -1
        self.deadline = time.monotonic() + self._worker.patience.stall
        self.state = State.WRITING
        self._worker.post(self)

    def _end_answer(self) -> None:
        self._hold(0)
        # Set the deadline before the state: after that, the loop may already be handling the next request.
        self.is_new = False
        self.deadline = time.monotonic() + self._worker.keepalive()
        self.state = State.HEAD

    # Reading

    def _read(self) -> None:
        try:
            data = self._sock.recv(_PIECE)
        except BlockingIOError:
            return
        except OSError:
            data = b""
            self.is_broken = True
        if not data:
            self.is_over = True
            self._want(self._mask & ~EVENT_READ)
            # A client that still waits for a response may have closed only its sending side.
            if self.state not in (State.BUSY, State.WRITING) or (
                self.is_broken and self.state is not State.BUSY
            ):
                self.drop()
            return
        if self.closes and self.state is not State.BODY:
            return  # no more requests are accepted on this connection
        if self.state is State.BODY:
            self._take_body(data)
            return
        if not self._data and self.state is State.HEAD:
            self.since = time.monotonic()
            self.deadline = self.since + self._worker.patience.head
        self._data += data
        if self.state is State.HEAD:
            self._advance()
        elif len(self._data) > _MOST_AHEAD:
            self._want(self._mask & ~EVENT_READ)

    def _advance(self) -> None:
        """Handle the next request, if its head is complete."""
        data = self._data
        while data.startswith(b"\r\n"):  # RFC 9112 §2.2
            del data[:2]
        end = data.find(END, self._scanned)
        limits = self._worker.limits
        try:
            if end < 0:
                check(data, start=self._scanned, end=len(data), limits=limits)
                self._scanned = max(0, len(data) - 3)
                return
            check(data, start=self._scanned, end=end + 2, limits=limits)
            self._scanned = 0
            head = bytes(data[: end + 4])
            del data[: end + 4]
            request = Request(head, self.base, limits)
        except Refused as refused:
            self._refuse(refused.status)
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
            self._begin_body(request)

    def _begin_body(self, request: Request) -> None:
        self.state = State.BODY
        self._request = request
        self.deadline = self.since + self._worker.patience.body
        came = bytes(self._data)
        self._data.clear()
        if request.expects_continue and not came:
            try:
                self._sock.send(b"HTTP/1.1 100 Continue\r\n\r\n")
            except OSError:
                self.drop()
                return
        if came:
            self._take_body(came)

    def _take_body(self, data: bytes) -> None:
        request = self._request
        if request is None:
            return
        body = request.body
        if request.length is None:
            self.closes = True  # data after the last chunk are ignored
            try:
                request.feed(data)
            except Refused as refused:
                self._refuse(refused.status)
                return
            is_whole = request.is_complete
        else:
            body += data
            is_whole = len(body) >= request.length
            if len(body) > request.length:  # the rest belongs to the next request
                self._data += body[request.length :]
                del body[request.length :]
            request.received = len(body)
        self._hold(request.received)
        if len(body) > self._worker.largest_body:
            self._hold(0)
            self._request = None
            self._worker.dispatch(self, request, None)
            return
        patience = self._worker.patience
        self.deadline = self.since + patience.body + len(body) / patience.rate
        self._worker.make_room_for_bodies()
        if is_whole and self.state is State.BODY:
            self._request = None
            whole = bytes(body)
            body.clear()
            self._worker.dispatch(self, request, whole)

    def _hold(self, size: int) -> None:
        """Count this many bytes as held for the request in hand, from its first byte until it is answered."""
        if size != self._held:
            self._worker.hold(size - self._held)
            self._held = size

    # Writing

    def _flush(self) -> None:
        """Send as much as the client accepts now; continue with the next request when everything is sent."""
        out, stream = self._out, self._stream
        if stream is not None and time.monotonic() > stream.until:
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
                self._want(self._mask | EVENT_WRITE)
                return
            except OSError:
                self.drop()
                return
            if sent < len(out[0]):
                out[0] = out[0][sent:]
            else:
                out.popleft()
            self.deadline = time.monotonic() + self._worker.patience.stall
        if stream is not None:
            if stream.is_broken:
                self.drop()
                return
            self._want(self._mask & ~EVENT_WRITE)
            if not stream.is_over:
                return
            self._stream = None
        self._want(self._mask & ~EVENT_WRITE)
        self._want_to_read()
        self._end_answer()
        self.go_on()

    def _moves(self) -> bool:
        """Whether the client still reads: fewer bytes are unacknowledged than at the last call."""
        unsent = unacknowledged(self._sock)
        if unsent is None:
            return False
        moves = self._unsent < 0 or unsent < self._unsent
        self._unsent = unsent
        if moves:
            self.deadline = time.monotonic() + self._worker.patience.stall
        return moves

    # Closing

    def _refuse(self, status: int) -> None:
        """Respond on behalf of the application, and close."""
        self._hold(0)
        self._request = None
        self.closes = True
        self._worker.errors.debug("refused: %d", status)
        try:
            self._sock.send(own_answer(status))
        except OSError:
            self.drop()
            return
        self._hang_up()

    def _hang_up(self) -> None:
        """Close it so that the client can read its response: closing with unread input would reset the connection."""
        if self.is_over:
            self.drop()
            return
        try:
            self._sock.shutdown(socket.SHUT_WR)
        except OSError:
            self.drop()
            return
        self.state = State.LINGERING
        self._data.clear()
        self.deadline = time.monotonic() + self._worker.patience.linger
        self._want(EVENT_READ)

    def _want_to_read(self) -> None:
        if not self.is_over:
            self._want(self._mask | EVENT_READ)

    def _want(self, mask: int) -> None:
        """Subscribe to these events."""
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
            buffer_little(self._sock)
        self._mask = mask

    def busy(self) -> None:
        """Mark the request as being handled by a thread."""
        self.state = State.BUSY
        self.deadline = math.inf
