"""Among twenty clinics and twenty thousand patients every search reads its own clinic's records, by an index, in time."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from sqlalchemy import event, func, select

from portal.careservice import database
from portal.careservice.ids import sample_id
from tests.careservice.large.large_service import SEARCHES, Large
from tools.bench.load import quantile

SMALL = 1000
"""Rows of a table that the planner may read as a whole, which is quicker than its index."""

ASKED, LONGEST = 40, 0.05


@pytest.fixture(scope="module")
def rows(large: Large) -> dict[str, int]:
    """How many rows each table has, and of one clinic (`table@`) where a clinic is named in it."""
    counts: dict[str, int] = {}
    with large.engine.connect() as connection:
        for name, table in database.Base.metadata.tables.items():
            every = select(func.count()).select_from(table)
            counts[name] = connection.scalar(every) or 0
            if "tenant_id" in table.c:
                ours = every.where(table.c.tenant_id == sample_id("tenant", "riverside"))
                counts[f"{name}@"] = connection.scalar(ours) or 0
    return counts


@pytest.mark.parametrize("who", ["nora", "amelia"])
@pytest.mark.parametrize(("path", "query"), SEARCHES)
def test_a_search_reads_only_its_clinic_by_an_index(
    large: Large, rows: dict[str, int], who: str, path: str, query: dict[str, Any]
) -> None:
    read = [node for plan in plans(large, who, path, query) for node in scans(plan)]
    assert read
    for node in read:
        table = node["Relation Name"]
        assert node["Node Type"] != "Seq Scan" or rows[table] <= SMALL, f"the whole of {table}: {node}"
        looked_at = node["Actual Rows"] + node.get("Rows Removed by Filter", 0)
        most = rows.get(f"{table}@", rows[table])
        assert rows[table] <= SMALL or looked_at <= most, f"{table} of other clinics: {node}"


@pytest.mark.parametrize("who", ["nora", "amelia"])
@pytest.mark.parametrize(("path", "query"), SEARCHES)
def test_a_search_takes_50_ms_at_most(large: Large, who: str, path: str, query: dict[str, Any]) -> None:
    """At the 95th percentile, of what service and database compute."""
    assert 0 < quantile(large.computed(who, path, query, ASKED), 0.95) <= LONGEST


def plans(large: Large, who: str, path: str, query: dict[str, Any]) -> list[dict[str, Any]]:
    """What PostgreSQL did for each query of this search."""
    asked: list[tuple[str, Any]] = []

    def keep(_connection: Any, _cursor: Any, statement: str, parameters: Any, *_: Any) -> None:
        asked.append((statement, parameters))

    token = large.clinic.token(who)
    event.listen(large.engine, "before_cursor_execute", keep)
    with large.clinic.app.test_client() as client:
        answer = client.get(path, query_string=query, headers={"Authorization": f"Bearer {token}"})
    event.remove(large.engine, "before_cursor_execute", keep)
    assert answer.status_code == 200, answer.text
    with large.engine.connect() as connection:
        told = [
            connection.exec_driver_sql(f"EXPLAIN (ANALYZE, FORMAT JSON) {statement}", parameters).scalar_one()
            for statement, parameters in asked
            if statement.startswith("SELECT")
        ]
    return [(json.loads(one) if isinstance(one, str) else one)[0]["Plan"] for one in told]


def scans(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The steps of a plan that read a table."""
    if "Relation Name" in plan:
        yield plan
    for part in plan.get("Plans", ()):
        yield from scans(part)
