"""Record names: the same for all processes and stable over years, and not guessable by a reader of the store."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable
from functools import partial
from itertools import permutations
from pathlib import Path

import pytest

from portal import metrics
from portal.store import Store, StoreDown, WrongKey, open_store
from portal.store.names import NAMING_KEY, Names
from portal.store.sealer import fingerprint, mac
from tests.support.clock import Clock
from tests.support.together import at_once

OLD, NEW, OTHER = "o" * 40, "n" * 40, "x" * 40
PERSON = ("https://id.example", "riverside", "amelia")
DAY = 24 * 3600


def test_each_message_has_the_mac_of_rfc_2104_whatever_came_before() -> None:
    for message in (b"one", b"two", b"one"):
        assert mac(b"key", message) == hmac.digest(b"key", message, "sha256")


def name(store: Store, clock: Clock, *keys: str) -> str:
    """What a process that starts now, with these secret keys, calls the same record."""
    return Names(store, keys, clock).name("sub", *PERSON)


def test_all_processes_derive_the_same_record_names(store: Store, clock: Clock) -> None:
    assert name(store, clock, OLD) == name(store, clock, OLD)
    names = Names(store, (OLD,), clock)
    assert names.name("sub", *PERSON) == name(store, clock, OLD)
    assert names.name("sub", *PERSON) != names.name("bell", *PERSON)
    assert names.name("a", "b", "c") != names.name("a", "b\0c")
    assert names.tag("sub", *PERSON) == names.name("sub", *PERSON)


def test_processes_starting_together_agree_on_the_naming_key(store: Store, clock: Clock) -> None:
    given = at_once(*[partial(name, store, clock, OLD)] * 8)
    assert len(set(given)) == 1


def test_record_names_survive_key_rotation(store: Store, clock: Clock) -> None:
    first = name(store, clock, OLD)
    rounds = [(OLD, NEW), (OLD,), (NEW, OLD), (OLD, NEW), (NEW,), (NEW, OLD), (OLD,), (OLD, NEW), (NEW,)]
    assert {name(store, clock, *keys) for keys in rounds} == {first}


def test_a_removed_secret_key_cannot_decrypt_the_naming_key(store: Store, clock: Clock) -> None:
    for keys in [(OLD,), (NEW, OLD), (NEW,)]:
        name(store, clock, *keys)
    with pytest.raises(WrongKey):
        name(store, clock, OLD)


def test_a_process_that_has_not_the_newest_key_yet_leaves_its_seal(store: Store, clock: Clock) -> None:
    first = name(store, clock, OLD)
    assert name(store, clock, NEW, OLD) == first
    assert name(store, clock, OLD) == name(store, clock, OLD, OTHER) == first
    assert name(store, clock, NEW) == first, "its seal is still there"


def test_record_names_cannot_be_derived_without_the_keys(store: Store, clock: Clock, tmp_path: Path) -> None:
    another_store = open_store(f"sqlite:///{tmp_path}/another.db", clock)
    here = name(store, clock, OLD)
    assert here != name(another_store, clock, OLD), "the secret key alone must not give the name"
    tried = [
        hashlib.sha256(separator.join(parts).encode()).hexdigest()
        for count in range(1, 4)
        for parts in permutations(("sub", *PERSON), count)
        for separator in ("", "\0", ":")
    ]
    assert not any(guess[:32] in here for guess in tried)
    assert not any(part in here for part in PERSON)


def test_the_naming_key_is_read_once_the_store_is_up(
    store: Store, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = Names(store, (OLD,), clock)

    def down(*_: object, **__: object) -> None:
        raise StoreDown

    with monkeypatch.context() as while_down:
        while_down.setattr(store, "get", down)
        with pytest.raises(StoreDown):
            names.name("sub", *PERSON)
    assert names.name("sub", *PERSON) == name(store, clock, OLD)


def test_an_emptied_store_gets_a_naming_key_shared_by_all_processes(store: Store, clock: Clock) -> None:
    running, other = Names(store, (OLD,), clock), Names(store, (OLD,), clock)
    assert running.name("sub", *PERSON) == other.name("sub", *PERSON)
    store.delete(NAMING_KEY)
    started = Names(store, (OLD,), clock)
    store.insert("session:1", b"", expires_at=clock.now + 60, tags=[started.tag("sub", *PERSON)])
    store.insert("session:2", b"", expires_at=clock.now + 60, tags=[running.tag("sub", *PERSON)])
    for names in (started, running, other):
        assert names.tagged("sub", *PERSON) == ["session:1", "session:2"]


def test_a_process_with_wrong_secret_keys_changes_nothing_and_says_which(store: Store, clock: Clock) -> None:
    running = Names(store, (OLD,), clock)
    before = running.name("sub", *PERSON)
    wrong = Names(store, (OTHER, NEW), clock)
    kept = store.get(NAMING_KEY)
    for use in (wrong.check, lambda: wrong.name("a"), lambda: wrong.tag("a"), lambda: wrong.tagged("a")):
        with pytest.raises(WrongKey) as told:
            use()
        keys = [fingerprint(key) for key in (OLD, OTHER, NEW)]
        assert str(told.value) == f"the store is sealed with {keys[0]}; this process has {keys[1]}, {keys[2]}"
    assert store.get(NAMING_KEY) == kept
    running.check()
    assert Names(store, (OLD,), clock).tag("sub", *PERSON) == before


def test_a_check_of_the_keys_makes_none(store: Store, clock: Clock) -> None:
    Names(store, (OLD,), clock).check()
    assert store.get(NAMING_KEY) is None


@pytest.mark.parametrize("use", [Names.check, lambda names: names.tag("sub", *PERSON)], ids=["check", "use"])
def test_a_store_that_was_emptied_is_told_once_and_keeps_its_names(
    store: Store, clock: Clock, use: Callable[[Names], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[str] = []
    monkeypatch.setattr(metrics, "store_emptied", lambda: told.append("emptied"))
    running, another = Names(store, (OLD,), clock), Names(store, (OLD,), clock)
    before = running.tag("sub", *PERSON)
    another.check()
    assert another.tag("sub", *PERSON) == before and not told
    store.delete(NAMING_KEY)
    use(running)
    use(another)
    assert told == ["emptied"]
    assert running.tag("sub", *PERSON) == another.tag("sub", *PERSON) == before


def test_the_naming_keys_lifetime_is_extended_in_time(store: Store, clock: Clock) -> None:
    first = name(store, clock, OLD)
    for _year in range(30):
        clock.now += 365 * DAY
        assert name(store, clock, OLD) == first


def test_an_unreadable_naming_key_is_not_replaced(store: Store, clock: Clock) -> None:
    store.insert(NAMING_KEY, b"\xc1", expires_at=clock.now + DAY)
    with pytest.raises(WrongKey, match="an unknown key"):
        name(store, clock, OLD)
