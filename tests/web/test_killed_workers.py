"""A worker is killed between the act and its answer: one effect, and the person sees the receipt or honest words."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
import requests

from portal.demo import tenants_file
from tests.support.hostile import CountingProxy
from tests.support.signing import fresh_form, signatures, to_step
from tests.support.stack import PASSWORD, CareService, PortalProcess
from tests.support.visitor import Page, Visitor


@pytest.fixture(scope="module")
def line(service: CareService) -> Iterator[CountingProxy]:
    """The way to the care API."""
    proxy = CountingProxy(service.plan.service_port)
    yield proxy
    proxy.stop()


@pytest.fixture(scope="module")
def process(
    service: CareService, line: CountingProxy, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[PortalProcess]:
    folder = tmp_path_factory.mktemp("killed")
    tenants = folder / "tenants.toml"
    text = tenants_file(service.plan)
    tenants.write_text(text.replace(f'base_url = "{service.base_url}"', f'base_url = "{line.origin}"'))
    running = PortalProcess(
        service.plan, PORTAL_TENANTS=str(tenants), PORTAL_STORE_URL=f"sqlite:///{folder}/store.db"
    )
    yield running
    running.stop()


@pytest.fixture(scope="module")
def amelia(process: PortalProcess) -> Visitor:
    visitor = Visitor(process.origin(), PASSWORD)
    visitor.sign_in("amelia")
    return visitor


def sign_and_kill(process: PortalProcess, line: CountingProxy, page: Page, form: str, *, acted: bool) -> None:
    """Send the signature; kill every worker when the API has acted, or before it hears of it."""
    lost: list[Exception] = []

    def send() -> None:
        try:
            page.form(f"{form}/sign").submit(signature="Amelia Hart", status=None)
        except requests.ConnectionError as error:
            lost.append(error)

    path = f"/api/care/consent-forms/{form.rpartition('/')[2]}/sign"
    line.hold(path, after=acted)
    sending = threading.Thread(target=send)
    sending.start()
    line.wait()
    children = Path(f"/proc/{process.child.pid}/task/{process.child.pid}/children").read_text().split()
    for worker in children:
        os.kill(int(worker), signal.SIGKILL)
    sending.join(30)
    line.drop()
    assert len(lost) == 1, "the browser got no answer"
    assert line.count(path) == 1


def test_a_signature_that_arrived_shows_its_receipt(
    process: PortalProcess, line: CountingProxy, amelia: Visitor, service: CareService
) -> None:
    form = fresh_form(service.plan)
    page = to_step(amelia, form, "Sign this form")
    sign_and_kill(process, line, page, form, acted=True)
    again = page.form(f"{form}/sign").submit(signature="Amelia Hart")
    assert again.path == f"{form}/receipt"
    assert signatures(amelia, form) == ["Amelia Hart"]
    assert line.count(f"/api/care/consent-forms/{form.rpartition('/')[2]}/sign") == 1


def test_a_signature_that_did_not_arrive_is_said_to_be_unconfirmed_and_not_sent_twice(
    process: PortalProcess, line: CountingProxy, amelia: Visitor, service: CareService
) -> None:
    form = fresh_form(service.plan)
    page = to_step(amelia, form, "Sign this form")
    sign_and_kill(process, line, page, form, acted=False)
    again = page.form(f"{form}/sign").submit(signature="Amelia Hart", status=202)
    assert "couldn't confirm" in again.words
    assert signatures(amelia, form) == []
    assert line.count(f"/api/care/consent-forms/{form.rpartition('/')[2]}/sign") == 1
