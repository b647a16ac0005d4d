"""A short load test: nobody sees another person's records, and nothing fails except what the API let fail."""

from __future__ import annotations

from pathlib import Path

from tests.bench.waiting_room import run


def test_many_people_at_once_see_only_their_own_records_and_no_portal_error(tmp_path: Path) -> None:
    told = run(tmp_path, browsers=16, seconds=5, processes=2, think=0.4)
    assert not told.wrong
    assert set(told.statuses) <= {200, 204, 303, 501, 502, 503}
    assert told.pages > 50 and told.marks > told.pages / 4, "people did look at records"
