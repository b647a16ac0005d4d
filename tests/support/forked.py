"""Runs the care service and the printing of PDFs in forks of a process that has imported them.

They start faster than a new Python, which spends most of its time on imports.
"""

from __future__ import annotations

import importlib
import io
import multiprocessing
import os
import subprocess
import sys
import tempfile
import time
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path

import msgspec
import pytest

from portal import printing
from tools import reach

_MAIN = "portal.careservice.__main__"
_PRINTING = "portal.printing.__main__"
_as_deployed = printing._run
_recalled: dict[bytes, subprocess.CompletedProcess[bytes]] = {}
_forking = multiprocessing.get_context("forkserver")
_forking.set_forkserver_preload(
    [
        __name__,
        _MAIN,
        _PRINTING,
        "weasyprint",
        "portal.server.worker",
        "tests.support.hashing",
        "tests.support.mapped",
        "tests.support.warmed",
    ]
)


def start(arguments: list[str], environment: dict[str, str], log: Path) -> BaseProcess:
    """Start the care service, writing to `log`; it leads a process group of its own and ends with this process."""
    process = _forking.Process(target=_run, args=(arguments, environment, log), daemon=True)
    process.start()
    return process


def print_in_forks(patch: pytest.MonkeyPatch) -> None:
    """Let the portals of this process print so."""
    patch.setattr(printing, "_run", _print)


def print_once(patch: pytest.MonkeyPatch) -> None:
    """Print each page without a seal once: it gives the same bytes each time, and takes longer than ten pages to be shown."""

    def print_or_recall(order: bytes, folder: Path, seconds: float) -> subprocess.CompletedProcess[bytes]:
        if order not in _recalled:
            done = _print(order, folder, seconds)
            if done.returncode or msgspec.json.decode(order, type=printing.PrintJob).seal:
                return done
            _recalled[order] = done
        return _recalled[order]

    patch.setattr(printing, "_run", print_or_recall)


def print_as_deployed(patch: pytest.MonkeyPatch) -> None:
    """Start a Python for each PDF."""
    patch.setattr(printing, "_run", _as_deployed)


def _run(arguments: list[str], environment: dict[str, str], log: Path) -> None:
    os.setsid()
    os.environ.clear()
    os.environ.update(environment)
    with log.open("ab") as output:
        for standard in (1, 2):
            os.dup2(output.fileno(), standard)
    reach.begin()
    # Imported here, so that this process has what the forking one has and nothing of the tests.
    importlib.import_module("tests.support.hashing").quicken(pytest.MonkeyPatch())
    sys.exit(importlib.import_module(_MAIN).main(arguments))


def _print(order: bytes, folder: Path, seconds: float) -> subprocess.CompletedProcess[bytes]:
    ours, theirs = _forking.Pipe(duplex=False)
    child = _forking.Process(target=_printed, args=(order, printing.environment(folder), theirs), daemon=True)
    child.start()
    theirs.close()
    try:
        if not ours.poll(seconds):
            raise subprocess.TimeoutExpired(_PRINTING, seconds)
        return subprocess.CompletedProcess(_PRINTING, *ours.recv())
    except EOFError:
        child.join()
        return subprocess.CompletedProcess(_PRINTING, child.exitcode or 1, b"", b"")
    finally:
        child.kill()
        child.join()
        ours.close()


def _printed(order: bytes, environment: dict[str, str], to: Connection) -> None:
    os.environ.clear()
    os.environ.update(environment)
    time.tzset()
    tempfile.tempdir = None
    os.chdir(printing.ROOT)
    sys.stdin, sys.stdout, sys.stderr = (io.TextIOWrapper(io.BytesIO(put)) for put in (order, b"", b""))
    code = importlib.import_module(_PRINTING).main()
    sys.stdout.flush()
    sys.stderr.flush()
    to.send((code, sys.stdout.buffer.getvalue(), sys.stderr.buffer.getvalue()))
