"""What a search of the care service costs among many clinics, on PostgreSQL."""

from __future__ import annotations

from tests.careservice.large.large_service import SEARCHES, large_service
from tests.support.postgres import database_url
from tools.bench.load import quantile
from tools.bench.measures import Row, Size
from tools.bench.servers import Bench

_LONGEST = 50


def among_many_clinics(bench: Bench, size: Size) -> list[Row]:
    """Every search by a nurse and by a patient; those of the slowest count."""
    folder = bench.folder / "searches"
    folder.mkdir()
    asked = 40 if size.long else 10
    with large_service(folder, database_url(folder / "large.db", "postgresql")) as large:
        found = {
            (who, path, str(query)): quantile(large.computed(who, path, query, asked), 0.95) * 1000
            for who in ("nora", "amelia")
            for path, query in SEARCHES
        }
    slowest, usual = max(found.values()), quantile([*found.values()], 0.5)
    return [
        Row(
            "CPU of service and PostgreSQL for a search among 20 clinics and 20,000 patients",
            f"≤ {_LONGEST} ms at the 95th percentile",
            f"{slowest:.0f} ms for the slowest of {len(found)} searches, {usual:.0f} ms for the median one",
            slowest <= _LONGEST,
            {"slowest": slowest, "median": usual},
        )
    ]
