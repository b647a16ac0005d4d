"""How often one address may begin to sign in, and one person may sign: for all workers together."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from portal.demo import Plan
from tests.support.redis_server import RedisServer
from tests.support.stack import CareService, PortalThread, free_port

FORGED = "/sign-in/callback?state=x&code=y"


@pytest.fixture(params=["sqlite", "redis"])
def pair(
    request: pytest.FixtureRequest, service: CareService, tmp_path: Path
) -> Iterator[tuple[PortalThread, PortalThread]]:
    """Two portals on one store, as two workers are, that let an address sign in three times an hour."""
    redis = RedisServer(tmp_path) if request.param == "redis" else None
    store = redis.url if redis else f"sqlite:///{tmp_path}/shared.db"
    plans = [Plan(free_port(), service.plan.service_port, tmp_path, service.plan.secrets) for _ in range(2)]
    both = [PortalThread(one, PORTAL_STORE_URL=store, PORTAL_LIMIT_SIGN_IN="3 per hour") for one in plans]
    yield both[0], both[1]
    for one in both:
        one.stop()
    if redis:
        redis.stop()


def test_a_limit_holds_for_all_workers_and_says_when_it_ends(
    pair: tuple[PortalThread, PortalThread],
) -> None:
    first, second = pair
    for portal in (first, second, first):
        portal.visitor().request("GET", FORGED, status=400)
    for portal in pair:
        page = portal.visitor().request("GET", FORGED, status=429)
        assert page.heading == "Too many tries"
        assert 3500 < int(page.headers["Retry-After"]) <= 3600
        assert "You can go on in 60 minutes" in page.words
    for portal in pair:
        portal.clock.advance(3601)
        portal.visitor().request("GET", FORGED, status=400)


def test_what_is_refused_is_one_line_of_audit(pair: tuple[PortalThread, PortalThread]) -> None:
    portal, _ = pair
    for _ in range(3):
        portal.visitor().request("GET", FORGED, status=400)
    before = _audited(portal)
    portal.visitor().request("GET", FORGED, status=429)
    after = _audited(portal)
    assert len(after) == len(before) + 1
    assert '"sign_in.callback","outcome":"too-many"' in after[-1]


def test_customers_with_a_network_of_their_own_count_once(pair: tuple[PortalThread, PortalThread]) -> None:
    from portal.web.extensions import address

    app = pair[0].app
    for one, other, same in [
        ("2001:db8:1:2::1", "2001:db8:1:2:ffff::9", True),
        ("2001:db8:1:2::1", "2001:db8:1:3::1", False),
        ("192.0.2.1", "192.0.2.2", False),
        ("not an address", "", True),
    ]:
        counted: list[str] = []
        for remote in (one, other):
            with app.test_request_context(environ_base={"REMOTE_ADDR": remote}):
                counted.append(address())
        assert (counted[0] == counted[1]) is same


def _audited(portal: PortalThread) -> list[str]:
    files = sorted((portal.plan.data / "audit").glob("*.jsonl"), key=lambda file: file.stat().st_mtime)
    return [line for file in files for line in file.read_text().splitlines()]
