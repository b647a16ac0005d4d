"""The store and its encrypted records: the same for SQLite and Redis."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from portal.store import Store, StoreDown, open_store
from portal.store.vault import Vault
from tests.support.clock import Clock
from tests.support.redis_server import RedisServer
from tests.support.together import at_once


def test_a_record_is_created_once(store: Store, clock: Clock) -> None:
    assert store.insert("a", b"one", expires_at=clock.now + 10)
    assert not store.insert("a", b"two", expires_at=clock.now + 10)
    record = store.get("a")
    assert record is not None
    assert (record.value, record.version) == (b"one", 1)


def test_a_write_over_an_older_version_is_refused(store: Store, clock: Clock) -> None:
    store.insert("a", b"one", expires_at=clock.now + 10)
    assert store.replace("a", b"two", version=1, expires_at=clock.now + 10)
    assert not store.replace("a", b"three", version=1, expires_at=clock.now + 10)
    record = store.get("a")
    assert record is not None
    assert record.value == b"two"


def test_a_write_does_not_restore_a_deleted_record(store: Store, clock: Clock) -> None:
    store.insert("a", b"one", expires_at=clock.now + 10)
    store.delete("a")
    assert not store.replace("a", b"two", version=1, expires_at=clock.now + 10)
    assert store.get("a") is None


def test_a_record_expires(store: Store, clock: Clock) -> None:
    store.insert("a", b"one", expires_at=clock.now + 10, tags=["t"])
    clock.now += 11
    assert store.get("a") is None
    assert store.get_many(["a"]) == {}
    assert store.tagged("t") == []
    assert not store.replace("a", b"two", version=1, expires_at=clock.now + 10)
    assert store.take("a") is None
    assert store.insert("a", b"new", expires_at=clock.now + 10)


def test_a_lock_lasts_no_longer_than_it_was_taken_for_when_the_clock_is_set_back(
    store: Store, clock: Clock
) -> None:
    assert store.lock("a", "one", seconds=10)
    clock.now -= 30
    assert not store.lock("a", "two", seconds=10), "clocks may differ a little"
    clock.now -= 3600
    assert store.lock("a", "two", seconds=10)
    assert not store.lock("a", "three", seconds=10)


def test_writes_sweep_a_few_expired_records(sqlite: str, clock: Clock, tmp_path: Path) -> None:
    import sqlite3

    store = open_store(sqlite, clock)
    for number in range(12):
        store.insert(f"old{number}", b"", expires_at=clock.now + 1, tags=[f"t{number}"])
    clock.now += 2
    for number in range(3):
        store.insert(f"new{number}", b"", expires_at=clock.now + 100)
    with sqlite3.connect(tmp_path / "store.db") as connection:
        assert connection.execute("SELECT count(*) FROM records").fetchone() == (3,)
        assert connection.execute("SELECT count(*) FROM tags").fetchone() == (0,)
    connection.close()


def test_one_of_many_concurrent_takers_gets_the_record(store: Store, clock: Clock) -> None:
    store.insert("once", b"it", expires_at=clock.now + 10)
    got = at_once(*[partial(store.take, "once")] * 8)
    assert [record.value for record in got if record] == [b"it"]


def test_one_of_many_concurrent_writers_succeeds(store: Store, clock: Clock) -> None:
    store.insert("a", b"", expires_at=clock.now + 10)
    done = at_once(*[partial(store.replace, "a", b"x", version=1, expires_at=clock.now + 10)] * 8)
    assert sorted(done) == [False] * 7 + [True]


def test_tags_find_records_until_they_are_deleted(store: Store, clock: Clock) -> None:
    store.insert("a", b"", expires_at=clock.now + 10, tags=["person", "device"])
    store.insert("b", b"", expires_at=clock.now + 10, tags=["person"])
    assert store.tagged("person") == ["a", "b"]
    assert store.delete("a", "none") == 1
    assert store.tagged("person") == ["b"]
    assert store.tagged("device") == []


def test_a_tag_does_not_find_a_record_recreated_without_it(store: Store, clock: Clock) -> None:
    store.insert("deleted", b"", expires_at=clock.now + 100, tags=["person"])
    store.insert("taken", b"", expires_at=clock.now + 100, tags=["person"])
    store.insert("expired", b"", expires_at=clock.now + 10, tags=["person"])
    store.delete("deleted")
    store.take("taken")
    clock.now += 11
    for name in ("deleted", "taken", "expired"):
        store.insert(name, b"", expires_at=clock.now + 100)
    assert store.tagged("person") == []


def test_a_tag_lasts_as_long_as_its_record(store: Store, clock: Clock) -> None:
    store.insert("a", b"", expires_at=clock.now + 10, tags=["person", "device"])
    store.replace("a", b"", version=1, expires_at=clock.now + 100)
    clock.now += 50
    store.insert("b", b"", expires_at=clock.now + 10, tags=["person"])
    assert store.tagged("person") == ["a", "b"]
    assert store.tagged("device") == ["a"]


@pytest.mark.parametrize("value", [b"", b"\0" * 40, bytes(range(256)), b"x" * 1_000_000])
def test_a_value_is_stored_unchanged(store: Store, clock: Clock, value: bytes) -> None:
    store.insert("a", value, expires_at=clock.now + 10.25, tags=["one", "two"])
    record = store.get("a")
    assert record is not None
    assert (record.value, record.version, record.expires_at) == (value, 1, clock.now + 10.25)
    store.replace("a", value + b"!", version=1, expires_at=clock.now + 20)
    record = store.take("a")
    assert record is not None
    assert (record.value, record.version, record.expires_at) == (value + b"!", 2, clock.now + 20)


def test_a_lock_has_one_owner_until_released_or_expired(store: Store, clock: Clock) -> None:
    assert store.lock("refresh", "me", seconds=10)
    assert not store.lock("refresh", "you", seconds=10)
    store.unlock("refresh", "you")
    assert not store.lock("refresh", "you", seconds=10)
    store.unlock("refresh", "me")
    assert store.lock("refresh", "you", seconds=10)
    clock.now += 11
    assert store.lock("refresh", "me", seconds=10)


def test_a_store_that_cannot_be_opened_raises_store_down(tmp_path: Path, clock: Clock) -> None:
    store = open_store(f"sqlite:///{tmp_path}/later/store.db", clock)
    with pytest.raises(StoreDown):
        store.get("session:any")
    (tmp_path / "later").mkdir()
    assert store.get("session:any") is None, "nobody restarts the portal for it"


def test_every_operation_raises_store_down_while_redis_is_down(tmp_path: Path, clock: Clock) -> None:
    server = RedisServer(tmp_path)
    store = open_store(server.url, clock)
    store.insert("a", b"one", expires_at=clock.now + 10)
    server.stop()
    uses: list[Callable[[], object]] = [
        store.ping,
        lambda: store.get("a"),
        lambda: store.get_many(["a", "b"]),
        lambda: store.insert("b", b"", expires_at=clock.now + 10),
        lambda: store.replace("a", b"", version=1, expires_at=clock.now + 10),
        lambda: store.delete("a"),
        lambda: store.take("a"),
        lambda: store.tagged("t"),
        lambda: store.lock("l", "me", seconds=1),
        lambda: store.unlock("l", "me"),
    ]
    for use in uses:
        with pytest.raises(StoreDown):
            use()
    server.start()
    record = store.get("a")
    assert record is not None
    assert record.value == b"one"
    server.stop()


def test_redis_expires_records_and_tags(redis: str, clock: Clock) -> None:
    from redis import Redis

    open_store(redis, clock).insert("a", b"", expires_at=clock.now + 100, tags=["t"])
    with Redis.from_url(redis) as client:
        keys = client.keys("*")
        assert len(keys) == 2
        assert all(90_000 < client.pttl(key) <= 100_000 for key in keys)


def test_the_sqlite_file_is_readable_only_by_its_owner(sqlite: str, clock: Clock, tmp_path: Path) -> None:
    open_store(sqlite, clock).ping()
    assert (tmp_path / "store.db").stat().st_mode & 0o777 == 0o600


def test_values_are_encrypted_and_decrypted(store: Store, clock: Clock) -> None:
    vault = Vault(store, ("k" * 32,))
    vault.insert("a", {"token": "very-secret"}, expires_at=clock.now + 10)
    record = store.get("a")
    assert record is not None
    assert b"very-secret" not in record.value
    held = vault.get("a", dict[str, str])
    assert held is not None
    assert held.value == {"token": "very-secret"}


@pytest.mark.asvs("11.3.3")
def test_a_value_copied_to_another_name_does_not_decrypt(store: Store, clock: Clock) -> None:
    vault = Vault(store, ("k" * 32,))
    vault.insert("mine", "secret", expires_at=clock.now + 10)
    record = store.get("mine")
    assert record is not None
    store.insert("yours", record.value, expires_at=clock.now + 10)
    assert vault.get("yours", str) is None


@pytest.mark.asvs("11.3.3")
def test_a_value_with_any_bit_changed_does_not_decrypt(store: Store, clock: Clock) -> None:
    vault = Vault(store, ("k" * 32,))
    vault.insert("mine", "secret", expires_at=clock.now + 10)
    record = store.get("mine")
    assert record is not None
    for place in range(len(record.value)):
        changed = bytearray(record.value)
        changed[place] ^= 1
        store.delete("mine")
        store.insert("mine", bytes(changed), expires_at=clock.now + 10)
        assert vault.get("mine", str) is None, place


@pytest.mark.asvs("11.2.2")
def test_keys_are_rotated(store: Store, clock: Clock) -> None:
    old, new = "o" * 32, "n" * 32
    Vault(store, (old,)).insert("a", "kept", expires_at=clock.now + 10)
    both = Vault(store, (new, old))
    held = both.get("a", str)
    assert held is not None
    assert held.value == "kept"
    both.insert("b", "new", expires_at=clock.now + 10)
    assert Vault(store, (old,)).get("b", str) is None
    assert Vault(store, (new,)).get("a", str) is None


def test_a_second_process_keeps_the_sqlite_file(sqlite: str, clock: Clock) -> None:
    assert open_store(sqlite, clock).insert("session:a", b"new", expires_at=clock.now + 10)
    assert open_store(sqlite, clock).get("session:a")


def test_keys_of_related_records_are_adjacent_and_never_collide() -> None:
    from portal.store.sqlite import key_of

    session, tokens = key_of("session:" + "a" * 64), key_of("tokens:" + "a" * 64)
    assert session != tokens
    assert abs(session - tokens) < 256
    assert abs(key_of("session:" + "b" * 64) - session) > 2**40
    names = [f"{kind}:{number}" for kind in ("session", "tokens", "lock") for number in range(3000)]
    assert len({key_of(name) for name in names}) == len(names)
