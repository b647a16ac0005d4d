"""A machine that starts listens only once it can serve: the first page comes at once. Checks of health may have an address of
their own, which serves nothing else."""

from __future__ import annotations

import socket
import sys
import time
from pathlib import Path

import requests

from portal.demo.stack import DemoSetup, portal_environment, tenants_file
from tests.support.stack import CareService, Process, free_port


def start(service: CareService, folder: Path, port: int, **environment: str) -> Process:
    plan = DemoSetup(port, service.plan.service_port, folder, service.plan.secrets)
    tenants = folder / "tenants.toml"
    tenants.write_text(tenants_file(plan))
    command = [sys.executable, "-m", "gunicorn", "wsgi:app"]
    return Process(command, portal_environment(plan, tenants) | environment, folder / "portal.log")


def test_the_first_page_comes_within_a_second_of_the_first_connection(
    service: CareService, tmp_path: Path
) -> None:
    port, checks = free_port(), free_port()
    portal = start(service, tmp_path, port, PORTAL_HEALTH_BIND=f"127.0.0.1:{checks}")
    try:
        refused = 0
        until = time.monotonic() + 60
        while time.monotonic() < until:
            try:
                socket.create_connection(("127.0.0.1", port), timeout=5).close()
                break
            except ConnectionRefusedError:
                refused += 1
                time.sleep(0.02)
        began = time.monotonic()
        address = f"http://127.0.0.1:{port}/signed-out"
        answer = requests.get(address, headers={"Host": f"localhost:{port}"}, timeout=20)
        took = time.monotonic() - began
        assert answer.status_code == 200
        assert refused > 0, "it listened before its workers had loaded"
        assert took < 3, "a second on an idle machine"
        for at, health, page in ((port, 404, 200), (checks, 200, 404)):
            with requests.Session() as asking:
                asking.headers["Host"] = f"localhost:{port}"
                assert asking.get(f"http://127.0.0.1:{at}/healthz", timeout=20).status_code == health
                assert asking.get(f"http://127.0.0.1:{at}/signed-out", timeout=20).status_code == page
    finally:
        portal.stop()


def test_a_second_portal_at_the_same_address_ends_and_the_first_goes_on(
    service: CareService, tmp_path: Path
) -> None:
    port = free_port()
    (tmp_path / "first").mkdir()
    (tmp_path / "second").mkdir()
    first = start(service, tmp_path / "first", port)
    try:
        first.wait_for(f"http://127.0.0.1:{port}/healthz")
        second = start(service, tmp_path / "second", port)
        assert second.child.wait(60) != 0
        assert requests.get(f"http://127.0.0.1:{port}/healthz", timeout=20).status_code == 200
    finally:
        first.stop()
