"""The portal on two machines behind nginx, with a counter between the portals and the care service."""

from __future__ import annotations

import os
import shutil
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import msgspec
import requests
from requests.adapters import HTTPAdapter

from portal.demo.processes import answers
from portal.demo.scale import Scale
from portal.demo.stack import DemoSetup
from portal.state.session_records import Tokens, record_name, tokens_name
from portal.state.sessions import COOKIE
from portal.store import open_store
from portal.store.vault import Vault
from tests.support.hostile import CountingProxy
from tests.support.stack import PASSWORD, ROOT, SECRETS
from tests.support.visitor import LocalAdapter, Visitor

MOST = 60
_PAUSE = 0.1
"""Seconds between the pages that someone reads: without, all that the machine can do goes into them, and nothing starts."""


@dataclass(frozen=True)
class Release:
    """A version of the portal: its sources, and what it has besides, settings and members of a session."""

    sources: Path
    environment: Mapping[str, str] = field(default_factory=dict[str, str])
    members: tuple[str, ...] = ()


@dataclass
class Stack:
    """The running processes, with a counting proxy between the portals and the care service."""

    scale: Scale
    proxy: CountingProxy
    plan: DemoSetup

    def visitor(self, machine: int | None = None, address: str = "198.51.100.1") -> Visitor:
        """A browser whose requests nginx balances, or that goes to one machine (0 or 1) from this address."""
        visitor = Visitor(f"http://riverside.localhost:{self.plan.portal_port}", PASSWORD)
        if machine is not None:
            self.lead(visitor, machine, address)
        return visitor

    def lead(self, visitor: Visitor, machine: int, address: str = "198.51.100.1") -> None:
        adapter = AtMachine(self.plan.portal_port, self.scale.machine_ports[machine], address)
        visitor.http.mount("http://", adapter)

    def copy(self, visitor: Visitor, machine: int | None = None) -> Visitor:
        """Another window of the same browser, whose requests don't wait for the first one's."""
        other = self.visitor(machine)
        other.http.cookies.update(visitor.http.cookies)
        return other

    @contextmanager
    def without(self, machine: int) -> Iterator[None]:
        """Kill all processes of a machine, continue without it, then start it again."""
        dead = self.scale.machines[machine]
        dead.kill()
        try:
            until(
                lambda: not answers(f"http://127.0.0.1:{self.scale.machine_ports[machine]}/healthz")(),
                "it lives",
            )
            yield
        finally:
            self.proxy.release()
            dead.start()
            dead.wait()

    @contextmanager
    def of(self, release: Release, machine: int) -> Iterator[None]:
        """Restart a machine with this release, and afterwards with its own again; it finishes its requests each time."""
        running = self.scale.machines[machine]
        own = (running.sources, running.environment)

        def restart(sources: Path, environment: Mapping[str, str]) -> None:
            running.stop()
            running.sources, running.environment = sources, environment
            running.start()
            running.wait()

        restart(release.sources, {**running.environment, **release.environment})
        try:
            yield
        finally:
            restart(*own)

    @property
    def vault(self) -> Vault:
        return Vault(open_store(self.scale.store_url, time.time), (SECRETS["PORTAL_SECRET_KEYS"],))

    def let_tokens_run_out(self, visitor: Visitor) -> None:
        name = tokens_name(record_name(sid(visitor)))

        def run_out(tokens: Tokens) -> Tokens:
            return msgspec.structs.replace(tokens, refresh_at=0, expires_at=0)

        assert self.vault.update(name, Tokens, run_out) is not None

    def machines(self, page: Any) -> list[int]:
        """Return the machines that nginx asked for this answer, in order."""
        asked = page.headers["X-Machine"].split(", ")
        return [self.scale.machine_ports.index(int(one.rpartition(":")[2])) for one in asked]


class AtMachine(LocalAdapter):
    """Sends requests for the portal to one machine, with the headers that nginx would add."""

    def __init__(self, portal_port: int, machine_port: int, address: str) -> None:
        super().__init__()
        self._portal_port, self._machine_port, self._address = portal_port, machine_port, address

    def send(self, request: requests.PreparedRequest, *args: Any, **kwargs: Any) -> requests.Response:
        parts = urlsplit(request.url or "")
        if parts.port != self._portal_port:
            return super().send(request, *args, **kwargs)
        said = {"Host": parts.netloc, "X-Forwarded-Host": parts.netloc, "X-Forwarded-Proto": "http"}
        request.headers.update({**said, "X-Forwarded-For": self._address})
        request.url = parts._replace(netloc=f"127.0.0.1:{self._machine_port}").geturl()
        return HTTPAdapter.send(self, request, *args, **kwargs)


def sid(visitor: Visitor) -> str:
    return next(str(one.value) for one in visitor.http.cookies if one.name == COOKIE)


def until(is_so: Callable[[], bool], what: str) -> None:
    end = time.monotonic() + 30
    while not is_so():
        assert time.monotonic() < end, what
        time.sleep(0.02)


def next_release(folder: Path, tenants: str) -> Release:
    """Make this release's successor in `folder`: sessions and acts have one more member, clinics and portal one more setting.

    `CARE_TEST_RELEASE` names a folder with the sources of another release to take instead, such as the one before.
    """
    if other := os.environ.get("CARE_TEST_RELEASE"):
        return Release(Path(other))
    for name in ("portal", "templates", "static"):
        shutil.copytree(ROOT / name, folder / name)  # with the bytecode: to compile all takes ten seconds
    for name in ("wsgi.py", "gunicorn.conf.py", "pyproject.toml"):
        shutil.copy(ROOT / name, folder)
    for file, before, more in (
        ("portal/state/session_records.py", '    device: str = ""\n', '    place: str = "Leeds"\n'),
        ("portal/state/operations.py", "    changed_at: float\n", '    witness: str = "nora"\n'),
        (
            "portal/config/variables.py",
            "    demo: bool =",
            '    next: str = _variable("PORTAL_NEXT", "", str, "")\n',
        ),
        (
            "portal/config/tenants.py",
            "    time_zone:",
            '    next: str | None = setting(text, "x", "", None)\n',
        ),
    ):
        text = (folder / file).read_text(encoding="utf-8")
        assert before in text, file
        (folder / file).write_text(text.replace(before, f"{more}{before}", 1), encoding="utf-8")
    file = folder / "tenants.toml"
    file.write_text(
        tenants.replace("[tenants.riverside]\n", '[tenants.riverside]\nnext = "x"\n'), encoding="utf-8"
    )
    return Release(folder, {"PORTAL_TENANTS": str(file), "PORTAL_NEXT": "x"}, ("place",))


class Load:
    """People who read one page after the other, each on a connection of their own."""

    def __init__(self, windows: list[Visitor]) -> None:
        self.seen: list[list[int]] = [[] for _ in windows]
        self._ending = threading.Event()
        self._threads = [
            threading.Thread(target=self._read, args=pair) for pair in zip(windows, self.seen, strict=True)
        ]
        for thread in self._threads:
            thread.start()

    def _read(self, window: Visitor, seen: list[int]) -> None:
        while not self._ending.is_set():
            answer = window.http.get(f"{window.origin}/consents", allow_redirects=False, timeout=30)
            seen.append(answer.status_code)
            self._ending.wait(_PAUSE)

    def everyone_read(self, pages: int) -> None:
        """Return when everyone has read so many pages more."""
        aims = [len(seen) + pages for seen in self.seen]
        until(
            lambda: all(len(seen) >= aim for seen, aim in zip(self.seen, aims, strict=True)), "they stopped"
        )

    def close(self) -> None:
        self._ending.set()
        for thread in self._threads:
            thread.join()

    @property
    def statuses(self) -> set[int]:
        return {status for seen in self.seen for status in seen}
