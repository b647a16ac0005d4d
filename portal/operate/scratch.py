"""Scratch folders in memory that last as long as a portal: its workers' metrics, the settings they start with.

Each is locked by the process that made it (flock(2)), so that the next portal recognizes those of one that was killed.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from pathlib import Path

MEMORY = "/dev/shm" if Path("/dev/shm").is_dir() else None  # noqa: S108 (folders of their own are made in it)
"""Where what only processes share needs no disk; None where the system has no such place."""

_SUFFIX = ".held"


def new_folder(prefix: str) -> Path:
    """Return a new folder, locked until this process and all workers forked from it have ended."""
    while True:
        folder = Path(tempfile.mkdtemp(prefix=prefix, suffix=_SUFFIX, dir=MEMORY))
        fcntl.flock(os.open(folder, os.O_RDONLY | os.O_DIRECTORY), fcntl.LOCK_EX)
        # It was there without its lock for a moment, in which another portal may have cleared it.
        if folder.exists():
            return folder


def remove_abandoned() -> None:
    """Remove the folders that no process holds a lock on: those of portals that were killed."""
    for folder in Path(MEMORY or tempfile.gettempdir()).glob(f"portal-*{_SUFFIX}"):
        try:
            held = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        except OSError:  # another account's, or gone
            continue
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(folder, ignore_errors=True)
        except BlockingIOError:
            pass
        finally:
            os.close(held)
