"""Readiness: it changes after several checks, and doesn't depend on upstreams once the process has started."""

from __future__ import annotations

import threading
import time
from typing import Any, cast

import pytest

from portal.operate.readiness import Readiness
from portal.signin.discovery import ProviderDown
from portal.store import StoreDown, WrongKey
from tests.support.clock import Clock


class Store:
    """Answers pings while it is up, and counts them."""

    def __init__(self) -> None:
        self.is_up = True
        self.pings = 0

    def ping(self) -> None:
        self.pings += 1
        if not self.is_up:
            raise StoreDown("gone")


class Provider:
    """Gives its metadata while it is up, and counts how often it was asked."""

    def __init__(self) -> None:
        self.is_up = True
        self.asked = 0

    def metadata(self) -> None:
        self.asked += 1
        if not self.is_up:
            raise ProviderDown("gone")


@pytest.fixture
def store() -> Store:
    return Store()


def ready(store: Store, clock: Clock, *providers: Provider) -> Readiness:
    return Readiness(cast("Any", store), cast("Any", providers), clock)


def look(readiness: Readiness, clock: Clock, times: int = 1) -> tuple[bool, str]:
    """What it says after so many looks, two seconds apart."""
    said = readiness.probe()
    for _ in range(times - 1):
        clock.now += 2
        said = readiness.probe()
    clock.now += 2
    return said


def test_a_machine_is_unready_after_three_failed_checks_not_after_one(store: Store, clock: Clock) -> None:
    readiness = ready(store, clock, Provider())
    assert look(readiness, clock) == (True, "ready")
    store.is_up = False
    assert look(readiness, clock, 2) == (
        True,
        "ready; but the last look says otherwise; the store doesn't answer",
    )
    store.is_up = True
    assert look(readiness, clock) == (True, "ready")
    store.is_up = False
    assert look(readiness, clock, 3) == (False, "not ready; the store doesn't answer")


def test_a_machine_is_ready_again_after_two_good_checks_not_after_one(store: Store, clock: Clock) -> None:
    readiness = ready(store, clock)
    look(readiness, clock)
    store.is_up = False
    assert not look(readiness, clock, 3)[0]
    store.is_up = True
    assert not look(readiness, clock)[0]
    assert look(readiness, clock) == (True, "ready")


def test_readiness_checks_the_store_at_most_once_a_second(store: Store, clock: Clock) -> None:
    readiness = ready(store, clock)
    for _ in range(100):
        readiness.probe()
        clock.now += 0.05
    assert store.pings <= 6


def test_a_new_process_waits_for_identity_servers_for_a_limited_time(store: Store, clock: Clock) -> None:
    here, gone = Provider(), Provider()
    gone.is_up = False
    readiness = ready(store, clock, here, gone)
    assert look(readiness, clock) == (False, "starting; 1 of 2 identity servers never answered")
    clock.now += 30
    assert look(readiness, clock) == (True, "ready; 1 of 2 identity servers never answered")
    gone.is_up = True
    assert look(readiness, clock) == (True, "ready")


def test_no_look_waits_for_an_identity_server_that_hangs(store: Store, clock: Clock) -> None:
    """A load balancer gives up a check after a second or two, and takes the machine for one that isn't ready."""
    hanging, answers = Provider(), threading.Event()
    hanging.metadata = lambda: cast("None", answers.wait(10))  # type: ignore[method-assign]
    readiness = ready(store, clock, hanging)
    begun = time.monotonic()
    assert not look(readiness, clock)[0]
    clock.now += 30
    assert look(readiness, clock) == (True, "ready; 1 of 1 identity servers never answered")
    assert time.monotonic() - begun < 2
    answers.set()


def test_a_new_process_is_ready_at_once_when_all_answer(store: Store, clock: Clock) -> None:
    providers = [Provider() for _ in range(3)]
    readiness = ready(store, clock, *providers)
    assert look(readiness, clock, 3) == (True, "ready")
    asked = [one.asked for one in providers]
    look(readiness, clock, 5)
    assert [one.asked for one in providers] == asked == [1, 1, 1], "each provider must be asked once"


def test_an_identity_server_going_down_later_does_not_make_a_machine_unready(
    store: Store, clock: Clock
) -> None:
    provider = Provider()
    readiness = ready(store, clock, provider)
    look(readiness, clock)
    provider.is_up = False
    assert look(readiness, clock, 20) == (True, "ready")


def test_a_new_process_without_its_store_never_becomes_ready(store: Store, clock: Clock) -> None:
    store.is_up = False
    readiness = ready(store, clock, Provider())
    assert look(readiness, clock, 40) == (False, "starting; the store doesn't answer")
    store.is_up = True
    assert look(readiness, clock) == (True, "ready")


@pytest.mark.parametrize("step", [-600, 600])
def test_readiness_does_not_depend_on_the_system_clock(store: Store, clock: Clock, step: float) -> None:
    readiness = ready(store, clock, Provider())
    look(readiness, clock)
    clock.now += step
    assert look(readiness, clock) == (True, "ready")


def test_a_machine_with_wrong_secret_keys_is_never_ready_and_says_so_once_in_the_log(
    store: Store, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    def check() -> None:
        raise WrongKey("the store is sealed with 00aa00aa; this process has 11bb11bb")

    readiness = Readiness(cast("Any", store), (), clock, check_keys=check)
    assert look(readiness, clock, 5) == (
        False,
        "starting; the store is sealed with 00aa00aa; this process has 11bb11bb",
    )
    errors = [record.getMessage() for record in caplog.records if record.levelname == "ERROR"]
    assert errors == ["wrong secret keys: the store is sealed with 00aa00aa; this process has 11bb11bb"]
