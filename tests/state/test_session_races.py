"""Concurrent requests in several worker processes: one token call, and nobody is signed out by accident.

They share a file. Machines that share a Redis are `tests/demo/test_scale.py`'s; that both kinds of store compare before they
write, `tests/store/test_store.py`'s.

The care service gives one-time refresh tokens without grace: a second use of one ends the sign-in.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection
from pathlib import Path

import msgspec
import pytest

from portal.demo.stack import DemoSetup, tenants_file
from portal.state.session_records import Tokens, record_name, tokens_name
from portal.store import open_store
from portal.store.vault import Vault
from tests.support.hostile import CountingProxy
from tests.support.redis_server import RedisServer
from tests.support.stack import PASSWORD, SECRETS, CareService, PortalProcess, plan, workers_of
from tests.support.visitor import Visitor

TOKEN = "/connect/token"
AT_ONCE = 50


@dataclass
class Stack:
    """Portal processes, the identity server's counter, and the store with the keys to read it."""

    portal: PortalProcess
    proxy: CountingProxy
    vault: Vault

    def sign_in(self) -> str:
        """Sign in, and return the session's cookie."""
        visitor = Visitor(self.portal.origin(), PASSWORD)
        visitor.sign_in("amelia")
        return visitor.session_id

    def get(self, cookie: str, path: str = "/notifications") -> tuple[int, str]:
        """Return status and Location of one request of its own connection."""
        connection = HTTPConnection("127.0.0.1", self.portal.port, timeout=60)
        host = self.portal.origin().removeprefix("http://")
        try:
            connection.request("GET", path, headers={"Host": host, "Cookie": f"__Host-sid={cookie}"})
            answer = connection.getresponse()
            answer.read()
        except OSError as error:
            error.add_note(f"the portal's log ends: {self.portal.log.read_text()[-4000:]}")
            raise
        finally:
            connection.close()
        return answer.status, answer.headers.get("Location", "")

    def change_tokens(self, cookie: str, change: Callable[[Tokens], Tokens]) -> None:
        name = tokens_name(record_name(cookie))
        assert self.vault.update(name, Tokens, change) is not None


@dataclass(frozen=True)
class Upstream:
    service: CareService
    proxy: CountingProxy
    plan: DemoSetup


@pytest.fixture(scope="module")
def upstream(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Upstream]:
    where = plan(tmp_path_factory.mktemp("races"))
    proxy = CountingProxy(where.service_port)
    service = CareService(where, "--issuer", proxy.origin, "--refresh-grace-seconds", "0")
    yield Upstream(service, proxy, where)
    service.stop()
    proxy.stop()


@contextmanager
def stack(upstream: Upstream, store_url: str, *, workers: int, read: float = 8) -> Iterator[Stack]:
    tenants = upstream.plan.data / "tenants-races.toml"
    tenants.write_text(
        tenants_file(upstream.plan).replace(
            f'auth_url = "{upstream.plan.service}"', f'auth_url = "{upstream.proxy.origin}"'
        )
    )
    portal = PortalProcess(
        upstream.plan,
        PORTAL_TENANTS=str(tenants),
        PORTAL_STORE_URL=store_url,
        PORTAL_WORKERS=str(workers),
        PORTAL_TIMEOUT_READ=str(read),
        PORTAL_TIMEOUT_PAGE=str(max(10, 2 * read)),
    )
    try:
        vault = Vault(open_store(store_url, time.time), (SECRETS["PORTAL_SECRET_KEYS"],))
        yield Stack(portal, upstream.proxy, vault)
    finally:
        portal.stop()


@pytest.fixture(scope="module")
def store_url(tmp_path_factory: pytest.TempPathFactory) -> str:
    return f"sqlite:///{tmp_path_factory.mktemp('store')}/store.db"


@pytest.fixture(scope="module")
def four(upstream: Upstream, store_url: str) -> Iterator[Stack]:
    """Four workers."""
    with stack(upstream, store_url, workers=4) as running:
        yield running


def out_of_time(tokens: Tokens) -> Tokens:
    return msgspec.structs.replace(tokens, refresh_at=0, expires_at=0)


def soon_out_of_time(tokens: Tokens) -> Tokens:
    return msgspec.structs.replace(tokens, refresh_at=0)


def refused_by_the_api(tokens: Tokens) -> Tokens:
    return msgspec.structs.replace(tokens, access_token="no.longer.good")


@pytest.mark.parametrize("how", [out_of_time, soon_out_of_time, refused_by_the_api])
def test_fifty_requests_in_four_workers_make_one_token_call(
    four: Stack, how: Callable[[Tokens], Tokens]
) -> None:
    cookie = four.sign_in()
    four.change_tokens(cookie, how)
    before = four.proxy.count(TOKEN)
    with ThreadPoolExecutor(AT_ONCE) as pool:
        answers = list(pool.map(lambda _: four.get(cookie), range(AT_ONCE)))
    assert answers == [(200, "")] * AT_ONCE
    assert four.proxy.count(TOKEN) - before == 1
    assert four.get(cookie) == (200, "")


@pytest.mark.parametrize("after", [False, True])
def test_signing_out_wins_over_a_refresh_in_flight(four: Stack, after: bool) -> None:
    """A request waits for its new token while the person signs out; the token comes, and is of no use."""
    visitor = Visitor(four.portal.origin(), PASSWORD)
    page = visitor.sign_in("grace")
    cookie = visitor.session_id
    four.change_tokens(cookie, out_of_time)
    four.proxy.hold(TOKEN, after=after)
    slow: list[tuple[int, str]] = []
    thread = threading.Thread(target=lambda: slow.append(four.get(cookie)))
    thread.start()
    four.proxy.wait()
    signed_out = page.form("/sign-out").submit(status=None)
    four.proxy.release()
    thread.join()
    assert signed_out.path == "/signed-out"
    assert slow[0][0] == 303
    assert slow[0][1].startswith("/sign-in?")
    assert four.get(cookie)[0] == 303
    assert four.vault.store.get(record_name(cookie)) is None
    assert four.vault.store.get(tokens_name(record_name(cookie))) is None


def test_concurrent_requests_of_many_people_do_not_mix(four: Stack) -> None:
    cookies = [four.sign_in() for _ in range(3)]
    for cookie in cookies:
        four.change_tokens(cookie, out_of_time)
    before = four.proxy.count(TOKEN)
    with ThreadPoolExecutor(30) as pool:
        answers = list(pool.map(lambda number: four.get(cookies[number % 3]), range(30)))
    assert answers == [(200, "")] * 30
    assert four.proxy.count(TOKEN) - before == 3


def test_a_worker_killed_during_a_refresh_delays_others_only_briefly(
    upstream: Upstream, store_url: str, request: pytest.FixtureRequest
) -> None:
    request.getfixturevalue("four").portal.stop()
    with stack(upstream, store_url, workers=2, read=1) as two:
        cookie = two.sign_in()
        two.change_tokens(cookie, out_of_time)
        two.proxy.hold(TOKEN)
        lost = threading.Thread(target=lambda: _ignored(lambda: two.get(cookie)))
        lost.start()
        two.proxy.wait()
        for worker in workers_of(two.portal.child.pid):
            os.kill(worker, signal.SIGKILL)
        killed_at = time.monotonic()
        two.proxy.drop()
        lost.join()
        seen: list[tuple[int, str]] = []
        while not seen or seen[-1][0] != 200:
            assert time.monotonic() - killed_at < 15, seen
            _ignored(lambda: seen.append(two.get(cookie)))
        # The lock lasts three call timeouts; after that a worker has to start, perhaps on a busy machine.
        assert {status for status, _ in seen} <= {200, 503}, "nobody is signed out"


@pytest.mark.asvs("16.5.2", "16.5.3")
def test_a_store_outage_is_explained_and_the_portal_recovers(upstream: Upstream, tmp_path: Path) -> None:
    redis = RedisServer(tmp_path)
    with stack(upstream, redis.url, workers=2) as two:
        cookie = two.sign_in()
        assert two.get(cookie)[0] == 200
        redis.stop()
        for path in ("/", "/notifications", "/sign-in", "/sign-in/callback?state=x", "/signed-out"):
            for one in (cookie, "none"):
                assert two.get(one, path) == (503, ""), path
        assert two.get(cookie, "/no/such/page")[0] == 404
        assert two.get(cookie, "/healthz")[0] == 200
        assert _comes(lambda: two.get(cookie, "/readyz")[0] == 503)
        redis.start()
        assert two.get(cookie)[0] == 200
        assert _comes(lambda: two.get(cookie, "/readyz")[0] == 200)
    redis.stop()


def _comes(is_so: Callable[[], bool], seconds: float = 30) -> bool:
    """Whether it becomes so: readiness follows several looks, not a single one."""
    until = time.monotonic() + seconds
    while not (it_is := is_so()) and time.monotonic() < until:
        time.sleep(0.1)
    return it_is


def _ignored(act: Callable[[], object]) -> None:
    """Do it; a connection that is cut is expected here."""
    try:
        act()
    except OSError:
        time.sleep(0.05)
