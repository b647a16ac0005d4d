"""Streamed response bodies, read ahead up to a limit for slow clients.

Separate threads (`Pumps`) read them, so that no thread that makes pages waits for a client or a file. A body that has no
data yet yields an empty piece (PEP 3333) and is asked again on the pumps' next round.
"""

from __future__ import annotations

import logging
import time
from collections import deque
from collections.abc import Callable, Iterator
from queue import SimpleQueue
from threading import Lock, Thread

from portal.server.response import LAST_CHUNK, Response, chunked

READ_AHEAD = 128 * 1024
"""How many bytes of a body are buffered for one client, not counting the last piece."""

_SLICE = 0.05
_PAUSE = 0.005
_log = logging.getLogger("gunicorn.error")
LONGEST = 3600.0
"""After this many seconds a transfer is ended, finished or not."""


class Stream:
    """The rest of a body. The loop calls `take`, one pump at a time `read`; `on_progress` tells the loop."""

    def __init__(
        self,
        response: Response,
        body: Iterator[bytes],
        close: Callable[[], object] | None,
        pumps: Pumps,
        on_progress: Callable[[], None],
    ) -> None:
        self._body = body
        self._close = close
        self._pumps = pumps
        self._on_progress = on_progress
        self._is_chunked = response.is_chunked
        self._remaining = None if response.length is None else response.length - response.written
        self._ready: deque[bytes] = deque()
        # Each is written by one side only.
        self._read_bytes = self._taken_bytes = 0
        self._is_being_read = False
        self._is_abandoned = False
        self._is_done = False
        self._lock = Lock()
        self.is_broken = False
        self.ends_at = time.monotonic() + LONGEST

    @property
    def is_over(self) -> bool:
        """Whether the whole body has been taken."""
        return self._is_done and not self._ready

    def begin(self, pieces: list[bytes]) -> list[bytes]:
        return [wire for piece in pieces for wire in self._frame(piece)]

    def take(self) -> list[bytes]:
        """Return what is ready, and have more read."""
        taken: list[bytes] = []
        while self._ready:
            taken.append(self._ready.popleft())
        self._taken_bytes += sum(map(len, taken))
        self._request_read()
        return taken

    def abandon(self) -> None:
        """Abandon the body: a pump closes it."""
        self._is_abandoned = True
        self._request_read()

    def _request_read(self) -> None:
        with self._lock:
            if self._is_being_read or self._is_done:
                return
            self._is_being_read = True
        self._pumps.put(self)

    def read(self) -> None:
        """Read ahead for a limited time."""
        try:
            has_more = self._read_ahead()
        except Exception as error:  # noqa: BLE001 (of the application)
            _log.error("A response was cut short: %s", type(error).__name__)
            self.is_broken = True
            has_more = None
        if has_more is None:
            self._end()
        with self._lock:
            self._is_being_read = False
        if has_more or self._is_abandoned:
            self._request_read()
        self._on_progress()

    def _read_ahead(self) -> bool | None:
        """Read ahead; return whether there was more to read and room for it, None at the end."""
        slice_end = time.monotonic() + _SLICE
        while self._read_bytes - self._taken_bytes < READ_AHEAD:
            if self._is_abandoned or time.monotonic() > self.ends_at:
                self.is_broken = True
                return None
            piece = next(self._body, None)
            if piece is None:
                return None
            for wire in self._frame(piece):
                self._ready.append(wire)
                self._read_bytes += len(wire)
            if self._remaining == 0:
                return None
            if not piece:
                time.sleep(_PAUSE)
                return True
            if time.monotonic() > slice_end:
                return True
        return None if self._is_abandoned else False

    def _end(self) -> None:
        if self._remaining:
            self.is_broken = True
        elif self._is_chunked and not self.is_broken:
            self._ready.append(LAST_CHUNK)
        self._is_done = True
        if self._close is not None:
            try:
                self._close()
            except Exception as error:  # noqa: BLE001 (of the application)
                _log.error("Closing a response failed: %s", type(error).__name__)

    def _frame(self, piece: bytes) -> list[bytes]:
        if self._remaining is not None:
            piece = piece[: self._remaining]
            self._remaining -= len(piece)
        if not piece:
            return []
        return [chunked(piece)] if self._is_chunked else [piece]


class Pumps:
    """A few threads that read bodies ahead, in turn."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._requested: SimpleQueue[Stream | None] = SimpleQueue()
        self._threads: list[Thread] = []

    def put(self, stream: Stream) -> None:
        """Have more of this body read."""
        self._requested.put(stream)
        if len(self._threads) < self._size and self._requested.qsize() > 0:
            thread = Thread(target=self._run, name=f"pump-{len(self._threads)}", daemon=True)
            self._threads.append(thread)
            thread.start()

    def stop(self) -> None:
        for _ in self._threads:
            self._requested.put(None)

    def _run(self) -> None:
        while (stream := self._requested.get()) is not None:
            stream.read()
