"""Which tests run which functions and templates: `python -m pytest -p tools.reach` writes it under var/reach.

`tools/random_mutants.py` tries a mutant with the tests that run the changed function. Seen are this process and the care
services that tests start (`tests/support/forked.py`), each call once a test; what runs while a module is imported isn't.
Not coverage.py: lines aren't needed, and counting only calls takes a fifth of the time.
"""

from __future__ import annotations

import json
import mmap
import os
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

_ROOT = Path(__file__).parents[1]
FOLDER = _ROOT / "var" / "reach"
_CLOCK = "TESTS_REACH"
"""The variable that names the file whose first four bytes are the number of the test that is running."""


def begin() -> None:
    """Note from now on what this process calls, if the tests that started it are being watched."""
    if not (clock := os.environ.get(_CLOCK)):
        return
    with Path(clock).open("rb") as file:
        number = memoryview(mmap.mmap(file.fileno(), 4, access=mmap.ACCESS_READ)).cast("I")
    output = os.open(
        f"{clock.removesuffix('.clock')}-{os.getpid()}.calls", os.O_CREAT | os.O_APPEND | os.O_WRONLY
    )
    within = tuple(f"{_ROOT}/{folder}/" for folder in ("portal", "templates"))
    prefix = len(str(_ROOT)) + 1
    seen: set[tuple[str, str]] = set()
    current = number[0]

    def trace(frame: Any, _event: str, _arg: object) -> None:
        nonlocal current
        if number[0] != current:
            current = number[0]
            seen.clear()
        place = (frame.f_code.co_filename, frame.f_code.co_qualname)
        if place not in seen:
            seen.add(place)
            if place[0].startswith(within):
                os.write(output, f"{current} {place[0][prefix:]}:{place[1]}\n".encode())

    threading.settrace(trace)
    sys.settrace(trace)


class _Watch:
    """Numbers the tests of this process and notes how long each took."""

    def __init__(self, worker: str) -> None:
        FOLDER.mkdir(parents=True, exist_ok=True)
        self._path = FOLDER / f"{worker}-{os.getpid()}.clock"
        self._path.write_bytes(bytes(4))
        self._number = 0
        os.environ[_CLOCK] = str(self._path)
        begin()

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        self._number += 1
        with self._path.open("r+b") as file:
            file.write(self._number.to_bytes(4, sys.byteorder))
        before = time.monotonic()
        yield
        line = [self._number, item.nodeid, round(time.monotonic() - before, 2)]
        with self._path.with_suffix(".tests").open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")


def pytest_configure(config: pytest.Config) -> None:
    if worker := os.environ.get(
        "PYTEST_XDIST_WORKER", "" if config.getoption("numprocesses", None) else "alone"
    ):
        config.pluginmanager.register(_Watch(worker))


@dataclass(frozen=True, slots=True)
class Reached:
    """A test, the seconds that it takes, and what it calls: (path in the project, the function's qualified name)."""

    test: str
    seconds: float
    calls: frozenset[tuple[str, str]]


def read(folder: Path = FOLDER) -> list[Reached]:
    """Return what was noted of each test."""
    found: list[Reached] = []
    for list_ in sorted(folder.glob("*.tests")):
        calls: dict[int, set[tuple[str, str]]] = {}
        for file in folder.glob(f"{list_.stem}-*.calls"):
            for line in file.read_text(encoding="utf-8").splitlines():
                number, _, place = line.partition(" ")
                path, _, function = place.partition(":")
                calls.setdefault(int(number), set()).add((path, function))
        for line in list_.read_text(encoding="utf-8").splitlines():
            number, test, seconds = json.loads(line)
            found.append(Reached(test, seconds, frozenset(calls.get(number, ()))))
    return found
