"""The store in one SQLite file, for all worker processes of one machine.

WAL, so that readers never wait for the writer; one connection a thread; each write is one short immediate
transaction. A write also removes a few expired records by the index on their time: cleaning never scans.

A record is found by a number made of its name's digest, which is the table's own key: one descent of one tree, whose
inner pages hold nothing but numbers. Names that end alike (`session:…` and `tokens:…` of one session) get numbers side
by side, so their records mostly share a page. The file is mapped into memory. So reading a session costs nearly the
same among a thousand as among a million.
"""

from __future__ import annotations

import functools
import hashlib
import math
import os
import shutil
import sqlite3
import threading
import time
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from pathlib import Path

from portal.clock import LEEWAY, Clock
from portal.store import StoreDown, StoredRecord, StoreFull, measured

_SCHEMA = (
    """
    CREATE TABLE IF NOT EXISTS records (
      key INTEGER PRIMARY KEY,
      version INTEGER NOT NULL,
      expires_at REAL NOT NULL,
      name TEXT NOT NULL,
      value BLOB NOT NULL
    )
    """,
    "CREATE INDEX IF NOT EXISTS records_by_expiry ON records (expires_at)",
    """
    CREATE TABLE IF NOT EXISTS tags (
      tag TEXT NOT NULL,
      key INTEGER NOT NULL REFERENCES records (key) ON DELETE CASCADE,
      PRIMARY KEY (tag, key)
    ) WITHOUT ROWID
    """,
    "CREATE INDEX IF NOT EXISTS tags_by_key ON tags (key)",
)

_SWEPT_PER_WRITE = 4
_MAPPED_BYTES = 16 * 1024**3
"""More than SQLite maps (2 GiB unless built otherwise): as much as it can."""

_PAGE_BYTES = 8192
_PING_SECONDS = 60.0
_FULL = frozenset({sqlite3.SQLITE_FULL, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_IOERR})
_WAITS_SECONDS = 5.0
"""For another process that writes."""


class SqliteStore:
    """`Store` over SQLite 3."""

    def __init__(self, path: str, clock: Clock) -> None:
        self._path = path
        self._clock = clock
        self._local = threading.local()
        self._prepared_in = 0

    def get(self, name: str) -> StoredRecord | None:
        with self._answering("read"):
            row = self._connection.execute(
                "SELECT value, version, expires_at FROM records WHERE key = ? AND name = ? AND expires_at > ?",
                (key_of(name), name, self._clock()),
            ).fetchone()
        return StoredRecord(*row) if row else None

    def get_many(self, names: Iterable[str]) -> dict[str, StoredRecord]:
        wanted = {name: key_of(name) for name in names}
        marks = ", ".join("?" * len(wanted))
        with self._answering("read"):
            rows = self._connection.execute(
                f"SELECT name, value, version, expires_at FROM records WHERE key IN ({marks}) AND expires_at > ?",  # noqa: S608 (only marks)
                (*wanted.values(), self._clock()),
            ).fetchall()
        return {
            name: StoredRecord(value, version, expires_at)
            for name, value, version, expires_at in rows
            if name in wanted
        }

    def insert(self, name: str, value: bytes, *, expires_at: float, tags: Iterable[str] = ()) -> bool:
        return self._insert(name, value, expires_at, tags)

    def _insert(
        self,
        name: str,
        value: bytes,
        expires_at: float,
        tags: Iterable[str] = (),
        *,
        latest: float = math.inf,
    ) -> bool:
        """Insert the record if there is none that lasts; one that ends after `latest` doesn't."""
        now, key = self._clock(), key_of(name)
        with self._writing() as connection:
            self._sweep(connection, now)
            connection.execute(
                "DELETE FROM records WHERE key = ? AND (expires_at <= ? OR expires_at > ?)",
                (key, now, latest),
            )
            made = connection.execute(
                "INSERT OR IGNORE INTO records (key, version, expires_at, name, value) VALUES (?, 1, ?, ?, ?)",
                (key, expires_at, name, value),
            ).rowcount
            if made:
                connection.executemany(
                    "INSERT OR IGNORE INTO tags VALUES (?, ?)", [(tag, key) for tag in tags]
                )
        return bool(made)

    def replace(self, name: str, value: bytes, *, version: int, expires_at: float) -> bool:
        with self._writing() as connection:
            changed = connection.execute(
                "UPDATE records SET value = ?, version = version + 1, expires_at = ?"
                " WHERE key = ? AND name = ? AND version = ? AND expires_at > ?",
                (value, expires_at, key_of(name), name, version, self._clock()),
            ).rowcount
        return bool(changed)

    def delete(self, *names: str) -> int:
        with self._writing() as connection:
            return sum(
                connection.execute(
                    "DELETE FROM records WHERE key = ? AND name = ?", (key_of(name), name)
                ).rowcount
                for name in names
            )

    def take(self, name: str) -> StoredRecord | None:
        with self._writing() as connection:
            row = connection.execute(
                "DELETE FROM records WHERE key = ? AND name = ? AND expires_at > ?"
                " RETURNING value, version, expires_at",
                (key_of(name), name, self._clock()),
            ).fetchone()
        return StoredRecord(*row) if row else None

    def tagged(self, tag: str) -> list[str]:
        with self._answering("read"):
            rows = self._connection.execute(
                "SELECT name FROM tags JOIN records USING (key) WHERE tag = ? AND expires_at > ? ORDER BY name",
                (tag, self._clock()),
            ).fetchall()
        return [name for (name,) in rows]

    def lock(self, name: str, owner: str, *, seconds: float) -> bool:
        end = self._clock() + seconds
        return self._insert(f"lock:{name}", owner.encode(), end, latest=end + LEEWAY)

    def unlock(self, name: str, owner: str) -> None:
        with self._writing() as connection:
            connection.execute(
                "DELETE FROM records WHERE key = ? AND name = ? AND value = ?",
                (key_of(f"lock:{name}"), f"lock:{name}", owner.encode()),
            )

    def ping(self) -> None:
        name, now = "ping", self._clock()
        with self._writing() as connection:
            connection.execute(
                "INSERT OR REPLACE INTO records (key, version, expires_at, name, value) VALUES (?, 1, ?, ?, '')",
                (key_of(name), now + _PING_SECONDS, name),
            )

    def free_bytes(self) -> int | None:
        try:
            return shutil.disk_usage(Path(self._path).parent).free
        except OSError as error:
            raise StoreDown(type(error).__name__) from error

    def _prepare(self, connection: sqlite3.Connection) -> None:
        """Create the tables if they don't exist; several processes may start at once, also while the disk is full."""
        connection.execute(f"PRAGMA page_size = {_PAGE_BYTES}")
        _write_ahead(connection)
        connection.execute("BEGIN IMMEDIATE")
        for statement in _SCHEMA:
            connection.execute(statement)
        connection.execute("COMMIT")
        Path(self._path).chmod(0o600)
        self._prepared_in = os.getpid()

    def _sweep(self, connection: sqlite3.Connection, now: float) -> None:
        connection.execute(
            "DELETE FROM records WHERE key IN"
            " (SELECT key FROM records WHERE expires_at <= ? ORDER BY expires_at LIMIT ?)",
            (now, _SWEPT_PER_WRITE),
        )

    @property
    def _connection(self) -> sqlite3.Connection:
        connection: sqlite3.Connection | None = getattr(self._local, "connection", None)
        if connection is None or self._local.process != os.getpid():
            connection = self._connect()
            if self._prepared_in != os.getpid():
                self._prepare(connection)
            self._local.connection, self._local.process = connection, os.getpid()
        return connection

    def close(self) -> None:
        """Close this thread's connection; SQLite keeps the files of connections that others closed open until then."""
        connection: sqlite3.Connection | None = getattr(self._local, "connection", None)
        if connection is not None:
            connection.close()
            del self._local.connection

    def _connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(self._path, timeout=_WAITS_SECONDS, isolation_level=None)
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute(f"PRAGMA mmap_size = {_MAPPED_BYTES}")
        return connection

    @contextmanager
    def _writing(self) -> Generator[sqlite3.Connection]:
        with self._answering("write"):
            connection = self._connection
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield connection
                connection.execute("COMMIT")
            finally:
                if connection.in_transaction:  # SQLite rolls back only some failed transactions itself
                    connection.execute("ROLLBACK")

    @contextmanager
    def _answering(self, operation: str) -> Generator[None]:
        with measured(operation):
            try:
                yield
            except sqlite3.Error as error:
                code = getattr(error, "sqlite_errorcode", 0) & 0xFF  # the higher bits give the detail
                raise (StoreFull if code in _FULL else StoreDown)(type(error).__name__) from error


def _write_ahead(connection: sqlite3.Connection) -> None:
    """Keep a write-ahead log.

    Two processes that make this of a new file in the same moment would wait for each other, so SQLite refuses one of
    them at once instead of waiting as long as it does elsewhere: the wait is here.
    """
    give_up = time.monotonic() + _WAITS_SECONDS
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() > give_up:
                raise
        time.sleep(0.01)


@functools.lru_cache(4096)
def key_of(name: str) -> int:
    """The number of a record: 56 bits for what stands after the last colon of its name, 8 for what stands before.

    Names that share a number are all but impossible, and harmless: the second can't be created while the first is there.
    """
    kind, _colon, of = name.rpartition(":")
    return int.from_bytes(hashlib.sha256(of.encode()).digest()[:7] + _kind(kind), signed=True)


@functools.lru_cache(256)
def _kind(kind: str) -> bytes:
    return hashlib.sha256(kind.encode()).digest()[:1]
