"""The scripted care API, and the cache in memory and in Redis."""

from __future__ import annotations

import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from portal.services.reference_cache import ReferenceCache
from portal.store.sqlite import SqliteStore
from tests.services.reference_cache.care_api import Clock, Upstream, cache, wait_for_redis
from tests.support.stack import free_port


@pytest.fixture
def upstream() -> Iterator[Upstream]:
    running = Upstream()
    yield running
    running.stop()


@pytest.fixture
def store(tmp_path: Path) -> SqliteStore:
    return SqliteStore(str(tmp_path / "store.db"), time.time)


@pytest.fixture(scope="module")
def redis_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A Redis server of these tests' own, on loopback."""
    server, port = shutil.which("redis-server"), free_port()
    assert server, "tools/machine.py installs redis-server"
    folder = tmp_path_factory.mktemp("redis")
    command = [server, "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--dir", str(folder)]
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    url = f"redis://127.0.0.1:{port}/0"
    wait_for_redis(url)
    yield url
    child.terminate()
    child.wait(timeout=10)


@pytest.fixture(params=["memory", "redis"])
def references(request: pytest.FixtureRequest, store: SqliteStore) -> ReferenceCache:
    if request.param == "memory":
        return cache(store)
    url = request.getfixturevalue("redis_url")
    wait_for_redis(url)
    return cache(store, url)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    return Clock(monkeypatch)
