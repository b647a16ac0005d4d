"""gunicorn's worker for the portal: slow clients don't occupy threads, and the cost per request is low.

An event loop reads every request completely, with timeouts, before a thread gets it, and writes the rest of a response
that a client is slow to read. Incomplete requests, slow bodies and slow readers thus cost a socket and some memory,
nothing else. It uses gunicorn's documented worker interface (`gunicorn.workers.base.Worker`) and is selected by the
setting `worker_class`. A thread writes its response directly; the loop takes over only if the client doesn't accept it.

It honours gunicorn's threads, worker_connections, keepalive, max_requests, graceful_timeout, the limits of request line
and fields, and forwarded_allow_ips. TLS and HTTP/2 are left to the proxy: with them it refuses to start.
"""

# gunicorn has no types.
# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportUntypedBaseClass=false

from __future__ import annotations

import logging
import os
import selectors
import socket
import sys
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from ipaddress import ip_address
from threading import Lock
from typing import TYPE_CHECKING, Any, cast

from gunicorn.workers.base import Worker as BaseWorker

from portal.server.application import Threads, where
from portal.server.connection import Connection
from portal.server.request import Limits, Request
from portal.server.state import Patience, State
from portal.server.stream import Pumps

if TYPE_CHECKING:
    from wsgiref.types import WSGIApplication

_POLITE = 0.02
"""How long a busy worker leaves new connections to the others, in seconds."""

_SOON = 0.01
"""How soon a new connection's first request is expected, in seconds; until then it counts as occupying a thread."""

_CLOSED = 0.005
_HANDOVER = 20.0
_SWEEP = 1.0
_PUMPS = 4


class Worker(BaseWorker):
    """Serves HTTP/1.1 with one event loop and `threads` threads; request bodies of at most 1 MB."""

    largest_body = 1024 * 1024
    most_of_bodies = 64 * 1024 * 1024
    """How many bytes of request bodies may be held at once, until their requests are answered."""

    patience = Patience()

    may_leave: Callable[[], bool] = staticmethod(lambda: True)
    """Polled after the worker is told to stop; it keeps serving until this is true, for a few seconds at most. Set in
    `post_fork`."""

    arrive: Callable[[], None] = staticmethod(lambda: None)
    """Called when it starts serving. Set in `post_fork`."""

    def __init__(self, *args: Any, **named: Any) -> None:
        super().__init__(*args, **named)
        cfg = self.cfg
        self.limits = Limits(
            line=cfg.limit_request_line or Limits.line,
            fields=cfg.limit_request_fields or Limits.fields,
            field=cfg.limit_request_field_size or Limits.field,
        )
        self.errors: logging.Logger = self.log.error_log
        self._connections: set[Connection] = set()
        self._posted: deque[Connection] = deque()
        self._held = 0
        self._held_lock = Lock()
        self._is_open = False
        self._newcomers: deque[float] = deque()
        self._polite_until = 0.0
        self._told = 0.0
        self._leaves = False

    @classmethod
    def check_config(cls, cfg: Any, log: Any) -> None:
        """Check gunicorn's settings; gunicorn calls this before any worker starts."""
        if cfg.is_ssl or cfg.proxy_protocol not in (False, "off") or cfg.protocol != "http":
            log.error("This worker speaks plain HTTP/1.1: TLS and other protocols are the proxy's.")
            sys.exit(2)

    def run(self) -> None:
        """Serve until told to stop, then finish what is in progress."""
        self.poller: selectors.BaseSelector = selectors.DefaultSelector()
        self.poller.register(self.PIPE[0], selectors.EVENT_READ, self._woken)
        self._pumps = Pumps(_PUMPS)
        self._threads = Threads(
            cast("WSGIApplication", self.wsgi),
            self._pumps,
            self.cfg.threads,
            self.errors,
            lambda: self.alive,
        )
        for door in self.sockets:
            door.setblocking(False)
        self._bases = {door.fileno(): self._base(door) for door in self.sockets}
        self.arrive()
        sweep = 0.0
        while self.alive or self._stays():
            self._open_doors()
            self._turn(_SWEEP if self._is_open else _CLOSED)
            if (now := time.monotonic()) >= sweep:
                sweep = now + _SWEEP
                if not self._sweep(now):
                    break
        self._finish()

    def handle_exit(self, sig: int, frame: Any) -> None:
        """Handle SIGTERM: stop gracefully; on the second one, at once."""
        self._leaves = not self.alive
        super().handle_exit(sig, frame)

    def _stays(self) -> bool:
        """Whether the worker, told to stop, is still needed."""
        now = time.monotonic()
        self._told = self._told or now
        return not self._leaves and now - self._told < _HANDOVER and not self.may_leave()

    # Called by connections

    def dispatch(self, connection: Connection, request: Request, body: bytes | None) -> None:
        """Hand a request to a thread; a `body` of None was too large to be accepted."""
        self.nr += 1
        if self.nr >= self.max_requests and self.alive:
            self.log.info("Autorestarting worker after current request.")
            self.alive = False
        if connection.trusted:
            self._take_scheme(request)
        if connection.is_new and self._newcomers:
            self._newcomers.popleft()
        connection.busy()
        self._threads.put(connection, request, body)

    def post(self, connection: Connection) -> None:
        """Have the loop continue with a connection; threads may call this."""
        self._posted.append(connection)
        with suppress(BlockingIOError):  # the loop is already being woken
            os.write(self.PIPE[1], b".")

    def keepalive(self) -> float:
        """How long a connection is kept for another request, in seconds; not as long while the worker shuts down."""
        return self.cfg.keepalive if self.alive else self.patience.last

    def hold(self, more: int) -> None:
        """Count this many more bytes of request bodies as held; threads may call this."""
        with self._held_lock:
            self._held += more

    def make_room_for_bodies(self) -> None:
        """Drop the oldest unfinished bodies while all bodies together, also those of requests in hand, are too many."""
        while self._held > self.most_of_bodies:
            arriving = [one for one in self._connections if one.state is State.BODY]
            if not arriving:
                return
            min(arriving, key=_age).drop()

    def forget(self, connection: Connection) -> None:
        """Forget a closed connection."""
        self._connections.discard(connection)

    # The loop

    def _turn(self, seconds: float) -> None:
        for key, mask in self.poller.select(seconds):
            try:
                key.data(mask)
            except Exception as error:  # noqa: BLE001 (a failure with one client must not end the loop for all)
                self._failed(key.data, error)
        while self._posted:
            connection = self._posted.popleft()
            try:
                connection.go_on()
            except Exception as error:  # noqa: BLE001 (as above)
                self._failed(connection.on_event, error)

    def _failed(self, callback: Any, error: Exception) -> None:
        """Log where the server itself failed, without the client's data, and drop the connection."""
        self.log.error("The server failed: %s at %s", type(error).__name__, where(error))
        owner = getattr(callback, "__self__", None)
        if isinstance(owner, Connection):
            owner.drop()

    def _woken(self, _: int) -> None:
        with suppress(BlockingIOError):
            os.read(self.PIPE[0], 4096)

    def _sweep(self, now: float) -> bool:
        """Expire connections that timed out; return whether gunicorn's master is still alive."""
        self.notify()
        for connection in [one for one in self._connections if one.deadline < now]:
            connection.expire()
        if self.ppid != os.getppid():
            self.log.info("Parent changed, shutting down: %s", self)
            return False
        return True

    def _open_doors(self) -> None:
        """Accept new connections; while all threads are busy, leave them to workers that may have free threads.

        Browsers keep their connections, so an uneven distribution lasts: with 16 browsers, two workers of 8 threads and an
        upstream of 100 ms, this raised throughput from 97 to 145 pages a second. A busy worker still accepts one
        connection every 20 ms, so that none waits forever when all workers are busy.
        """
        now = time.monotonic()
        while self._newcomers and self._newcomers[0] < now - _SOON:
            self._newcomers.popleft()
        busy = self._threads.in_hand + len(self._newcomers)
        wanted = busy < self.cfg.threads or now >= self._polite_until
        if wanted == self._is_open:
            return
        for door in self.sockets:
            if wanted:
                self.poller.register(door, selectors.EVENT_READ, self._entering(door))
            else:
                self.poller.unregister(door)
        self._is_open = wanted

    def _entering(self, door: socket.socket) -> Callable[[int], None]:
        def enter(_: int) -> None:
            self._let_in(door)

        return enter

    def _let_in(self, door: socket.socket) -> bool:
        """Accept one new connection; return whether there was one."""
        try:
            client, address = door.accept()
        except (BlockingIOError, ConnectionAbortedError):
            return False
        except OSError as error:
            self.log.error("Nobody can be let in: %s", os.strerror(error.errno or 0))
            time.sleep(_POLITE)  # e.g. out of file descriptors; existing connections go on
            return False
        client.setblocking(False)
        now = time.monotonic()
        self._polite_until = now + _POLITE
        self._newcomers.append(now)
        base = dict(self._bases[door.fileno()])
        if isinstance(address, tuple):
            base["REMOTE_ADDR"], base["REMOTE_PORT"] = str(address[0]), str(address[1])
        else:
            base["REMOTE_ADDR"] = ""
        if len(self._connections) >= self.cfg.worker_connections and not self._make_room():
            client.close()
            return True
        self._connections.add(Connection(self, client, base, trusted=self._is_trusted(address)))
        return True

    def _make_room(self) -> bool:
        """Drop a lingering connection, else the one that has been sending a request longest, else the longest idle one.

        Return whether there was one.
        """
        for is_dispensable in (_is_lingering, _is_arriving, _is_idle):
            if some := [one for one in self._connections if is_dispensable(one)]:
                min(some, key=_age).drop()
                return True
        return False

    def _is_trusted(self, address: object) -> bool:
        """Whether the peer's headers may set the scheme, by gunicorn's rule (`forwarded_allow_ips`)."""
        if not isinstance(address, tuple):
            return True
        allowed = self.cfg.forwarded_allow_ips
        if not allowed:
            return False
        host = ip_address(str(address[0]).partition("%")[0])
        return "*" in allowed or any(host in network for network in self.cfg.forwarded_allow_networks())

    def _take_scheme(self, request: Request) -> None:
        for name, secure in self.cfg.secure_scheme_headers.items():
            said = request.environ.get(f"HTTP_{name.upper().replace('-', '_')}")
            if said is not None:
                request.environ["wsgi.url_scheme"] = "https" if said == secure else "http"

    def _base(self, door: socket.socket) -> dict[str, Any]:
        """The common part of the environs of all requests on this listening socket (PEP 3333)."""
        name = door.getsockname()
        host, port = (name[0], name[1]) if isinstance(name, tuple) else ("localhost", "")
        return {
            "wsgi.version": (1, 0),
            "wsgi.url_scheme": "http",
            "wsgi.errors": sys.stderr,
            "wsgi.multithread": self.cfg.threads > 1,
            "wsgi.multiprocess": self.cfg.workers > 1,
            "wsgi.run_once": False,
            "wsgi.input_terminated": True,
            "SERVER_SOFTWARE": "gunicorn",
            "SERVER_NAME": str(host),
            "SERVER_PORT": str(port),
            "SCRIPT_NAME": os.environ.get("SCRIPT_NAME", ""),
        }

    # Shutting down

    def _finish(self) -> None:
        """Accept pending connections, close the listening sockets, and finish open requests within `graceful_timeout`.

        A listening socket that is merely no longer polled would still connect clients in the kernel, unanswered.
        """
        until = time.monotonic() + self.cfg.graceful_timeout
        if self._is_open:
            for door in self.sockets:
                self.poller.unregister(door)
        for door in self.sockets:
            while self._let_in(door):
                pass
            door.close()
        self.sockets = []
        for connection in list(self._connections):
            connection.stop_soon()
        sweep = 0.0
        while self._connections and (now := time.monotonic()) < until:
            self._turn(0.1)
            if now >= sweep:
                sweep = now + 0.1
                self.notify()
                for connection in [one for one in self._connections if one.deadline < now]:
                    connection.expire()
        self._threads.stop(max(0.0, until - time.monotonic()))
        self._pumps.stop()
        for connection in list(self._connections):
            connection.drop()


class LargeBodyWorker(Worker):
    """The same for an application that receives e-mail with attachments."""

    largest_body = 26 * 1024 * 1024


def _age(connection: Connection) -> float:
    return connection.since


def _is_lingering(connection: Connection) -> bool:
    return connection.state is State.LINGERING


def _is_arriving(connection: Connection) -> bool:
    return connection.is_arriving


def _is_idle(connection: Connection) -> bool:
    return connection.is_idle
