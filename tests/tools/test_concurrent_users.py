"""A short load test: nobody sees another person's records, and nothing fails except what the API let fail."""

from __future__ import annotations

from pathlib import Path

from tools.bench.concurrent_users import run


def test_many_people_at_once_see_only_their_own_records_and_no_portal_error(tmp_path: Path) -> None:
    outcome = run(tmp_path, browsers=16, seconds=5, processes=2, think=0.4)
    assert not outcome.wrong
    assert set(outcome.statuses) <= {200, 204, 303, 501, 502, 503}
    assert outcome.pages > 50 and outcome.marks > outcome.pages / 4, (
        "too few records were shown for the test to mean anything"
    )
