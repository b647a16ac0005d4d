"""Encrypted records: written by compare-and-set, so that no update is lost, and readable only with a key."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest

from portal.store import Store, StoredRecord, WrongKey, update
from portal.store.sealer import Sealer
from portal.store.vault import Vault
from tests.support.clock import Clock
from tests.support.together import at_once

KEY, OTHER_KEY = "k" * 32, "o" * 32
THREADS, TIMES = 8, 25


@pytest.fixture
def vault(store: Store) -> Vault:
    return Vault(store, (KEY,))


def in_threads(act: Callable[[int], object]) -> None:
    """Do it in some threads, which begin together, some times each."""

    def run(first: int) -> None:
        for number in range(first, first + TIMES):
            act(number)

    at_once(*(partial(run, thread * TIMES) for thread in range(THREADS)))


def test_concurrent_updates_are_all_kept(vault: Vault, clock: Clock) -> None:
    def add(number: int) -> None:
        vault.update("all", set[int], lambda kept: kept | {number}, initial=set(), expires_at=clock.now + 60)

    in_threads(add)
    held = vault.get("all", set[int])
    assert held is not None
    assert held.value == set(range(THREADS * TIMES))


def test_concurrent_updates_of_bytes_are_all_kept(store: Store, clock: Clock) -> None:
    def add(record: StoredRecord | None) -> tuple[bytes, float]:
        return str(int(record.value if record else 0) + 1).encode(), clock.now + 60

    in_threads(lambda _number: update(store, "count", add))
    record = store.get("count")
    assert record is not None
    assert int(record.value) == THREADS * TIMES


def test_one_of_many_concurrent_takers_succeeds(vault: Vault, clock: Clock) -> None:
    vault.insert("one", "free", expires_at=clock.now + 60)
    taken: list[str] = []

    def take(number: int) -> None:
        if vault.update("one", str, lambda now: f"taken by {number}" if now == "free" else None):
            taken.append(f"taken by {number}")

    in_threads(take)
    held = vault.get("one", str)
    assert held is not None
    assert taken == [held.value]


def test_a_missing_record_is_not_updated(vault: Vault, clock: Clock) -> None:
    assert vault.update("a", str, str.upper) is None
    assert vault.update("a", str, str.upper, initial="new", expires_at=clock.now + 10) == "NEW"
    assert vault.update("a", str, lambda _now: None) is None
    held = vault.get("a", str)
    assert held is not None
    assert (held.value, held.expires_at, held.version) == ("NEW", clock.now + 10, 1)


def test_a_new_record_needs_an_expiry_time(vault: Vault) -> None:
    with pytest.raises(ValueError, match="expire"):
        vault.update("a", str, str.upper, initial="new")


def test_an_update_keeps_the_expiry_time_or_derives_it_from_the_new_value(vault: Vault, clock: Clock) -> None:
    vault.insert("a", 1, expires_at=clock.now + 10)
    vault.update("a", int, lambda now: now + 1)
    kept = vault.get("a", int)
    assert kept is not None
    assert kept.expires_at == clock.now + 10
    vault.update("a", int, lambda now: now + 1, expires_at=lambda value: clock.now + value * 100)
    later = vault.get("a", int)
    assert later is not None
    assert (later.value, later.expires_at) == (3, clock.now + 300)


def test_a_record_of_a_key_that_another_process_has_is_never_overwritten(store: Store, clock: Clock) -> None:
    newer, vault = Vault(store, (OTHER_KEY, KEY)), Vault(store, (KEY,))
    newer.name("any")
    newer.insert("a", "theirs", expires_at=clock.now + 10)
    assert vault.get("a", str) is None
    assert vault.update("a", str, str.upper, initial="ours", expires_at=clock.now + 20) is None
    held = newer.get("a", str)
    assert held is not None and held.value == "theirs"


def test_with_wrong_secret_keys_a_record_is_neither_absent_nor_overwritten(
    store: Store, clock: Clock
) -> None:
    right, wrong = Vault(store, (KEY,)), Vault(store, (OTHER_KEY,))
    right.name("any")
    right.insert("a", "theirs", expires_at=clock.now + 10)
    for use in (
        wrong.check_keys,
        lambda: wrong.get("a", str),
        lambda: wrong.update("a", str, str.upper, initial="ours", expires_at=clock.now + 20),
    ):
        with pytest.raises(WrongKey):
            use()
    held = right.get("a", str)
    assert held is not None and held.value == "theirs"


def test_an_undecryptable_record_of_nobodys_key_may_be_overwritten(store: Store, clock: Clock) -> None:
    """One that is sealed with a key that is gone, or that a newer version writes in another way."""
    Vault(store, (OTHER_KEY,)).insert("a", "theirs", expires_at=clock.now + 10)
    vault = Vault(store, (KEY,))
    assert vault.update("a", str, str.upper) is None
    assert vault.update("a", str, str.upper, initial="ours", expires_at=clock.now + 20) == "OURS"
    held = vault.get("a", str)
    assert held is not None
    assert held.value == "OURS"


def test_values_of_an_earlier_version_still_decrypt(store: Store, clock: Clock) -> None:
    """Sealed by an earlier version of the portal, whose sessions go on."""
    sealed = "b1664b32dd78b1cd50ad3ae746db4304637b2c5bcb90566c5d54de9b45ab31f6837b7fcd9c4aa3b75cffe370"
    store.insert("a", bytes.fromhex(sealed), expires_at=clock.now + 10)
    held = Vault(store, (KEY,)).get("a", dict[str, str])
    assert held is not None
    assert held.value == {"token": "kept"}


@pytest.mark.parametrize("spoilt", [b"", b"k", b"\0" * 40, bytes(range(64))])
def test_an_unencrypted_value_is_rejected(spoilt: bytes) -> None:
    sealer = Sealer((KEY,), "store")
    key_id = sealer.seal(b"", b"a")[:4]
    assert sealer.open(spoilt, b"a") is None
    assert sealer.open(key_id + spoilt, b"a") is None


def test_each_purpose_has_a_key_of_its_own() -> None:
    sealed = Sealer((KEY,), "store").seal(b"x", b"a")
    assert Sealer((KEY,), "store").open(sealed, b"a") == b"x"
    assert Sealer((KEY,), "cache").open(sealed, b"a") is None
