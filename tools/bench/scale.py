"""What many people and many clinics cost: two machines behind nginx, Redis, PostgreSQL, a thousand clinics.

    make bench-scale                             about ten minutes; written to docs/performance.md
    python -m tools.bench.scale --people 2000 --rounds 1

CPU is the scheduler's time of each part's processes, so that whatever else runs on the machine lengthens a run and changes no figure
but the times to wait. Everything is on loopback; "two machines" are two portals that share Redis alone.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import msgspec
from redis import Redis

from portal.config.settings import SessionLimits
from portal.config.tenants import Side, Tenants
from portal.demo.processes import Process, Processes
from portal.demo.scale import Scale, folder_for_all
from portal.demo.stack import DemoSetup
from portal.state.session_records import SessionRecord, Tokens, record_name, tokens_name
from portal.state.sessions import Sessions
from portal.store import open_store
from portal.store.vault import Vault
from tests.support.stack import GENEROUS, PASSWORD, ROOT, SECRETS, free_port, workers_of
from tests.support.visitor import Visitor
from tools.bench.everyday import EVERYDAY
from tools.bench.load import Connection, cpu_seconds, memory, quantile
from tools.bench.record import keep
from tools.bench.servers import PAGE

BELL = "/notifications/bell?known=1"
CLINICS = 1000
_A_PAGE_EVERY = 60
_BELL_EVERY = 15
_IN_RESERVE = 0.5
_AT_ONCE = 5
_SIZES = ((1_000, 10), (5_000, 50), (20_000, 200), (100_000, 1_000))
"""People with an account, and clinics, of the sizing table; one in `_AT_ONCE` is signed in at the busiest hour."""


@dataclass(frozen=True)
class Cost:
    """What one request costs on average: CPU in milliseconds by part, bytes of logs, commands to Redis."""

    portal: float
    redis: float
    nginx: float
    log: float
    audit: float
    proxy_log: float
    commands: float


@dataclass(frozen=True)
class Wait:
    """With so many people who wait for an API of 200 ms: pages a second, median and 99th percentile in seconds."""

    people: int
    pages: float
    median: float
    p99: float


class Site:
    """The running parts."""

    def __init__(self, scale: Scale, folder: Path, stub: int) -> None:
        self.scale = scale
        self.plan = scale.plan
        self.folder = folder
        self.stub = stub
        self.machines = [_pid(machine) for machine in scale.machines]
        self.redis = Redis.from_url(scale.store_url)

    @property
    def workers(self) -> list[int]:
        return [pid for machine in self.machines for pid in workers_of(machine)]

    def connect(self, clinic: str, cookie: str) -> Connection:
        headers = {"Cookie": f"__Host-sid={cookie}", "Accept-Encoding": "identity", "Accept-Language": "en"}
        headers |= {"Sec-Fetch-Site": "same-origin", "Sec-Fetch-Dest": "empty"}  # or the bell answers 404
        return Connection(self.plan.portal_port, self.plan.hosts(clinic)[0], headers)

    def sign_in(self, name: str, clinic: str = "riverside", at: str = "/") -> str:
        visitor = Visitor(f"http://{self.plan.hosts(clinic)[0]}", PASSWORD)
        visitor.sign_in(name, at)
        return next(str(one.value) for one in visitor.http.cookies if one.name == "__Host-sid")

    def delay(self, milliseconds: int) -> None:
        connection = Connection(self.stub, "stub", {})
        connection.get(f"/delay/{milliseconds}")
        connection.close()

    def cost(self, clinic: str, path: str, cookies: Sequence[str]) -> Cost:
        """Ask once with each of these sessions, four at a time."""

        def ask(some: Sequence[str]) -> None:
            for cookie in some:
                connection = self.connect(clinic, cookie)
                status = connection.get(path).status
                connection.close()
                assert status in (200, 204), f"{path}: {status}"

        before = self._counted()
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(ask, (cookies[start::4] for start in range(4))))
        time.sleep(0.05)  # until the logs are written
        spent = [now - then for now, then in zip(self._counted(), before, strict=True)]
        portal, redis, nginx, *rest = (one / len(cookies) for one in spent)
        return Cost(portal * 1000, redis * 1000, nginx * 1000, *rest)

    def _counted(self) -> tuple[float, ...]:
        redis, nginx = _pid(self.scale.redis), _pid(self.scale.nginx)
        audits = (file.stat().st_size for file in self.plan.data.glob("machine-*/audit/*.jsonl"))
        logs = (file.stat().st_size for file in self.plan.data.glob("machine-*/portal.log"))
        commands = self.redis.info("stats")["total_commands_processed"]
        return (
            cpu_seconds(self.workers),
            cpu_seconds([redis]),
            cpu_seconds(workers_of(nginx)),
            sum(logs),
            sum(audits),
            (self.folder / "nginx/requests.log").stat().st_size,
            commands,
        )


def fill(site: Site, cookie: str, people: int) -> tuple[list[str], float]:
    """Let so many people have a session like this one's; return their cookies, and Redis's bytes for each."""
    vault = Vault(open_store(site.scale.store_url, time.time), (SECRETS["PORTAL_SECRET_KEYS"],))
    limits = {side: SessionLimits(1800, 43200) for side in Side}
    record = vault.get(record_name(cookie), SessionRecord)
    tokens = vault.get(tokens_name(record_name(cookie)), Tokens)
    assert record is not None
    assert tokens is not None
    later = time.time() + 3600
    held = msgspec.structs.replace(tokens.value, refresh_at=later, expires_at=later)
    before = site.redis.info("memory")["used_memory"]
    cookies = [f"{number:06}{cookie[6:]}" for number in range(people)]
    sessions = Sessions(vault, Tenants({}, {}), limits, time.time)

    def insert(some: range) -> None:
        for number in some:
            who = msgspec.structs.replace(record.value.person, sub=f"person-{number}")
            sessions.insert(cookies[number], msgspec.structs.replace(record.value, person=who), held)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(insert, (range(start, people, 4) for start in range(4))))
    return cookies, (site.redis.info("memory")["used_memory"] - before) / people


def waits(site: Site, cookie: str, seconds: float) -> Iterator[Wait]:
    """Let more and more people open the measured page as fast as it comes."""
    site.delay(200)
    for people in (4, 8, 16, 32, 64, 96):
        took: list[float] = []
        until = time.monotonic() + seconds

        def browse(took: list[float] = took, until: float = until) -> None:
            connection = site.connect("harbour", cookie)
            while time.monotonic() < until:
                answer = connection.get(PAGE)
                assert answer.status == 200, answer.status
                took.append(answer.seconds)
            connection.close()

        threads = [threading.Thread(target=browse) for _ in range(people)]
        began = time.monotonic()
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        yield Wait(
            people, len(took) / (time.monotonic() - began), statistics.median(took), quantile(took, 0.99)
        )
    site.delay(0)


@contextmanager
def site() -> Iterator[Site]:
    """Start all parts; riverside's API is the sample one, harbour's a stub that can be slow."""
    processes = Processes()
    with folder_for_all() as folder:
        own = folder / "portal"
        own.mkdir(mode=0o700)
        plan = DemoSetup(free_port(), free_port(), own, SECRETS)
        scale = Scale(plan, folder, environment={**GENEROUS, "PORTAL_DEMO": "0"})
        stub = free_port()
        (own / "tenants.toml").write_text(_many((own / "tenants.toml").read_text(), plan, stub))
        command = [sys.executable, "-m", "tools.bench.upstream", str(stub)]
        try:
            processes.start(Process("stub", command, own / "stub.log", lambda: _answers(stub)))
            scale.start(processes)
            yield Site(scale, folder, stub)
        finally:
            processes.stop()


def _many(tenants: str, plan: DemoSetup, stub: int) -> str:
    """A thousand clinics more, and the stub as harbour's API."""
    ours = tenants[tenants.index("[tenants.riverside]") : tenants.index("[tenants.harbour]")]
    hosts = json.dumps(plan.hosts("riverside"))
    more = [
        ours.replace("tenants.riverside", f"tenants.clinic-{number}").replace(
            hosts, f'["clinic-{number}.localhost:{plan.portal_port}"]'
        )
        for number in range(CLINICS - 2)
    ]
    slow = f'[tenants.harbour]\nbase_url = "http://127.0.0.1:{stub}"'
    return "\n".join([tenants.replace("[tenants.harbour]", slow, 1), *more])


def _answers(port: int) -> bool:
    try:
        Connection(port, "stub", {}).get("/calls")
    except OSError:
        return False
    return True


def _pid(process: Process) -> int:
    child = process._child  # pyright: ignore[reportPrivateUsage]
    assert child is not None
    return child.pid


def told(
    costs: dict[str, Cost], session: float, resident: tuple[float, float], slow: Sequence[Wait], people: int
) -> str:
    """Return the tables."""
    mean = _mean(costs)
    bell = costs["bell"]
    lines = [
        f"Measured on {datetime.now(UTC).date()}, {len(os.sched_getaffinity(0))} cores shared with other work, two machines of two workers "
        f"of eight threads each, {CLINICS:,} clinics, {people:,} people signed in. CPU is what the "
        "scheduler counted of the portals' workers, on a machine that is busy with other work, where a page takes up to twice what it takes "
        "on an idle one (profile.md). Each figure is the median of several rounds.",
        "",
        "| Page | Who | Portal's CPU | Pages a second for a core | Commands to Redis | Log | Audit |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    for opened in EVERYDAY:
        one = costs[f"{opened.name} {opened.path}"]
        lines.append(
            f"| {opened.what} | {opened.name} | {one.portal:.1f} ms | {1000 / one.portal:.0f} | {one.commands:.0f} "
            f"| {one.log:.0f} B | {one.audit:.0f} B |"
        )
    for what, one in (("**Mean, weighted**", mean), ("Notification badge", bell)):
        lines.append(
            f"| {what} | | {one.portal:.1f} ms | {1000 / one.portal:.0f} | {one.commands:.1f} | {one.log:.0f} B | {one.audit:.0f} B |"
        )
    lines += [
        "",
        f"Besides, a mean page costs nginx {mean.nginx:.2f} ms and Redis {mean.redis:.2f} ms of CPU, and nginx's log {mean.proxy_log:.0f} B. "
        f"1,000 sessions take {session / 1000:.1f} MB of Redis. A patient's home costs {costs['anybody /'].portal:.1f} ms when each time another "
        f"of the {people:,} opens it. A worker that serves {CLINICS:,} clinics has {resident[0]:.0f} MB resident, "
        f"{resident[1]:.0f} MB its proportional share.",
        "",
        "Where it bends: an API that takes 200 ms, one clinic, people who open the next page at once. A clinic may use three quarters of the 32",
        "threads while others share the portal:",
        "",
        "| People at once | Pages a second | Median | 99th percentile |",
        "| --- | --- | --- | --- |",
        *(
            f"| {one.people} | {one.pages:.0f} | {one.median * 1000:.0f} ms | {one.p99 * 1000:.0f} ms |"
            for one in slow
        ),
        "",
        f"Sizes from these figures, if one person in {_AT_ONCE} is signed in at the busiest hour, opens a page each {_A_PAGE_EVERY} s and has a tab in "
        f"sight that asks for the badge each {_BELL_EVERY} s. Half of the machines is in reserve, Redis has twice the sessions' memory, and logs "
        "are of eight such hours a day. Machines are by CPU; a slow API needs more threads (operations.md, Sizes):",
        "",
        "| People | Clinics | Signed in at once | Pages and badges a second | Portal: cores | Machines of 4 cores | Redis: memory | commands a second | cores | Log, audit, proxy's log a day |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |",
        *(_size(mean, bell, session, *size) for size in _SIZES),
        "",
        f"Redis works on one core, so it is what ends first: at {_redis_ends(mean, bell):,.0f} people signed in at once. One portal for each half of "
        "the clinics, each with its own Redis, then goes further.",
    ]
    return "\n".join(lines)


def _mean(costs: dict[str, Cost]) -> Cost:
    weight = sum(one.weight for one in EVERYDAY)
    names = Cost.__dataclass_fields__
    return Cost(
        *(
            sum(one.weight * getattr(costs[f"{one.name} {one.path}"], name) for one in EVERYDAY) / weight
            for name in names
        )
    )


def _redis_ends(mean: Cost, bell: Cost) -> float:
    """How many people may be signed in until Redis uses its one core."""
    return round(1000 / (mean.redis / _A_PAGE_EVERY + bell.redis / _BELL_EVERY), -3)


def _size(mean: Cost, bell: Cost, session: float, people: int, clinics: int) -> str:
    signed_in = people // _AT_ONCE
    pages, bells = signed_in / _A_PAGE_EVERY, signed_in / _BELL_EVERY

    def rate(name: str) -> float:
        return pages * getattr(mean, name) + bells * getattr(bell, name)

    cores = rate("portal") / 1000 / _IN_RESERVE
    day = 8 * 3600 / 1e9
    logs = ", ".join(f"{rate(name) * day:.1f} GB" for name in ("log", "audit", "proxy_log"))
    return (
        f"| {people:,} | {clinics:,} | {signed_in:,} | {pages:,.0f} + {bells:,.0f} | {cores:.1f} | {max(2, -(-cores // 4)):.0f} "
        f"| {2 * signed_in * session / 1e6:,.0f} MB | {rate('commands'):,.0f} | {rate('redis') / 1000:.2f} | {logs} |"
    )


def run(people: int, rounds: int, count: int, seconds: float) -> str:
    """Measure all, and return the tables."""
    with site() as running:
        own = {name: running.sign_in(name) for name in {one.name for one in EVERYDAY}}
        cookies, session = fill(running, own["amelia"], people)
        asked: dict[str, tuple[str, Callable[[], list[str]]]] = {
            f"{one.name} {one.path}": (one.path, lambda name=one.name: [own[name]] * count)
            for one in EVERYDAY
        }
        asked["anybody /"] = ("/", lambda: random.sample(cookies, count))
        asked["bell"] = (BELL, lambda: random.sample(cookies, 4 * count))
        found: dict[str, list[Cost]] = {name: [] for name in asked}
        for number in range(rounds + 1):
            for name, (path, sessions) in asked.items():
                one = running.cost("riverside", path, sessions())
                if number:  # the first round makes workers ready
                    found[name].append(one)
        costs = {
            name: Cost(
                *(statistics.median(getattr(one, part) for one in some) for part in Cost.__dataclass_fields__)
            )
            for name, some in found.items()
        }
        resident = [memory(pid) for pid in running.workers]
        slow = [*waits(running, running.sign_in("omar", "harbour", "/me/devices"), seconds)]
        return told(
            costs, session, (max(one[0] for one in resident), max(one[1] for one in resident)), slow, people
        )


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--people", type=int, default=20_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--count", type=int, default=12, help="how often a page is opened in a round")
    parser.add_argument("--seconds", type=float, default=10, help="how long people wait in each step")
    parser.add_argument("--keep", action="store_true", help="write the tables to docs/performance.md")
    given = parser.parse_args(arguments)
    os.chdir(ROOT)
    text = run(given.people, given.rounds, given.count, given.seconds)
    print(text)
    if given.keep:
        keep("bench-scale", text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
