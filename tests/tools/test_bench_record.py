"""What the bench records where only some measurements were run."""

from __future__ import annotations

import pytest

from tools.bench import __main__ as bench
from tools.bench.measures import Row


def test_newer_rows_replace_older_ones_and_say_when_they_are_of_another_day(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    old = Row("Pages", "≤ 2", "1", reached=True, values={})
    told = {
        "measured": "2026-01-01",
        "on": "a machine",
        "rows": [bench.asdict(old)],
        "clients": {"curl": 1.0},
    }
    monkeypatch.setattr(bench, "_machine", lambda: "a machine")
    monkeypatch.setattr(bench, "_today", lambda: "2026-01-02")
    newer = [
        Row("Pages", "≤ 2", "3", reached=False, values={}),
        Row("Calls", "≤ 2", "1", reached=True, values={}),
    ]
    table = bench._table(bench._with_rows(told, newer))
    assert "| Pages | ≤ 2 | 3 (on 2026-01-02) **(missed)** |\n| Calls | ≤ 2 | 1 (on 2026-01-02) |" in table
    assert table.startswith("Measured on 2026-01-01 on a machine") and "| curl | 1.00 ms |" in table
    monkeypatch.setattr(bench, "_today", lambda: "2026-01-01")
    monkeypatch.setattr(bench, "_machine", lambda: "another")
    assert "| Pages | ≤ 2 | 1 (on another) |" in bench._table(bench._with_rows(told, [old]))
