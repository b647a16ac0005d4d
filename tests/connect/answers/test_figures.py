"""Statistics of an API's responses: times, failures, unreadable and unknown data."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

import pytest

from portal import metrics
from portal.connect.answers.figures import Row, member_of
from portal.connect.answers.observer import Answers
from portal.services.consents import list_consents
from portal.services.episodes import get_episode
from portal.services.errors import BadResponse, CareError
from portal.store import open_store
from portal.store.vault import Vault
from tests.support.care import care_of
from tests.support.clock import Clock
from tests.support.upstream import Make, ok

LIST, READ = "GET /api/care/consent-forms", "GET /api/patient-portal/episodes/{episodeId}"


@pytest.fixture
def answers(tmp_path: Path, clock: Clock) -> Answers:
    vault = Vault(open_store(f"sqlite:///{tmp_path / 'store.db'}", clock), ("k" * 32,), clock)
    return Answers(vault, clock)


def row(answers: Answers, endpoint: str) -> Row:
    return answers.figures.rows("clinic")[endpoint]


def told(name: str, **labels: str) -> float:
    wanted = ",".join(f'{key}="{value}"' for key, value in sorted(labels.items()))
    lines = metrics.exposition().decode().splitlines()
    return next((float(line.split()[-1]) for line in lines if line.startswith(f"{name}{{{wanted}}}")), 0.0)


def test_figures_have_the_median_and_a_high_percentile(answers: Answers) -> None:
    for hundredths in range(1, 101):
        answers.figures.called("clinic", LIST, hundredths / 100, failed=False)
    answers.figures.called("clinic", LIST, 30.0, failed=True)
    assert (row(answers, LIST).median, row(answers, LIST).slow) == (0.5, 0.95)
    assert (row(answers, LIST).calls, row(answers, LIST).failures) == (101, 1)


def test_the_client_reports_failures_and_unreadable_data(
    answers: Answers, upstream: Make, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logging.getLogger("portal"), "propagate", True)
    forms = [
        {"id": "1", "title": "A", "status": "LostInThePost", "fresh": 1},
        {"id": "2", "title": ["Dolores"], "status": "Signed"},
    ]
    said = iter(
        [
            ok(json.dumps({"items": forms}).encode()),
            ok(json.dumps({"items": forms}).encode()),
            ok(b'{"status": "Active", "patient": {"id": "p"}}'),
            b"HTTP/1.1 500 Internal Server Error\r\nContent-Length: 0\r\n\r\n",
        ]
    )
    care = care_of(upstream(lambda _line, _number: next(said)), observer=answers.of("clinic"))
    before = told("portal_answers_unknown_values_total", endpoint=LIST, member="ConsentForm.status")
    for _time in range(2):
        list_consents(care)
    with pytest.raises(BadResponse):
        get_episode(care, "e1")
    with pytest.raises(CareError):
        get_episode(care, "e1")
    forms_row, episode_row = row(answers, LIST), row(answers, READ)
    assert forms_row.values == (("ConsentForm.status", 2),)
    assert forms_row.left_out == (("title", 2),)
    assert forms_row.unknown == ("ConsentForm.fresh",)
    assert episode_row.left_out == (("id", 1),)
    assert (episode_row.calls, episode_row.failures) == (2, 1)
    after = told("portal_answers_unknown_values_total", endpoint=LIST, member="ConsentForm.status")
    assert after - before == 2
    lines = [f"{line.getMessage()} {getattr(line, 'reason', '')}" for line in dict.fromkeys(caplog.records)]
    assert len([line for line in lines if "ConsentForm.status" in line]) == 1
    assert len([line for line in lines if f"{LIST}: " in line and "title" in line]) == 1
    assert "Dolores" not in str(lines) and "LostInThePost" not in str(lines)


@pytest.mark.parametrize(
    ("path", "member"),
    [
        ("$", "the whole"),
        ("$.items[3].id", "id"),
        ("$.embryos[2].status", "embryos.status"),
        ("$.data[...]", "data"),
    ],
)
def test_a_members_name_has_no_list_index(path: str, member: str) -> None:
    assert member_of(path) == member


def test_unknown_member_names_are_limited_and_filtered(answers: Answers) -> None:
    names: list[Any] = [f"Episode.x{number}" for number in range(100)]
    answers.figures.unknown_members("clinic", READ, ["<b>", "Amelia Hart", *names])
    assert len(row(answers, READ).unknown) == 30
    assert all(name.startswith("Episode.x") for name in row(answers, READ).unknown)


def test_a_member_of_several_kinds_is_reported_once(answers: Answers) -> None:
    kinds = [f"Kind{n}" for n in range(40)]
    answers.figures.unknown_members("clinic", READ, [f"{kind}._links" for kind in kinds])
    answers.figures.unknown_members("clinic", READ, ["Episode.warnings", "Episode.fresh", "Case.fresh"])
    row = answers.figures.rows("clinic")[READ]
    assert row.unknown == ("*._links", "Case.fresh", "Episode.fresh", "Episode.warnings")
