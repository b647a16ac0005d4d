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

from portal.server.answer import LAST_CHUNK, Answer, framed

AHEAD = 128 * 1024
"""How many bytes of a body are buffered for one client, not counting the last piece."""

_TURN = 0.05
_PAUSE = 0.005
_log = logging.getLogger("gunicorn.error")
LONGEST = 3600.0
"""After this many seconds a transfer is ended, finished or not."""


class Stream:
    """The rest of a body. The loop calls `take`, one pump at a time `read`; `moved` notifies the loop of progress."""

    def __init__(
        self,
        answer: Answer,
        body: Iterator[bytes],
        close: Callable[[], object] | None,
        pumps: Pumps,
        moved: Callable[[], None],
    ) -> None:
        self._body = body
        self._close = close
        self._pumps = pumps
        self._moved = moved
        self._is_chunked = answer.is_chunked
        self._left = answer.length
        self._ready: deque[bytes] = deque()
        # Each is written by one side only.
        self._put = self._taken = 0
        self._is_read = False
        self._is_abandoned = False
        self._is_done = False
        self._lock = Lock()
        self.is_broken = False
        self.until = time.monotonic() + LONGEST

    @property
    def is_over(self) -> bool:
        """Whether the whole body has been taken."""
        return self._is_done and not self._ready

    def begin(self, pieces: list[bytes]) -> list[bytes]:
        """Return the first pieces, framed for the wire."""
        return [framed for piece in pieces for framed in self._frame(piece)]

    def take(self) -> list[bytes]:
        """Return what is ready, and have more read."""
        taken: list[bytes] = []
        while self._ready:
            taken.append(self._ready.popleft())
        self._taken += sum(map(len, taken))
        self._ask()
        return taken

    def abandon(self) -> None:
        """Abandon the body: a pump closes it."""
        self._is_abandoned = True
        self._ask()

    def _ask(self) -> None:
        with self._lock:
            if self._is_read or self._is_done:
                return
            self._is_read = True
        self._pumps.put(self)

    def read(self) -> None:
        """Read ahead for a limited time."""
        try:
            goes_on = self._read_ahead()
        except Exception as error:  # noqa: BLE001 (an application's)
            _log.error("An answer was cut short: %s", type(error).__name__)
            self.is_broken = True
            goes_on = None
        if goes_on is None:
            self._end()
        with self._lock:
            self._is_read = False
        if goes_on or self._is_abandoned:
            self._ask()
        self._moved()

    def _read_ahead(self) -> bool | None:
        """Read ahead; return whether there was more to read and room for it, None at the end."""
        over = time.monotonic() + _TURN
        while self._put - self._taken < AHEAD:
            if self._is_abandoned or time.monotonic() > self.until:
                self.is_broken = True
                return None
            piece = next(self._body, None)
            if piece is None:
                return None
            for wire in self._frame(piece):
                self._ready.append(wire)
                self._put += len(wire)
            if self._left == 0:
                return None
            if not piece:
                time.sleep(_PAUSE)
                return True
            if time.monotonic() > over:
                return True
        return None if self._is_abandoned else False

    def _end(self) -> None:
        if self._left:
            self.is_broken = True
        elif self._is_chunked and not self.is_broken:
            self._ready.append(LAST_CHUNK)
        self._is_done = True
        if self._close is not None:
            try:
                self._close()
            except Exception as error:  # noqa: BLE001 (an application's)
                _log.error("An answer's end failed: %s", type(error).__name__)

    def _frame(self, piece: bytes) -> list[bytes]:
        if self._left is not None:
            piece = piece[: self._left]
            self._left -= len(piece)
        if not piece:
            return []
        return [framed(piece)] if self._is_chunked else [piece]


class Pumps:
    """A few threads that read bodies ahead, in turn."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._asked: SimpleQueue[Stream | None] = SimpleQueue()
        self._threads: list[Thread] = []

    def put(self, stream: Stream) -> None:
        """Have more of this body read."""
        self._asked.put(stream)
        if len(self._threads) < self._most and self._asked.qsize() > 0:
            thread = Thread(target=self._run, name=f"pump-{len(self._threads)}", daemon=True)
            self._threads.append(thread)
            thread.start()

    def stop(self) -> None:
        for _ in self._threads:
            self._asked.put(None)

    def _run(self) -> None:
        while (stream := self._asked.get()) is not None:
            stream.read()
