"""Where audit lines go: one file per chain, or stderr; and whether there is room for more.

Disk blocks are allocated before they are needed (fallocate(2)), so that a promised line can still be written when the
disk is full. A line is written completely or, as far as the system allows, not at all.
"""

from __future__ import annotations

import ctypes
import errno
import os
import resource
import stat
import sys
import tempfile
from pathlib import Path
from typing import Protocol

_AHEAD = 64 * 1024
"""How much is allocated at a time, in bytes."""

PROMISED = 32 * 1024
"""Bytes reserved for acts in progress: several per thread of the process, at about 500 bytes each."""

_KEEP_SIZE = 1  # FALLOC_FL_KEEP_SIZE: leaves the size as it is for whoever reads or follows the file
_libc = ctypes.CDLL(None, use_errno=True)


class Output(Protocol):
    """Accepts lines. `reserve` and `write` raise OSError."""

    @property
    def is_removed(self) -> bool:
        """Whether nobody can read any more what is written."""
        ...

    def reserve(self) -> None:
        """Make sure that the lines of the acts in progress can be written."""
        ...

    def write(self, lines: bytes, *, is_promised: bool) -> None:
        """Write the lines; lines that weren't promised leave the reserve untouched."""
        ...

    def close(self) -> None:
        """Release the reserved space."""
        ...


class FileOutput:
    """A new file that only its owner can read and write."""

    def __init__(self, file: Path) -> None:
        file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._path = file
        self._file = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND, 0o600)
        self._size = 0
        self._set_aside = 0
        self._is_torn = False

    @property
    def is_removed(self) -> bool:
        return os.fstat(self._file).st_nlink == 0

    def reserve(self) -> None:
        self._make_room(PROMISED)

    def write(self, lines: bytes, *, is_promised: bool) -> None:
        try:
            self._make_room(PROMISED + len(lines))
        except OSError:
            if not is_promised:
                raise
        self._cut_off_torn_line()
        self._is_torn = True
        try:
            _write_whole(self._file, lines)
        except OSError:
            self._cut_off_torn_line()
            raise
        self._size += len(lines)
        self._is_torn = False

    def close(self) -> None:
        if self._size:
            os.ftruncate(self._file, self._size)  # releases the blocks past the end
        else:
            self._path.unlink(missing_ok=True)
        os.close(self._file)

    def _make_room(self, wanted: int) -> None:
        if self._set_aside - self._size < wanted:
            set_aside(self._file, self._size, wanted + _AHEAD)
            self._set_aside = self._size + wanted + _AHEAD

    def _cut_off_torn_line(self) -> None:
        """Remove the part of a line that was written before the disk was full."""
        if self._is_torn:
            os.ftruncate(self._file, self._size)
            self._is_torn = False


class StderrOutput:
    """The process's stderr, shared with other processes and the logs; free space is known only if it is a file."""

    is_removed = False

    def __init__(self) -> None:
        self._is_torn = False

    def reserve(self) -> None:
        file = _stderr()
        if file is not None and stat.S_ISREG(os.fstat(file).st_mode):
            _look_for_room(file, os.fstat(file).st_size + PROMISED, PROMISED)

    def write(self, lines: bytes, *, is_promised: bool) -> None:
        file = _stderr()
        if file is None:  # replaced by something that isn't a file
            sys.stderr.write(lines.decode())
            sys.stderr.flush()
            return
        begin = b"\n" if self._is_torn else b""
        self._is_torn = True
        _write_whole(file, begin + lines)  # in one write, because other processes share it
        self._is_torn = False

    def close(self) -> None:
        """Do nothing: stderr stays open."""


def output(target: str, name: str) -> Output:
    """Return the output for the chain of this name; `target` is a folder or `stderr`. Raises OSError."""
    return StderrOutput() if target == "stderr" else FileOutput(Path(target) / f"{name}.jsonl")


def check_writable(target: str) -> None:
    """Raise OSError if no new chain could be written to `target`. Leaves nothing behind."""
    if target == "stderr":
        StderrOutput().reserve()
        return
    folder = Path(target)
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    with tempfile.TemporaryFile(dir=folder, buffering=0) as file:
        set_aside(file.fileno(), 0, PROMISED)
        file.write(b"\n")


def free_bytes(target: str) -> int | None:
    """Return the free space on the folder's disk; None for stderr, or if it can't be determined."""
    if target == "stderr":
        return None
    try:
        disk = os.statvfs(target)
    except OSError:
        return None
    return disk.f_bavail * disk.f_frsize


def set_aside(file: int, begin: int, length: int) -> None:
    """Allocate `length` bytes of a file from `begin` on; raise OSError when there is no room.

    Where the file system can't allocate in advance, only check that the space is free now.
    """
    _look_for_room(file, begin + length, length)
    fallocate = getattr(_libc, "fallocate64", None)
    if fallocate is None:
        return
    while fallocate(file, _KEEP_SIZE, ctypes.c_int64(begin), ctypes.c_int64(length)) != 0:
        fault = ctypes.get_errno()
        if fault == errno.EINTR:
            continue
        if fault in (errno.EOPNOTSUPP, errno.ENOSYS):
            return
        raise OSError(fault, os.strerror(fault))


def _look_for_room(file: int, end: int, length: int) -> None:
    most, _ = resource.getrlimit(resource.RLIMIT_FSIZE)
    if most != resource.RLIM_INFINITY and end > most:
        raise OSError(errno.EFBIG, os.strerror(errno.EFBIG))
    disk = os.fstatvfs(file)
    if disk.f_bavail * disk.f_frsize < length:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def _stderr() -> int | None:
    try:
        return sys.stderr.fileno()
    except (AttributeError, OSError, ValueError):
        return None


def _write_whole(file: int, lines: bytes) -> None:
    rest = memoryview(lines)
    while rest:
        rest = rest[os.write(file, rest) :]
