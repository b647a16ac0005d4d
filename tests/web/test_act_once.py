"""An act happens once, and every way it can end is settled."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from msgspec.structs import replace

from portal import metrics
from portal.services.demand import Demand
from portal.services.errors import (
    BadResponse,
    CareError,
    Conflict,
    Invalid,
    NotAllowed,
    NotFound,
    NotOffered,
    NotSignedIn,
    Refused,
    StepUpNeeded,
    Unavailable,
)
from portal.state.operations import State
from portal.store import StoreDown
from portal.web import act_once as module
from portal.web.act_once import (
    Attempt,
    Done,
    Reopened,
    Unconfirmed,
    act_once,
    begin,
    begin_edit,
    earlier,
    give_up,
    is_lost,
    is_unconfirmed,
    settled,
)
from tests.web.act_stage import LOST, OWNER, PURPOSE, FakeTime, Stage, fails, undone

Act = Callable[..., Any]


@pytest.fixture
def stage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Stage]:
    made = Stage(tmp_path / "store.db")
    monkeypatch.setattr(
        module, "context", lambda: SimpleNamespace(operations=made.operations, clock=made.clock)
    )

    def note(_event: str, outcome: str, *, kind: str | None, id_: str | None, also: object) -> None:
        made.noted.append(outcome)
        made.about.append((kind, id_))

    monkeypatch.setattr(module.audit, "note", note)
    yield made


@pytest.fixture
def time_(monkeypatch: pytest.MonkeyPatch) -> FakeTime:
    made = FakeTime()
    monkeypatch.setattr(module, "time", made)
    return made


def test_a_successful_act_is_done_once_and_repeats_get_its_outcome(stage: Stage) -> None:
    sent: list[str] = []
    first = stage.act(lambda key: sent.append(key) or "form", receipt=str)
    again = stage.act(lambda key: sent.append(key) or "form", receipt=str)
    assert (first, again) == (Done("form", "form", True), Done(None, "form", False))
    assert len(sent) == 1
    assert (stage.state(), stage.noted) == (State.DONE, ["done"])


@pytest.mark.parametrize(
    "error",
    [Refused("OutOfOrder"), Conflict(), Invalid(), NotFound(), NotAllowed(), NotOffered(about_record=True)],
)
def test_a_refused_act_can_be_repeated(stage: Stage, error: CareError) -> None:
    assert stage.failure(fails(error)) is error
    assert (stage.state(), stage.noted) == (State.OPEN, ["refused"])
    assert isinstance(stage.act(lambda key: "form"), Done)


def test_an_act_that_was_not_sent_can_be_repeated(stage: Stage) -> None:
    error = undone()
    assert stage.failure(fails(error)) is error
    assert (stage.state(), stage.noted) == (State.OPEN, ["not-sent"])


@pytest.mark.parametrize("error", LOST)
def test_a_lost_response_is_resolved_from_the_record(stage: Stage, error: CareError) -> None:
    assert stage.act(fails(error), look=lambda: "form", receipt=str) == Done("form", "form", True)
    assert (stage.state(), stage.noted) == (State.DONE, ["unknown", "done"])


def test_a_record_that_does_not_show_the_act_says_nothing_of_it(stage: Stage) -> None:
    """`look` may return the record as it is: whether the act is in it says `shows`."""
    assert stage.unconfirmed(
        fails(LOST[0]), shows=lambda form: form == "signed", look=lambda: "unsigned"
    ) == (True, 503)
    done = stage.act(
        fails(AssertionError("sent twice")), shows=lambda form: form == "signed", look=lambda: "signed"
    )
    assert (done.result, stage.state()) == ("signed", State.DONE)


def test_only_an_act_whose_end_the_record_does_not_tell_counts_as_unknown(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    counted: list[str] = []
    monkeypatch.setattr(metrics, "act_unknown", lambda: counted.append("unknown"))
    stage.act(fails(LOST[0]), look=lambda: "form", receipt=str)
    assert not counted
    stage.attempt = Attempt(OWNER, stage.operations.begin(OWNER, PURPOSE), ("typed",))
    stage.unconfirmed(fails(LOST[0]), look=lambda: None)
    assert counted == ["unknown"]


@pytest.mark.parametrize("error", LOST)
def test_an_unconfirmed_act_is_not_resent_automatically(stage: Stage, error: CareError) -> None:
    assert stage.unconfirmed(fails(error), look=lambda: None) == (True, 503)
    assert stage.unconfirmed(fails(AssertionError("sent twice")), look=lambda: None) == (True, 202)
    assert stage.state() is State.UNKNOWN


@pytest.mark.parametrize(
    "error", [Unavailable("down"), BadResponse("$"), NotSignedIn(), NotAllowed(), NotFound(), Conflict()]
)
def test_an_unreadable_record_after_a_lost_response_is_reported(stage: Stage, error: CareError) -> None:
    def look() -> None:
        raise error

    assert stage.unconfirmed(fails(LOST[0]), look=look) == (False, 503)


def test_an_act_without_a_check_stays_unknown(stage: Stage) -> None:
    assert stage.unconfirmed(fails(LOST[0])) == (False, 503)
    assert stage.state() is State.UNKNOWN


def test_a_harmless_act_can_be_repeated_at_once(stage: Stage) -> None:
    assert stage.unconfirmed(fails(LOST[0]), look=lambda: None, is_repeatable=True) == (True, 503)
    assert stage.state() is State.OPEN


def cannot_be_read() -> None:
    raise Unavailable("down")


@pytest.mark.parametrize("look", [None, cannot_be_read])
def test_a_harmless_act_can_be_repeated_at_once_even_if_the_record_is_unreadable(
    stage: Stage, look: Callable[[], None] | None
) -> None:
    assert stage.unconfirmed(fails(LOST[0]), look=look, is_repeatable=True) == (False, 503)
    assert stage.state() is State.OPEN


def test_a_harmless_repeat_stays_closed_while_another_post_is_being_sent(
    stage: Stage, time_: FakeTime
) -> None:
    assert stage.operations.claim(OWNER, stage.attempt.operation.id)
    repeat = stage.unconfirmed(fails(AssertionError("sent twice")), look=lambda: None, is_repeatable=True)
    assert repeat == (True, 202)
    assert stage.state() is State.PENDING


def test_a_harmless_repeat_is_sent_itself_if_the_post_it_waited_for_is_refused(stage: Stage) -> None:
    assert stage.operations.claim(OWNER, stage.attempt.operation.id)
    threading.Timer(0.05, lambda: stage.operations.reopen(OWNER, stage.attempt.operation.id)).start()
    assert stage.act(lambda key: "form", is_repeatable=True) == Done("form", "", True)


def test_the_data_of_the_post_that_is_sent_is_kept(stage: Stage) -> None:
    for name in ("first", "second"):
        stage.attempt = replace(stage.attempt, data={"window": name})
        stage.act(lambda key: None)
    assert stage.operation().data == {"window": "first"}


def test_a_post_with_nothing_to_send_gets_the_earlier_outcome(stage: Stage) -> None:
    with pytest.raises(Reopened):
        earlier(stage.attempt)
    stage.failure(fails(LOST[0]))
    with pytest.raises(Unconfirmed):
        earlier(stage.attempt)
    stage.operations.finish(OWNER, stage.attempt.operation.id, "receipt")
    assert earlier(stage.attempt) == Done(None, "receipt", False)


def test_a_response_that_does_not_show_the_act_counts_as_lost(stage: Stage) -> None:
    assert stage.unconfirmed(lambda key: "unsigned", shows=lambda form: False, look=lambda: None) == (
        True,
        503,
    )
    assert stage.state() is State.UNKNOWN


@pytest.mark.parametrize(
    "error", [NotSignedIn(), StepUpNeeded(Demand(300))], ids=lambda error: type(error).__name__
)
def test_an_act_that_needs_a_fresh_sign_in_stays_open(stage: Stage, error: CareError) -> None:
    with pytest.raises(type(error)):
        stage.act(fails(error))
    assert (stage.state(), stage.noted) == (State.OPEN, [])


def test_an_internal_error_leaves_the_outcome_unknown_and_not_in_progress(stage: Stage) -> None:
    with pytest.raises(ZeroDivisionError):
        stage.act(fails(ZeroDivisionError()))
    assert stage.state() is State.UNKNOWN


def test_one_of_many_concurrent_posts_sends_and_all_get_its_outcome(stage: Stage) -> None:
    sent, ready = [], threading.Barrier(8)

    def send(key: str) -> str:
        sent.append(key)
        return "form"

    def post(_number: int) -> Any:
        ready.wait()
        return stage.act(send, receipt=str)

    with ThreadPoolExecutor(8) as pool:
        ended = list(pool.map(post, range(8)))
    assert len(sent) == 1
    assert {one.receipt for one in ended} == {"form"}
    assert sum(one.is_first for one in ended) == 1


def test_a_post_that_waits_for_one_that_is_refused_shows_the_form_again(stage: Stage) -> None:
    assert stage.operations.claim(OWNER, stage.attempt.operation.id)
    threading.Timer(0.05, lambda: stage.operations.reopen(OWNER, stage.attempt.operation.id)).start()
    assert isinstance(stage.failure(fails(AssertionError("sent twice"))), Reopened)


def test_the_idempotency_key_changes_with_what_is_sent(stage: Stage) -> None:
    operation = stage.attempt.operation
    keys = {Attempt(OWNER, operation, sent).key for sent in [("a", "b"), ("ab", None), ("a", "b", ""), ()]}
    assert len(keys) == 4
    assert Attempt(OWNER, operation, ("a", "b")).key == Attempt(OWNER, operation, ("a", "b")).key


def test_a_page_gets_the_open_operation(stage: Stage) -> None:
    assert begin(OWNER, PURPOSE) == (stage.attempt.operation, False)
    stage.act(lambda key: "form")
    fresh, was_lost = begin(OWNER, PURPOSE)
    assert fresh.id != stage.attempt.operation.id
    assert not was_lost


def test_a_lost_act_is_reopened_after_a_while_and_reported_as_lost(stage: Stage) -> None:
    stage.failure(fails(LOST[0]))
    held, was_lost = begin(OWNER, PURPOSE)
    assert (held.state, was_lost) == (State.UNKNOWN, False)
    stage.now += 21
    held, was_lost = begin(OWNER, PURPOSE)
    assert (held.state, was_lost) == (State.OPEN, True)
    assert held.id == stage.attempt.operation.id


def test_a_page_that_shows_the_receipt_gets_the_finished_operation(stage: Stage) -> None:
    stage.act(lambda key: "form")
    held, _was_lost = begin(OWNER, PURPOSE, keeps_receipt=True)
    assert (held.id, held.state) == (stage.attempt.operation.id, State.DONE)


def test_an_act_that_cannot_be_checked_does_not_reopen_by_itself(stage: Stage) -> None:
    stage.failure(fails(LOST[0]))
    stage.now += 21
    held, was_lost = begin(OWNER, PURPOSE, reopens=False)
    assert (held.state, was_lost) == (State.UNKNOWN, False)


def test_only_an_unconfirmed_act_can_be_given_up(stage: Stage) -> None:
    assert not give_up(OWNER, stage.operation())
    stage.operations.claim(OWNER, stage.attempt.operation.id)
    assert not give_up(OWNER, stage.operation()), "it is being sent"
    stage.now += 21
    assert is_unconfirmed(stage.operation())
    assert give_up(OWNER, stage.operation())
    held, _was_lost = begin(OWNER, PURPOSE, reopens=False)
    assert (held.state, held.id == stage.attempt.operation.id) == (State.OPEN, False)


def test_a_post_waits_four_seconds_for_another(stage: Stage, time_: FakeTime) -> None:
    stage.operations.claim(OWNER, stage.attempt.operation.id)
    assert settled(OWNER, stage.attempt.operation).state is State.PENDING
    assert time_.waits == [0.05] * (4 * 16 + 1)


@pytest.mark.parametrize("how", ["done", "without an answer", "open", "lost"])
def test_a_finished_operation_is_not_waited_for(stage: Stage, time_: FakeTime, how: str) -> None:
    if how != "open":
        stage.operations.claim(OWNER, stage.attempt.operation.id)
    if how == "done":
        stage.operations.finish(OWNER, stage.attempt.operation.id)
    if how == "without an answer":
        stage.operations.lose(OWNER, stage.attempt.operation.id)
    if how == "lost":
        stage.now += 21
    assert settled(OWNER, stage.attempt.operation) == stage.operation()
    assert time_.waits == []


def test_a_sent_act_counts_as_lost_after_twenty_seconds(stage: Stage) -> None:
    stage.operations.claim(OWNER, stage.attempt.operation.id)
    stage.now += 20
    assert not is_lost(stage.operation())
    stage.now += 0.5
    assert is_lost(stage.operation())
    stage.operations.reopen(OWNER, stage.attempt.operation.id)
    stage.now += 100
    assert not is_lost(stage.operation()), "it isn't sent"


def test_an_edit_is_remembered_for_a_minute(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "g", SimpleNamespace(started=0.0))
    edit = begin_edit(OWNER, "edit:1", "new")
    stage.now += 59.5
    assert stage.operations.find(OWNER, edit.id, "edit:1") == edit
    stage.now += 1
    assert stage.operations.find(OWNER, edit.id, "edit:1") is None


@pytest.mark.parametrize(("ago", "state"), [(4, State.DONE), (5, State.DONE), (5.5, State.OPEN)])
def test_an_edit_is_open_again_only_if_it_was_done_before_this_request_began(
    stage: Stage, time_: FakeTime, monkeypatch: pytest.MonkeyPatch, ago: float, state: State
) -> None:
    monkeypatch.setattr(module, "g", SimpleNamespace(started=10.0))
    time_.passed = 15.0
    edit = begin_edit(OWNER, "edit:1", "new")
    stage.operations.claim(OWNER, edit.id)
    stage.operations.finish(OWNER, edit.id)
    stage.now += ago
    assert begin_edit(OWNER, "edit:1", "new").state is state


def test_idempotency_keys_have_one_length(stage: Stage) -> None:
    """Servers truncate or refuse long keys, and two truncated keys might be equal."""
    assert len(stage.attempt.key) == 40


def test_the_outcome_is_reported_even_if_the_store_cannot_record_it(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    def finish(*_: object, **__: object) -> bool:
        raise StoreDown("away")

    monkeypatch.setattr(stage.operations, "finish", finish)
    assert stage.act(lambda key: "form", receipt=str) == Done("form", "form", True)
    assert stage.noted == ["done"]


def test_the_audit_names_the_record_that_was_there_or_that_was_made(stage: Stage) -> None:
    stage.act(lambda key: "receipt", receipt=str)
    made = Attempt(OWNER, stage.operations.begin(OWNER, "create"))
    act_once(made, lambda key: "form-2", event="consent.create", receipt=str)
    failed = Attempt(OWNER, stage.operations.begin(OWNER, "create"))
    with pytest.raises(Conflict):
        act_once(failed, fails(Conflict()), event="consent.create")
    assert stage.about == [("consent", "form-1"), ("consent", "form-2"), (None, None)]
