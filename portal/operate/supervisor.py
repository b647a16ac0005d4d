"""What gunicorn's master does beside its own work: one function for each of its hooks, called by gunicorn.conf.py.

It checks the settings before workers start and before a reload, makes the folder of the metrics, and gives each worker
the slot that its metrics are named by. Its state hangs on gunicorn's own objects (`server.files`, `worker.slot`).
"""

from __future__ import annotations

import ctypes
import gc
import importlib
import logging
import os
import shutil
import struct
import sys
from collections.abc import Callable
from functools import partial
from itertools import count
from mmap import mmap
from pathlib import Path
from typing import Protocol

from portal.operate import scratch, settings_files
from portal.operate.settings_files import SettingsFiles

_METRICS = "PROMETHEUS_MULTIPROC_DIR"
_SLOT = "PORTAL_WORKER_SLOT"
_M_ARENA_MAX = -8  # mallopt(3)
_libc = ctypes.CDLL(None)


class Worker(Protocol):
    """gunicorn's worker, with the lowest number that was free when it started; `age` counts all that were started.

    It calls `arrive` when it serves; one that was told to end goes on until it `may_leave`.
    """

    slot: int
    age: int
    may_leave: Callable[[], bool]
    arrive: Callable[[], None]


class Handover:
    """Lets workers that a reload replaces serve until the new ones do, in memory that all processes share.

    ▲ gunicorn tells the old ones to end as soon as it has forked the new ones, which take a second and more before they
    serve: who came meanwhile waited, under load for 6 s.
    """

    _HEAD = struct.Struct("<QQ")

    def __init__(self) -> None:
        self._shared = mmap(-1, 4096)

    def begin(self, last: int, count: int) -> None:
        """So many workers take over from those up to this age."""
        self._shared[:] = bytes(len(self._shared))
        self._HEAD.pack_into(self._shared, 0, last, min(count, len(self._shared) - self._HEAD.size))

    def arrive(self, age: int) -> None:
        """The worker of this age serves."""
        last, count = self._HEAD.unpack_from(self._shared)
        if last < age <= last + count:
            self._shared[self._HEAD.size + age - last - 1] = 1

    def may_leave(self, age: int) -> bool:
        """Whether the worker of this age isn't needed any more, once it was told to end."""
        last, count = self._HEAD.unpack_from(self._shared)
        begin = self._HEAD.size
        return age > last or all(self._shared[begin : begin + count])


class Server(Protocol):
    """gunicorn's master (`Arbiter`), as far as it is used here."""

    WORKERS: dict[int, Worker]
    worker_age: int
    num_workers: int
    reload: Callable[[], None]
    files: SettingsFiles
    handover: Handover

    @property
    def log(self) -> logging.Logger: ...


def check_settings(server: Server) -> None:
    """Stop with exit status 2, before any worker starts, when the settings are wrong."""
    scratch.remove_abandoned()
    server.files = SettingsFiles()
    if not server.files.read():
        shutil.rmtree(server.files.folder)
        sys.exit(2)


def prepare_reload(server: Server) -> None:
    """Make the folder of the metrics; from now on refuse a reload (HUP) with wrong settings: the workers go on.

    Without that gunicorn would stop them, find that no new one starts, and end.
    """
    os.environ[_METRICS] = str(scratch.new_folder("portal-metrics-"))
    server.handover = Handover()
    reload = server.reload

    def reload_if_good() -> None:
        if not server.files.read():
            server.log.error("Not reloaded: the settings are wrong, the workers go on with those they have.")
            return
        # New workers have the code that is there now; so have the hooks that they are started with.
        for module in (scratch, settings_files, sys.modules[__name__]):
            importlib.reload(module)
        server.handover.begin(server.worker_age, server.num_workers)
        reload()

    server.reload = reload_if_good


def assign_slot(server: Server, worker: Worker) -> None:
    """Give the worker the lowest slot that is free: its metrics go on where the last one there ended."""
    taken = {other.slot for other in server.WORKERS.values()}
    worker.slot = next(slot for slot in count() if slot not in taken)


def prepare_worker(server: Server, worker: Worker) -> None:
    """Tell the worker its slot and when it may leave, and let its threads share two heaps, not one for each thread."""
    os.environ[_SLOT] = str(worker.slot)
    if handover := getattr(
        server, "handover", None
    ):  # a master that was started by an older version has none
        worker.may_leave = partial(handover.may_leave, worker.age)
        worker.arrive = partial(handover.arrive, worker.age)
    if hasattr(_libc, "mallopt"):
        _libc.mallopt(_M_ARENA_MAX, 2)


def settle(worker: Worker) -> None:
    """The worker has loaded all: nothing of it is garbage, nor looked through for some, and what it freed goes back."""
    gc.collect()
    gc.freeze()
    if hasattr(_libc, "malloc_trim"):
        _libc.malloc_trim(0)


def forget_worker(worker: Worker) -> None:
    """Remove the metrics that are only true of a worker that lives, such as its open breakers."""
    for file in Path(os.environ[_METRICS]).glob(f"gauge_live*_{worker.slot}.db"):
        file.unlink(missing_ok=True)


def remove_scratch(server: Server) -> None:
    """Leave nothing behind in memory."""
    shutil.rmtree(os.environ[_METRICS], ignore_errors=True)
    shutil.rmtree(server.files.folder, ignore_errors=True)
