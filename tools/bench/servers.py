"""Starts the servers to measure: the stub API, the identity server, the portal and the baselines."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Generator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from portal.demo.programs import find
from portal.demo.stack import DemoSetup, portal_environment, tenants_file
from tests.support.stack import GENEROUS, PASSWORD, ROOT, CareService, free_port, plan, workers_of
from tests.support.visitor import Visitor
from tools.bench.answers import EPISODE
from tools.bench.load import Answer, Connection

PAGE = f"/episodes/{EPISODE}/consents"
"""The measured page: two concurrent calls of 5.7 kB, 40 rows."""


@dataclass(slots=True, eq=False)
class Server:
    """A running server: gunicorn with the portal's settings, or uvicorn."""

    name: str
    port: int
    host: str
    process: subprocess.Popen[bytes]
    headers: dict[str, str] = field(default_factory=dict)
    seconds_to_start: float = 0.0

    @property
    def workers(self) -> list[int]:
        return workers_of(self.process.pid) or [self.process.pid]

    def connect(self) -> Connection:
        return Connection(self.port, self.host, self.headers)

    def get(self, path: str) -> Answer:
        connection = self.connect()
        answer = connection.get(path)
        connection.close()
        return answer

    def stop(self) -> None:
        _end(self.process)


class Bench:
    """The servers of a run, in a folder of their own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.plan: DemoSetup = plan(folder)
        self.upstream_port = free_port()
        self.upstream = f"http://127.0.0.1:{self.upstream_port}"
        self._log = (folder / "bench.log").open("ab")
        self._processes: list[subprocess.Popen[bytes]] = []
        self._care = CareService(self.plan)
        self._run([sys.executable, "-m", "tools.bench.upstream", str(self.upstream_port)], {})
        self.tenants = folder / "tenants.toml"
        self.tenants.write_text(self.tenants_text())
        self._wait_for(self.upstream_port, "/calls", "upstream")

    def tenants_text(self) -> str:
        """The sample clinics with the real identity server and the stub as care API."""
        text = tenants_file(self.plan)
        return text.replace(f'base_url = "{self.plan.service}"', f'base_url = "{self.upstream}"')

    def portal(self, **environment: str) -> Server:
        return self._serve("portal", "wsgi:app", self.plan.portal_port, environment)

    def portal_at_sample_api(self) -> Server:
        """Start a portal whose care API is the sample one; sessions are those of the other portal."""
        tenants = self.folder / "tenants-sample.toml"
        tenants.write_text(tenants_file(self.plan))
        host = self.plan.hosts("riverside")[0]
        return self._serve("portal", "wsgi:app", free_port(), {"PORTAL_TENANTS": str(tenants)}, host=host)

    def baseline(self, name: str, *, by: str = "gunicorn", workers: int = 2) -> Server:
        """Start a baseline `by` gunicorn, or by uvicorn with so many workers."""
        sessions = self.folder / f"sessions-{name}"
        environment = {
            "BENCH_UPSTREAM": self.upstream,
            "BENCH_TOKEN": "t" * 900,
            "BENCH_SESSIONS": str(sessions),
        }
        server = self._serve(
            name, f"tools.bench.{name}:app", free_port(), environment, by=by, workers=workers
        )
        if name == "typical_flask":
            cookie = server.get("/sign-in").header("Set-Cookie").partition(";")[0]
            server.headers["Cookie"] = cookie
        return server

    def go_baseline(self) -> Server | None:
        """Build and start the baseline in Go; None where there is no Go."""
        if find("go") is None:
            return None
        program = str(self.folder / "go_app")
        subprocess.run(
            ["go", "build", "-o", program, "."], cwd=Path(__file__).with_name("go_app"), check=True
        )
        port = free_port()
        environment = {"BENCH_UPSTREAM": self.upstream, "BENCH_TOKEN": "t" * 900}
        began = time.perf_counter()
        process = self._run([program, str(port)], environment)
        host = f"riverside.localhost:{port}"
        self._wait_for(port, PAGE, host)
        return Server("go_app", port, host, process, {}, time.perf_counter() - began)

    def portal_of_many(self, clinics: int) -> Server:
        """Start the portal with this many more clinics in its tenants file."""
        port = free_port()
        text = self.tenants_text()
        ours = text[text.index("[tenants.riverside]") : text.index("[tenants.harbour]")]
        more = [
            ours.replace("tenants.riverside", f"tenants.clinic-{number}").replace(
                json.dumps(self.plan.hosts("riverside")), f'["clinic-{number}.localhost:{port}"]'
            )
            for number in range(clinics)
        ]
        many = self.folder / "tenants-many.toml"
        many.write_text("\n".join([text, *more]))
        return self._serve(
            "portal", "wsgi:app", port, {"PORTAL_TENANTS": str(many)}, host=self.plan.hosts("riverside")[0]
        )

    def sign_in(self, server: Server, name: str, at: str = "/") -> dict[str, str]:
        """Sign this sample person in at the real identity server; return the headers to send."""
        visitor = Visitor(f"http://riverside.localhost:{server.port}", PASSWORD)
        visitor.sign_in(name, at)
        cookie = next(one.value for one in visitor.http.cookies if one.name == "__Host-sid")
        headers = {"Cookie": f"__Host-sid={cookie}", "Accept-Encoding": "identity", "Accept-Language": "en"}
        return {
            **headers,
            "Sec-Fetch-Site": "same-origin",
            "Sec-Fetch-Dest": "empty",
        }  # or the bell answers 404

    def delay(self, milliseconds: int) -> None:
        """Make the stub wait this long before each response."""
        with closing(Connection(self.upstream_port, "upstream", {})) as connection:
            connection.get(f"/delay/{milliseconds}")

    def calls(self) -> dict[str, int]:
        """Calls that the stub received since last asked, by path."""
        with closing(Connection(self.upstream_port, "upstream", {})) as connection:
            return json.loads(connection.get("/calls").body)

    def stop(self) -> None:
        for process in reversed(self._processes):
            _end(process)
        self._care.stop()
        self._log.close()

    def _serve(
        self,
        name: str,
        app: str,
        port: int,
        environment: dict[str, str],
        host: str | None = None,
        by: str = "gunicorn",
        workers: int = 2,
    ) -> Server:
        own = {**portal_environment(self.plan, self.tenants), **GENEROUS, "PORTAL_BIND": f"127.0.0.1:{port}"}
        began = time.perf_counter()
        best = ("--loop", "uvloop", "--http", "httptools", "--no-access-log")
        options = ["--workers", str(workers), "--port", str(port), *best] if by == "uvicorn" else []
        process = self._run([sys.executable, "-m", by, app, *options], {**own, **environment})
        host = host or f"riverside.localhost:{port}"
        self._wait_for(port, "/healthz" if name == "portal" else PAGE, host)
        return Server(name, port, host, process, {"Accept-Language": "en"}, time.perf_counter() - began)

    def _run(self, command: list[str], environment: dict[str, str]) -> subprocess.Popen[bytes]:
        process = subprocess.Popen(
            command,
            cwd=ROOT,
            env={**os.environ, **environment},
            stdin=subprocess.DEVNULL,
            stdout=self._log,
            stderr=self._log,
            start_new_session=True,
        )
        self._processes.append(process)
        return process

    def _wait_for(self, port: int, path: str, host: str) -> None:
        until = time.monotonic() + 60
        while time.monotonic() < until:
            with suppress(OSError), closing(Connection(port, host, {})) as connection:
                connection.get(path)
                return
            time.sleep(0.005)
        raise AssertionError(f"no answer on port {port}: {(self.folder / 'bench.log').read_text()[-3000:]}")


@contextmanager
def bench(folder: Path) -> Generator[Bench]:
    """Start what every measurement needs, and stop it afterwards."""
    made = Bench(folder)
    try:
        yield made
    finally:
        made.stop()


def _end(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGTERM)
        try:
            process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
