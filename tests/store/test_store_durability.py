"""The SQLite store survives writers killed at any moment and a full disk."""

from __future__ import annotations

import json
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest

from portal.store import StoreDown
from portal.store.sqlite import SqliteStore
from tests.support import full

ROOT = Path(__file__).parents[2]
KILLS = 50 if full.FULL else 3

WRITER = """
import sys, time
from portal.store.sqlite import SqliteStore

store, me = SqliteStore(sys.argv[1], time.time), sys.argv[2]
until = time.time() + 3600
number = 0
while True:
    name = f"session:{me}-{number}"
    assert store.insert(name, b"1" * 900, expires_at=until, tags=[f"sub:{me}"])
    assert store.insert(f"tokens:{me}-{number}", b"t" * 1100, expires_at=until)
    if number % 3 == 0:
        assert store.replace(name, b"2" * 900, version=1, expires_at=until)
    if number % 5 == 0:
        assert store.delete(name) == 1
    print(number, flush=True)
    number += 1
"""
"""Writes sessions and says of each when it is done."""

FULL = """
import json, resource, sys, time
from pathlib import Path
from portal.store import StoreDown
from portal.store.sqlite import SqliteStore

path, said = sys.argv[1], {}
store, until = SqliteStore(path, time.time), time.time() + 3600
store.insert("session:kept", b"kept", expires_at=until)
size = max(Path(path).stat().st_size, Path(path + "-wal").stat().st_size)
_soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
resource.setrlimit(resource.RLIMIT_FSIZE, (size + 64 * 1024, hard))
written = 0
try:
    while written < 1000:
        store.insert(f"session:{written}", b"x" * 4000, expires_at=until)
        written += 1
except StoreDown as down:
    said["down"] = str(down)
said["written"] = written
said["read"] = store.get("session:kept").value.decode()
said["refused again"] = False
try:
    store.insert("session:more", b"x" * 200_000, expires_at=until)
except StoreDown:
    said["refused again"] = True
resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
said["after"] = store.insert("session:after", b"x" * 200_000, expires_at=until)
said["there"] = sum(store.get(f"session:{number}") is not None for number in range(written))
print(json.dumps(said))
"""


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "store.db")


FULL_AT_START = """
import resource, sys, time
from portal.store import StoreFull
from portal.store.sqlite import SqliteStore

before = SqliteStore(sys.argv[1], time.time)
before.insert("session:kept", b"kept", expires_at=time.time() + 3600)
before.close()
_soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
resource.setrlimit(resource.RLIMIT_FSIZE, (4096, hard))
store = SqliteStore(sys.argv[1], time.time)
try:
    store.ping()
except StoreFull:
    resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
    store.ping()
    print(store.get("session:kept").value.decode())
"""


def started(script: str, *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", script, *arguments], cwd=ROOT, stdout=subprocess.PIPE, text=True
    )


def is_sound(path: str) -> bool:
    with closing(sqlite3.connect(path)) as connection:
        integrity = connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        return integrity and not connection.execute("PRAGMA foreign_key_check").fetchall()


def test_killed_writers_lose_no_committed_record(path: str) -> None:
    """Two processes write under load and are killed by SIGKILL, again and again, over one file."""
    done: dict[str, int] = {}
    for kill in range(KILLS):
        writers = {f"{kill}-{one}": started(WRITER, path, f"{kill}-{one}") for one in range(2)}
        for me, writer in writers.items():
            assert writer.stdout is not None
            for _ in range(20 + 7 * (kill % 5)):
                done[me] = int(writer.stdout.readline())
        for writer in writers.values():
            writer.send_signal(signal.SIGKILL)
        for me, writer in writers.items():
            assert writer.stdout is not None
            done[me] = max([done[me], *(int(line) for line in writer.stdout if line.endswith("\n"))])
            writer.stdout.close()
            writer.wait()
        assert is_sound(path)
    store = SqliteStore(path, time.time)
    for me, last in done.items():
        for number in range(last + 1):
            held = store.get(f"session:{me}-{number}")
            assert (held is None) == (number % 5 == 0), (me, number)
            if held is not None:
                assert held.version == (2 if number % 3 == 0 else 1)
            assert store.get(f"tokens:{me}-{number}") is not None
        # One more may have been written without being acknowledged.
        assert len(store.tagged(f"sub:{me}")) - (last + 1 - len(range(0, last + 1, 5))) in (0, 1)


def test_a_full_disk_is_reported_and_recovers(path: str) -> None:
    child = started(FULL, path)
    said = json.loads(child.communicate(timeout=60)[0])
    assert child.returncode == 0
    assert said["down"] == "OperationalError"
    assert 0 < said["written"] < 1000
    assert said["read"] == "kept"
    assert said["refused again"]
    assert said["after"], "the same connection writes again"
    assert said["there"] == said["written"]
    assert is_sound(path)


def test_a_portal_that_starts_with_a_full_disk_recovers_by_itself(path: str) -> None:
    child = started(FULL_AT_START, path)
    assert child.communicate(timeout=60)[0] == "kept\n"


def test_a_failed_write_leaves_no_transaction_behind(path: str) -> None:
    """Else the thread could never write again, and would keep all others from writing."""
    store = SqliteStore(path, time.time)
    until = time.time() + 60
    connection = store._connection
    pages = connection.execute("PRAGMA page_count").fetchone()[0]
    connection.execute(f"PRAGMA max_page_count = {pages}")
    with pytest.raises(StoreDown):
        for number in range(100):
            store.insert(f"a{number}", b"x" * 8000, expires_at=until)
    assert not connection.in_transaction
    connection.execute("PRAGMA max_page_count = 1000000")
    # A failure after which SQLite leaves the transaction open:
    with pytest.raises(StoreDown), store._writing():
        connection.execute("INSERT INTO nowhere VALUES (1)")
    assert not connection.in_transaction
    assert store.insert("b", b"x" * 8000, expires_at=until)


def test_the_room_of_a_removed_folder_cannot_be_told(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    store = SqliteStore(str(folder / "store.db"), time.time)
    shutil.rmtree(folder)
    with pytest.raises(StoreDown):
        store.free_bytes()


def test_concurrent_creation_of_the_sqlite_file_works_for_all(tmp_path: Path) -> None:
    """As the workers of a machine do at its first start."""
    for number in range(30):
        path, together = str(tmp_path / f"{number}.db"), threading.Barrier(4)

        def open_and_write(me: int, path: str = path, together: threading.Barrier = together) -> bool:
            together.wait()
            store = SqliteStore(path, time.time)
            return store.insert(f"session:{me}", b"x", expires_at=time.time() + 60)

        with ThreadPoolExecutor(4) as pool:
            assert list(pool.map(open_and_write, range(4))) == [True] * 4
