"""The circuit breaker: when it opens, what it lets through while open, and how soon it notices a recovery."""

from __future__ import annotations

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from portal.http.circuit_breaker import FIRST_PAUSE, LONGEST_PAUSE, NEVER, Breaker, Breakers, Open
from tests.support.clock import Clock
from tests.support.full import examples

FAILURES = 5
LONGEST = LONGEST_PAUSE * 1.2


@pytest.fixture
def breaker(clock: Clock) -> Breaker:
    return Breaker("https://api.example", "Calendar", FAILURES, clock)


def fail(breaker: Breaker, times: int = FAILURES) -> None:
    for _ in range(times):
        breaker.record_failure()


@pytest.mark.asvs("16.5.2")
def test_the_breaker_opens_after_the_configured_failures_in_a_row(breaker: Breaker) -> None:
    fail(breaker, FAILURES - 1)
    breaker.record_success()
    fail(breaker, FAILURES - 1)
    breaker.admit(is_read=True)
    breaker.record_failure()
    with pytest.raises(Open) as held_back:
        breaker.admit(is_read=True)
    assert 0 < held_back.value.seconds <= FIRST_PAUSE * 1.2


def test_the_breaker_opens_when_half_of_the_recent_calls_failed(breaker: Breaker) -> None:
    for _ in range(2 * FAILURES - 1):
        breaker.record_failure()
        breaker.record_success()
    assert breaker.is_closed
    breaker.record_failure()
    assert not breaker.is_closed


def test_old_failures_do_not_count(breaker: Breaker, clock: Clock) -> None:
    for _ in range(10 * FAILURES):
        breaker.record_failure()
        clock.now += 61
    assert breaker.is_closed


def test_after_the_pause_the_probe_is_one_read_and_never_an_act(breaker: Breaker, clock: Clock) -> None:
    fail(breaker)
    clock.now += LONGEST
    with pytest.raises(Open) as held_back:
        breaker.admit(is_read=False)
    assert held_back.value.seconds == 0
    breaker.admit(is_read=True)
    for is_read in (True, False):
        with pytest.raises(Open):
            breaker.admit(is_read=is_read)
    breaker.record_success()
    breaker.admit(is_read=False)


def test_a_failed_probe_doubles_the_pause_up_to_the_maximum(breaker: Breaker, clock: Clock) -> None:
    fail(breaker)
    for expected in (1, 2, 4, 8, 8, 8):
        with pytest.raises(Open) as held_back:
            breaker.admit(is_read=True)
        assert 0.8 * expected <= held_back.value.seconds <= 1.2 * expected
        clock.now += held_back.value.seconds + 0.001
        breaker.admit(is_read=True)
        breaker.record_failure()
    clock.now += LONGEST
    breaker.admit(is_read=True)
    breaker.record_success()
    fail(breaker)
    with pytest.raises(Open) as held_back:
        breaker.admit(is_read=True)
    assert held_back.value.seconds <= FIRST_PAUSE * 1.2


def test_a_lost_probe_is_followed_by_another(breaker: Breaker, clock: Clock) -> None:
    fail(breaker)
    for _ in range(3):
        clock.now += LONGEST
        breaker.admit(is_read=True)
    breaker.record_success()
    assert breaker.is_closed


def test_calls_in_flight_when_the_breaker_opened_do_not_extend_the_pause(
    breaker: Breaker, clock: Clock
) -> None:
    fail(breaker, 50)
    clock.now += FIRST_PAUSE * 1.2 + 0.001
    breaker.admit(is_read=True)


@pytest.mark.parametrize("step", [-600.0, 600.0])
def test_a_changed_system_clock_does_not_block_calls(breaker: Breaker, clock: Clock, step: float) -> None:
    fail(breaker)
    clock.now += step
    breaker.admit(is_read=True)


def test_a_failing_group_does_not_affect_other_groups(clock: Clock) -> None:
    breakers = Breakers(FAILURES, clock)
    fail(breakers.of("https://api.example", "Calendar"))
    assert not breakers.of("https://api.example", "Calendar").is_closed
    assert breakers.of("https://api.example", "ConsentForm").is_closed
    assert breakers.of("https://other.example", "Calendar").is_closed


def test_a_breaker_set_to_0_never_opens() -> None:
    fail(NEVER, 1000)
    NEVER.admit(is_read=False)


class AnyCourse(RuleBasedStateMachine):
    """Any events in any order: no call is held back for long, and acts only pass a closed breaker."""

    def __init__(self) -> None:
        super().__init__()
        self.clock = Clock()
        self.breaker = Breaker("https://api.example", "Calendar", 3, self.clock)
        self.under_way = 0
        self.read_admitted_at = self.clock.now

    @rule(is_read=st.booleans())
    def ask(self, is_read: bool) -> None:
        was_closed = self.breaker.is_closed
        try:
            self.breaker.admit(is_read=is_read)
        except Open as held_back:
            assert not was_closed
            assert 0 <= held_back.seconds <= LONGEST
        else:
            assert is_read or was_closed
            self.under_way += 1

    @precondition(lambda self: self.under_way)
    @rule(is_good=st.booleans())
    def hear(self, is_good: bool) -> None:
        self.under_way -= 1
        if is_good:
            self.breaker.record_success()
            assert self.breaker.is_closed
        else:
            self.breaker.record_failure()

    @precondition(lambda self: self.under_way)
    @rule()
    def lose(self) -> None:
        self.under_way -= 1

    @rule(seconds=st.floats(-1000, 1000))
    def let_time_pass(self, seconds: float) -> None:
        self.clock.now += seconds

    @invariant()
    def a_read_gets_through_after_the_longest_pause(self) -> None:
        if self.breaker.is_closed:
            return
        before = self.clock.now
        self.clock.now += LONGEST
        waited = self.clock.now - self.breaker._paused_at
        self.clock.now = before
        assert waited >= self.breaker._pause or waited < 0


TestAnyCourse = AnyCourse.TestCase
TestAnyCourse.settings = settings(max_examples=examples(150), stateful_step_count=40, deadline=None)
