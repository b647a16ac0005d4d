"""Which members an API provides: learned from its responses, shared by all processes, unknown until a record arrives."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from portal.connect.answers.members import RECORDS
from portal.connect.answers.observer import Answers
from portal.services.consents import LIST_CONSENTS
from portal.services.consents.forms import ConsentForm
from portal.services.decoding import PagedResult
from portal.services.episodes import READ_EPISODE, Episode
from portal.services.salvage import Lost
from portal.store import StoreFull, open_store
from portal.store.sqlite import SqliteStore
from portal.store.vault import Vault
from tests.support.clock import Clock

EMPTY = {"id": "e1", "status": "Active", "patient": {"id": "p1"}}


@pytest.fixture
def vault(tmp_path: Path, clock: Clock) -> Vault:
    return Vault(open_store(f"sqlite:///{tmp_path / 'store.db'}", clock), ("k" * 32,), clock)


@pytest.fixture
def answers(vault: Vault, clock: Clock) -> Answers:
    return Answers(vault, clock)


def episode(answers: Answers, **members: Any) -> None:
    """An episode with these members comes from the clinic's API."""
    body = {**EMPTY, **members}
    answers.of("riverside").decoded(READ_EPISODE, lambda: body, Episode, has_unknown=False)


def is_not_given(answers: Answers, member: str, clinic: str = "riverside") -> bool:
    return answers.members.is_not_given(clinic, member)


def test_no_member_is_missing_before_a_record_came(answers: Answers) -> None:
    assert not is_not_given(answers, "Episode.alerts")
    episode(answers)
    assert is_not_given(answers, "Episode.alerts")
    assert not is_not_given(answers, "EmbryoStorage.holdReason"), "no embryo was received yet"
    assert not is_not_given(answers, "Episode.alerts", "harbour"), "clinics' APIs must be tracked separately"


@pytest.mark.parametrize("empty", [[], None])
def test_an_empty_member_counts_as_given(answers: Answers, empty: Any) -> None:
    episode(
        answers,
        alerts=empty,
        embryos=[{"id": "x", "embryoCode": "A", "status": "OnHold", "holdReason": None}],
    )
    assert not is_not_given(answers, "Episode.alerts")
    assert not is_not_given(answers, "EmbryoStorage.holdReason")
    assert is_not_given(answers, "EmbryoStorage.statutoryLimit")


def test_a_member_that_could_not_be_read_counts_as_one_that_did_not_come(answers: Answers) -> None:
    body = {**EMPTY, "alerts": "?", "outcome": None}
    lost = (Lost("Episode.alerts", "$.alerts"),)
    answers.of("riverside").decoded(READ_EPISODE, lambda: body, Episode, has_unknown=False, lost=lost)
    assert is_not_given(answers, "Episode.alerts") and not is_not_given(answers, "Episode.outcome")


def test_a_member_that_came_once_counts_as_given(answers: Answers) -> None:
    episode(answers)
    episode(answers, alerts=[])
    episode(answers)
    assert not is_not_given(answers, "Episode.alerts")


def test_another_process_shares_what_was_learned(answers: Answers, vault: Vault, clock: Clock) -> None:
    episode(answers)
    assert is_not_given(Answers(vault, clock), "Episode.alerts")
    episode(answers, alerts=[])
    assert not is_not_given(Answers(vault, clock), "Episode.alerts")


def test_a_member_that_stops_coming_counts_as_missing(answers: Answers, vault: Vault, clock: Clock) -> None:
    episode(answers, alerts=[])
    for _time in range(RECORDS - 1):
        clock.advance(61)
        episode(answers)
    assert not is_not_given(answers, "Episode.alerts")
    clock.advance(61)
    episode(answers)
    assert is_not_given(answers, "Episode.alerts")
    assert is_not_given(Answers(vault, clock), "Episode.alerts")


def test_while_a_member_is_missing_answers_are_inspected_more_often(answers: Answers, clock: Clock) -> None:
    for _time in range(50):
        episode(answers, alerts=[])
    for seconds in (61, 11, 11, 11, 11):
        assert not is_not_given(answers, "Episode.alerts")
        clock.advance(seconds)
        episode(answers)
    assert is_not_given(answers, "Episode.alerts")


def test_a_member_that_always_came_counts_as_missing_soon(answers: Answers, clock: Clock) -> None:
    """An upgrade of the API gave it another name."""
    for _time in range(20):
        episode(answers, alerts=[])
    for _time in range(5):
        assert not is_not_given(answers, "Episode.alerts")
        episode(answers)
    assert is_not_given(answers, "Episode.alerts")
    episode(answers, alerts=[])
    assert not is_not_given(answers, "Episode.alerts")


def test_a_member_that_came_now_and_then_may_be_away_for_longer(answers: Answers) -> None:
    for number in range(40):
        episode(answers, **({"alerts": []} if number % 3 else {}))
    for _time in range(8):
        episode(answers)
    assert not is_not_given(answers, "Episode.alerts")


def test_a_member_declared_absent_means_none_is_never_missing(vault: Vault, clock: Clock) -> None:
    answers = Answers(
        vault, clock, lambda clinic: frozenset({"Episode.alerts"} if clinic == "riverside" else ())
    )
    episode(answers)
    assert not is_not_given(answers, "Episode.alerts")
    assert (
        "Episode.alerts"
        not in answers.members.missing("riverside")["GET /api/patient-portal/episodes/{episodeId}"]
    )
    assert is_not_given(answers, "Episode.embryos")


def test_an_answer_with_nothing_new_writes_nothing(
    answers: Answers, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    episode(answers, alerts=[])
    writes: list[str] = []
    for verb in ("insert", "replace"):
        monkeypatch.setattr(SqliteStore, verb, lambda _self, name, *_args, **_options: writes.append(name))
    for _time in range(60):
        clock.advance(61)
        episode(answers, alerts=[])
    assert not writes


def test_after_enough_answers_only_some_are_inspected(answers: Answers, clock: Clock) -> None:
    for _time in range(50):
        episode(answers)
    episode(answers, alerts=[])
    assert is_not_given(answers, "Episode.alerts"), "this answer must not be inspected"
    clock.advance(61)
    episode(answers, alerts=[])
    assert not is_not_given(answers, "Episode.alerts")


def test_a_store_that_refuses_writes_does_not_fail_the_page(
    answers: Answers, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_args: object, **_options: object) -> None:
        raise StoreFull

    monkeypatch.setattr(SqliteStore, "insert", full)
    episode(answers)
    assert is_not_given(answers, "Episode.alerts")


def test_values_of_members_are_not_stored(answers: Answers, vault: Vault, clock: Clock) -> None:
    episode(answers, alerts=[{"text": "Dolores"}], DoloresMember=1)
    answers.of("riverside").decoded(
        LIST_CONSENTS, lambda: [{"id": "1", "kind": "Dolores"}], PagedResult[ConsentForm], has_unknown=True
    )
    (name,) = [vault.name("members", "riverside")]
    held = vault.get(name, dict)
    assert held is not None
    assert "Dolores" not in str(held.value)
    assert "alerts" in str(held.value)
