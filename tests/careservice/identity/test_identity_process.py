"""The service as a process: quick to start, clean to stop, and its data kept."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import requests

from tests.careservice.identity.identity_server import IdentityServer

ROOT = Path(__file__).parents[3]


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Service:
    """`python -m portal.careservice` over a database that is kept."""

    def __init__(self, database: Path, port: int, *options: str, **environment: str) -> None:
        self.address = f"http://127.0.0.1:{port}"
        self.child = subprocess.Popen(
            [
                *(sys.executable, "-m", "portal.careservice", "--database", f"sqlite:///{database}"),
                *("--port", str(port), "--sample", "small", *options),
            ],
            cwd=ROOT,
            env={**os.environ, **environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )

    def wait(self) -> None:
        until = time.monotonic() + 60
        while time.monotonic() < until and self.child.poll() is None:
            try:
                if requests.get(f"{self.address}/healthz", timeout=2).ok:
                    return
            except requests.ConnectionError:
                time.sleep(0.05)
        raise AssertionError("the service did not answer")

    def stop(self) -> str:
        """Ask it to stop; return what it printed."""
        self.child.send_signal(signal.SIGTERM)
        output, _ = self.child.communicate(timeout=20)
        return output

    def service_token(self, secret: str) -> int:
        form = {"grant_type": "client_credentials", "client_id": "riverside-service", "client_secret": secret}
        return requests.post(f"{self.address}/connect/token", data=form, timeout=10).status_code


def has_group(leader: int) -> bool:
    try:
        os.killpg(leader, 0)
    except ProcessLookupError:
        return False
    return True


def test_a_restart_keeps_data_and_takes_new_secrets_and_keys(tmp_path: Path) -> None:
    database, port = tmp_path / "care.db", free_port()
    first = Service(database, port, RIVERSIDE_SERVICE_SECRET="first", PORTAL_DEMO_PASSWORD="given")
    first.wait()
    before = requests.get(f"{first.address}/.well-known/jwks", timeout=10).json()["keys"]
    assert first.service_token("first") == 200
    printed = first.stop()
    assert first.child.returncode == 0
    assert not has_group(first.child.pid)
    assert "Secret of riverside-portal: " in printed  # none was given, so one was generated
    assert "given" not in printed
    assert "Secret of riverside-service" not in printed

    rotated = subprocess.run(
        [sys.executable, "-m", "portal.careservice", "rotate-keys", "--database", f"sqlite:///{database}"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    second = Service(database, port, RIVERSIDE_SERVICE_SECRET="second")
    second.wait()
    after = requests.get(f"{second.address}/.well-known/jwks", timeout=10).json()["keys"]
    assert second.service_token("second") == 200
    assert second.service_token("first") == 401
    printed = second.stop()
    assert "Password of the sample people: " in printed
    assert len(after) == 2
    assert before[0] in after
    assert after[0]["kid"] in rotated.stdout


def test_a_port_in_use_is_reported_in_one_line(tmp_path: Path) -> None:
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        holder.listen()
        taken = Service(tmp_path / "care.db", holder.getsockname()[1], PORTAL_DEMO_PASSWORD="given")
        output, _ = taken.child.communicate(timeout=30)
    assert taken.child.returncode == 2
    assert "is taken" in output.splitlines()[-1]


def test_healthz_tells_whether_the_database_answers(server: IdentityServer, tmp_path: Path) -> None:
    assert server.app.test_client().get("/healthz").status_code == 200
    broken = IdentityServer(f"sqlite:///{tmp_path}/no/such/folder.db")
    assert broken.app.test_client().get("/healthz").status_code == 503
