"""The real parts, started for tests: the care service as a process, the portal in a thread or under gunicorn."""

from __future__ import annotations

import atexit
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import requests
from werkzeug.serving import BaseWSGIServer, WSGIRequestHandler, make_server

from portal.app import create_app
from portal.careservice import database
from portal.careservice.bootstrap import bootstrap
from portal.careservice.sample.people import SECRET_VARIABLES
from portal.careservice.settings import Settings as CareSettings
from portal.config.settings import Settings
from portal.demo.stack import PEOPLE, DemoSetup, portal_environment, service_command, tenants_file
from portal.store import StoreDown
from portal.store.sqlite import SqliteStore
from tests.support import forked
from tests.support.clock import Clock
from tests.support.half_hourly import half_hourly, shared_folder

ROOT = Path(__file__).parents[2]
PASSWORD = "correct horse battery staple"
SECRETS = {
    "RIVERSIDE_CLIENT_SECRET": "riverside-client-secret-for-tests",
    "RIVERSIDE_SERVICE_SECRET": "riverside-service-secret-for-tests",
    "HARBOUR_CLIENT_SECRET": "harbour-client-secret-for-tests",
    "HARBOUR_SERVICE_SECRET": "harbour-service-secret-for-tests",
    "PORTAL_SECRET_KEYS": "a-key-for-tests-a-key-for-tests-a-key-for-tests",
    "PORTAL_DEMO_PASSWORD": PASSWORD,
}


GENEROUS = {
    "PORTAL_LIMIT_SIGN_IN": "10000 per minute",
    "PORTAL_LIMIT_SIGNING": "10000 per minute",
    "PORTAL_LIMIT_BOOKING": "10000 per minute",
    "PORTAL_LIMIT_PRINTING": "10000 per minute",
    "PORTAL_LIMIT_FILES": "10000 per minute",
    "PORTAL_LIMIT_FIND": "10000 per minute",
}
"""Tests come from one address; the ones about limits set their own."""


_kept: list[socket.socket] = []


def free_port() -> int:
    """A port of this process's own until it ends: tests in other processes are never given the same.

    It stays bound, without listening: calls there are refused, until a server takes it. Servers can, because they bind
    with SO_REUSEADDR as this does.
    """
    keeper = socket.socket()
    keeper.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    keeper.bind(("127.0.0.1", 0))
    _kept.append(keeper)
    return keeper.getsockname()[1]


@atexit.register
def _give_back() -> None:
    for keeper in _kept:
        keeper.close()


def plan(folder: Path) -> DemoSetup:
    """A plan with ports that are free now."""
    return DemoSetup(free_port(), free_port(), folder, SECRETS)


class Server(ABC):
    """What starts, answers and ends, whatever it runs in."""

    log: Path

    @abstractmethod
    def is_running(self) -> bool:
        """Whether it hasn't ended."""

    @abstractmethod
    def stop(self) -> None:
        """End it and wait until it has."""

    def wait_for(self, address: str, seconds: float = 180) -> None:
        """Return when the address answers; `seconds` are for a machine that is busy with other things."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            assert self.is_running(), self.log.read_text()[-4000:]
            try:
                if requests.get(address, timeout=2).status_code == 200:
                    return
            except requests.RequestException:
                time.sleep(0.05)
        self.stop()
        raise AssertionError(f"{address} didn't answer: {self.log.read_text()[-4000:]}")


class Process(Server):
    """A child process that ends with its children."""

    def __init__(self, command: list[str], environment: Mapping[str, str], log: Path) -> None:
        self.log = log
        with log.open("ab") as output:
            self.child = subprocess.Popen(
                command,
                cwd=ROOT,
                env={**os.environ, **environment},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def is_running(self) -> bool:
        return self.child.poll() is None

    def stop(self, number: signal.Signals = signal.SIGTERM) -> None:
        try:
            os.killpg(self.child.pid, number)
        except ProcessLookupError:
            return
        self.child.wait(timeout=20)


class CareService(Server):
    """The embedded care service over a database of its own, freshly seeded."""

    def __init__(self, plan: DemoSetup, *options: str) -> None:
        self.plan = plan
        self.base_url = plan.service
        self.log = plan.data / "care-service.log"
        records = plan.data / "care.db"
        sample = sample_database()
        if not (options or records.exists()):
            shutil.copyfile(sample, records)
        _, _, _, *arguments = service_command(plan)
        self.log.touch()
        self.child = forked.start([*arguments, *options], {**os.environ, **plan.secrets}, self.log)
        self.wait_for(f"{plan.service}/healthz")

    def is_running(self) -> bool:
        return self.child.is_alive()

    def stop(self) -> None:
        """End it at once: a test's service has nothing to save."""
        with suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)
        self.child.join(timeout=20)

    @property
    def pid(self) -> int:
        """Its process id, which is that of its workers' process group too."""
        assert self.child.pid is not None
        return self.child.pid


@half_hourly
def sample_database() -> Path:
    """A database with the sample clinics, to be copied: to fill one takes as long as to start."""
    return shared_folder("portal", _fill) / "care.db"


def _fill(folder: Path) -> None:
    settings = CareSettings(
        database_url=f"sqlite:///{folder / 'care.db'}", issuer="", sample="small", sample_password=PASSWORD,
        client_secrets={client: SECRETS[variable] for client, variable in SECRET_VARIABLES.items()},
    )  # fmt: skip
    engine = database.connect(settings.database_url)
    bootstrap(engine, settings)
    engine.dispose()


class PortalThread:
    """The portal in this process, on a port of its own, with a clock that tests can move."""

    def __init__(self, plan: DemoSetup, **environment: str) -> None:
        self.plan = plan
        self.port = plan.portal_port
        self.clock = Clock(time.time)
        tenants = plan.data / f"tenants-{self.port}.toml"
        tenants.write_text(tenants_file(plan))
        settings = Settings.from_env({**portal_environment(plan, tenants), **GENEROUS, **environment})
        self.app = create_app(settings, clock=self.clock)
        with suppress(StoreDown):  # which some tests want
            self.context.vault.store.get("any")  # a file has its tables from the first use on
        self.server: BaseWSGIServer = make_server(
            "127.0.0.1", self.port, self.app, threaded=True, request_handler=_Quiet
        )
        self.thread = threading.Thread(
            target=self.server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True
        )
        self.thread.start()

    @property
    def context(self) -> Any:
        return self.app.extensions["portal"]

    def origin(self, tenant: str = "riverside") -> str:
        return f"http://{tenant}.localhost:{self.port}"

    def visitor(self, tenant: str = "riverside") -> Any:
        from tests.support.visitor import Visitor

        return Visitor(self.origin(tenant), PASSWORD)

    def sign_in(self, name: str) -> Any:
        """A browser-like client, signed in as this sample person at their clinic."""
        tenant = next(key for key, people in PEOPLE.items() if name in dict(people))
        visitor = self.visitor(tenant)
        visitor.sign_in(name)
        return visitor

    def audited(self) -> list[dict[str, Any]]:
        """Return the lines of its audit record, oldest first."""
        files = sorted((self.plan.data / "audit").glob("*.jsonl"))
        return [json.loads(line) for file in files for line in file.read_text().splitlines()]

    def age_sign_in(self, visitor: Any, seconds: float = 3600) -> None:
        """Let this visitor's last password be so long ago, so that signing asks for it again."""
        import msgspec

        cookie = visitor.session_id

        def change(record: Any) -> None:
            record.person = msgspec.structs.replace(
                record.person, auth_time=record.person.auth_time - seconds
            )

        self.context.sessions.amend(cookie, change)

    @contextmanager
    def impatient(self, *, when: bool = True) -> Iterator[None]:
        """Give each call half a second, for an answer that doesn't come; all else has the time a busy machine needs."""
        timeouts = self.context.settings.timeouts
        before = timeouts.connect, timeouts.read
        seconds = 0.5 if when else timeouts.read
        for name, value in zip(("connect", "read"), (seconds, seconds), strict=True):
            object.__setattr__(timeouts, name, value)
        try:
            yield
        finally:
            for name, value in zip(("connect", "read"), before, strict=True):
                object.__setattr__(timeouts, name, value)

    def stop(self) -> None:
        self.server.shutdown()
        self.thread.join(timeout=5)
        self.server.server_close()
        self.context.audit.close()
        close_store(self.context.vault.store)


def workers_of(master: int) -> list[int]:
    """The worker processes of a gunicorn master, without the one that they are forked from."""
    found: list[int] = []
    for pid in Path(f"/proc/{master}/task/{master}/children").read_text().split():
        with suppress(FileNotFoundError, ProcessLookupError):  # it has ended
            if Path(f"/proc/{pid}/comm").read_text() != "portal-parent\n":
                found.append(int(pid))
    return found


class PortalProcess(Process):
    """The portal as it is deployed: gunicorn with its own defaults."""

    def __init__(self, plan: DemoSetup, **environment: str) -> None:
        self.plan = plan
        self.port = plan.portal_port
        tenants = plan.data / f"tenants-{self.port}.toml"
        tenants.write_text(tenants_file(plan))
        super().__init__(
            [sys.executable, "-m", "gunicorn", "wsgi:app"],
            {**portal_environment(plan, tenants), **GENEROUS, **environment},
            plan.data / "portal.log",
        )
        self.wait_for(f"http://127.0.0.1:{self.port}/readyz")

    def origin(self, tenant: str = "riverside") -> str:
        return f"http://{tenant}.localhost:{self.port}"


def close_store(store: object) -> None:
    """Close a store's files, of which a process of tests may have but so many (libcurl's select() takes none above 1,023)."""
    if isinstance(store, SqliteStore):
        store.close()


class _Quiet(WSGIRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
        """The portal writes its own log."""
