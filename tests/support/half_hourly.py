"""Values that tests share for half an hour at most, because sample records are dated from the day they are made."""

from __future__ import annotations

import atexit
import fcntl
import os
import shutil
import tempfile
import time
from collections.abc import Callable
from functools import cache, wraps
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")


def half_hourly(make: Callable[[], T]) -> Callable[[], T]:
    """Call `make` once for each half hour of the clock, and return its value until the next."""

    @cache
    def made(_half_hour: int) -> T:
        return make()

    @wraps(make)
    def current() -> T:
        return made(int(time.time() // 1800))

    return current


def _folder() -> Path:
    """A folder of the run's own, told to all of its processes."""
    if not (known := os.environ.get("CARE_TEST_FOLDER")):
        known = os.environ["CARE_TEST_FOLDER"] = tempfile.mkdtemp(prefix="care-tests-")
        atexit.register(_remove, known, os.getpid())
    return Path(known)


def _remove(folder: str, maker: int) -> None:
    if os.getpid() == maker:  # not a fork of it
        shutil.rmtree(folder, ignore_errors=True)


FOLDER = _folder()


def shared_folder(name: str, fill: Callable[[Path], None]) -> Path:
    """Return a folder that `fill` has filled in this half hour, once for all processes of a run of tests."""
    folder = FOLDER / f"{name}-{int(time.time() // 1800)}"
    with (FOLDER / "lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.exists():
            made = Path(tempfile.mkdtemp(dir=FOLDER))
            fill(made)
            made.rename(folder)
    return folder
