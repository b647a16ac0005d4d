"""The API of one clinic takes calls and never answers: neither checks of health nor the other clinic's pages wait for it."""

from __future__ import annotations

import socket
import statistics
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
import requests

from portal.demo import stack
from portal.demo.stack import DemoSetup
from tests.support.stack import PASSWORD, CareService, PortalProcess
from tests.support.visitor import Visitor

WAITING = 12
"""More than the eight threads of the one worker."""


def seconds(work: Callable[[], object]) -> float:
    began = time.monotonic()
    work()
    return time.monotonic() - began


def test_one_clinics_hung_api_delays_neither_health_nor_the_other_clinics_pages(
    service: CareService, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hung = socket.create_server(("127.0.0.1", 0), backlog=256)
    address = f'base_url = "http://127.0.0.1:{hung.getsockname()[1]}"'
    tenants = stack.tenants_file(service.plan).replace("[tenants.harbour]", f"[tenants.harbour]\n{address}")
    monkeypatch.setattr("tests.support.stack.tenants_file", lambda _plan: tenants)
    known = service.plan
    portal = PortalProcess(
        DemoSetup(known.portal_port, known.service_port, tmp_path, known.secrets),
        PORTAL_STORE_URL=f"sqlite:///{tmp_path}/store.db",
        PORTAL_WORKERS="1",
        PORTAL_BREAKER="0",
    )
    try:
        amelia = Visitor(portal.origin(), PASSWORD)
        amelia.sign_in("amelia")
        omar = Visitor(portal.origin("harbour"), PASSWORD)
        omar.sign_in("omar", "/me/devices")
        usual = [seconds(lambda: amelia.get("/consents")) for _ in range(8)]
        waiting = [
            threading.Thread(target=omar.get, args=("/consents", None), daemon=True) for _ in range(WAITING)
        ]
        for thread in waiting:
            thread.start()
        time.sleep(0.5)
        health = [
            seconds(lambda: requests.get(f"http://127.0.0.1:{portal.port}/readyz", timeout=5))
            for _ in range(5)
        ]
        during = [seconds(lambda: amelia.get("/consents")) for _ in range(8)]
        assert all(thread.is_alive() for thread in waiting), "the other clinic's pages don't wait"
        assert max(health) < 0.5
        assert statistics.median(during) < 2 * statistics.median(usual) + 0.05
    finally:
        hung.close()
        portal.stop()
