"""Temporary in-memory folders for the lifetime of a portal: its workers' metrics, the settings they start with.

Each is locked by the process that created it (flock(2)), so that the next portal can recognize those that a killed one
left behind.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from pathlib import Path

MEMORY = "/dev/shm" if Path("/dev/shm").is_dir() else None  # noqa: S108 (only unique folders are created in it)
"""An in-memory file system, or None if the system has none."""

_SUFFIX = ".held"


def new_folder(prefix: str) -> Path:
    """Return a new folder, locked until this process and all workers forked from it have ended."""
    while True:
        folder = Path(tempfile.mkdtemp(prefix=prefix, suffix=_SUFFIX, dir=MEMORY))
        fcntl.flock(os.open(folder, os.O_RDONLY | os.O_DIRECTORY), fcntl.LOCK_EX)
        # For a moment it existed without its lock, and another portal may have removed it.
        if folder.exists():
            return folder


def remove_abandoned() -> None:
    """Remove the folders that no process holds a lock on: they belong to portals that were killed."""
    for folder in Path(MEMORY or tempfile.gettempdir()).glob(f"portal-*{_SUFFIX}"):
        try:
            held = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        except OSError:  # belongs to another account, or is gone
            continue
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(folder, ignore_errors=True)
        except BlockingIOError:
            pass
        finally:
            os.close(held)
