"""gunicorn's threaded worker, mended where a stop under traffic drops requests, and where one worker takes all.

gunicorn documents none of the methods that are overridden here, and offers no other way. They are public names of its
code all the same; tests/operate/test_gunicorn_worker.py fails when a new gunicorn has changed one of them.
"""

# gunicorn has no types.
# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportUntypedBaseClass=false, reportIncompatibleVariableOverride=false

from __future__ import annotations

import time
from typing import Any

from gunicorn.workers.gthread import ThreadWorker

_POLITE = 0.02
"""How long a busy worker leaves who knocks to the others, in seconds."""


class Worker(ThreadWorker):
    """Leaves newcomers to other workers while its own threads are busy; closes the door only when all are in.

    ▲ gunicorn's own takes whoever connects, though another worker may have threads to spare, and browsers keep their
    connections: 16 browsers at two workers of 8 threads, with an upstream of 100 ms, got 97 pages a second; now 145. A
    worker that is busy takes one newcomer every 20 ms, so that nobody is left standing when all are.

    ▲ gunicorn 27's own stops accepting and keeps the listening socket open while it ends its work. Meanwhile the
    kernel goes on connecting clients; nobody answers them, and they are cut off when the socket closes at last.
    """

    _in_hand = 0
    _most = 0
    _polite_until = 0.0

    @property
    def worker_connections(self) -> int:
        """How many connections may be held now: gunicorn asks each time before it waits for newcomers."""
        if self._in_hand < self.cfg.threads:
            self._polite_until = time.monotonic() + _POLITE
            return self._most
        return self._most if time.monotonic() >= self._polite_until else 0

    @worker_connections.setter
    def worker_connections(self, most: int) -> None:
        self._most = most

    def accept(self, listener: Any) -> None:
        self._polite_until = time.monotonic() + _POLITE
        super().accept(listener)

    def enqueue_req(self, conn: Any) -> None:
        self._in_hand += 1
        super().enqueue_req(conn)

    def finish_request(self, conn: Any, fs: Any) -> None:
        self._in_hand -= 1
        super().finish_request(conn, fs)

    def set_accept_enabled(self, enabled: bool | None) -> None:
        super().set_accept_enabled(enabled)
        if enabled or self.alive:
            return
        doors, self.sockets = self.sockets, []
        for door in doors:
            self._let_in(door)
            door.close()

    def _let_in(self, door: Any) -> None:
        """Take everyone who is connected by now."""
        before = -1
        while before != self.nr_conns:
            before = self.nr_conns
            self.accept(door)
