"""A small disk that tests can fill: a tmpfs for root, otherwise a file size limit of this process."""

from __future__ import annotations

import errno
import os
import resource
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_KILOBYTES = 512
_LARGEST_FILE = 100_000


class SmallDisk:
    """`folder` lies on it. `fill` takes the rest of its room, `free` gives it back."""

    def __init__(self, folder: Path, *, is_mounted: bool) -> None:
        self.folder = folder
        self._is_mounted = is_mounted
        self._filler = folder / "filler"
        self._limits = resource.getrlimit(resource.RLIMIT_FSIZE)

    def fill(self) -> None:
        if not self._is_mounted:
            resource.setrlimit(resource.RLIMIT_FSIZE, (_LARGEST_FILE, self._limits[1]))
            return
        with self._filler.open("wb", buffering=0) as file:
            for size in (4096, 1):
                try:
                    while True:
                        file.write(b"x" * size)
                except OSError as error:
                    assert error.errno == errno.ENOSPC

    def free(self) -> None:
        if self._is_mounted:
            self._filler.unlink(missing_ok=True)
        else:
            resource.setrlimit(resource.RLIMIT_FSIZE, self._limits)


@contextmanager
def small_disk(folder: Path) -> Iterator[SmallDisk]:
    """Make it in this empty folder."""
    folder.mkdir()
    folder.chmod(0o700)
    is_mounted = os.geteuid() == 0 and _mounts(folder)
    disk = SmallDisk(folder, is_mounted=is_mounted)
    try:
        yield disk
    finally:
        disk.free()
        if is_mounted:
            subprocess.run(["umount", "--lazy", str(folder)], check=True)


def _mounts(folder: Path) -> bool:
    """Mount a tmpfs there; False in a container that may not."""
    options = f"size={_KILOBYTES}k,mode=0700"
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(folder)], check=False, capture_output=True
    )
    return done.returncode == 0
