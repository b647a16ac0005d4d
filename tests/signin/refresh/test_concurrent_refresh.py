"""Concurrent refreshes of one session: one asks, the others wait or use the old token."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import contextmanager
from functools import partial
from typing import Any

import msgspec
import pytest

from portal.http import deadline
from portal.services.errors import Unavailable
from portal.signin.dpop import Nonces, Prover
from portal.state.session_records import Tokens
from tests.signin.refresh.refreshed_session import OLD, OVER, RefreshedSession
from tests.support.together import at_once


def test_of_many_concurrent_refreshes_one_asks_and_all_get_its_tokens(session: RefreshedSession) -> None:
    session.identity.meanwhile = lambda: time.sleep(0.1)
    found = at_once(*[partial(session.renew, refused=True)] * 5)
    assert [tokens.access_token for tokens in found] == ["a1"] * 5
    assert len(session.identity.asked) == 1


@contextmanager
def another_process(session: RefreshedSession) -> Any:
    """Hold the lock, as another process that refreshes the session's tokens does."""
    assert session.store.lock(f"refresh:{session.name}", "another", seconds=20)
    yield
    session.store.unlock(f"refresh:{session.name}", "another")


@contextmanager
def another_thread(session: RefreshedSession) -> Any:
    stripe = session.refresher._stripes[hash(session.name) % len(session.refresher._stripes)]
    with stripe:
        yield


BUSY = pytest.mark.parametrize("busy", [another_process, another_thread])


@BUSY
def test_during_another_refresh_a_valid_token_is_returned_at_once(
    session: RefreshedSession, counted: list[str], busy: Callable[[RefreshedSession], Any]
) -> None:
    with busy(session):
        began = time.monotonic()
        assert session.renew() == OLD
        assert time.monotonic() - began < 2
    assert (session.identity.asked, counted) == ([], ["postponed"])


@BUSY
@pytest.mark.parametrize(("seen", "refused"), [(OLD, True), (OVER, False)])
def test_during_another_refresh_an_unusable_token_waits_as_long_as_a_call_may_take(
    session: RefreshedSession, busy: Callable[[RefreshedSession], Any], seen: Tokens, refused: bool
) -> None:
    session.signed_in(seen)
    session.takes_at_most(0.3)
    with busy(session):
        began = time.monotonic()
        with pytest.raises(Unavailable, match="under way"):
            session.renew(seen, refused=refused)
        assert 0.25 < time.monotonic() - began < 3
    assert session.renew(seen, refused=refused).access_token == "a1", "the lock is free again"


@BUSY
def test_waiting_for_another_refresh_ends_at_the_pages_deadline(
    session: RefreshedSession, busy: Callable[[RefreshedSession], Any]
) -> None:
    deadline.set_to(time.monotonic())
    try:
        with busy(session), pytest.raises(Unavailable):
            began = time.monotonic()
            session.renew(refused=True)
        assert time.monotonic() - began < 2
    finally:
        deadline.set_to(None)


@BUSY
def test_tokens_refreshed_by_another_are_used(
    session: RefreshedSession, busy: Callable[[RefreshedSession], Any]
) -> None:
    newer = msgspec.structs.replace(OLD, access_token="a9")
    with busy(session):
        threading.Timer(0.05, lambda: session.sessions.replace_tokens(session.name, OLD, newer)).start()
        assert session.renew(refused=True) == newer
    assert not session.identity.asked


def test_the_lock_outlives_a_slow_call_by_a_few_seconds(
    session: RefreshedSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[str, int, float]] = []
    lock = session.store.lock

    def noted(name: str, owner: str, *, seconds: float) -> bool:
        asked.append((name, len(owner), seconds))
        return lock(name, owner, seconds=seconds)

    monkeypatch.setattr(session.store, "lock", noted)
    session.renew()
    assert asked == [(f"refresh:{session.name}", 16, 15)]
    assert lock(f"refresh:{session.name}", "another", seconds=1), "it was released"


def test_with_a_key_the_lock_lasts_while_each_call_may_be_repeated_for_a_nonce(
    session: RefreshedSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[float] = []
    lock = session.store.lock

    def noted(name: str, owner: str, *, seconds: float) -> bool:
        asked.append(seconds)
        return lock(name, owner, seconds=seconds)

    monkeypatch.setattr(session.store, "lock", noted)
    bound = msgspec.structs.replace(OLD, dpop_key=Prover.new(Nonces()).kept)
    assert session.sessions.replace_tokens(session.name, OLD, bound)
    session.identity.answer |= {"token_type": "DPoP"}
    session.renew(bound, refused=True)
    assert asked == [30]
    assert session.kept is not None and session.kept.dpop_key == bound.dpop_key
