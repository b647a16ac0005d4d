"""Many renewals of one session at once: one asks, the others wait or go on with the old token."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import contextmanager
from typing import Any

import msgspec
import pytest

from portal.http import deadline
from portal.services.errors import Unavailable
from portal.state.sessions import Tokens
from tests.signin.refresh.renewing import OLD, OVER, Renewing


def test_one_of_many_asks_and_all_get_the_same(it: Renewing) -> None:
    it.identity.meanwhile = lambda: time.sleep(0.1)
    found: list[str] = []
    threads = [
        threading.Thread(target=lambda: found.append(it.renew(refused=True).access_token)) for _ in range(5)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == ["a1"] * 5
    assert len(it.identity.asked) == 1


@contextmanager
def another_process(it: Renewing) -> Any:
    """Holds the lock, as one does that renews the session's tokens now."""
    assert it.store.lock(f"refresh:{it.name}", "another", seconds=60)
    yield
    it.store.unlock(f"refresh:{it.name}", "another")


@contextmanager
def another_thread(it: Renewing) -> Any:
    stripe = it.refresher._stripes[hash(it.name) % len(it.refresher._stripes)]
    with stripe:
        yield


BUSY = pytest.mark.parametrize("busy", [another_process, another_thread])


@BUSY
def test_while_another_renews_an_old_token_that_is_of_use_serves_at_once(
    it: Renewing, counted: list[str], busy: Callable[[Renewing], Any]
) -> None:
    with busy(it):
        began = time.monotonic()
        assert it.renew() == OLD
        assert time.monotonic() - began < 2
    assert (it.identity.asked, counted) == ([], ["postponed"])


@BUSY
@pytest.mark.parametrize(("seen", "refused"), [(OLD, True), (OVER, False)])
def test_one_that_is_of_no_use_waits_for_as_long_as_a_call_may_take(
    it: Renewing, busy: Callable[[Renewing], Any], seen: Tokens, refused: bool
) -> None:
    it.signed_in(seen)
    it.takes_at_most(0.3)
    with busy(it):
        began = time.monotonic()
        with pytest.raises(Unavailable, match="under way"):
            it.renew(seen, refused=refused)
        assert 0.25 < time.monotonic() - began < 3
    assert it.renew(seen, refused=refused).access_token == "a1", "the lock is free again"


@BUSY
def test_nobody_waits_longer_than_the_page_may_take(it: Renewing, busy: Callable[[Renewing], Any]) -> None:
    deadline.set_to(time.monotonic())
    try:
        with busy(it), pytest.raises(Unavailable):
            began = time.monotonic()
            it.renew(refused=True)
        assert time.monotonic() - began < 2
    finally:
        deadline.set_to(None)


@BUSY
def test_what_another_brings_is_taken(it: Renewing, busy: Callable[[Renewing], Any]) -> None:
    newer = msgspec.structs.replace(OLD, access_token="a9")
    with busy(it):
        threading.Timer(0.05, lambda: it.sessions.replace_tokens(it.name, OLD, newer)).start()
        assert it.renew(refused=True) == newer
    assert not it.identity.asked


def test_a_lock_outlives_a_slow_call_and_not_by_much(it: Renewing, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[str, int, float]] = []
    lock = it.store.lock

    def noted(name: str, owner: str, *, seconds: float) -> bool:
        asked.append((name, len(owner), seconds))
        return lock(name, owner, seconds=seconds)

    monkeypatch.setattr(it.store, "lock", noted)
    it.renew()
    assert asked == [(f"refresh:{it.name}", 16, 15)]
    assert lock(f"refresh:{it.name}", "another", seconds=1), "it is given back"
