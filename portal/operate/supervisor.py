"""What gunicorn's master does beside its own work: one function for each of its hooks, called by gunicorn.conf.py.

It checks the settings before workers start and before a reload, makes the folder of the metrics, and gives each worker
the slot that its metrics are named by. Its state hangs on gunicorn's own objects (`server.files`, `worker.slot`).
"""

from __future__ import annotations

import ctypes
import importlib
import logging
import os
import shutil
import sys
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Protocol

from portal.operate import scratch, settings_files
from portal.operate.settings_files import SettingsFiles

_METRICS = "PROMETHEUS_MULTIPROC_DIR"
_SLOT = "PORTAL_WORKER_SLOT"
_M_ARENA_MAX = -8  # mallopt(3)
_libc = ctypes.CDLL(None)


class Worker(Protocol):
    """gunicorn's worker, with the lowest number that was free when it started."""

    slot: int


class Server(Protocol):
    """gunicorn's master (`Arbiter`), as far as it is used here."""

    WORKERS: dict[int, Worker]
    reload: Callable[[], None]
    files: SettingsFiles

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
    reload = server.reload

    def reload_if_good() -> None:
        if not server.files.read():
            server.log.error("Not reloaded: the settings are wrong, the workers go on with those they have.")
            return
        # New workers have the code that is there now; so have the hooks that they are started with.
        for module in (scratch, settings_files, sys.modules[__name__]):
            importlib.reload(module)
        reload()

    server.reload = reload_if_good


def assign_slot(server: Server, worker: Worker) -> None:
    """Give the worker the lowest slot that is free: its metrics go on where the last one there ended."""
    taken = {other.slot for other in server.WORKERS.values()}
    worker.slot = next(slot for slot in count() if slot not in taken)


def prepare_worker(worker: Worker) -> None:
    """Tell the worker its slot, and let its threads share two heaps: glibc would keep one for each thread."""
    os.environ[_SLOT] = str(worker.slot)
    if hasattr(_libc, "mallopt"):
        _libc.mallopt(_M_ARENA_MAX, 2)


def forget_worker(worker: Worker) -> None:
    """Remove the metrics that are only true of a worker that lives, such as its open breakers."""
    for file in Path(os.environ[_METRICS]).glob(f"gauge_live*_{worker.slot}.db"):
        file.unlink(missing_ok=True)


def remove_scratch(server: Server) -> None:
    """Leave nothing behind in memory."""
    shutil.rmtree(os.environ[_METRICS], ignore_errors=True)
    shutil.rmtree(server.files.folder, ignore_errors=True)
