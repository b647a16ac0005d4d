"""The measurements, one function for each row of the table: on loopback, against real servers."""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tools.bench import clients, sessions
from tools.bench.answers import EPISODE, FILE
from tools.bench.load import at_once, cpu_seconds, memory, quantile
from tools.bench.servers import PAGE, Bench, Server

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
    """The portal, the bell and the baselines in turns, so that noise on the machine affects all alike."""
    portal = bench.portal()
    portal.headers.update(bench.sign_in(portal, "nora"))
    bare, typical = bench.baseline("bare_flask"), bench.baseline("typical_flask")
    fastapi = bench.baseline("fastapi_app", by="uvicorn")
    alone = bench.baseline("fastapi_app", by="uvicorn", workers=1)
    django = bench.baseline("django_app", by="uvicorn")
    go = bench.go_baseline()
    asked = {
        "page": (portal, PAGE),
        "bare_flask": (bare, PAGE),
        "typical_flask": (typical, PAGE),
        "fastapi": (fastapi, PAGE),
        "alone": (alone, PAGE),
        "django": (django, PAGE),
        "bell": (portal, BELL),
        **({"go": (go, PAGE)} if go else {}),
    }
    procedures = {name: _procedures(*one) for name, one in asked.items() if name != "bell"}
    assert len({*procedures.values()}) == 1, f"they don't make the same page: {procedures}"
    costs = in_turns({name: cost_of(*one, size.pages) for name, one in asked.items()}, size.rounds)
    for server in {server for server, _path in asked.values()}:
        server.stop()
    page = statistics.median(costs["page"])
    return [
        _ratio("CPU of a page ÷ bare Flask", 0.44, costs["page"], costs["bare_flask"], page),
        _ratio("CPU of a page ÷ typical Flask", 0.33, costs["page"], costs["typical_flask"], page),
        _ratio("CPU of a page ÷ FastAPI with aiohttp", 0.62, costs["page"], costs["fastapi"], page),
        _ratio("CPU of a page ÷ FastAPI with aiohttp, one worker", 0.62, costs["page"], costs["alone"], page),
        _ratio("CPU of a page ÷ Django with httpx", 0.62, costs["page"], costs["django"], page),
        *([_ratio("CPU of a page ÷ Go with html/template", None, costs["page"], costs["go"], page)] if go else []),
        _ratio(
            "CPU of a badge refresh ÷ a page", 0.15, costs["bell"], costs["page"], statistics.median(costs["bell"])
        ),
    ]  # fmt: skip


def _procedures(server: Server, path: str) -> int:
    """How many rows of the page tell their procedure's day."""
    return server.get(path).body.count(b"Procedure on ")


def in_turns(costs: dict[str, Callable[[], float]], rounds: int) -> dict[str, list[float]]:
    found: dict[str, list[float]] = {name: [] for name in costs}
    for cost in costs.values():
        cost()
    for _ in range(rounds):
        for name, cost in costs.items():
            found[name].append(cost())
    return found


def cost_of(server: Server, path: str, count: int) -> Callable[[], float]:
    """CPU milliseconds that the workers spend on one response."""

    def cost() -> float:
        before = cpu_seconds(server.workers)
        at_once(server.connect, path, count=count, by=_BY)
        return (cpu_seconds(server.workers) - before) / count * 1000

    return cost


def _ratio(what: str, target: float | None, ours: list[float], theirs: list[float], cost: float) -> Row:
    ratios = sorted(one / other for one, other in zip(ours, theirs, strict=True))
    middle, low, high = statistics.median(ratios), quantile(ratios, 0.1), quantile(ratios, 0.9)
    return Row(
        what,
        "to compare" if target is None else f"≤ {target:.2f}",
        f"{middle:.2f} ({low:.2f} to {high:.2f}); {cost:.2f} ms against {statistics.median(theirs):.2f} ms",
        target is None or middle <= target,
        {
            "ratio": middle,
            "low": low,
            "high": high,
            "milliseconds": cost,
            "against": statistics.median(theirs),
        },
    )


def bell_calls(bench: Bench, size: Size) -> list[Row]:
    """API calls and statuses for one person with two browsers, each with several tabs, on two workers."""
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
            "Calls for the badge, all of a person's tabs and workers",
            "≤ 1 in 15 s; 204 when nothing changed",
            f"{calls} in {seconds:.0f} s; {', '.join(map(str, sorted(statuses)))}",
            calls <= most and statuses == {204},
            {"calls": calls, "seconds": seconds},
        )
    ]


def slow_home(bench: Bench, size: Size) -> list[Row]:
    """A patient's home page while each call takes 200 ms: with the episode's id known, and in a new session."""
    portal = bench.portal()
    portal.headers.update(bench.sign_in(portal, "amelia"))
    at_once(portal.connect, "/", count=16, by=8)  # each worker compiles its templates for its first page
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


def throughput(bench: Bench, size: Size) -> list[Row]:
    """Throughput of two workers with a 100 ms upstream and one browser per thread, as a share of the theoretical maximum."""
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
            "Pages per second with a 100 ms upstream ÷ the maximum for 16 threads",
            "≥ 0.90; 99th percentile ≤ 2 × the median",
            f"{share:.2f}; {tail:.1f} ×",
            share >= 0.9 and tail <= 2,
            {"share": share, "tail": tail, "pages_per_second": len(took) / seconds},
        )
    ]


def memory_of_a_worker(bench: Bench, size: Size) -> list[Row]:
    """A worker's memory after 10,000 pages of all kinds, and its growth in the second half."""
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
            f"{whole:.0f} MB, {shared:.0f} MB proportional share; {whole - half:+.1f} MB in the second half",
            whole <= 90 and whole - half <= 3,
            {"rss": whole, "pss": shared, "growth": whole - half},
        )
    ]


def _all_kinds(server: Server, count: int) -> None:
    for path in PAGES:
        at_once(server.connect, path, count=count // len(PAGES), by=_BY)


def start(bench: Bench, size: Size) -> list[Row]:
    """Time from `gunicorn wsgi:app` to the first complete page."""
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
    """The same page with two clinics and with a thousand more, measured in turns."""
    few = bench.portal()
    few.headers.update(bench.sign_in(few, "nora"))
    many = bench.portal_of_many(1000)
    many.headers.update(bench.sign_in(few, "nora"))
    costs = in_turns(
        {"few": cost_of(few, PAGE, size.pages), "many": cost_of(many, PAGE, size.pages)},
        max(3, size.rounds // 2),
    )
    few.stop()
    many.stop()
    ratios = sorted(one / other for one, other in zip(costs["many"], costs["few"], strict=True))
    middle = statistics.median(ratios)
    return [
        Row(
            "A thousand clinics: CPU of a page ÷ with two clinics; start-up",
            "no slower; ≤ 3 s",
            f"{middle:.2f} ({ratios[0]:.2f} to {ratios[-1]:.2f}); {many.seconds_to_start:.2f} s",
            middle <= 1.05 and many.seconds_to_start <= 3,
            {"ratio": middle, "seconds": many.seconds_to_start},
        )
    ]


def large_file(bench: Bench, size: Size) -> list[Row]:
    """How much a worker's memory grows while it streams a file of 100 MB."""
    portal = bench.portal(PORTAL_WORKERS="1")
    portal.headers.update(bench.sign_in(portal, "nora"))
    portal.get(PAGE)
    (worker,) = portal.workers
    Path(f"/proc/{worker}/clear_refs").write_text("5")  # resets the peak
    before = memory(worker)[0]
    received = portal.connect().drain(f"/files/{FILE}")
    status = Path(f"/proc/{worker}/status").read_text()
    peak = int(status.partition("VmHWM:")[2].split()[0]) / 1024
    portal.stop()
    if received < 100 * 1024 * 1024:
        raise AssertionError(f"only {received} bytes received")
    grown = peak - before
    return [
        Row(
            "Memory of a worker while streaming a file of 100 MB",
            "≤ 5 MB more",
            f"{grown:+.1f} MB",
            grown <= 5,
            {"growth": grown},
        )
    ]


def session_cost(bench: Bench, size: Size) -> list[Row]:
    """Loading and checking a session, with few and with many in the store."""
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
    """CPU milliseconds for two calls with each HTTP client."""
    return clients.measure(bench.upstream_port, rounds=size.rounds, count=size.pages)
