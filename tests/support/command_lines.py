"""The command lines of running processes, without `ps`, which many images lack."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path


def command_lines() -> str:
    """Return the command line of every process, one after another (proc(5))."""
    found: list[str] = []
    for file in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):  # the process has ended
            found.append(file.read_bytes().replace(b"\0", b" ").decode(errors="replace"))
    return "\n".join(found)
