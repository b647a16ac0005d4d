"""A load test: many people at once and an API that is slow and sometimes fails.

    make bench-load                              200 browsers for 60 s through four workers
    python -m tools.bench.concurrent_users --browsers 40 --seconds 10

A proxy repeats the care API's responses after about 100 ms, with a mark of the person in every title, and fails one call
in a hundred. The outcome is statuses, times, the workers' memory, and any page that showed another person's mark.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
import re
import statistics
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from pathlib import Path

from portal.careservice.ids import sample_id
from portal.demo.stack import PEOPLE, tenants_file
from tests.support.stack import PASSWORD, CareService, PortalProcess, Process, free_port, plan, workers_of
from tests.support.visitor import Visitor
from tools.bench.load import Connection, memory

EVERYONE = [(clinic, name) for clinic, people in PEOPLE.items() for name in dict(people)]
PAGES = (
    "/",
    "/consents",
    "/conversations",
    "/notifications",
    "/notifications/bell",
    "/episodes",
    "/me",
    "/care-team",
)
MARK = re.compile(rb"mark-([0-9a-f]{12})")


@dataclass
class Seen:
    """What all browsers of a run saw."""

    statuses: Counter[int] = field(default_factory=Counter[int])
    took: list[float] = field(default_factory=list[float])
    wrong: list[str] = field(default_factory=list[str])
    marks: int = 0
    memory: list[float] = field(default_factory=list[float])


@dataclass(frozen=True)
class Outcome:
    """A run's results: seconds, growth of the largest worker in MB over the second half, API calls and injected faults."""

    pages: int
    statuses: Mapping[int, int]
    median: float
    p99: float
    growth: float
    marks: int
    calls: int
    faults: int
    wrong: Sequence[str]


def run(folder: Path, *, browsers: int, seconds: float, processes: int, think: float) -> Outcome:
    """Start everything and let `browsers` people browse for `seconds`, pausing about `think` seconds on each page."""
    plans = plan(folder)
    service = CareService(plans)
    api = Process(
        [sys.executable, "-m", "tools.bench.flaky_api", str(port := free_port()), str(plans.service_port)],
        {},
        folder / "flaky-api.log",
    )
    portal = None
    try:
        api.wait_for(f"http://127.0.0.1:{port}/counts")
        tenants = folder / "tenants-flaky.toml"
        direct = f'base_url = "{plans.service}"'
        tenants.write_text(tenants_file(plans).replace(direct, f'base_url = "http://127.0.0.1:{port}"'))
        portal = PortalProcess(plans, PORTAL_WORKERS=str(processes), PORTAL_TENANTS=str(tenants))
        people = [EVERYONE[number % len(EVERYONE)] for number in range(browsers)]
        with ThreadPoolExecutor(4) as pool:
            cookies = list(pool.map(lambda one: sign_in(portal, *one), people))
        _counts(port)  # resets the counts, so that signing in isn't included
        seen = Seen()
        stop = threading.Event()
        threads = [
            threading.Thread(
                target=browse, args=(portal, clinic, name, cookie, think, stop, seen), daemon=True
            )
            for (clinic, name), cookie in zip(people, cookies, strict=True)
        ]
        for thread in threads:
            thread.start()
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            seen.memory.append(max(memory(pid)[0] for pid in workers_of(portal.child.pid)))
            stop.wait(seconds / 20)
        stop.set()
        for thread in threads:
            thread.join(timeout=30)
            if thread.is_alive():
                seen.wrong.append("a browser never got its response")
        calls = _counts(port)
        failed = seen.statuses[502] + seen.statuses[503]
        if failed > calls["faults"]:
            seen.wrong.append(f"{failed} pages failed, but only {calls['faults']} calls")
        return Outcome(
            pages=len(seen.took),
            statuses=dict(seen.statuses),
            median=statistics.median(seen.took),
            p99=statistics.quantiles(seen.took, n=100)[98],
            growth=seen.memory[-1] - seen.memory[len(seen.memory) // 2],
            marks=seen.marks,
            calls=calls["calls"],
            faults=calls["faults"],
            wrong=seen.wrong,
        )
    finally:
        for process in (portal, api, service):
            if process is not None:
                process.stop()


def sign_in(portal: PortalProcess, clinic: str, name: str) -> tuple[str, str]:
    """Return the session cookie and the mark of the person's own pages."""
    visitor = Visitor(portal.origin(clinic), PASSWORD)
    visitor.sign_in(name)
    cookie = next(one.value for one in visitor.http.cookies if one.name == "__Host-sid")
    return cookie or "", hashlib.sha256(sample_id("person", name).encode()).hexdigest()[:12]


def browse(
    portal: PortalProcess,
    clinic: str,
    name: str,
    known: tuple[str, str],
    think: float,
    stop: threading.Event,
    seen: Seen,
) -> None:
    """One person opens page after page, pausing on each."""
    cookie, mark = known
    chance = random.Random(f"{name}{cookie}")
    headers = {"Cookie": f"__Host-sid={cookie}", "Accept": "text/html", "Accept-Encoding": "identity"}
    headers |= {"Sec-Fetch-Site": "same-origin", "Sec-Fetch-Dest": "empty"}  # or the bell answers 404
    connection = Connection(portal.port, f"{clinic}.localhost:{portal.port}", headers)
    stop.wait(chance.uniform(0, think))
    while not stop.is_set():
        path = chance.choice(PAGES)
        try:
            answer = connection.get(path)
        except (OSError, AssertionError) as error:
            seen.wrong.append(f"{path}: {type(error).__name__} {error}")
            connection.close()
            continue
        seen.statuses[answer.status] += 1
        seen.took.append(answer.seconds)
        marks = {found.decode() for found in MARK.findall(answer.body)}
        seen.marks += bool(marks)
        if marks - {mark}:
            seen.wrong.append(f"{name} was shown the mark of another person at {path}")
        if answer.status == 500 or (answer.status == 303 and b"sign-in" in answer.raw[:2000]):
            seen.wrong.append(f"{name} got {answer.status} at {path}")
        stop.wait(chance.uniform(0.5, 1.5) * think)
    connection.close()


def _counts(port: int) -> dict[str, int]:
    connection = Connection(port, "flaky-api", {})
    counts: dict[str, int] = json.loads(connection.get("/counts").body)
    connection.close()
    return counts


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--browsers", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--think", type=float, default=4, help="seconds that a person pauses on a page")
    given = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        outcome = run(
            Path(folder),
            browsers=given.browsers,
            seconds=given.seconds,
            processes=given.workers,
            think=given.think,
        )
    print(json.dumps(asdict(outcome), indent=2))
    met = not outcome.wrong and outcome.p99 <= 3 * outcome.median
    print(
        f"p99 is {outcome.p99 / outcome.median:.1f} times the median; {'targets met' if met else 'targets MISSED'}"
    )
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
