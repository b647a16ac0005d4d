"""Runs pytest in forks of a process that has imported the libraries and nothing of the project.

Starting Python and importing what the tests import takes longer than most tests here.
"""

from __future__ import annotations

import ctypes
import importlib
import json
import os
import select
import signal
import socket
import sys
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

_ROOT = Path(__file__).parents[1]
_LIBRARIES = (
    *(
        "pytest",
        "flask",
        "flask_babel",
        "flask_limiter",
        "flask_wtf",
        "msgspec",
        "pycurl",
        "redis",
    ),
    *(
        "authlib.integrations.requests_client",
        "joserfc.jwt",
        "sqlalchemy.orm",
        "requests_cache",
        "bs4",
        "html5lib",
    ),
    *("babel.dates", "phonenumbers", "prometheus_client", "cryptography.x509", "argon2", "standardwebhooks"),
    *("whitenoise", "icalendar", "rcssmin", "rjsmin", "rfc8785", "alembic.command", "jsonschema_rs", "pypdf"),
)
_CLIENT = """
import json, socket, sys
asked = socket.socket(socket.AF_UNIX)
asked.connect(sys.argv[1])
asked.sendall(json.dumps(sys.argv[2:]).encode() + b"\\n")
sys.exit(asked.recv(1)[0])
"""
_SUBREAPER = 36
"""prctl(2): whoever loses its parent becomes a child of this process."""


def command_for(folder: Path, tests: Sequence[str]) -> list[str]:
    """Return the command that has the server at `folder` run these tests; its exit status is pytest's."""
    return [sys.executable, "-S", "-E", str(folder / "client.py"), str(folder / "socket"), *tests]


@contextmanager
def fork_server(tree: Path, folder: Path) -> Iterator[None]:
    """Run the tests of `command_for` in `tree`, a copy of the project, for as long as this context lasts."""
    (folder / "client.py").write_text(_CLIENT)
    (folder / "socket").unlink(missing_ok=True)
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(folder / "socket"))
    listener.listen()
    server = os.fork()
    if server == 0:
        try:
            _serve(listener, tree, folder)
        except Exception:  # noqa: BLE001 - whatever it is, it ends in this process
            traceback.print_exc()
        finally:
            os._exit(1)
    listener.close()
    try:
        yield
    finally:
        os.kill(server, signal.SIGTERM)
        os.waitpid(server, 0)


def _serve(listener: socket.socket, tree: Path, folder: Path) -> None:
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    ctypes.CDLL(None).prctl(_SUBREAPER, 1, 0, 0, 0)
    os.chdir(tree)
    sys.path[:] = [str(tree), *(one for one in sys.path if Path(one or ".").resolve() not in (_ROOT, tree))]
    sys.dont_write_bytecode = True
    os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
    for name in [one for one in sys.modules if one.split(".")[0] in ("tests", "tools", "portal")]:
        del sys.modules[name]
    for library in _LIBRARIES:
        importlib.import_module(library)
    while True:
        asking, _ = listener.accept()
        with asking:
            arguments = json.loads(asking.makefile().readline())
            child = os.fork()
            if child == 0:
                _test(arguments, folder)
            status = _ended(child, asking)
            if status is not None:
                asking.sendall(bytes([status]))


def failed_test(folder: Path) -> str:
    """Return the test that failed in the last run, or the file that couldn't be read; empty if the run ended otherwise."""
    file = folder / "failed"
    return file.read_text(encoding="utf-8") if file.exists() else ""


class _Failed:
    """Notes which test failed."""

    def __init__(self, file: Path) -> None:
        self._file = file
        file.unlink(missing_ok=True)

    def pytest_collectreport(self, report: Any) -> None:
        if report.failed:
            self._file.write_text(report.nodeid, encoding="utf-8")

    def pytest_runtest_logreport(self, report: Any) -> None:
        if report.failed:
            self._file.write_text(report.nodeid, encoding="utf-8")


def _test(arguments: list[str], folder: Path) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    os.setsid()
    output = os.open(folder / "last-run.log", os.O_RDWR | os.O_CREAT | os.O_TRUNC)
    for one in (1, 2):
        os.dup2(output, one)
    failed = _Failed(folder / "failed")
    status = 1
    try:
        options = ["-q", "-x", "-p", "no:cacheprovider"]
        status = int(importlib.import_module("pytest").main([*options, *arguments], plugins=[failed]))
    except Exception:  # noqa: BLE001 - whatever it is, the change broke it
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        os._exit(status)


def _ended(child: int, asking: socket.socket) -> int | None:
    """The exit status of the child; or None when nobody waits for it any longer. Whatever it left running is killed."""
    try:
        while True:
            found, status = os.waitpid(child, os.WNOHANG)
            if found:
                return os.waitstatus_to_exitcode(status) & 0xFF
            if select.select([asking], [], [], 0.02)[0]:
                return None
    finally:
        with suppress(ProcessLookupError):
            os.killpg(child, signal.SIGKILL)
        while left := Path(f"/proc/self/task/{os.getpid()}/children").read_text().split():
            for one in left:  # servers that it left running, now children of this process
                with suppress(ProcessLookupError, ChildProcessError):
                    os.kill(int(one), signal.SIGKILL)
                    os.waitpid(int(one), 0)
