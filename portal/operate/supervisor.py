"""The hooks of gunicorn's master process, one function each, called by gunicorn.conf.py.

They check the settings before workers start and before a reload, create the metrics folder, and assign each worker the
slot that its metrics files are named after. Their state is kept on gunicorn's own objects (`server.files`,
`worker.slot`).
"""

from __future__ import annotations

import ctypes
import gc
import importlib
import logging
import os
import resource
import shutil
import socket
import struct
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from itertools import count
from mmap import mmap
from pathlib import Path
from typing import Protocol

from gunicorn.errors import HaltServer
from gunicorn.sock import BaseSocket

from portal.operate import generation, log_lines, scratch, settings_files
from portal.operate.generation import Generation, Heartbeat
from portal.operate.settings_files import SettingsFiles

LEAST_FILES = 1024
"""800 connections (gunicorn.conf.py), the connections to the API, the store and the identity server, and files."""

_METRICS = "PROMETHEUS_MULTIPROC_DIR"
_SLOT = "PORTAL_WORKER_SLOT"
_M_ARENA_MAX = -8  # mallopt(3)
_TIDIED_SECONDS = 60
_libc = ctypes.CDLL(None)


@dataclass(slots=True)
class KnownWorker:
    """A worker as the master knows it, in place of gunicorn's own object of it.

    `slot` is the lowest number that was free when it started; `age` counts all workers started.
    """

    pid: int
    age: int
    slot: int
    tmp: Heartbeat
    aborted: bool = False


class Worker(Protocol):
    """gunicorn's worker, in its own process.

    It calls `on_ready` when it starts serving; once told to stop, it keeps serving until it `may_stop`.
    """

    age: int
    sockets: list[socket.socket]
    may_stop: Callable[[], bool]
    on_ready: Callable[[], None]

    @property
    def log(self) -> logging.Logger: ...


class Handover:
    """Keeps old workers serving during a reload until the new ones do; state is in memory shared by all processes.

    gunicorn stops the old workers as soon as it has forked the new ones, which take a second or more before they serve.
    Without this, requests in between had to wait, under load for 6 s.
    """

    _HEAD = struct.Struct("<QQ")

    def __init__(self) -> None:
        self._shared = mmap(-1, 4096)

    def begin(self, last: int, count: int) -> None:
        """Start a handover: `count` new workers replace those of an age up to `last`."""
        self._shared[:] = bytes(len(self._shared))
        self._HEAD.pack_into(self._shared, 0, last, min(count, len(self._shared) - self._HEAD.size))

    def mark_ready(self, age: int) -> None:
        """Record that the worker of this age is serving."""
        last, count = self._HEAD.unpack_from(self._shared)
        if last < age <= last + count:
            self._shared[self._HEAD.size + age - last - 1] = 1

    def may_stop(self, age: int) -> bool:
        """Whether the worker of this age, once told to stop, is no longer needed."""
        last, count = self._HEAD.unpack_from(self._shared)
        begin = self._HEAD.size
        return age > last or all(self._shared[begin : begin + count])


class Server(Protocol):
    """The part of gunicorn's master (`Arbiter`) that is used here."""

    WORKERS: dict[int, KnownWorker]
    worker_age: int
    num_workers: int
    pid: int
    slot: int
    asked_by: socket.socket
    reload: Callable[[], None]
    stop: Callable[[bool], None]
    spawn_worker: Callable[[], int]
    files: SettingsFiles
    handover: Handover
    generation: Generation | None

    @property
    def log(self) -> logging.Logger: ...


def open_files() -> int:
    """How many files each process may have open, after raising that to `LEAST_FILES` if the system allows it."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY or soft >= LEAST_FILES:
        return LEAST_FILES
    wanted = LEAST_FILES if hard == resource.RLIM_INFINITY else min(LEAST_FILES, hard)
    resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    return wanted


def check_settings(server: Server) -> None:
    """Exit with status 2 before any worker starts if the settings are wrong."""
    scratch.remove_abandoned()
    if (files := open_files()) < LEAST_FILES:
        log_lines.say(
            "error",
            f"Only {files} files may be open at once (ulimit -n), the portal needs {LEAST_FILES}: one for each connection.",
        )
        sys.exit(2)
    server.files = SettingsFiles()
    if not server.files.read():
        shutil.rmtree(server.files.folder)
        sys.exit(2)


def defer_listening() -> None:
    """Let the master bind its sockets without listening; the first worker that can serve does (portal/server/worker.py).

    Otherwise a machine that starts would accept connections seconds before it can answer, and a load balancer would give it
    its share of the requests.
    """
    setattr(BaseSocket, "_is_listening", staticmethod(_leave_alone))  # noqa: B010


def _leave_alone(_socket: object) -> bool:
    return True


def prepare_reload(server: Server) -> None:
    """Create the metrics folder, let workers be forked from a parent that has loaded it, and from now on ignore a
    reload (HUP) if the settings are wrong.

    Otherwise gunicorn would stop the old workers, find that no new one can start, and exit.
    """
    os.environ[_METRICS] = str(scratch.new_folder("portal-metrics-"))
    server.handover = Handover()
    server.generation = None
    server.spawn_worker = partial(spawn_worker, server)
    reload, stop = server.reload, server.stop

    def end_generation() -> None:
        if server.generation:
            server.generation.end()
        server.generation = None

    def stop_all(graceful: bool = True) -> None:
        end_generation()  # first: nobody would accept what its copy of the listening sockets still lets in
        for _ in range(server.num_workers + 1):
            with suppress(HaltServer):  # another worker couldn't start, either
                stop(graceful)
                break

    def reload_if_good() -> None:
        if not server.files.read():
            server.log.error("Not reloaded: the settings are wrong, the workers go on with those they have.")
            return
        # New workers run the current code; the hooks that start them should too.
        for module in (scratch, settings_files, generation, sys.modules[__name__]):
            importlib.reload(module)
        end_generation()
        server.spawn_worker = partial(sys.modules[__name__].spawn_worker, server)
        server.handover.begin(server.worker_age, server.num_workers)
        reload()

    server.reload, server.stop = reload_if_good, stop_all


def spawn_worker(server: Server) -> int:
    """Start a worker in place of gunicorn's `spawn_worker`: forked from this generation's parent, not from the master.

    It has the lowest free slot: its metrics continue where the slot's last worker ended.
    """
    taken = {other.slot for other in server.WORKERS.values()}
    slot = next(slot for slot in count() if slot not in taken)
    server.worker_age += 1
    try:
        server.generation = server.generation or Generation(server)
        pid, heartbeat = server.generation.fork(server.worker_age, slot)
    except OSError as error:  # its parent was killed
        server.log.error("No worker could be started: %s", error)
        if server.generation:
            server.generation.end()
        server.generation = None
        return 0
    server.WORKERS[pid] = KnownWorker(pid, server.worker_age, slot, heartbeat)
    return pid


def prepare_worker(server: Server, worker: Worker) -> None:
    """In the worker: give it its slot and handover functions, and limit malloc to one arena, not one per thread."""
    generation.leave(server)
    os.environ[_SLOT] = str(server.slot)
    worker.may_stop = partial(server.handover.may_stop, worker.age)
    worker.on_ready = partial(server.handover.mark_ready, worker.age)
    if hasattr(_libc, "mallopt"):
        _libc.mallopt(_M_ARENA_MAX, 1)


def listener_of_checks(worker: Worker) -> socket.socket | None:
    """The listener for checks of health alone, the second; None if gunicorn, which was given sockets, listens at no address."""
    if len(worker.sockets) == 2:
        return worker.sockets[1]
    worker.log.error(
        "PORTAL_HEALTH_BIND isn't listened at: gunicorn was given sockets (PORTAL_BIND=fd://, LISTEN_FDS or GUNICORN_FD)"
    )
    return None


def settle(worker: Worker) -> None:
    """Once the worker is loaded, exempt its objects from garbage collection and return freed memory to the system.

    Python looks for cycles at every 700 objects, a few times a page; at every 5,000 it takes a twelfth less CPU.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(5_000)
    generation.return_freed_memory()


def tidied(record: Callable[[int, int], None]) -> Callable[[int, int], None]:
    """Return `record`, to be called each second; each minute it also returns freed memory to the system.

    A template that is compiled for its first page leaves some, 8 MB in all.
    """
    calls = count(1)

    def check(connections: int, waiting: int) -> None:
        record(connections, waiting)
        if next(calls) % _TIDIED_SECONDS == 0:
            generation.return_freed_memory()

    return check


def forget_worker(worker: KnownWorker) -> None:
    """Remove the metrics that only apply to a live worker, such as open circuit breakers."""
    for file in Path(os.environ[_METRICS]).glob(f"gauge_live*_{worker.slot}.db"):
        file.unlink(missing_ok=True)


def remove_scratch(server: Server) -> None:
    """Remove the temporary folders."""
    shutil.rmtree(os.environ[_METRICS], ignore_errors=True)
    shutil.rmtree(server.files.folder, ignore_errors=True)
