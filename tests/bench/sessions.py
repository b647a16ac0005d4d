"""`python -m tests.bench.sessions [sessions …]`: what loading and checking one session costs, by how many there are.

CPU time of this process, for a session with its tokens, on SQLite and on a Redis of its own.
"""

from __future__ import annotations

import random
import sqlite3
import struct
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

from redis import Redis

from portal.sessions import Person, SessionRecord, Sessions, Tokens
from portal.settings import SessionLimits
from portal.store import open_store
from portal.store.vault import Vault
from portal.tenants import Side, Tenants
from tests.support.redis_server import RedisServer

HOST = "riverside.localhost"
LIMITS = {Side.PATIENT: SessionLimits(1800, 43200), Side.STAFF: SessionLimits(900, 28800)}
KEYS = ("k" * 40,)
LOADS, ROUNDS = 4000, 5


def main(counts: list[int]) -> None:
    for count in counts:
        with tempfile.TemporaryDirectory() as folder:
            measure("SQLite", f"sqlite:///{folder}/store.db", count)
            redis = RedisServer(Path(folder))
            measure("Redis", redis.url, count)
            redis.stop()


def measure(label: str, url: str, count: int) -> None:
    sessions = Sessions(Vault(open_store(url, time.time), KEYS), Tenants({}, {}), LIMITS, time.time)
    (fill_sqlite if url.startswith("sqlite") else fill_redis)(url, count)
    best = min(_round(sessions, count) for _ in range(ROUNDS))
    sys.stdout.write(f"{label:<7} {count:>9,} sessions: {best * 1e6:5.1f} µs of CPU\n")


def _round(sessions: Sessions, count: int) -> float:
    cookies = [f"cookie-{random.randrange(count)}" for _ in range(LOADS)]
    began = time.process_time()
    for cookie in cookies:
        held, tokens = sessions.load(cookie, "riverside", HOST)
        assert held is not None
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
        data={"csrf_token": "x" * 40},
        device="Firefox · Linux",
    )
    return record, Tokens(
        access_token="a" * 900, refresh_token="r" * 43, expires_at=now + 3600, refresh_at=now + 3500
    )


class Sealed:
    """What sessions would write, instead of a store that takes it one by one."""

    def __init__(self) -> None:
        self.written: list[tuple[str, bytes]] = []

    def insert(self, name: str, value: bytes, **_: object) -> bool:
        self.written.append((name, value))
        return True


def records(count: int) -> Iterator[tuple[str, bytes]]:
    """The sealed records of so many sessions."""
    sealed = Sealed()
    sessions = Sessions(Vault(cast("Any", sealed), KEYS), Tenants({}, {}), LIMITS, time.time)
    for number in range(count):
        sessions.insert(f"cookie-{number}", *session(number))
        yield from sealed.written
        sealed.written.clear()


def fill_sqlite(url: str, count: int) -> None:
    connection = sqlite3.connect(url.removeprefix("sqlite:///"), isolation_level=None)
    connection.execute("BEGIN")
    connection.executemany(
        "INSERT INTO records (name, value, version, expires_at) VALUES (?, ?, 1, 9e9)", records(count)
    )
    connection.execute("COMMIT")
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()


def fill_redis(url: str, count: int) -> None:
    head = struct.pack(">QdI", 1, 9e9, 0)
    with Redis.from_url(url) as client, client.pipeline(transaction=False) as batch:
        for number, (name, value) in enumerate(records(count)):
            batch.set(f"portal:record:{name}", head + value)
            if number % 5000 == 0:
                batch.execute()
        batch.execute()


if __name__ == "__main__":
    main([int(word) for word in sys.argv[1:]] or [1_000, 100_000])
