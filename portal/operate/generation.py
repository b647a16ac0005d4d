"""The process that workers are forked from: it has loaded the application, so that they share the memory which that takes.

Every start and every reload has one of its own, a generation's parent. gunicorn's master forks it and never loads the portal
itself, so a reload takes the code that is on disk then. The parent loads the application, which its workers go on with:
whatever mustn't be shared, such as connections and threads, begins with a process's first use of it.

Workers are the master's children all the same, for it to wait for and to stop: whoever forks one ends at once, and the
kernel gives the orphan to the master, which asked for that (prctl(2), PR_SET_CHILD_SUBREAPER).
"""

from __future__ import annotations

import ctypes
import gc
import os
import signal
import socket
import struct
import time
from contextlib import suppress
from pathlib import Path
from typing import Any, cast

_NAME, _SUBREAPER = 15, 36  # prctl(2)
_IGNORED = (
    *(signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2),
    *(signal.SIGWINCH, signal.SIGTTIN, signal.SIGTTOU),
)
"""The master's: from a terminal they reach its children too."""
_REQUEST = struct.Struct("<QQ")
_LONGEST_NUMBER = 32
_PATIENCE = 120.0
"""Seconds until a parent that doesn't answer is given up: to import takes one or two."""
_libc = ctypes.CDLL(None)


class Heartbeat:
    """The file whose time of change is a worker's last sign of life (gunicorn's `WorkerTmp`), as the master holds it."""

    def __init__(self, file: int) -> None:
        self._file = file

    def last_update(self) -> float:
        return os.fstat(self._file).st_mtime

    def close(self) -> None:
        if self._file >= 0:
            os.close(self._file)
        self._file = -1


class Generation:
    """A generation's parent, as the master sees it."""

    def __init__(self, master: Any) -> None:
        """Start it. In the worker, and nowhere else, this ends with SystemExit when the worker does."""
        _libc.prctl(_SUBREAPER, 1, 0, 0, 0)
        self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        if not os.fork():
            self._socket.close()
            _serve(master, theirs)
        theirs.close()
        self._socket.settimeout(_PATIENCE)

    def fork(self, age: int, slot: int) -> tuple[int, Heartbeat]:
        """Fork a worker; return its process id and heartbeat. Raises OSError if the parent is gone or doesn't answer."""
        self._socket.send(_REQUEST.pack(age, slot))
        number, files, _flags, _address = socket.recv_fds(self._socket, _LONGEST_NUMBER, 1)
        if not files:
            raise ConnectionResetError("the process that forks workers has ended")
        return int(number), Heartbeat(files[0])

    def end(self) -> None:
        """Let it end, and wait until it has let go of the listening sockets; its workers go on."""
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_WR)
            self._socket.recv(1)
        self._socket.close()


def return_freed_memory() -> None:
    """Give what was freed back to the system, where the C library can."""
    if hasattr(_libc, "malloc_trim"):
        _libc.malloc_trim(0)


def _serve(master: Any, asked_by: socket.socket) -> None:
    """Load the portal, then fork a worker for each request, until the master ends or has another generation.

    The master is gunicorn's `Arbiter`, here a copy of it: `slot` is that of the worker to come, `asked_by` the socket.
    """
    _libc.prctl(_NAME, b"portal-parent", 0, 0, 0)
    for number in _IGNORED:
        signal.signal(number, signal.SIG_IGN)
    for number in (signal.SIGTERM, signal.SIGCHLD):
        signal.signal(number, signal.SIG_DFL)
    for other in master.WORKERS.values():
        other.tmp.close()
    master.WORKERS, master.asked_by = {}, asked_by
    with suppress(Exception):  # a worker, which loads it again, says what is wrong
        master.app.wsgi()
    for file in Path(os.environ["PROMETHEUS_MULTIPROC_DIR"]).glob(f"*_{os.getpid()}.db"):
        file.unlink()
    gc.collect()
    return_freed_memory()
    gc.freeze()
    while request := asked_by.recv(_REQUEST.size):
        between = os.fork()
        if not between:
            _fork_worker(master, asked_by, *_REQUEST.unpack(request))
            os._exit(0)
        os.waitpid(between, 0)
    os._exit(0)


def _fork_worker(master: Any, asked_by: socket.socket, age: int, slot: int) -> None:
    """Fork a worker as gunicorn does, and send the master its process id and heartbeat."""
    master.worker_age, master.slot = age - 1, slot
    arbiter = cast("Any", type(master))
    worker: int = arbiter.spawn_worker(master)  # in the worker itself, this ends with SystemExit
    heartbeat: int = master.WORKERS[worker].tmp.fileno()
    try:
        socket.send_fds(asked_by, [str(worker).encode()], [heartbeat])
    except OSError:  # the master no longer waits for it
        os.kill(worker, signal.SIGKILL)


def leave(master: Any) -> None:
    """In a new worker: wait until it is the master's child, and leave name and socket of its own parent to that."""
    _libc.prctl(_NAME, b"portal-worker", 0, 0, 0)
    master.asked_by.close()
    until = time.monotonic() + _PATIENCE
    while os.getppid() != master.pid and time.monotonic() < until:
        time.sleep(0.001)
