"""Redis with TLS by a private authority, as the user that docs/operations.md describes, and what can't be the store."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from redis import Redis, RedisError
from redis.exceptions import ConnectionError as Unreachable
from redis.exceptions import MovedError, ResponseError

from portal.operate.check import _redis, _try_out
from portal.store import StoreDown, StoreUnsuitable, open_store
from portal.store.redis import _answering
from portal.store.vault import Vault
from tests.support.certificates import self_signed
from tests.support.redis_server import RedisServer
from tests.support.stack import ROOT, free_port

KEYS = ("k" * 40,)


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The URL of a Redis over TLS, as the documented user and with the documented parameter."""
    folder = tmp_path_factory.mktemp("redis-tls")
    key, certificate = self_signed("127.0.0.1")
    (folder / "key.pem").write_bytes(key)
    (folder / "ca.pem").write_bytes(certificate)
    port = free_port()
    tls = {
        "port": port,
        "cert-file": "ca.pem",
        "key-file": "key.pem",
        "ca-cert-file": "ca.pem",
        "auth-clients": "no",
    }
    server = RedisServer(
        folder, *(word for name, value in tls.items() for word in (f"--tls-{name}", str(value)))
    )
    documented = re.search(
        r"^ACL SETUSER (.+)$", (ROOT / "docs/operations.md").read_text(encoding="utf-8"), re.M
    )
    assert documented
    with Redis.from_url(server.url) as admin:
        admin.execute_command("ACL", "SETUSER", *documented[1].split())
    yield f"rediss://portal:password@127.0.0.1:{port}/0?ssl_ca_certs={folder}/ca.pem"
    server.stop()


def test_the_documented_user_is_enough_over_tls(address: str) -> None:
    store = open_store(address, time.time)
    _try_out(store)
    vault = Vault(store, KEYS)
    vault.check_keys()
    name, tag = vault.name("session", "1"), vault.tag("clinic", "riverside")
    assert vault.insert(name, 1, expires_at=time.time() + 60, tags=[tag])
    assert vault.update(name, int, lambda before: before + 1) == 2
    assert vault.tagged("clinic", "riverside") == [name]
    assert list(vault.get_many([name])) == [name]
    assert store.lock("refresh", "me", seconds=5)
    store.unlock("refresh", "me")
    store.ping()
    store.free_bytes()
    assert vault.delete(name) == 1
    assert not [one for one in _redis(address) if one.is_fault and "maxmemory" not in str(one)]


def test_that_user_may_do_nothing_else(address: str) -> None:
    with Redis.from_url(address) as client:
        for command in (("FLUSHALL",), ("CONFIG", "GET", "*"), ("KEYS", "*"), ("GET", "another:key")):
            with pytest.raises(Exception, match="permissions"):
                client.execute_command(*command)


def test_an_authority_that_is_not_trusted_is_named(address: str) -> None:
    with pytest.raises(StoreDown, match="certificate"):
        open_store(address.partition("?")[0], time.time).ping()


def test_a_cluster_is_refused_in_one_line(tmp_path: Path) -> None:
    server = RedisServer(tmp_path, "--cluster-enabled", "yes", "--cluster-port", str(free_port()))
    try:
        with Redis.from_url(server.url) as admin:
            for slots in ((), ("CLUSTER", "ADDSLOTSRANGE", "0", "16383")):
                if slots:
                    admin.execute_command(*slots)
                store = open_store(server.url, time.time)
                with pytest.raises(StoreUnsuitable, match="a single primary"):
                    while True:  # a cluster takes a moment to see that it is whole
                        store.get_many(["session:1", "tokens:1"])
    finally:
        server.stop()


@pytest.mark.parametrize(
    "error", [MovedError("866 10.0.0.22:6379"), ResponseError("SELECT is not allowed in cluster mode")]
)
def test_what_only_a_cluster_answers_is_known(error: RedisError) -> None:
    with pytest.raises(StoreUnsuitable, match="a single primary"), _answering("read"):
        raise error


def test_a_host_with_cluster_in_its_name_is_none() -> None:
    with pytest.raises(StoreDown) as caught, _answering("read"):
        raise Unreachable("Error 111 connecting to redis.portal.svc.cluster.local:6379. Connection refused.")
    assert not isinstance(caught.value, StoreUnsuitable)
