"""A worker is killed between the act and its response: one effect, and the person sees the receipt or the unknown outcome."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator

import pytest
import requests

from tests.support.acts import ACTS, People, Ready, over_the_line
from tests.support.full import FULL
from tests.support.hostile import CountingProxy
from tests.support.stack import CareService, PortalProcess, workers_of


@pytest.fixture(scope="module")
def process(
    service: CareService, line: CountingProxy, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[PortalProcess]:
    folder = tmp_path_factory.mktemp("killed")
    tenants = folder / "tenants.toml"
    tenants.write_text(over_the_line(service.plan, line))
    running = PortalProcess(
        service.plan, PORTAL_TENANTS=str(tenants), PORTAL_STORE_URL=f"sqlite:///{folder}/store.db"
    )
    yield running
    running.stop()


@pytest.fixture(scope="module")
def people(process: PortalProcess) -> People:
    return People(process.origin())


def send_and_kill(process: PortalProcess, line: CountingProxy, ready: Ready, *, acted: bool) -> None:
    """Send the form; kill every worker when the API has acted, or before it hears of it."""
    lost: list[Exception] = []

    def send() -> None:
        try:
            ready.send()
        except requests.ConnectionError as error:
            lost.append(error)

    line.asked.clear()
    line.hold(ready.call, after=acted)
    sending = threading.Thread(target=send)
    sending.start()
    line.wait()
    for worker in workers_of(process.child.pid):
        os.kill(worker, signal.SIGKILL)
    sending.join(30)
    line.drop()
    assert len(lost) == 1, "the browser must get no response"
    assert line.count(ready.call) == 1


@pytest.mark.parametrize("act", ACTS if FULL else ["sign", "create a consent", "merge", "book by a link"])
def test_a_worker_killed_after_the_act_leads_to_its_receipt_or_an_unknown_outcome(
    process: PortalProcess, line: CountingProxy, people: People, service: CareService, act: str
) -> None:
    ready = ACTS[act](people, service.plan)
    send_and_kill(process, line, ready, acted=True)
    assert ready.send().heading == (ready.end if ready.is_found else ready.unsure)
    assert line.count(ready.call) == 1


@pytest.mark.parametrize("act", ACTS if FULL else ["book"])
def test_a_worker_killed_before_the_act_leads_to_an_unconfirmed_outcome_and_no_resend(
    process: PortalProcess, line: CountingProxy, people: People, service: CareService, act: str
) -> None:
    ready = ACTS[act](people, service.plan)
    send_and_kill(process, line, ready, acted=False)
    assert ready.send().heading == ready.unsure
    assert line.count(ready.call) == 1
