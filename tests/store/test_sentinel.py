"""Redis with Sentinels, the real programs on loopback: a failover is followed, planned or not."""

from __future__ import annotations

import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from redis import Redis, RedisError
from redis.exceptions import NoPermissionError, ReadOnlyError

from portal.store import Store, StoreDown, StoredRecord, open_store
from portal.store.redis import RedisStore
from portal.store.redis_client import redis_client
from tests.support.redis_server import RedisServer
from tests.support.stack import ROOT, free_port

DOWN_AFTER = 1.0
PRIMARY = "portal"


def wait_for(is_so: Callable[[], object], seconds: float, what: str) -> float:
    """How long it took."""
    began = time.monotonic()
    while time.monotonic() < began + seconds:
        try:
            if is_so():
                return time.monotonic() - began
        except (RedisError, StoreDown):
            pass
        time.sleep(0.05)
    raise AssertionError(what)


class Sentinels:
    """A primary, a replica and three Sentinels that watch them."""

    def __init__(self, folder: Path) -> None:
        self.servers: list[RedisServer] = []
        self.ports: list[int] = []
        self._watching: list[subprocess.Popen[bytes]] = []
        for name in ("first", "second"):
            (folder / name).mkdir()
            self.servers.append(RedisServer(folder / name))
        first, second = self.servers
        with Redis.from_url(second.url) as client:
            client.replicaof("127.0.0.1", first.port)
        wait_for(lambda: self.ask(second, "replication")["master_link_status"] == "up", 20, "no replica")
        for number in range(3):
            self.ports.append(port := free_port())
            (folder / str(number)).mkdir()
            configured = folder / str(number) / "sentinel.conf"
            configured.write_text(
                f"port {port}\nbind 127.0.0.1\n"
                f"sentinel monitor {PRIMARY} 127.0.0.1 {first.port} 2\n"
                f"sentinel down-after-milliseconds {PRIMARY} {DOWN_AFTER * 1000:.0f}\n"
                f"sentinel failover-timeout {PRIMARY} 4000\n"
            )
            server = shutil.which("redis-server") or ""
            self._watching.append(
                subprocess.Popen([server, str(configured), "--sentinel"], stdout=subprocess.DEVNULL)
            )
        wait_for(
            lambda: all(self._sees_all(port) for port in self.ports),
            30,
            "the Sentinels don't know each other",
        )
        hosts = ",".join(f"127.0.0.1:{port}" for port in self.ports)
        self.url = f"redis+sentinel://{hosts}/{PRIMARY}/0"

    def ask(self, server: RedisServer, section: str) -> dict[str, Any]:
        with Redis.from_url(server.url) as client:
            return dict(client.info(section))  # pyright: ignore

    def _sees_all(self, port: int) -> bool:
        with Redis.from_url(f"redis://127.0.0.1:{port}") as client:
            about: Any = client.sentinel_master(PRIMARY)
            return about["num-other-sentinels"] == 2 and about["num-slaves"] == 1

    def primary(self) -> int:
        with Redis.from_url(f"redis://127.0.0.1:{self.ports[0]}") as client:
            address: Any = client.sentinel_get_master_addr_by_name(PRIMARY)
            return int(address[1])

    def fail_over(self) -> None:
        """A planned failover: the old primary lives on as a replica, and keeps its connections."""
        before = self.primary()
        with Redis.from_url(f"redis://127.0.0.1:{self.ports[0]}") as client:
            client.sentinel_failover(PRIMARY)
        old = next(server for server in self.servers if server.port == before)
        wait_for(lambda: self.primary() != before, 20, "no failover")
        wait_for(lambda: self.ask(old, "replication")["role"] == "slave", 20, "it is still a primary")

    def stop(self) -> None:
        for child in self._watching:
            child.terminate()
            child.wait(timeout=10)
        for server in self.servers:
            server.stop()


@pytest.fixture(scope="module")
def sentinels(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sentinels]:
    running = Sentinels(tmp_path_factory.mktemp("sentinels"))
    yield running
    running.stop()


def insert(store: Store, name: str) -> bool:
    return store.insert(name, b"value", expires_at=time.time() + 600, tags=("tag",))


def test_a_planned_failover_is_followed_by_the_next_write(sentinels: Sentinels) -> None:
    store = open_store(sentinels.url, time.time)
    assert insert(store, "before")
    sentinels.fail_over()
    store.ping()  # on a connection to the old primary, which is a replica now
    assert insert(store, "after")
    assert set(store.tagged("tag")) == {"before", "after"}
    assert store.get("before") is not None


def test_a_lost_primary_is_followed_within_its_failover_and_two_seconds(sentinels: Sentinels) -> None:
    store = open_store(sentinels.url, time.time)
    assert insert(store, "kept")
    primary = sentinels.primary()
    lost = next(server for server in sentinels.servers if server.port == primary)
    with Redis.from_url(lost.url) as client:
        wait_for(lambda: client.wait(1, 500) == 1, 60, "the replica must have it")
    lost.send_signal(signal.SIGKILL)
    began = time.monotonic()
    try:
        with pytest.raises(StoreDown):
            store.ping()
        wait_for(lambda: sentinels.primary() != primary, 30, "no failover")
        moved = time.monotonic() - began
        wait_for(lambda: insert(store, "next"), 10, "the store didn't come back")
        assert time.monotonic() - began < moved + 2
        assert store.get("kept") is not None
    finally:
        lost.start()


def test_without_a_sentinel_the_store_is_down(sentinels: Sentinels) -> None:
    with pytest.raises(StoreDown):
        open_store("redis+sentinel://127.0.0.1:1,127.0.0.1:2/portal/0", time.time).ping()
    address = f"127.0.0.1:{sentinels.ports[0]}"
    with pytest.raises(StoreDown):
        open_store(f"redis+sentinel://{address}/another/0", time.time).ping()


def test_a_url_names_user_database_tls_and_what_is_the_sentinels_alone() -> None:
    client = redis_client(
        "rediss+sentinel://me:p%40ss@one,two:7/name/3?sentinel_password=theirs&ssl_ca_certs=/ca.pem"
    )
    pool: Any = client.connection_pool
    options = pool.connection_kwargs
    assert (options["username"], options["password"], options["db"]) == ("me", "p@ss", 3)
    assert options["ssl_ca_certs"] == "/ca.pem"
    assert "SSL" in pool.connection_class.__name__
    asked = [one.connection_pool.connection_kwargs for one in pool.sentinel_manager.sentinels]
    assert [(one["host"], one["port"]) for one in asked] == [("one", 26379), ("two", 7)]
    assert {(one["password"], one["ssl_ca_certs"]) for one in asked} == {("theirs", "/ca.pem")}


def test_a_refused_write_is_sent_once_more_and_no_other(redis_server: RedisServer) -> None:
    store = RedisStore(redis_server.url, time.time)
    tries: list[Exception] = [ReadOnlyError("READONLY")]

    def write() -> str:
        if tries:
            raise tries.pop()
        return "written"

    assert store._on_primary(write) == "written"
    tries += [ReadOnlyError("READONLY"), ReadOnlyError("READONLY")]
    with pytest.raises(ReadOnlyError):
        store._on_primary(write)
    assert not tries
    tries += [TimeoutError("lost"), RedisError("its answer was lost")]
    with pytest.raises(RedisError, match="its answer"):
        store._on_primary(write)
    assert len(tries) == 1, "it may have happened"


def test_a_user_who_may_not_ask_about_memory_leaves_it_unknown(
    redis_server: RedisServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = RedisStore(redis_server.url, time.time)

    def refuse(_section: str) -> None:
        raise NoPermissionError("NOPERM")

    monkeypatch.setattr(store._redis, "info", refuse)
    assert store.free_bytes() is None


def test_the_documented_user_may_do_all_that_the_store_does(redis_server: RedisServer) -> None:
    text = (ROOT / "docs" / "operations.md").read_text(encoding="utf-8")
    (rule,) = (line for line in text.splitlines() if line.startswith("ACL SETUSER portal"))
    with Redis.from_url(redis_server.url) as client:
        client.execute_command(*rule.split())
    url = redis_server.url.replace("redis://", "redis://portal:password@")
    store = open_store(url, time.time)
    assert insert(store, "allowed")
    held = store.get("allowed")
    assert isinstance(held, StoredRecord)
    assert store.replace("allowed", b"new", version=held.version, expires_at=time.time() + 60)
    assert store.tagged("tag") == ["allowed"]
    assert store.lock("lock", "me", seconds=5)
    store.unlock("lock", "me")
    assert store.take("allowed") is not None
    assert store.delete("allowed") == 0
    store.ping()
    store.free_bytes()
