"""A soak: people browse for half an hour while workers are killed, Redis hangs and the portal is reloaded; nothing may grow.

    make soak                                    30 minutes, 60 browsers, two workers, Redis; written to docs/performance.md
    python -m tools.bench.soak --minutes 5 --browsers 20

Every fifteenth of the time a fault comes, in turn: a killed worker, Redis that doesn't answer for 3 s, a reload; the API is
slow and fails one call in a hundred all the time. Memory, descriptors and threads of the workers and keys of the store are
compared between the second and the last quarter.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import cycle
from pathlib import Path
from typing import Any

from redis import Redis, RedisError

from portal.demo.stack import tenants_file
from tests.support.redis_server import RedisServer
from tests.support.stack import CareService, PortalProcess, Process, free_port, plan, workers_of
from tools.bench.concurrent_users import EVERYONE, Seen, browse, sign_in
from tools.bench.load import memory
from tools.bench.record import keep

_EVERY = 5.0
_GROWTH = 1.1
_SLACK = {"megabytes": 8.0, "descriptors": 10.0, "threads": 4.0, "keys": 20.0}
"""What may come and go without being a leak."""


@dataclass(frozen=True)
class Sample:
    """One look: the workers' largest memory, and most descriptors and threads; the store's keys."""

    megabytes: float
    descriptors: float
    threads: float
    keys: float


def look(portal: PortalProcess, redis: RedisServer) -> Sample | None:
    """Look once; None while a worker comes or goes, or Redis hangs."""
    try:
        pids = workers_of(portal.child.pid)
        with Redis.from_url(redis.url, socket_timeout=1) as client:
            keys = client.dbsize()
        return Sample(
            max(memory(pid)[0] for pid in pids),
            max(len([*Path(f"/proc/{pid}/fd").iterdir()]) for pid in pids),
            max(len([*Path(f"/proc/{pid}/task").iterdir()]) for pid in pids),
            float(keys),
        )
    except (OSError, ValueError, RedisError):
        return None


def medians(samples: Sequence[Sample]) -> dict[str, tuple[float, float]]:
    """The medians of the second and of the last quarter."""
    quarter = max(1, len(samples) // 4)
    parts = samples[quarter : 2 * quarter], samples[-quarter:]
    before, after = (
        [statistics.median(getattr(one, name) for one in part) for name in _SLACK] for part in parts
    )
    return dict(zip(_SLACK, zip(before, after, strict=True), strict=True))


def grown(samples: Sequence[Sample]) -> list[str]:
    """Say what has grown from the second to the last quarter."""
    return [
        f"{name}: {was:.0f}, then {is_now:.0f}"
        for name, (was, is_now) in medians(samples).items()
        if is_now > was * _GROWTH + _SLACK[name]
    ]


def run(folder: Path, *, minutes: float, browsers: int) -> dict[str, Any]:
    """Return what was seen; `grown` and `wrong` are empty if all is well."""
    plans, redis = plan(folder), RedisServer(folder)
    service = CareService(plans)
    port = free_port()
    command = [sys.executable, "-m", "tools.bench.flaky_api", str(port), str(plans.service_port)]
    api = Process(command, {}, folder / "flaky-api.log")
    portal: PortalProcess | None = None
    try:
        api.wait_for(f"http://127.0.0.1:{port}/counts")
        tenants = folder / "tenants-flaky.toml"
        direct = f'base_url = "{plans.service}"'
        tenants.write_text(tenants_file(plans).replace(direct, f'base_url = "http://127.0.0.1:{port}"'))
        portal = PortalProcess(plans, PORTAL_TENANTS=str(tenants), PORTAL_STORE_URL=redis.url)
        people = [EVERYONE[number % len(EVERYONE)] for number in range(browsers)]
        with ThreadPoolExecutor(4) as pool:
            cookies = list(pool.map(lambda one: sign_in(portal, *one), people))
        seen, stop = Seen(), threading.Event()
        threads = [
            threading.Thread(target=browse, args=(portal, *one, cookie, 2.0, stop, seen), daemon=True)
            for one, cookie in zip(people, cookies, strict=True)
        ]
        for thread in threads:
            thread.start()
        samples, faults = _watch(portal, redis, stop, minutes)
        for thread in threads:
            thread.join(timeout=30)
        lost = [one for one in seen.wrong if "303" in one or "mark" in one]
        return {
            "pages": len(seen.took),
            "statuses": dict(seen.statuses),
            "faults": faults,
            "second and last quarter": medians(samples),
            "grown": grown(samples),
            "wrong": lost,
            "without an answer": len(seen.wrong) - len(lost),
        }
    finally:
        for process in (portal, api, service, redis):
            if process is not None:
                process.stop()


def _watch(
    portal: PortalProcess, redis: RedisServer, stop: threading.Event, minutes: float
) -> tuple[list[Sample], int]:
    """Look every few seconds and make a fault now and then, until the time is up."""
    kinds, faults, samples = cycle(("worker", "redis", "reload")), 0, list[Sample]()
    began = time.monotonic()
    while (passed := time.monotonic() - began) < minutes * 60:
        if passed > (faults + 1) * minutes * 60 / 15:
            faults += 1
            match next(kinds):
                case "worker":
                    with suppress(ProcessLookupError, IndexError):
                        os.kill(workers_of(portal.child.pid)[0], signal.SIGKILL)
                case "redis":
                    redis.send_signal(signal.SIGSTOP)
                    time.sleep(3)
                    redis.send_signal(signal.SIGCONT)
                case _:
                    portal.child.send_signal(signal.SIGHUP)
        if sample := look(portal, redis):
            samples.append(sample)
        time.sleep(min(_EVERY, minutes * 60 / 40))
    stop.set()
    return samples, faults


def _told(outcome: dict[str, Any], minutes: float, browsers: int) -> str:
    statuses = ", ".join(f"{count:,} × {status}" for status, count in sorted(outcome["statuses"].items()))
    rows = [
        f"| {name} | {was:.0f} | {is_now:.0f} |"
        for name, (was, is_now) in outcome["second and last quarter"].items()
    ]
    return "\n".join(
        (
            f"On {datetime.now(UTC).date()}, {minutes:g} minutes, {browsers} browsers, {outcome['pages']:,} pages ({statuses}), "
            f"{outcome['faults']} faults. {'; '.join(outcome['grown']) or 'Nothing grew'}. Signed out, or shown another's page: "
            f"{len(outcome['wrong'])}. Without an answer: {outcome['without an answer']}.",
            "",
            "| Median | second quarter | last quarter |",
            "| --- | --- | --- |",
            *rows,
        )
    )


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--browsers", type=int, default=60)
    parser.add_argument("--keep", action="store_true", help="write the outcome to docs/performance.md")
    given = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        outcome = run(Path(folder), minutes=given.minutes, browsers=given.browsers)
    print(json.dumps(outcome, indent=2))
    if given.keep:
        keep("soak", _told(outcome, given.minutes, given.browsers))
    return 1 if outcome["grown"] or outcome["wrong"] else 0


if __name__ == "__main__":
    sys.exit(main())
