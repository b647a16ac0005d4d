"""The portal is reloaded, restarted and stopped while in use: every request gets its response."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from portal.demo.stack import tenants_file
from tests.support.stack import PASSWORD, CareService, PortalProcess, plan, workers_of
from tests.support.traffic import Ask, Traffic
from tests.support.visitor import Visitor

BROWSERS = 24
PAUSE = 0.5
"""They ask fifty times a second: more would take the processor from the workers that are to start."""


@pytest.fixture(scope="module")
def upstream(tmp_path_factory: pytest.TempPathFactory) -> Iterator[CareService]:
    running = CareService(plan(tmp_path_factory.mktemp("reload")))
    yield running
    running.stop()


class Running:
    """The portal under gunicorn, and people who use it."""

    def __init__(self, service: CareService, folder: Path, **environment: str) -> None:
        self.plan = service.plan
        self.portal = PortalProcess(self.plan, PORTAL_STORE_URL=f"sqlite:///{folder}/store.db", **environment)
        visitor = Visitor(self.portal.origin(), PASSWORD)
        visitor.sign_in("amelia")
        cookie = visitor.session_id
        signed_in = (("Cookie", f"__Host-sid={cookie}"),)
        form = (("Content-Type", "application/x-www-form-urlencoded"),)
        self.traffic = Traffic(
            self.portal.port,
            self.portal.origin().removeprefix("http://"),
            [
                Ask("GET", "/notifications", 200, signed_in),
                Ask("POST", "/sign-out/back-channel", 400, form, b"logout_token=forged"),
                Ask("GET", "/signed-out", 200),
                Ask("POST", "/sign-out/back-channel", 400, form, b"logout_token=forged"),
                Ask("GET", "/portal.webmanifest", 200),
            ],
        )

    def workers(self) -> set[int]:
        return set(workers_of(self.portal.child.pid))


@pytest.fixture
def running(upstream: CareService, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Running]:
    started = Running(upstream, tmp_path, **getattr(request, "param", {}))
    yield started
    started.portal.stop()


def test_a_reload_under_traffic_drops_no_request_and_rereads_the_clinics(running: Running) -> None:
    traffic = running.traffic
    before = running.workers()
    tenants = running.plan.data / f"tenants-{running.portal.port}.toml"
    with traffic.of(BROWSERS, pause=PAUSE):
        traffic.wait_for_more(100)
        tenants.write_text(tenants_file(running.plan).replace("Riverside Fertility", "Riverbank Fertility"))
        os.kill(running.portal.child.pid, signal.SIGHUP)
        traffic.wait_for(lambda: not before & running.workers(), "new workers alone")
        traffic.wait_for_more(100)
    assert traffic.failed == []
    assert traffic.slowest < 6, "a request waited for the new workers to start"
    assert "Riverbank Fertility" in Visitor(running.portal.origin()).get("/signed-out").text


def test_a_stop_under_traffic_answers_every_request(running: Running) -> None:
    traffic = running.traffic
    with traffic.of(BROWSERS, pause=PAUSE):
        traffic.wait_for_more(100)
        os.kill(running.portal.child.pid, signal.SIGTERM)
        traffic.wait_for(lambda: traffic.turned_away == BROWSERS, "everyone was turned away")
    assert traffic.failed == []
    assert running.portal.child.wait(40) == 0


def test_a_reload_with_wrong_settings_is_refused_and_workers_keep_running(running: Running) -> None:
    traffic = running.traffic
    before = running.workers()
    tenants = running.plan.data / f"tenants-{running.portal.port}.toml"
    good = tenants.read_text()
    tenants.write_text(good.replace("Europe/London", "Europe/Lundon"))
    log = running.portal.log
    with traffic.of(5, pause=PAUSE):
        os.kill(running.portal.child.pid, signal.SIGHUP)
        traffic.wait_for(lambda: "Not reloaded" in log.read_text(), "said so in the log")
        traffic.wait_for_more(20)
    assert "tenants.riverside.time_zone: 'Europe/Lundon'" in log.read_text()
    assert running.workers() == before
    tenants.write_text(good)
    assert traffic.failed == []


@pytest.mark.parametrize("running", [{"PORTAL_MAX_REQUESTS": "60"}], indirect=True)
def test_workers_restart_under_traffic_without_losing_a_request_or_rereading_a_broken_file(
    running: Running,
) -> None:
    """Until a reload, which names the fault."""
    traffic = running.traffic
    before = running.workers()
    tenants = running.plan.data / f"tenants-{running.portal.port}.toml"
    tenants.write_text("[tenants.half-written")
    log = running.portal.log
    with traffic.of(BROWSERS, pause=PAUSE):
        traffic.wait_for(lambda: not before & running.workers(), "each worker renewed")
        traffic.wait_for_more(100)
        os.kill(running.portal.child.pid, signal.SIGHUP)
        traffic.wait_for(lambda: f"{tenants}: is not TOML" in log.read_text(), "said so in the log")
        traffic.wait_for_more(20)
    assert traffic.failed == []
