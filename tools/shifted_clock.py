"""Runs a command with the clock starting at another time: `python -m tools.shifted_clock '2026-12-31 23:50' make …`.

The time is in UTC unless it has an offset. Only the wall clock is shifted, by `shifted_clock.c`, which needs a C compiler.
Debian's faketime 0.9.10 isn't used: the tests came to a standstill under it.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path

from portal.demo.programs import Requirement, find, install_missing, request_to_install

COMPILER = Requirement("cc", ("gcc", "libc6-dev"), lambda: find("cc") is not None)
_SOURCE = Path(__file__).with_suffix(".c")


def main() -> int:
    """Return the command's exit status, or 2 if it can't be run."""
    try:
        at = datetime.fromisoformat(sys.argv[1])
    except ValueError:
        print(f"Not a time like 2026-12-31 23:50: {sys.argv[1]}", file=sys.stderr)
        return 2
    if missing := install_missing(COMPILER):
        print(request_to_install(missing), file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory() as folder:
        library = Path(folder) / "shifted_clock.so"
        subprocess.run(["cc", "-O2", "-shared", "-fPIC", "-o", library, _SOURCE], check=True)
        start = at if at.tzinfo else at.replace(tzinfo=UTC)
        shift = {"CLOCK_OFFSET": str(round(start.timestamp() - time.time())), "LD_PRELOAD": str(library)}
        return subprocess.run(sys.argv[2:], env={**os.environ, **shift}, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
