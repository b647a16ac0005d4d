"""`python -m tools.bench.sessions [COUNT …]`: the cost of loading and checking a session, by the number in the store.

CPU time of this process for a random session with its tokens, on SQLite and on a Redis of its own. The counts take
turns within each round, so that noise on the machine affects all alike.
"""

from __future__ import annotations

import json
import random
import sqlite3
import statistics
import struct
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, cast

from redis import Redis

from portal.config.settings import SessionLimits
from portal.config.tenants import Side, Tenants
from portal.state.session_records import Person, SessionRecord, Tokens
from portal.state.sessions import Sessions
from portal.store import StoredRecord, open_store
from portal.store.sqlite import key_of
from portal.store.vault import Vault
from tests.support.redis_server import RedisServer

COUNTS = (1_000, 1_000_000)
HOST = "riverside.localhost"
LIMITS = {Side.PATIENT: SessionLimits(1800, 43200), Side.STAFF: SessionLimits(900, 28800)}
KEYS = ("k" * 40,)
LOADS, ROUNDS = 4000, 9


def main(arguments: Sequence[str] = ()) -> None:
    """Measure with these numbers of sessions; print a table and a line of JSON."""
    result = run([int(word) for word in arguments] or COUNTS)
    for store, found in result["stores"].items():
        for count, cost in found["microseconds"].items():
            sys.stdout.write(f"{store:<7} {int(count):>9,} sessions: {cost:5.1f} µs of CPU\n")
        sys.stdout.write(f"{store:<7} most to fewest: {found['ratio']:.2f} ({found['spread']})\n")
    sys.stdout.write(json.dumps(result) + "\n")


def run(counts: Sequence[int] = COUNTS) -> dict[str, Any]:
    """Return for each store the median µs of CPU at each count, and the ratio of most to fewest with its spread."""
    stores: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        files = [f"sqlite:///{folder}/{count}.db" for count in counts]
        stores["SQLite"] = _compared(counts, files, fill_sqlite)
        for file in folder.glob("*.db*"):
            file.unlink()
        redis = RedisServer(folder)
        try:
            databases = [f"{redis.url.rpartition('/')[0]}/{number}" for number in range(len(counts))]
            stores["Redis"] = _compared(counts, databases, fill_redis)
        finally:
            redis.stop()
    return {"what": "load and check a session with its tokens", "loads": LOADS, "stores": stores}


def _compared(counts: Sequence[int], urls: Sequence[str], fill: Any) -> dict[str, Any]:
    opened: list[Sessions] = []
    for count, url in zip(counts, urls, strict=True):
        opened.append(Sessions(Vault(open_store(url, time.time), KEYS), Tenants({}, {}), LIMITS, time.time))
        fill(url, count)
    rounds: list[list[float]] = []
    for _ in range(ROUNDS):
        rounds.append([_round(sessions, count) for sessions, count in zip(opened, counts, strict=True)])
    costs = [statistics.median(costs) * 1e6 for costs in zip(*rounds, strict=True)]
    ratios = sorted(costs[-1] / costs[0] for costs in rounds)
    return {
        "microseconds": {str(count): round(cost, 1) for count, cost in zip(counts, costs, strict=True)},
        "ratio": round(statistics.median(ratios), 3),
        "spread": f"{ratios[0]:.2f} to {ratios[-1]:.2f} in {ROUNDS} rounds",
    }


def _round(sessions: Sessions, count: int) -> float:
    cookies = [f"cookie-{random.randrange(count)}" for _ in range(LOADS)]
    began = time.process_time()
    for cookie in cookies:
        record, tokens = sessions.load(cookie, "riverside", HOST)
        assert record is not None
        assert tokens is not None
    return (time.process_time() - began) / LOADS


def session(number: int) -> tuple[SessionRecord, Tokens]:
    now = time.time()
    person = Person(
        sub=f"person-{number}",
        issuer="https://identity.example",
        name="Amelia Hart",
        given_name="Amelia",
        side=Side.PATIENT,
        roles=frozenset({"patient"}),
        auth_time=now,
    )
    record = SessionRecord(
        tenant="riverside",
        host=HOST,
        created_at=now,
        used_at=now,
        epoch="abcdefghijkl",
        person=person,
        episode_ids=["e3b0c442-98fc-1c14-9afb-f4c8996fb924"],
        device="Firefox · Linux",
    )
    return record, Tokens(
        access_token="a" * 900, refresh_token="r" * 43, expires_at=now + 3600, refresh_at=now + 3500
    )


class Collector:
    """Collects what sessions write, to be inserted in bulk."""

    def __init__(self) -> None:
        self.written: list[tuple[str, bytes]] = []
        self._others: dict[str, StoredRecord] = {}

    def insert(self, name: str, value: bytes, *, expires_at: float, **_: object) -> bool:
        if name.startswith(("session:", "tokens:")):
            self.written.append((name, value))
        else:
            self._others[name] = StoredRecord(value, 1, expires_at)
        return True

    def get(self, name: str) -> StoredRecord | None:
        return self._others.get(name)

    def tagged(self, _tag: str) -> list[str]:
        return []


def records(count: int) -> Iterator[tuple[str, bytes]]:
    """The encrypted records of this many sessions, in the order of signing in."""
    collected = Collector()
    sessions = Sessions(Vault(cast("Any", collected), KEYS), Tenants({}, {}), LIMITS, time.time)
    for number in range(count):
        sessions.insert(f"cookie-{number}", *session(number))
        yield from collected.written
        collected.written.clear()


def fill_sqlite(url: str, count: int) -> None:
    connection = sqlite3.connect(url.removeprefix("sqlite:///"), isolation_level=None)
    connection.execute("PRAGMA synchronous = OFF")
    connection.execute("PRAGMA cache_size = -2000000")
    connection.execute("BEGIN")
    connection.executemany(
        "INSERT INTO records (key, version, expires_at, name, value) VALUES (?, 1, ?, ?, ?)",
        ((key_of(name), 9e9 + number, name, value) for number, (name, value) in enumerate(records(count))),
    )
    connection.execute("COMMIT")
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()


def fill_redis(url: str, count: int) -> None:
    head = struct.pack(">QdI", 1, 9e9, 0)
    with Redis.from_url(url) as client, client.pipeline(transaction=False) as batch:
        client.config_set("appendonly", "no")  # would write 3 GB that nobody reads
        for number, (name, value) in enumerate(records(count)):
            batch.set(f"portal:record:{name}", head + value)
            if number % 5000 == 0:
                batch.execute()
        batch.execute()


if __name__ == "__main__":
    main(sys.argv[1:])
