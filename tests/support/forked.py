"""Runs the care service in forks of a process that has imported it, which starts faster than a new Python."""

from __future__ import annotations

import importlib
import multiprocessing
import os
import sys
from multiprocessing.process import BaseProcess
from pathlib import Path

from tools import reach

_MAIN = "portal.careservice.__main__"
_forking = multiprocessing.get_context("forkserver")
_forking.set_forkserver_preload([__name__, _MAIN, "portal.server.worker"])


def start(arguments: list[str], environment: dict[str, str], log: Path) -> BaseProcess:
    """Start the care service, writing to `log`; it leads a process group of its own and ends with this process."""
    process = _forking.Process(target=_run, args=(arguments, environment, log), daemon=True)
    process.start()
    return process


def _run(arguments: list[str], environment: dict[str, str], log: Path) -> None:
    os.setsid()
    os.environ.clear()
    os.environ.update(environment)
    with log.open("ab") as output:
        for standard in (1, 2):
            os.dup2(output.fileno(), standard)
    reach.begin()
    # Imported here, so that this process has what the forking one has and nothing of the tests.
    sys.exit(importlib.import_module(_MAIN).main(arguments))
