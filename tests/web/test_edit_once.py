"""Edits without their own operation, and resolving a lost response without resending."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from flask import Flask

from portal.context import context
from portal.state.operations import Operation, Operations, State
from portal.web.act_once import Attempt, Done, Reopened, Unconfirmed, begin_edit, look_again
from tests.support.bare import NotedAudit
from tests.support.clock import Clock


@pytest.fixture
def operations(app: Flask) -> Iterator[Operations]:
    with app.test_request_context():
        app.preprocess_request()
        yield context().operations


def state(operations: Operations, operation: Operation) -> State:
    found = operations.find("nora", operation.id, operation.purpose)
    assert found
    return found.state


def test_the_same_change_sent_twice_is_one_operation_and_a_different_one_is_another(
    operations: Operations,
) -> None:
    first = begin_edit("nora", "edit:1", "stamp", "new")
    assert begin_edit("nora", "edit:1", "stamp", "new").id == first.id
    others = [
        begin_edit("victor", "edit:2", "stamp", "new"),
        begin_edit("nora", "edit:1", "another stamp", "new"),
        begin_edit("nora", "edit:1", "stamp", "newer"),
    ]
    assert first.id not in {other.id for other in others}


def test_a_change_made_by_a_concurrent_post_is_not_made_again(operations: Operations) -> None:
    first = begin_edit("nora", "edit:1", None, "new")
    operations.finish("nora", first.id)
    assert begin_edit("nora", "edit:1", None, "new").state is State.DONE


def test_a_change_that_was_undone_can_be_made_again(operations: Operations, clock: Clock) -> None:
    first = begin_edit("nora", "edit:1", None, "new")
    operations.finish("nora", first.id)
    clock.advance(1)
    again = begin_edit("nora", "edit:1", None, "new")
    assert (again.id, again.state) == (first.id, State.OPEN)


@pytest.mark.parametrize("is_lost", [True, False], ids=["no answer", "the process was killed"])
def test_a_change_without_a_response_reopens_after_30_seconds(
    operations: Operations, clock: Clock, is_lost: bool
) -> None:
    first = begin_edit("nora", "edit:1", "stamp", "new")
    operations.claim("nora", first.id)
    if is_lost:
        operations.lose("nora", first.id)
    assert begin_edit("nora", "edit:1", "stamp", "new").state is not State.OPEN
    clock.advance(30)
    again = begin_edit("nora", "edit:1", "stamp", "new")
    assert (again.id, again.state) == (first.id, State.OPEN)


def test_an_edits_operation_expires_after_a_minute(operations: Operations, clock: Clock) -> None:
    first = begin_edit("nora", "edit:1", "stamp", "new")
    clock.advance(61)
    assert operations.find("nora", first.id, "edit:1") is None


def test_a_record_found_after_a_lost_response_settles_the_act(
    operations: Operations, audit: NotedAudit
) -> None:
    operation = operations.begin("nora", "create")
    operations.claim("nora", operation.id)
    operations.lose("nora", operation.id)
    found = look_again(Attempt("nora", operation), lambda: "12", event="thing.create", receipt=str)
    assert found == Done("12", "12", is_first=True)
    assert state(operations, operation) is State.DONE
    assert audit.lines == [("thing.create", "done", "12")]
    again = look_again(Attempt("nora", operation), lambda: None, event="thing.create")
    assert again == Done(None, "12", is_first=False)


def test_an_act_not_found_in_the_record_stays_unknown_and_reopens_after_30_seconds(
    operations: Operations, clock: Clock
) -> None:
    operation = operations.begin("nora", "create")
    operations.claim("nora", operation.id)

    def look() -> Done[str]:
        return look_again(Attempt("nora", operation), lambda: None, event="thing.create")

    with pytest.raises(Unconfirmed) as raised:
        look()
    assert (raised.value.is_readable, raised.value.status) == (True, 200)
    assert state(operations, operation) is State.PENDING
    clock.advance(30)
    with pytest.raises(Reopened):
        look()
    assert state(operations, operation) is State.OPEN
