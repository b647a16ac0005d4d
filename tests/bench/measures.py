"""The measurements, one function for each row of the table: all on loopback, all against deployed servers."""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tests.bench import clients, sessions
from tests.bench.answers import EPISODE, FILE
from tests.bench.load import at_once, cpu_seconds, memory, quantile
from tests.bench.servers import PAGE, Bench, Server

BELL = "/notifications/bell?known=1"
PAGES = (PAGE, "/", "/consents", f"/episodes/{EPISODE}", "/notifications", "/conversations")
_BY = 4


@dataclass(frozen=True, slots=True)
class Row:
    """One row of the table: what was measured, the target, the result, and whether it meets the target."""

    what: str
    target: str
    found: str
    reached: bool
    values: dict[str, float]


@dataclass(frozen=True, slots=True)
class Size:
    """How much is measured: full runs are more stable, quick ones are for development."""

    rounds: int
    pages: int
    long: bool


WHOLE = Size(rounds=12, pages=250, long=True)
QUICK = Size(rounds=5, pages=80, long=False)


def cpu_of_a_page(bench: Bench, size: Size) -> list[Row]:
    """The portal, the bell and what the page is compared with, in turns, so that all have the same weather."""
    portal = bench.portal()
    portal.headers.update(bench.sign_in(portal, "nora"))
    floor, usual = bench.yardstick("floor"), bench.yardstick("usual")
    fastapi = bench.yardstick("asynchronous", by="uvicorn")
    asked = {
        "page": (portal, PAGE),
        "floor": (floor, PAGE),
        "usual": (usual, PAGE),
        "fastapi": (fastapi, PAGE),
        "bell": (portal, BELL),
    }
    costs = in_turns({name: _cost(*one, size.pages) for name, one in asked.items()}, size.rounds)
    for server in (portal, floor, usual, fastapi):
        server.stop()
    page = statistics.median(costs["page"])
    return [
        _ratio("CPU of a page ÷ the floor", 0.80, costs["page"], costs["floor"], page),
        _ratio("CPU of a page ÷ the usual way", 0.55, costs["page"], costs["usual"], page),
        _ratio("CPU of a page ÷ FastAPI with aiohttp", 0.62, costs["page"], costs["fastapi"], page),
        _ratio(
            "CPU of a badge refresh ÷ a page", 0.35, costs["bell"], costs["page"], statistics.median(costs["bell"])
        ),
    ]  # fmt: skip


def in_turns(costs: dict[str, Callable[[], float]], rounds: int) -> dict[str, list[float]]:
    found: dict[str, list[float]] = {name: [] for name in costs}
    for cost in costs.values():
        cost()
    for _ in range(rounds):
        for name, cost in costs.items():
            found[name].append(cost())
    return found


def _cost(server: Server, path: str, count: int) -> Callable[[], float]:
    """Milliseconds of CPU that its workers spend on one answer."""

    def cost() -> float:
        before = cpu_seconds(server.workers)
        at_once(server.connect, path, count=count, by=_BY)
        return (cpu_seconds(server.workers) - before) / count * 1000

    return cost


def _ratio(what: str, target: float, ours: list[float], theirs: list[float], cost: float) -> Row:
    ratios = sorted(one / other for one, other in zip(ours, theirs, strict=True))
    middle, low, high = statistics.median(ratios), quantile(ratios, 0.1), quantile(ratios, 0.9)
    return Row(
        what,
        f"≤ {target:.2f}",
        f"{middle:.2f} ({low:.2f} to {high:.2f}); {cost:.2f} ms against {statistics.median(theirs):.2f} ms",
        middle <= target,
        {
            "ratio": middle,
            "low": low,
            "high": high,
            "milliseconds": cost,
            "against": statistics.median(theirs),
        },
    )


def bell_calls(bench: Bench, size: Size) -> list[Row]:
    """Two browsers of one person, each with tabs, at two workers: how many calls the API sees, and what is answered."""
    portal = bench.portal()
    first, second = bench.sign_in(portal, "nora"), bench.sign_in(portal, "nora")
    statuses: set[int] = set()
    bench.calls()
    began = time.monotonic()
    until = began + (32 if size.long else 5)
    while time.monotonic() < until:
        for headers in (first, second):
            portal.headers = {"Accept-Language": "en", **headers}
            statuses.update(portal.get(BELL).status for _ in range(2))
    seconds = time.monotonic() - began
    calls = bench.calls().get("/api/app/notification", 0)
    portal.stop()
    most = math.floor(seconds / 15) + 1
    return [
        Row(
            "Calls for the badge, all tabs and workers of a person",
            "≤ 1 in 15 s; 204 when nothing changed",
            f"{calls} in {seconds:.0f} s; {', '.join(map(str, sorted(statuses)))}",
            calls <= most and statuses == {204},
            {"calls": calls, "seconds": seconds},
        )
    ]


def slow_home(bench: Bench, size: Size) -> list[Row]:
    """Home of a patient while each call takes 200 ms: with the episode's id known, and by a new session."""
    portal = bench.portal()
    portal.headers.update(bench.sign_in(portal, "amelia"))
    at_once(portal.connect, "/", count=16, by=8)  # each worker compiles its templates at its first page
    bench.delay(200)
    known = at_once(portal.connect, "/", count=40 if size.long else 10, by=1)
    cold: list[float] = []
    for _ in range(8 if size.long else 3):
        portal.headers.update(bench.sign_in(portal, "amelia", at="/me/devices"))
        cold.append(portal.get("/").seconds)
    bench.delay(0)
    portal.stop()
    return [
        _wait("Home, four calls of 200 ms, ids known", 230, quantile(known, 0.95), "95th percentile"),
        _wait("Home, four calls of 200 ms, a new session", 430, max(cold), f"slowest of {len(cold)}"),
    ]


def _wait(what: str, target: int, seconds: float, which: str) -> Row:
    found = seconds * 1000
    return Row(what, f"≤ {target} ms", f"{found:.0f} ms ({which})", found <= target, {"milliseconds": found})


def many_waiting(bench: Bench, size: Size) -> list[Row]:
    """Two workers, an upstream of 100 ms, as many browsers as threads: how much of what they could do is done."""
    portal = bench.portal(PORTAL_WORKERS="2")
    portal.headers.update(bench.sign_in(portal, "nora"))
    threads = 2 * 8
    bench.delay(100)
    at_once(portal.connect, PAGE, count=2 * threads, by=threads)
    count = threads * (60 if size.long else 20)
    began = time.perf_counter()
    took = at_once(portal.connect, PAGE, count=2 * count, by=threads)
    seconds = time.perf_counter() - began
    bench.delay(0)
    portal.stop()
    share = len(took) / seconds / (threads / 0.1)
    tail = quantile(took, 0.99) / statistics.median(took)
    return [
        Row(
            "Pages a second with an upstream of 100 ms ÷ what 16 threads can do",
            "≥ 0.90; 99th percentile ≤ 2 × the median",
            f"{share:.2f}; {tail:.1f} ×",
            share >= 0.9 and tail <= 2,
            {"share": share, "tail": tail, "pages_per_second": len(took) / seconds},
        )
    ]


def memory_of_a_worker(bench: Bench, size: Size) -> list[Row]:
    """What a worker holds after 10,000 pages of all kinds, and how much of it came in the second half."""
    portal = bench.portal()
    portal.headers.update(bench.sign_in(portal, "nora"))
    pages = 20000 if size.long else 2000  # over two workers
    _all_kinds(portal, pages // 2)
    half = max(memory(pid)[0] for pid in portal.workers)
    _all_kinds(portal, pages // 2)
    whole = max(memory(pid)[0] for pid in portal.workers)
    shared = max(memory(pid)[1] for pid in portal.workers)
    portal.stop()
    return [
        Row(
            f"Memory of a worker after {pages // 2:,} pages",
            "≤ 90 MB, flat",
            f"{whole:.0f} MB, {shared:.0f} MB of it its own share; {whole - half:+.1f} MB in the second half",
            whole <= 90 and whole - half <= 3,
            {"rss": whole, "pss": shared, "growth": whole - half},
        )
    ]


def _all_kinds(server: Server, count: int) -> None:
    for path in PAGES:
        at_once(server.connect, path, count=count // len(PAGES), by=_BY)


def start(bench: Bench, size: Size) -> list[Row]:
    """From `gunicorn wsgi:app` to the first whole page."""
    took: list[float] = []
    for _ in range(5 if size.long else 2):
        began = time.perf_counter()
        portal = bench.portal()
        if portal.get("/signed-out").status != 200:
            raise AssertionError("no first page")
        took.append(time.perf_counter() - began)
        portal.stop()
    found = statistics.median(took)
    return [
        Row(
            "From `gunicorn wsgi:app` to the first page",
            "≤ 1.5 s",
            f"{found:.2f} s ({min(took):.2f} to {max(took):.2f})",
            found <= 1.5,
            {"seconds": found, "low": min(took), "high": max(took)},
        )
    ]


def thousand_clinics(bench: Bench, size: Size) -> list[Row]:
    """The same page with two clinics and with a thousand more, in turns."""
    few = bench.portal()
    few.headers.update(bench.sign_in(few, "nora"))
    many = bench.portal_of_many(1000)
    many.headers.update(bench.sign_in(few, "nora"))
    costs = in_turns(
        {"few": _cost(few, PAGE, size.pages), "many": _cost(many, PAGE, size.pages)}, max(3, size.rounds // 2)
    )
    few.stop()
    many.stop()
    ratios = sorted(one / other for one, other in zip(costs["many"], costs["few"], strict=True))
    middle = statistics.median(ratios)
    return [
        Row(
            "A thousand clinics in the file: CPU of a page ÷ with two; start",
            "no slower; ≤ 3 s",
            f"{middle:.2f} ({ratios[0]:.2f} to {ratios[-1]:.2f}); {many.seconds_to_start:.2f} s",
            middle <= 1.05 and many.seconds_to_start <= 3,
            {"ratio": middle, "seconds": many.seconds_to_start},
        )
    ]


def large_file(bench: Bench, size: Size) -> list[Row]:
    """How much a worker grows while a file of 100 MB goes through it."""
    portal = bench.portal(PORTAL_WORKERS="1")
    portal.headers.update(bench.sign_in(portal, "nora"))
    portal.get(PAGE)
    (worker,) = portal.workers
    Path(f"/proc/{worker}/clear_refs").write_text("5")  # from now on the peak is counted anew
    before = memory(worker)[0]
    received = portal.connect().drain(f"/files/{FILE}")
    status = Path(f"/proc/{worker}/status").read_text()
    peak = int(status.partition("VmHWM:")[2].split()[0]) / 1024
    portal.stop()
    if received < 100 * 1024 * 1024:
        raise AssertionError(f"only {received} bytes came")
    grown = peak - before
    return [
        Row(
            "Memory of a worker while a file of 100 MB goes through it",
            "≤ 5 MB more",
            f"{grown:+.1f} MB",
            grown <= 5,
            {"growth": grown},
        )
    ]


def session_cost(bench: Bench, size: Size) -> list[Row]:
    """Loading and checking a session, among few and among many."""
    counts = (1_000, 1_000_000) if size.long else (1_000, 20_000)
    rows: list[Row] = []
    for store, found in sessions.run(counts)["stores"].items():
        costs = {int(count): cost for count, cost in found["microseconds"].items()}
        said = ", ".join(f"{cost:.0f} µs among {count:,}" for count, cost in sorted(costs.items()))
        flat = found["ratio"] <= 1.25
        rows.append(
            Row(
                f"Loading and checking a session ({store})",
                "≤ 100 µs of CPU, flat",
                said,
                max(costs.values()) <= 100 and flat,
                {str(count): cost for count, cost in costs.items()} | {"ratio": found["ratio"]},
            )
        )
    return rows


def http_clients(bench: Bench, size: Size) -> dict[str, float]:
    """Two calls by several clients, in milliseconds of CPU."""
    return clients.measure(bench.upstream_port, rounds=size.rounds, count=size.pages)
