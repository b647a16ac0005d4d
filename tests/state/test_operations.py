"""Operations: the record of acts that happen once."""

from __future__ import annotations

import time
from functools import partial
from pathlib import Path

import pytest

from portal.state.operations import Operations, State
from portal.store import open_store
from portal.store.vault import Vault
from tests.support.clock import Clock
from tests.support.together import at_once


@pytest.fixture
def operations(tmp_path: Path) -> Operations:
    return Operations(Vault(open_store(f"sqlite:///{tmp_path}/s.db", time.time), ("k" * 32,)), time.time)


def test_one_of_twenty_posts_of_a_form_may_act(operations: Operations) -> None:
    operation = operations.begin("amelia", "sign:1")
    claimed = at_once(*[partial(operations.claim, "amelia", operation.id)] * 20)
    assert sorted(claimed) == [False] * 19 + [True]


def test_another_persons_operation_is_not_found(operations: Operations) -> None:
    operation = operations.begin("amelia", "sign:1")
    assert operations.find("daniel", operation.id, "sign:1") is None
    assert not operations.claim("daniel", operation.id)
    assert operations.find("amelia", operation.id, "sign:2") is None


def test_a_finished_operation_has_its_receipt_and_does_not_reopen(operations: Operations) -> None:
    operation = operations.begin("amelia", "sign:1", {"step": 1})
    operations.claim("amelia", operation.id)
    operations.finish("amelia", operation.id, "/consents/1/receipt")
    again = operations.find("amelia", operation.id, "sign:1")
    assert again is not None
    assert (again.state, again.outcome) == (State.DONE, "/consents/1/receipt")
    assert not operations.reopen("amelia", operation.id)
    assert not operations.claim("amelia", operation.id)
    assert not operations.keep("amelia", operation.id, {})


def test_a_lost_response_stays_unknown_until_the_record_was_checked(operations: Operations) -> None:
    operation = operations.begin("amelia", "sign:1")
    operations.claim("amelia", operation.id)
    operations.lose("amelia", operation.id)
    assert not operations.claim("amelia", operation.id)
    assert operations.reopen("amelia", operation.id)
    assert operations.claim("amelia", operation.id)


def test_the_newest_operation_for_a_purpose_is_found(operations: Operations) -> None:
    operations.begin("amelia", "sign:1")
    newest = operations.begin("amelia", "sign:1", {"a": 1})
    operations.keep("amelia", newest.id, {"a": 2})
    found = operations.newest("amelia", "sign:1")
    assert found is not None
    assert found.id == newest.id
    assert found.data == {"a": 2}
    assert operations.newest("daniel", "sign:1") is None


def test_an_operation_with_a_given_id_is_created_once(operations: Operations) -> None:
    first = operations.begin("booking link", "book:1", id_="link")
    operations.claim("booking link", "link", {"window": "taken"})
    again = operations.begin("booking link", "book:1", {"window": "another"}, id_="link")
    assert (first.id, again.id) == ("link", "link")
    assert (again.state, again.data) == (State.PENDING, {"window": "taken"})


def test_an_operation_expires_after_its_lifetime(tmp_path: Path) -> None:
    now = time.time()
    operations = Operations(
        Vault(open_store(f"sqlite:///{tmp_path}/s.db", lambda: now), ("k" * 32,)), lambda: now
    )
    longer = operations.begin("booking link", "book:1", id_="link", expires_at=now + 72 * 3600)
    operations.begin("booking link", "book:2", id_="moved", expires_at=now + 3600)
    operations.begin("booking link", "book:2", id_="moved", expires_at=now + 72 * 3600)  # chosen anew
    operations.begin("booking link", "book:3", id_="sent", expires_at=now + 3600)
    operations.claim("booking link", "sent")
    operations.begin("booking link", "book:3", id_="sent", expires_at=now + 72 * 3600)
    usual = operations.begin("amelia", "sign:1", id_="form")
    assert (longer.changed_at, usual.changed_at) == (now, now)
    now += 49 * 3600
    assert operations.find("booking link", "link", "book:1")
    assert operations.find("booking link", "moved", "book:2")
    assert operations.find("booking link", "sent", "book:3") is None
    assert operations.find("amelia", "form", "sign:1") is None


def test_a_finished_operation_restarts_only_on_request(operations: Operations) -> None:
    operation = operations.begin("nora", "update:1")
    assert not operations.restart("nora", operation.id)
    operations.finish("nora", operation.id)
    assert operations.restart("nora", operation.id)
    assert operations.claim("nora", operation.id)


def test_a_dropped_operation_is_not_found(operations: Operations) -> None:
    operation = operations.begin("colin", "merge:1")
    operations.drop("nora", operation.id)
    assert operations.find("colin", operation.id, "merge:1")
    operations.drop("colin", operation.id)
    assert operations.find("colin", operation.id, "merge:1") is None
    assert not operations.finish("colin", operation.id)


def test_only_a_persons_oldest_unsent_operations_are_dropped(tmp_path: Path) -> None:
    clock = Clock()
    vault = Vault(open_store(f"sqlite:///{tmp_path}/s.db", clock), ("k" * 32,), clock)
    operations = Operations(vault, clock)
    sent, left = operations.begin("amelia", "sign:1"), operations.begin("amelia", "sign:2")
    operations.claim("amelia", sent.id)
    daniels = operations.begin("daniel", "sign:1")
    for number in range(300):
        clock.now += 1
        newest = operations.begin("amelia", f"merge:{number}")
    assert len(vault.tagged("operations", "", "amelia")) == 100
    assert operations.find("amelia", newest.id, "merge:299") and operations.find("amelia", sent.id, "sign:1")
    assert operations.find("amelia", left.id, "sign:2") is None
    assert operations.find("daniel", daniels.id, "sign:1"), "one person's operations must not evict another's"


def test_an_operation_lasts_two_days_and_has_an_unguessable_id(tmp_path: Path) -> None:
    clock = Clock()
    operations = Operations(Vault(open_store(f"sqlite:///{tmp_path}/s.db", clock), ("k" * 32,)), clock)
    operation = operations.begin("amelia", "sign:1")
    assert len(operation.id) == 22, "128 bits"
    clock.advance(48 * 3600 - 1)
    assert operations.find("amelia", operation.id, "sign:1") is not None
    clock.advance(2)
    assert operations.find("amelia", operation.id, "sign:1") is None


def test_a_new_operation_drops_only_the_oldest_one(tmp_path: Path) -> None:
    clock = Clock()
    operations = Operations(Vault(open_store(f"sqlite:///{tmp_path}/s.db", clock), ("k" * 32,)), clock)
    begun: list[str] = []
    for number in range(101):
        clock.advance(1)
        begun.append(operations.begin("amelia", f"sign:{number}").id)
        if number == 99:
            assert operations.find("amelia", begun[0], "sign:0") is not None, "a hundred operations must fit"
    found = [operations.find("amelia", id_, f"sign:{n}") is not None for n, id_ in enumerate(begun)]
    assert found == [False] + [True] * 100


def test_an_id_is_of_one_purpose(operations: Operations) -> None:
    first = operations.begin("amelia", "edit:1", {"step": 1}, id_="x")
    assert operations.begin("amelia", "edit:1", id_="x") == first
    assert operations.begin("amelia", "edit:2", id_="x").data == {}


def test_only_what_a_person_has_left_open_is_found(operations: Operations) -> None:
    left, done = operations.begin("amelia", "sign:1"), operations.begin("amelia", "sign:2")
    operations.finish("amelia", done.id)
    operations.begin("daniel", "sign:1")
    operations.begin("amelia", "edit:1", id_="x")
    found = operations.open_of("amelia", lambda *names: operations._vault.get_many(names))
    assert [operation.id for operation in found] == [left.id]
