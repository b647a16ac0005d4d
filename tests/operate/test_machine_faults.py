"""Machine faults: workers that crash repeatedly, and a clock that is ten minutes off."""

from __future__ import annotations

import io
import json
import os
import signal
import time
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import requests
from pypdf import PdfReader

from portal.demo.stack import DemoSetup
from portal.printing import pdf
from tests.printing.test_sealing import PAGE, signature
from tests.support.seals import TRUSTED, VALID, Clinic, judged
from tests.support.stack import PASSWORD, CareService, PortalProcess, PortalThread
from tests.support.visitor import Visitor

CRASHES = 12
WAIT = 30


def children(portal: PortalProcess, name: str) -> set[int]:
    master, found = portal.child.pid, set[int]()
    for child in Path(f"/proc/{master}/task/{master}/children").read_text().split():
        with suppress(FileNotFoundError, ProcessLookupError):  # it has ended
            if Path(f"/proc/{child}/comm").read_text() == f"{name}\n":
                found.add(int(child))
    return found


def workers(portal: PortalProcess) -> set[int]:
    """By the name that they give themselves, which a new parent doesn't have yet, either."""
    return children(portal, "portal-worker")


def parent(portal: PortalProcess) -> int:
    """The process that workers are forked from."""
    (found,) = children(portal, "portal-parent")
    return found


def shared_megabytes(pid: int) -> float:
    """What a process has written and shares with another: all of it was written before it was forked."""
    rollup = Path(f"/proc/{pid}/smaps_rollup").read_text()
    return int(rollup.partition("Shared_Dirty:")[2].split()[0]) / 1024


def with_a_new_one(portal: PortalProcess, before: set[int]) -> set[int]:
    until = time.monotonic() + WAIT
    while len(now := workers(portal)) < len(before) or now == before:
        assert portal.child.poll() is None, "the master gave up"
        assert time.monotonic() < until, "the killed worker wasn't replaced"
        time.sleep(0.02)
    return now


def test_the_portal_answers_after_twelve_worker_crashes_and_logs_each(
    service: CareService, tmp_path: Path
) -> None:
    known = service.plan
    store = f"sqlite:///{tmp_path}/store.db"
    portal = PortalProcess(
        DemoSetup(known.portal_port, known.service_port, tmp_path, known.secrets),
        PORTAL_STORE_URL=store,
        PORTAL_LOG="json",
        PORTAL_TRACES_URL="http://127.0.0.1:9/v1/traces",
    )
    try:
        amelia = Visitor(portal.origin(), PASSWORD)
        amelia.sign_in("amelia")
        assert "Threads:\t1\n" in Path(f"/proc/{parent(portal)}/status").read_text(), (
            "no thread is forked away"
        )
        for crash in range(CRASHES):
            before = workers(portal)
            if crash == CRASHES // 2:
                os.kill(parent(portal), signal.SIGKILL)
            os.kill(max(before), signal.SIGKILL)
            with_a_new_one(portal, before)
        assert max(map(shared_megabytes, workers(portal))) > 55, "it shares the application"
        assert amelia.get("/consents").status == 200, "nobody is signed out"
        address = f"http://127.0.0.1:{portal.port}/readyz"
        assert requests.get(address, timeout=WAIT).status_code == 200
        lines = [json.loads(line) for line in portal.log.read_text().splitlines()]
        said = [line for line in lines if "SIGKILL" in line["message"]]
        assert len(said) == CRASHES
        assert {line["level"] for line in said} <= {"error", "critical", "warning"}
    finally:
        portal.stop()


@pytest.mark.parametrize("minutes", [-10, 10])
def test_a_wrong_clock_lets_nobody_in_wrongly_and_recovers_when_corrected(
    portal: PortalThread, minutes: int
) -> None:
    nora = portal.sign_in("nora")
    portal.clock.advance(60 * minutes)
    try:
        visitor = portal.visitor()
        page = visitor.fill_sign_in(visitor.get("/", status=None), "amelia")
        # If the clock is behind, the ID token is from the future; if ahead, it is ten minutes old and valid for twenty.
        assert (page.status, page.heading) == (
            (400, "You couldn’t be signed in") if minutes < 0 else (200, page.heading)
        )
        assert ("__Host-sid" in visitor.http.cookies) is (minutes > 0)
        assert nora.get("/consents").status == 200, "a signed-in person was signed out"
    finally:
        portal.clock.ahead = 0
    assert portal.sign_in("amelia").get("/consents").status == 200


@pytest.mark.parametrize("minutes", [-10, 10])
def test_a_seal_made_with_a_wrong_clock_is_valid_and_has_that_clocks_time(
    tmp_path: Path, minutes: int
) -> None:
    clinic = Clinic(tmp_path)
    wrong = datetime.now(UTC).replace(microsecond=0) + timedelta(minutes=minutes)
    document = pdf(PAGE.format(""), seal=clinic.seal(wrong))
    said = judged(document, clinic.authority, tmp_path)
    assert VALID in said
    assert TRUSTED in said
    assert PdfReader(io.BytesIO(document)).trailer["/Root"]["/AcroForm"]
    assert signature(document)["/M"].startswith(f"D:{wrong:%Y%m%d%H%M%S}")
