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
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from ipaddress import ip_address
from threading import Lock
from typing import TYPE_CHECKING, Any, cast

from gunicorn.arbiter import Arbiter
from gunicorn.workers.base import Worker as BaseWorker

from portal.server.application import ThreadPool, location
from portal.server.connection import Connection
from portal.server.request import Limits, Request
from portal.server.state import COMPLETE_AT, ClientTimeouts, ConnectionState
from portal.server.stream import Pumps

if TYPE_CHECKING:
    from wsgiref.types import WSGIApplication

_BACKOFF = 0.02
"""How long a busy worker leaves new connections to the others, in seconds."""

_FIRST_REQUEST = 0.01
"""How long a new connection counts as occupying a thread before its first request, in seconds."""

_BACKOFF_POLL = 0.005
_LONGEST_HANDOVER = 20.0
_CHECK_INTERVAL = 1.0
_PUMPS = 4
_EXPRESS_THREADS = 3
_IS_EXPRESS = "server.is_express"


class Worker(BaseWorker):
    """Serves HTTP/1.1 with one event loop and `threads` threads; request bodies of at most 1 MB."""

    largest_body = 1024 * 1024
    max_buffered = 64 * 1024 * 1024
    """How many bytes of request bodies may be in memory at once, until their requests are answered."""

    timeouts = ClientTimeouts()

    error_headers: Mapping[str, str] = {}
    error_headers_over_tls: Mapping[str, str] = {}
    """Headers of the server's own responses, such as 400; set in `post_worker_init`."""

    may_stop: Callable[[], bool] = staticmethod(lambda: True)
    """Polled after the worker is told to stop; it keeps serving until this is true, for a few seconds at most. Set in
    `post_fork`."""

    on_ready: Callable[[], None] = staticmethod(lambda: None)
    """Called when it starts serving. Set in `post_fork`."""

    express_paths: frozenset[str] = frozenset()
    """Paths answered by threads of their own, which no page occupies: checks of health, metrics. Set in
    `post_worker_init`."""

    express_listener: socket.socket | None = None
    """The listening socket on which `express_paths` are answered, and nothing else; without one, all sockets answer them. Set in
    `post_worker_init`."""

    tenant_of: Callable[[Mapping[str, Any]], str] | None = None
    """The tenant that a request (its environ) is for; if set, no tenant occupies the last quarter of the threads with more
    than one request. Set in `post_worker_init`."""

    on_check: Callable[[int, int], None] = staticmethod(lambda *_: None)
    """Called about once a second with the number of open connections and of requests waiting for a thread. Set in
    `post_worker_init`."""

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
        self._scheduled: deque[Connection] = deque()
        self._body_bytes = 0
        self._body_lock = Lock()
        self._is_accepting = False
        self._awaited: deque[float] = deque()
        self._backoff_until = 0.0
        self._stop_requested_at = 0.0
        self._stops_at_once = False

    @classmethod
    def check_config(cls, cfg: Any, log: Any) -> None:
        """Check gunicorn's settings; gunicorn calls this before any worker starts."""
        if cfg.is_ssl or cfg.proxy_protocol not in (False, "off") or cfg.protocol != "http":
            log.error("This worker speaks plain HTTP/1.1: TLS and other protocols are the proxy's.")
            sys.exit(2)

    def run(self) -> None:
        """Serve until told to stop, then finish what is in progress."""
        self.poller: selectors.BaseSelector = selectors.DefaultSelector()
        self.poller.register(self.PIPE[0], selectors.EVENT_READ, self._clear_wakeup)
        self._pumps = Pumps(_PUMPS)
        self._threads = self._new_threads(
            self.cfg.threads, reserve=self.cfg.threads // 4 if self.tenant_of else 0
        )
        self._express = self._new_threads(_EXPRESS_THREADS)
        for listener in self.sockets:
            self._listen(listener)
        self._base_environs = {listener.fileno(): self._base_environ(listener) for listener in self.sockets}
        if self.express_listener is not None:
            self._poll(self.express_listener)
        self.on_ready()
        next_check = 0.0
        while self.alive or self._must_keep_serving():
            self._accept_or_back_off()
            self._run_once(_CHECK_INTERVAL if self._is_accepting else _BACKOFF_POLL)
            if (now := time.monotonic()) >= next_check:
                next_check = now + _CHECK_INTERVAL
                self.on_check(len(self._connections), self._threads.waiting)
                if not self._expire_connections(now):
                    break
        self._shut_down()

    def _listen(self, listener: socket.socket) -> None:
        """Let clients connect, unless another worker did; before a worker can serve, connecting is refused at once."""
        listener.setblocking(False)
        if not listener.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN):
            try:
                listener.listen(self.cfg.backlog)
            except OSError as error:
                self.log.error("Can't listen at %s: %s", listener.getsockname(), error.strerror)
                sys.exit(Arbiter.WORKER_BOOT_ERROR)  # the master then exits, too

    def _new_threads(self, size: int, *, reserve: int = 0) -> ThreadPool:
        application = cast("WSGIApplication", self.wsgi)
        return ThreadPool(application, self._pumps, size, self.errors, lambda: self.alive, reserve=reserve)

    def handle_exit(self, sig: int, frame: Any) -> None:
        """Handle SIGTERM: stop gracefully; on the second one, at once."""
        self._stops_at_once = not self.alive
        super().handle_exit(sig, frame)

    def _must_keep_serving(self) -> bool:
        """Whether the worker, told to stop, is still needed."""
        now = time.monotonic()
        self._stop_requested_at = self._stop_requested_at or now
        return (
            not self._stops_at_once
            and now - self._stop_requested_at < _LONGEST_HANDOVER
            and not self.may_stop()
        )

    # Called by connections

    def dispatch(self, connection: Connection, request: Request, body: bytes | None) -> None:
        """Hand a request to a thread; a `body` of None was too large to be accepted."""
        is_express = request.environ["PATH_INFO"] in self.express_paths
        if self.express_listener is not None and is_express != connection.base[_IS_EXPRESS]:
            connection.refuse(404)
            return
        self.nr += 1
        if self.nr >= self.max_requests and self.alive:
            self.log.info("Autorestarting worker after current request.")
            self.alive = False
        if connection.trusted:
            self._set_scheme(request)
        if connection.is_new and self._awaited and not connection.base[_IS_EXPRESS]:
            self._awaited.popleft()
        connection.mark_busy()
        request.environ[COMPLETE_AT] = time.monotonic()
        if is_express:
            self._express.submit(connection, request, body)
        else:
            tenant = self.tenant_of(request.environ) if self.tenant_of else ""
            self._threads.submit(connection, request, body, tenant=tenant)

    def schedule(self, connection: Connection) -> None:
        """Have the loop continue with a connection; threads may call this."""
        self._scheduled.append(connection)
        with suppress(BlockingIOError):  # the loop is already being woken
            os.write(self.PIPE[1], b".")

    def keepalive(self) -> float:
        """How long a connection is kept for another request, in seconds; not as long while the worker shuts down."""
        return self.cfg.keepalive if self.alive else self.timeouts.shutdown

    def count_body_bytes(self, more: int) -> None:
        """Count this many more bytes of request bodies as held; threads may call this."""
        with self._body_lock:
            self._body_bytes += more

    def limit_body_bytes(self) -> None:
        """Drop the oldest unfinished bodies while all bodies together, also those of requests in hand, are too many."""
        while self._body_bytes > self.max_buffered:
            unfinished = [each for each in self._connections if each.state is ConnectionState.BODY]
            if not unfinished:
                return
            min(unfinished, key=_age).drop()

    def remove(self, connection: Connection) -> None:
        self._connections.discard(connection)

    # The loop

    def _run_once(self, seconds: float) -> None:
        for key, mask in self.poller.select(seconds):
            try:
                key.data(mask)
            except Exception as error:  # noqa: BLE001 (a failure with one client must not end the loop for all)
                self._handle_failure(key.data, error)
        while self._scheduled:
            connection = self._scheduled.popleft()
            try:
                connection.resume()
            except Exception as error:  # noqa: BLE001 (as above)
                self._handle_failure(connection.on_event, error)

    def _handle_failure(self, callback: Any, error: Exception) -> None:
        """Log where the server itself failed, without the client's data, and drop the connection."""
        self.log.error("The server failed: %s at %s", type(error).__name__, location(error))
        owner = getattr(callback, "__self__", None)
        if isinstance(owner, Connection):
            owner.drop()

    def _clear_wakeup(self, _: int) -> None:
        with suppress(BlockingIOError):
            os.read(self.PIPE[0], 4096)

    def _expire_connections(self, now: float) -> bool:
        """Expire connections that timed out; return whether gunicorn's master is still alive."""
        self.notify()
        for connection in [each for each in self._connections if each.deadline < now]:
            connection.expire()
        if self.ppid != os.getppid():
            self.log.info("Parent changed, shutting down: %s", self)
            return False
        return True

    def _accept_or_back_off(self) -> None:
        """Accept new connections; while all threads are busy, leave them to workers that may have free threads.

        Browsers keep their connections, so an uneven distribution lasts: with 16 browsers, two workers of 8 threads and an
        upstream of 100 ms, this raised throughput from 97 to 145 pages a second. A busy worker still accepts one
        connection every 20 ms, so that none waits forever when all workers are busy.
        """
        now = time.monotonic()
        while self._awaited and self._awaited[0] < now - _FIRST_REQUEST:
            self._awaited.popleft()
        active = self._threads.active + len(self._awaited)
        accepts = active < self.cfg.threads or now >= self._backoff_until
        if accepts == self._is_accepting:
            return
        for listener in self.sockets:
            if listener is self.express_listener:
                continue
            if accepts:
                self._poll(listener)
            else:
                self.poller.unregister(listener)
        self._is_accepting = accepts

    def _poll(self, listener: socket.socket) -> None:
        self.poller.register(listener, selectors.EVENT_READ, partial(self._accept, listener))

    def _accept(self, listener: socket.socket, _mask: int = 0) -> bool:
        """Accept one new connection; return whether there was one."""
        try:
            client, address = listener.accept()
        except (BlockingIOError, ConnectionAbortedError):
            return False
        except OSError as error:
            self.log.error("No connection can be accepted: %s", os.strerror(error.errno or 0))
            time.sleep(_BACKOFF)  # e.g. out of file descriptors; existing connections go on
            return False
        client.setblocking(False)
        now = time.monotonic()
        if listener is not self.express_listener:
            self._backoff_until = now + _BACKOFF
            self._awaited.append(now)
        environ = dict(self._base_environs[listener.fileno()])
        if isinstance(address, tuple):
            environ["REMOTE_ADDR"], environ["REMOTE_PORT"] = str(address[0]), str(address[1])
        else:
            environ["REMOTE_ADDR"] = ""
        if len(self._connections) >= self.cfg.worker_connections and not self._drop_one():
            client.close()
            return True
        self._connections.add(Connection(self, client, environ, trusted=self._is_trusted(address)))
        return True

    def _drop_one(self) -> bool:
        """Drop a lingering connection, else the one that has been sending a request longest, else the longest idle one, else the
        slowest reader.

        Return whether there was one.
        """
        slow_since = time.monotonic() - self.timeouts.head

        def is_slow_reader(connection: Connection) -> bool:
            return connection.state is ConnectionState.WRITING and connection.since < slow_since

        for is_dispensable in (_is_lingering, _is_receiving, _is_idle, is_slow_reader):
            if candidates := [each for each in self._connections if is_dispensable(each)]:
                min(candidates, key=_age).drop()
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

    def _set_scheme(self, request: Request) -> None:
        for name, secure in self.cfg.secure_scheme_headers.items():
            given = request.environ.get(f"HTTP_{name.upper().replace('-', '_')}")
            if given is not None:
                request.environ["wsgi.url_scheme"] = "https" if given == secure else "http"

    def _base_environ(self, listener: socket.socket) -> dict[str, Any]:
        """What the environs of all requests on this listening socket have in common (PEP 3333)."""
        name = listener.getsockname()
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
            _IS_EXPRESS: listener is self.express_listener,
        }

    # Shutting down

    def _shut_down(self) -> None:
        """Accept pending connections, close the listening sockets, and finish open requests within `graceful_timeout`.

        A listening socket that is merely no longer polled would still connect clients in the kernel, unanswered.
        """
        until = time.monotonic() + self.cfg.graceful_timeout
        for listener in self.sockets:
            if self._is_accepting or listener is self.express_listener:
                self.poller.unregister(listener)
            while self._accept(listener):
                pass
            listener.close()
        self.sockets = []
        for connection in list(self._connections):
            connection.shorten_keepalive()
        next_check = 0.0
        while self._connections and (now := time.monotonic()) < until:
            self._run_once(0.1)
            if now >= next_check:
                next_check = now + 0.1
                self.notify()
                for connection in [each for each in self._connections if each.deadline < now]:
                    connection.expire()
        self._threads.stop(max(0.0, until - time.monotonic()))
        self._express.stop(max(0.0, until - time.monotonic()))
        self._pumps.stop()
        for connection in list(self._connections):
            connection.drop()


def _age(connection: Connection) -> float:
    return connection.since


def _is_lingering(connection: Connection) -> bool:
    return connection.state is ConnectionState.LINGERING


def _is_receiving(connection: Connection) -> bool:
    return connection.is_receiving


def _is_idle(connection: Connection) -> bool:
    return connection.is_idle
