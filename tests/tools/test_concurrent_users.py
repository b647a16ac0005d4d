"""A short load test: nobody sees another person's records, and nothing fails except what the API let fail."""

from __future__ import annotations

from pathlib import Path

from tools.bench.concurrent_users import run
from tools.bench.soak import Sample, grown


def test_many_people_at_once_see_only_their_own_records_and_no_portal_error(tmp_path: Path) -> None:
    outcome = run(tmp_path, browsers=16, seconds=5, processes=2, think=0.4)
    assert not outcome.wrong
    assert set(outcome.statuses) <= {200, 204, 303, 501, 502, 503}
    assert outcome.pages > 50 and outcome.marks > outcome.pages / 4, (
        "too few records were shown for the test to mean anything"
    )


def test_a_soak_tells_what_grew_from_what_comes_and_goes() -> None:
    """The first quarter doesn't count: caches fill, threads start."""
    steady = [Sample(60 + number % 5, 40 + number % 3, 20, 100) for number in range(40)]
    assert grown([Sample(1, 1, 1, 1)] * 10 + steady[10:]) == []
    leaking = [Sample(60 + number, 40, 20 + number / 2, 100) for number in range(40)]
    assert grown(leaking) == ["megabytes: 74, then 94", "threads: 27, then 37"]
