"""Runs pytest in forks of a process that has imported the libraries and, unless it is warm, nothing of the project.

Starting Python and importing what the tests import takes longer than most tests here. A warm server has run some tests of
the project before: a change of what a function does is then put into the function itself, in the fork (`made`).
"""

from __future__ import annotations

import ctypes
import functools
import gc
import importlib
import inspect
import json
import os
import select
import signal
import socket
import subprocess
import sys
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from multiprocessing import forkserver, resource_tracker
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any, cast

_ROOT = Path(__file__).parents[1]
_LIBRARIES = (
    *("pytest", "flask", "flask_limiter", "flask_wtf", "msgspec", "pycurl", "redis"),
    *(
        "authlib.integrations.requests_client",
        "joserfc.jwt",
        "sqlalchemy.orm",
        "requests_cache",
        "cssselect",
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


NOT_MADE = 77
"""The exit status when a change isn't only of what a function does."""


def command_for(folder: Path, tests: Sequence[str], change: Sequence[str] = ()) -> list[str]:
    """Return the command that has the server at `folder` run these tests; its exit status is pytest's.

    A warm server is told the `change`: a file of the project's Python, and a file with the text that it had before.
    """
    asked = json.dumps([*change]), *tests
    return [sys.executable, "-S", "-E", str(folder / "client.py"), str(folder / "socket"), *asked]


@contextmanager
def fork_server(tree: Path, folder: Path, warm: Sequence[str] = ()) -> Iterator[None]:
    """Run the tests of `command_for` in `tree`, a copy of the project, for as long as this context lasts.

    The server itself runs the `warm` tests first.
    """
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "client.py").write_text(_CLIENT)
    (folder / "socket").unlink(missing_ok=True)
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(folder / "socket"))
    listener.listen()
    server = os.fork()
    if server == 0:
        try:
            _serve(listener, tree, folder, warm)
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


def _serve(listener: socket.socket, tree: Path, folder: Path, warm: Sequence[str]) -> None:
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
    if warm:
        _warmed(warm, folder)
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


_OPTIONS = ("-q", "-x", "-p", "no:cacheprovider")


def _warmed(tests: Sequence[str], folder: Path) -> None:
    """Run these tests, and import the other ones; what their threads say later goes to the same file."""
    output = os.open(folder / "warm.log", os.O_RDWR | os.O_CREAT | os.O_TRUNC)
    for one in (1, 2):
        os.dup2(output, one)
    run = importlib.import_module("pytest").main
    run([*_OPTIONS, *tests])
    run(
        [*_OPTIONS, "--collect-only", "--ignore", "tests/browser"], plugins=[_Collected(folder / "collected")]
    )
    gc.collect()


class _Collected:
    """Notes which tests there are."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def pytest_collection_finish(self, session: Any) -> None:
        self._file.write_text("\n".join(one.nodeid for one in session.items), encoding="utf-8")


def collected(tree: Path, folder: Path) -> set[str]:
    """Return the tests that the warm server at `folder` found."""
    subprocess.run(command_for(folder, ["--version"]), cwd=tree, check=True)  # answered when it is warm
    return set((folder / "collected").read_text(encoding="utf-8").splitlines())


def _start_others_anew() -> None:
    """Let `multiprocessing` start its servers again where they are needed: those there are have the code as it was."""
    tracker, server = cast("Any", resource_tracker)._resource_tracker, cast("Any", forkserver)._forkserver
    tracker._fd = tracker._pid = None
    server._forkserver_address = server._forkserver_alive_fd = server._forkserver_pid = None


def _test(arguments: list[str], folder: Path) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    os.setsid()
    output = os.open(folder / "last-run.log", os.O_RDWR | os.O_CREAT | os.O_TRUNC)
    for one in (1, 2):
        os.dup2(output, one)
    failed = _Failed(folder / "failed")
    status = 1
    change, *tests = arguments
    try:
        _start_others_anew()
        if (changed := json.loads(change)) and not made(*map(Path, changed)):
            os._exit(NOT_MADE)
        status = int(importlib.import_module("pytest").main([*_OPTIONS, *tests], plugins=[failed]))
    except Exception:  # noqa: BLE001 - whatever it is, the change broke it
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        os._exit(status)


def made(file: Path, before: Path) -> bool:
    """Put the code that a file has now into the functions that were read from it, and say whether that was all there is to do.

    What functions keep of their answers (`functools.cache`) is forgotten.
    """
    old, new = (compile(one.read_bytes(), str(file), "exec", dont_inherit=True) for one in (before, file))
    changed = _changed(old, new)
    if changed is None:
        return False
    left = {place for place in changed if "<locals>" not in place[0]}
    for one in gc.get_objects():
        if isinstance(one, FunctionType) and one.__code__.co_filename == str(file):
            place = _place(one.__code__)
            if place in changed:
                one.__code__ = changed[place]
                left.discard(place)
        elif isinstance(one, functools._lru_cache_wrapper) and str(one.__module__).startswith(
            ("portal.", "tests.")
        ):
            one.cache_clear()
    return not left


def _changed(old: CodeType, new: CodeType) -> dict[tuple[str, int], CodeType] | None:
    """The new code of each function that is another now, by its place before; None if it is more than functions."""
    pairs = list(zip(_inside(old), _inside(new), strict=False))
    if _bare(old) != _bare(new) or len(_inside(old)) != len(_inside(new)):
        return None
    found: dict[tuple[str, int], CodeType] = {}
    for one, other in pairs:
        if not one.co_flags & inspect.CO_OPTIMIZED:
            of_class = _changed(one, other)
            if of_class is None:
                return None
            found |= of_class
        elif not _same(one, other):
            if one.co_freevars != other.co_freevars or one.co_name.endswith("comp>"):
                return None
            found |= _functions(one, other)
    return found


def _functions(one: CodeType, other: CodeType) -> dict[tuple[str, int], CodeType]:
    found = {_place(one): other}
    if len(_inside(one)) == len(_inside(other)):
        for inner, now in zip(_inside(one), _inside(other), strict=True):
            if not _same(inner, now) and inner.co_freevars == now.co_freevars:
                found |= _functions(inner, now)
    return found


def _place(code: CodeType) -> tuple[str, int]:
    return code.co_qualname, code.co_firstlineno


def _inside(code: CodeType) -> list[CodeType]:
    return [one for one in code.co_consts if isinstance(one, CodeType)]


def _bare(code: CodeType) -> tuple[object, ...]:
    """What code does itself, without the functions in it."""
    own = [one for one in code.co_consts if not isinstance(one, CodeType)]
    written = repr(own)  # where True isn't 1
    return code.co_code, written, code.co_names, code.co_varnames, code.co_freevars


def _same(one: CodeType, other: CodeType) -> bool:
    inside, there = _inside(one), _inside(other)
    return (
        _bare(one) == _bare(other)
        and len(inside) == len(there)
        and all(_same(*pair) for pair in zip(inside, there, strict=True))
    )


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
