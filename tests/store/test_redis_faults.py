"""Redis is full, doesn't answer or was killed: people stay signed in and are told what isn't possible."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator

import pytest

from tests.support.redis_server import RedisServer
from tests.support.signing import fresh_form, signatures, to_step
from tests.support.stack import CareService, PortalThread
from tests.support.visitor import Page, Visitor


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    running = RedisServer(tmp_path_factory.mktemp("redis-faults"))
    yield running
    running.stop()


@pytest.fixture(scope="module")
def portal(service: CareService, server: RedisServer) -> Iterator[PortalThread]:
    running = PortalThread(service.plan, PORTAL_STORE_URL=server.url)
    yield running
    running.stop()


@pytest.fixture
def amelia(portal: PortalThread) -> Visitor:
    portal.clock.ahead = 0  # the identity server's isn't moved
    visitor: Visitor = portal.sign_in("amelia")
    return visitor


def said(page: Page, heading: str) -> None:
    assert page.heading == heading
    assert "your records are safe" in page.words
    assert int(page.headers["Retry-After"]) == 10


def look(portal: PortalThread) -> tuple[bool, str]:
    answer = (True, "")
    for _ in range(4):
        portal.clock.advance(2)
        answer = portal.context.readiness.probe()
    return answer


def test_a_full_redis_allows_reading_and_explains_refused_writes(
    service: CareService, portal: PortalThread, server: RedisServer, amelia: Visitor
) -> None:
    assert look(portal)[0]
    portal.clock.ahead = 0
    form = fresh_form(service.plan)
    last = to_step(amelia, form, "Sign this form")
    portal.clock.advance(120)  # the session's last use is due to be written
    server.limit("1")
    try:
        for path in ("/", "/consents", form, f"{form}/sign", "/conversations", "/me"):
            amelia.get(path, status=200)
        last.form(f"{form}/sign").submit(signature="Amelia Hart", status=503)
        said(
            last.form(f"{form}/sign").submit(signature="Amelia Hart", status=503),
            "That can’t be done right now",
        )
        said(portal.visitor().request("GET", "/sign-in", status=503), "That can’t be done right now")
        assert look(portal) == (False, "not ready; the store takes no writes")
    finally:
        server.limit("0")
        portal.clock.ahead = 0
    assert signatures(amelia, form) == []
    last.form(f"{form}/sign").submit(signature="Amelia Hart")
    assert signatures(amelia, form) == ["Amelia Hart"]
    assert look(portal)[0]


def test_signing_out_works_with_a_full_redis(portal: PortalThread, server: RedisServer) -> None:
    nora = portal.sign_in("nora")  # whose sign-ins of the same second won't count any more
    page = nora.get("/")
    server.limit("1")
    try:
        page.form("/sign-out").submit()
    finally:
        server.limit("0")
    assert nora.request("GET", "/me", follow=False, status=303).headers["Location"].startswith("/sign-in")


def test_a_redis_pause_is_explained_quickly_and_signs_nobody_out(
    portal: PortalThread, server: RedisServer, amelia: Visitor
) -> None:
    server.send_signal(signal.SIGSTOP)
    try:
        began = time.monotonic()
        said(amelia.get("/consents", status=503), "The portal can’t be used right now")
        assert time.monotonic() - began < 4.0, "Redis must be asked only once, for two seconds"
    finally:
        server.send_signal(signal.SIGCONT)
    amelia.get("/consents", status=200)


def test_a_killed_and_restarted_redis_signs_nobody_out(
    portal: PortalThread, server: RedisServer, amelia: Visitor
) -> None:
    server.send_signal(signal.SIGKILL)
    spanish = {"Cookie": "__Host-language=es"}
    gone = amelia.request("GET", "/consents", headers=spanish, status=503)
    assert gone.tree["lang"] == "es" and gone.heading == "Ahora mismo no se puede usar el portal"
    server.start()
    amelia.get("/consents", status=200)
