"""The processes of a demo: started together, watched, and stopped with all their children."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[2]
_READY_SECONDS = 60
_STOP_SECONDS = 8


class DemoError(Exception):
    """The demo cannot start, or not go on; `args[0]` says what to do, in one line where that is enough."""


@dataclass(slots=True)
class Process:
    """One process and its children, in a group of their own, with a log and a way to know that it serves.

    `user` is the account to run as (root's processes give root up); `ends_by` is the signal that ends it in order.
    """

    name: str
    command: list[str]
    log: Path
    is_ready: Callable[[], bool]
    environment: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    user: str | None = None
    ends_by: signal.Signals = signal.SIGTERM
    _child: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it: in a session of its own, so that Ctrl-C reaches it through us and none is left behind."""
        with self.log.open("ab") as output:
            self._child = subprocess.Popen(
                self.command,
                cwd=self.log.parent if self.user else ROOT,
                env={**os.environ, **self.environment},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                user=self.user,
                group=self.user,
                extra_groups=[] if self.user else None,
            )

    def wait(self) -> None:
        """Return when it serves; raise DemoError when it ends before that or takes a minute."""
        until = time.monotonic() + _READY_SECONDS
        while not self.is_ready():
            if not self.is_running:
                raise DemoError(f"The {self.name} stopped at once; its last words:\n{self.last_words()}")
            if time.monotonic() > until:
                raise DemoError(
                    f"The {self.name} didn't answer within {_READY_SECONDS} s; its last words:\n{self.last_words()}"
                )
            time.sleep(0.05)

    @property
    def is_running(self) -> bool:
        return self._child is not None and self._child.poll() is None

    def reload(self) -> None:
        """Ask it, and none of its children, to take its settings and code anew."""
        if self._child is not None:
            self._child.send_signal(signal.SIGHUP)

    def end(self) -> None:
        """Ask it to end."""
        self._signal(self.ends_by)

    def stop(self) -> None:
        """Return when it and all its children are gone."""
        self.end()
        if self._child is not None:
            with suppress(subprocess.TimeoutExpired):
                self._child.wait(timeout=_STOP_SECONDS)
        self.kill()

    def kill(self) -> None:
        """End it and all its children in the middle of what they do."""
        self._signal(signal.SIGKILL)
        if self._child is not None:
            self._child.wait()

    def _signal(self, number: signal.Signals) -> None:
        if self._child is None:
            return
        try:
            os.killpg(self._child.pid, number)
        except (ProcessLookupError, PermissionError):
            return

    def last_words(self) -> str:
        """Return the end of its log."""
        return "\n".join(self.log.read_text(encoding="utf-8", errors="replace").splitlines()[-15:])


class Processes:
    """All that runs now, in the order in which it was started."""

    def __init__(self) -> None:
        self._running: list[Process] = []

    def start(self, *processes: Process) -> None:
        """Start these side by side and return when all of them serve. Raises DemoError."""
        for process in processes:
            process.start()
            self._running.append(process)
        for process in processes:
            process.wait()

    def watch(self) -> None:
        """Stay until one of them ends by itself, which is a DemoError."""
        while all(process.is_running for process in self._running):
            time.sleep(0.5)
        ended = next(process for process in self._running if not process.is_running)
        raise DemoError(f"The {ended.name} stopped by itself; its log ends with:\n{ended.last_words()}")

    def stop(self) -> None:
        """Ask all to end, then wait for each, the last one first."""
        for process in reversed(self._running):
            process.end()
        for process in reversed(self._running):
            process.stop()
        self._running.clear()


@contextmanager
def until_ctrl_c() -> Generator[Processes]:
    """Lend the processes, to be started, and stop whatever runs when the block ends or Ctrl-C ends it."""
    # A shell that starts this in the background lets it ignore Ctrl-C's signal; it must stop all the same.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    processes = Processes()
    try:
        yield processes
    except KeyboardInterrupt:
        print("\nStopping.", flush=True)
    finally:
        processes.stop()


def answers(address: str) -> Callable[[], bool]:
    """Return a question: does this address answer with 200?"""

    def ask() -> bool:
        try:
            with urllib.request.urlopen(address, timeout=1) as answer:  # noqa: S310 (our own address)
                return answer.status == 200
        except (urllib.error.URLError, OSError):
            return False

    return ask


def free_port() -> int:
    """Return a port of 127.0.0.1 that nobody uses now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]
