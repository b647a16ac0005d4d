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
    """The demo can't start or can't continue; `args[0]` says what to do, in one line if possible."""


@dataclass(slots=True)
class Process:
    """A process and its children, in their own process group, with a log and a readiness check.

    `user` is the account to run as, if not this one; `ends_by` is the signal for an orderly shutdown; `sources` is the folder
    whose code runs.
    """

    name: str
    command: list[str]
    log: Path
    is_ready: Callable[[], bool]
    environment: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    user: str | None = None
    ends_by: signal.Signals = signal.SIGTERM
    sources: Path = ROOT
    _child: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it in a new session, so that Ctrl-C reaches it only through `stop`, which leaves no child behind."""
        with self.log.open("ab") as output:
            self._child = subprocess.Popen(
                self.command,
                cwd=self.log.parent if self.user else self.sources,
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
        """Return when it is ready; raise DemoError if it ends first or takes more than a minute."""
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
        """Ask it, but not its children, to reload its settings and code (SIGHUP)."""
        if self._child is not None:
            self._child.send_signal(signal.SIGHUP)

    def end(self) -> None:
        """Ask it to shut down."""
        self._signal(self.ends_by)

    def stop(self) -> None:
        """Shut it down and return when it and all its children have ended."""
        self.end()
        if self._child is not None:
            with suppress(subprocess.TimeoutExpired):
                self._child.wait(timeout=_STOP_SECONDS)
        self.kill()

    def kill(self) -> None:
        """Kill it and all its children (SIGKILL)."""
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
        return "\n".join(self.log.read_text(encoding="utf-8", errors="replace").splitlines()[-15:])


class Processes:
    """The running processes, in the order in which they were started."""

    def __init__(self) -> None:
        self._running: list[Process] = []

    def start(self, *processes: Process) -> None:
        """Start these in parallel and return when all are ready. Raises DemoError."""
        for process in processes:
            process.start()
            self._running.append(process)
        for process in processes:
            process.wait()

    def watch(self) -> None:
        """Block until one of them ends by itself, then raise DemoError."""
        while all(process.is_running for process in self._running):
            time.sleep(0.5)
        ended = next(process for process in self._running if not process.is_running)
        raise DemoError(f"The {ended.name} stopped by itself; its log ends with:\n{ended.last_words()}")

    def stop(self) -> None:
        """Ask all to shut down, then wait for each, in reverse order."""
        for process in reversed(self._running):
            process.end()
        for process in reversed(self._running):
            process.stop()
        self._running.clear()


@contextmanager
def until_ctrl_c() -> Generator[Processes]:
    """Yield a `Processes`, and stop whatever runs in it when the block ends, Ctrl-C is pressed or the terminal is closed."""
    # A shell that starts this in the background makes it ignore SIGINT, which must stop it all the same; nohup SIGHUP, which mustn't.
    stops = [signal.SIGINT, signal.SIGTERM]
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
        stops.append(signal.SIGHUP)  # the terminal was closed
    for number in stops:
        signal.signal(number, signal.default_int_handler)
    processes = Processes()
    try:
        yield processes
    except KeyboardInterrupt:
        for number in stops:
            signal.signal(number, signal.SIG_IGN)  # an impatient Ctrl-C
        print("\nStopping.", flush=True)
    finally:
        processes.stop()


def answers(address: str) -> Callable[[], bool]:
    """Return a function that checks whether this address answers with 200."""

    def ask() -> bool:
        try:
            with urllib.request.urlopen(address, timeout=1) as answer:  # noqa: S310 (our own address)
                return answer.status == 200
        except (urllib.error.URLError, OSError):
            return False

    return ask


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]
