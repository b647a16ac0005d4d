"""`python -m tools.bench [--quick] [--keep] [ROW …]`: run the measurements and record the results (make bench).

A full run writes results.json beside this file and the tables in docs/performance.md; a quick one only prints. Name
measurements to run only those; with `--keep` their rows are recorded and all others stay as they are.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tools.bench import bound_tokens, dialects, everyday, measures, renewals, searches, visits
from tools.bench.measures import QUICK, WHOLE, Row, Size
from tools.bench.record import keep
from tools.bench.servers import Bench, bench

ROOT = Path(__file__).parents[2]
RESULTS = Path(__file__).with_name("results.json")

MEASURES: dict[str, Callable[[Bench, Size], list[Row]]] = {
    "cpu": measures.cpu_of_a_page,
    "everyday": everyday.cost_of_everyday,
    "dialect": dialects.dialect_of_a_page,
    "dpop": bound_tokens.page_with_proofs,
    "renewals": renewals.renewed_tokens,
    "bell": measures.bell_calls,
    "home": measures.slow_home,
    "visits": visits.first_and_next,
    "start": measures.start,
    "throughput": measures.throughput,
    "clinics": measures.thousand_clinics,
    "file": measures.large_file,
    "sessions": measures.session_cost,
    "searches": searches.among_many_clinics,
    "memory": measures.memory_of_a_worker,
}


def main() -> int:
    asked = argparse.ArgumentParser(prog="python -m tools.bench")
    asked.add_argument("--quick", action="store_true", help="about a minute; writes nothing")
    asked.add_argument("--keep", action="store_true", help="record the rows of the named measurements")
    asked.add_argument("rows", nargs="*", choices=[[], *MEASURES], help="only these measurements")
    chosen = asked.parse_args()
    size = QUICK if chosen.quick else WHOLE
    rows: list[Row] = []
    subprocess.run(
        [sys.executable, "-m", "portal.web.static"], cwd=ROOT, check=True
    )  # the assets that an installed portal serves
    with tempfile.TemporaryDirectory(prefix="portal-bench-") as folder, bench(Path(folder)) as running:
        for name in chosen.rows or MEASURES:
            for row in MEASURES[name](running, size):
                rows.append(row)
                _say(
                    f"{'reached' if row.reached else 'MISSED ':<8} {row.what}: {row.found} (target: {row.target})"
                )
        costs = {} if chosen.rows else measures.http_clients(running, size)
    for client, cost in costs.items():
        _say(f"         {cost:.3f} ms  {client}")
    if chosen.quick:
        return 0
    if not chosen.rows:
        _record(
            {"measured": _today(), "on": _machine(), "rows": [asdict(row) for row in rows], "clients": costs}
        )
    elif chosen.keep:
        _record(_with_rows(json.loads(RESULTS.read_text(encoding="utf-8")), rows))
    return 0


def _with_rows(told: dict[str, Any], rows: list[Row]) -> dict[str, Any]:
    """The results with these rows in place of older ones; a row of another day or machine says so."""
    elsewhere = {} if told["on"] == _machine() else {"on": _machine()}
    later = {} if told["measured"] == _today() else {"measured": _today()}
    newer = {row.what: {**asdict(row), **elsewhere, **later} for row in rows}
    kept = [newer.pop(row["what"], row) for row in told["rows"]]
    return {**told, "rows": [*kept, *newer.values()]}


def _record(told: dict[str, Any]) -> None:
    RESULTS.write_text(json.dumps(told, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    keep("bench", _table(told))


def _table(told: dict[str, Any]) -> str:
    lines = [
        f"Measured on {told['measured']} on {told['on']}, everything on loopback.",
        "",
        "| What | Target | Result |",
        "| --- | --- | --- |",
        *(f"| {row['what']} | {row['target']} | {_found(row)} |" for row in told["rows"]),
        "",
        "| Two calls of 5.7 kB with | CPU |",
        "| --- | --- |",
        *(f"| {client} | {cost:.2f} ms |" for client, cost in told["clients"].items()),
    ]  # fmt: skip
    return "\n".join(lines)


def _found(row: dict[str, Any]) -> str:
    apart = ", ".join(f"on {row[name]}" for name in ("measured", "on") if name in row)
    return f"{row['found']}{f' ({apart})' if apart else ''}{'' if row['reached'] else ' **(missed)**'}"


def _today() -> str:
    return datetime.now(UTC).date().isoformat()


def _machine() -> str:
    info = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    found = re.search(r"^model name\s*: *(.+)$", info, re.MULTILINE)
    cores = len(os.sched_getaffinity(0))
    return f"{found[1] if found else platform.machine()}, {cores} cores, Python {platform.python_version()}"


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
