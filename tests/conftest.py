"""Shared fixtures: the real care service with the portal in front of it; a clock, stores and scripted servers."""

from __future__ import annotations

import gc
import os
import re
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from xdist.scheduler import LoadFileScheduling

from portal.store import Store, open_store
from tests.support import compiled, forked, hashing, made_once, resolver
from tests.support.clock import Clock
from tests.support.faults import Switchboard
from tests.support.full import FULL, examples
from tests.support.hostile import CountingProxy
from tests.support.redis_server import RedisServer
from tests.support.stack import CareService, PortalThread, close_store, plan
from tests.support.upstream import Make, Script, Upstream
from tests.support.visitor import Visitor

# The first text takes seconds where Hypothesis hasn't been before, and longer beside other tests.
settings.register_profile("some", max_examples=examples(100), suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("some")


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """One and a half for each core: tests wait for their servers and browsers, but some measure how long they wait."""
    return max(2, (os.cpu_count() or 1) * 3 // 2)


def pytest_collection() -> None:
    """While tests are read, nothing becomes garbage: to look for it takes a third of that time, in each worker."""
    gc.disable()


def pytest_collection_finish() -> None:
    """Nor does anything of what was read by now."""
    gc.freeze()
    gc.enable()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """The longest files first, then the browser's tests, so that none is left over when the rest is done.

    Those of the long run (`make test-all`) are left to it.
    """
    if not FULL and (long := [item for item in items if item.get_closest_marker("long_run")]):
        config.hook.pytest_deselected(items=long)
        items[:] = [item for item in items if item not in long]
    items.sort(key=lambda item: (_rank(item.path.name), item.path.parent.name != "browser"))


def _rank(name: str) -> int:
    return _LONGEST.index(name) if name in _LONGEST else len(_LONGEST)


_LONGEST = (
    "test_metrics.py",  # first, as /metrics of a process tells of all that it did
    "test_every_page.py",
    "test_states.py",
    "test_ledger.py",
    "test_pdf.py",
    "test_session_races.py",
    "test_canaries.py",
    "test_reload.py",
    "test_unsent.py",
)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> LoadFileScheduling:
    """Give each worker whole files, but for those that `ByFile` parts or joins."""
    return ByFile(config, log)


class ByFile(LoadFileScheduling):
    """The walk in each language goes to a worker of its own; what needs the large sample, to one worker."""

    def _split_scope(self, nodeid: str) -> str:
        file = super()._split_scope(nodeid)
        if walk := re.search(r"/test_every_page\.py::\w+\[(\w+)", nodeid):
            return f"{file} {walk[1]}"
        return "large" if "/large/" in file else file


@pytest.fixture(scope="session", autouse=True)
def _quickened() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        compiled.share(patch)
        made_once.share(patch)
        forked.print_in_forks(patch)
        hashing.quicken(patch)
        yield


@pytest.fixture(scope="session")
def _guarded_resolver() -> Iterator[list[str]]:
    with resolver.guarded() as asked:
        yield asked


@pytest.fixture(autouse=True)
def system_resolver(_guarded_resolver: list[str]) -> Iterator[list[str]]:
    """Fail each test that asks the system for `*.localhost`, whatever becomes of the error that it gets."""
    yield _guarded_resolver
    asked = [*_guarded_resolver]
    _guarded_resolver.clear()
    assert not asked, f"asked of the system: {asked}; connect to 127.0.0.1 with a Host header"


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[CareService]:
    """The care service with fresh sample records, for one module of tests."""
    folder: Path = tmp_path_factory.mktemp("care")
    running = CareService(plan(folder))
    yield running
    running.stop()


@pytest.fixture(scope="module")
def portal(service: CareService) -> Iterator[PortalThread]:
    """The portal in a thread of this process, in front of `service`."""
    running = PortalThread(service.plan)
    yield running
    running.stop()


@pytest.fixture(scope="module")
def board(service: CareService) -> Iterator[Switchboard]:
    """A way to the care API that answers with faults."""
    running = Switchboard(service.plan.service_port)
    yield running
    running.stop()


@pytest.fixture(scope="module")
def line(service: CareService) -> Iterator[CountingProxy]:
    """A way to the care API that counts calls."""
    proxy = CountingProxy(service.plan.service_port)
    yield proxy
    proxy.stop()


@pytest.fixture(scope="module")
def person(portal: PortalThread) -> Callable[[str], Visitor]:
    """Signs in everyone once for the module; who has, has been at home."""
    return cache(portal.sign_in)


@pytest.fixture(scope="module")
def amelia(portal: PortalThread) -> Visitor:
    """A patient under treatment, in a browser of her own."""
    return portal.sign_in("amelia")


@pytest.fixture(scope="module")
def daniel(portal: PortalThread) -> Visitor:
    """Amelia's partner."""
    return portal.sign_in("daniel")


@pytest.fixture(scope="module")
def grace(portal: PortalThread) -> Visitor:
    """A patient with embryos in storage."""
    return portal.sign_in("grace")


@pytest.fixture(scope="module")
def nora(portal: PortalThread) -> Visitor:
    """A nurse."""
    return portal.sign_in("nora")


@pytest.fixture(scope="module")
def victor(portal: PortalThread) -> Visitor:
    """A physician."""
    return portal.sign_in("victor")


@pytest.fixture(scope="module")
def elif_(portal: PortalThread) -> Visitor:
    """An embryologist."""
    return portal.sign_in("elif")


@pytest.fixture(scope="module")
def colin(portal: PortalThread) -> Visitor:
    """A coordinator."""
    return portal.sign_in("colin")


@pytest.fixture
def clock() -> Clock:
    """A clock that stands still until a test moves it."""
    return Clock()


@pytest.fixture
def upstream() -> Iterator[Make]:
    """Start scripted servers: `upstream(script)`."""
    made: list[Upstream] = []

    def make(script: Script) -> Upstream:
        made.append(Upstream(script))
        return made[-1]

    yield make
    for one in made:
        one.close()


@pytest.fixture(scope="session")
def redis_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    server = RedisServer(tmp_path_factory.mktemp("redis"))
    yield server
    server.stop()


@pytest.fixture
def redis(redis_server: RedisServer) -> str:
    """The address of an empty Redis."""
    redis_server.empty()
    return redis_server.url


@pytest.fixture
def sqlite(tmp_path: Path) -> str:
    """The address of a store in a file."""
    return f"sqlite:///{tmp_path}/store.db"


@pytest.fixture(params=["sqlite", "redis"])
def store(request: pytest.FixtureRequest, clock: Clock) -> Iterator[Store]:
    """An empty store, once of each kind."""
    store = open_store(request.getfixturevalue(request.param), clock)
    yield store
    close_store(store)
