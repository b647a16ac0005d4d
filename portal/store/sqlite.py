"""The store in one SQLite file, for all worker processes of one machine.

WAL, so that readers never wait for the writer; one connection a thread; each write is one short immediate
transaction. A write also removes a few expired records by the index on their time: cleaning never scans.
Values stand apart from the index on names and the file is mapped into memory, so that reading a session costs
nearly the same among a thousand as among a million.
"""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from pathlib import Path

from portal.clock import Clock
from portal.store import Record, StoreDown

_SCHEMA = """
CREATE TABLE IF NOT EXISTS records (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,
  value BLOB NOT NULL,
  version INTEGER NOT NULL,
  expires_at REAL NOT NULL
);
CREATE INDEX IF NOT EXISTS records_by_expiry ON records (expires_at);
CREATE TABLE IF NOT EXISTS tags (
  tag TEXT NOT NULL,
  name TEXT NOT NULL REFERENCES records (name) ON DELETE CASCADE,
  PRIMARY KEY (tag, name)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS tags_by_name ON tags (name);
"""
_SWEPT_PER_WRITE = 4
_MAPPED_BYTES = 16 * 1024**3
"""More than SQLite maps (2 GiB unless built otherwise): as much as it can."""

_PAGE_BYTES = 8192


class SqliteStore:
    """`Store` over SQLite 3."""

    def __init__(self, path: str, clock: Clock) -> None:
        self._path = path
        self._clock = clock
        self._local = threading.local()
        with self._answering():
            connection = self._connect()
            connection.execute(f"PRAGMA page_size = {_PAGE_BYTES}")
            connection.execute("PRAGMA journal_mode = WAL")
            connection.executescript(_SCHEMA)
            connection.close()
            Path(path).chmod(0o600)

    def get(self, name: str) -> Record | None:
        with self._answering():
            row = self._connection.execute(
                "SELECT value, version, expires_at FROM records WHERE name = ? AND expires_at > ?",
                (name, self._clock()),
            ).fetchone()
        return Record(*row) if row else None

    def get_many(self, names: Iterable[str]) -> dict[str, Record]:
        wanted = tuple(names)
        marks = ", ".join("?" * len(wanted))
        with self._answering():
            rows = self._connection.execute(
                f"SELECT name, value, version, expires_at FROM records WHERE name IN ({marks}) AND expires_at > ?",  # noqa: S608 (only marks)
                (*wanted, self._clock()),
            ).fetchall()
        return {name: Record(value, version, expires_at) for name, value, version, expires_at in rows}

    def insert(self, name: str, value: bytes, *, expires_at: float, tags: Iterable[str] = ()) -> bool:
        now = self._clock()
        with self._writing() as connection:
            self._sweep(connection, now)
            connection.execute("DELETE FROM records WHERE name = ? AND expires_at <= ?", (name, now))
            made = connection.execute(
                "INSERT OR IGNORE INTO records (name, value, version, expires_at) VALUES (?, ?, 1, ?)",
                (name, value, expires_at),
            ).rowcount
            if made:
                connection.executemany(
                    "INSERT OR IGNORE INTO tags VALUES (?, ?)", [(tag, name) for tag in tags]
                )
        return bool(made)

    def replace(self, name: str, value: bytes, *, version: int, expires_at: float) -> bool:
        with self._writing() as connection:
            changed = connection.execute(
                "UPDATE records SET value = ?, version = version + 1, expires_at = ?"
                " WHERE name = ? AND version = ? AND expires_at > ?",
                (value, expires_at, name, version, self._clock()),
            ).rowcount
        return bool(changed)

    def delete(self, *names: str) -> int:
        with self._writing() as connection:
            return sum(
                connection.execute("DELETE FROM records WHERE name = ?", (name,)).rowcount for name in names
            )

    def take(self, name: str) -> Record | None:
        with self._writing() as connection:
            row = connection.execute(
                "DELETE FROM records WHERE name = ? AND expires_at > ? RETURNING value, version, expires_at",
                (name, self._clock()),
            ).fetchone()
        return Record(*row) if row else None

    def tagged(self, tag: str) -> list[str]:
        with self._answering():
            rows = self._connection.execute(
                "SELECT name FROM tags JOIN records USING (name) WHERE tag = ? AND expires_at > ? ORDER BY name",
                (tag, self._clock()),
            ).fetchall()
        return [name for (name,) in rows]

    def lock(self, name: str, owner: str, *, seconds: float) -> bool:
        return self.insert(f"lock:{name}", owner.encode(), expires_at=self._clock() + seconds)

    def unlock(self, name: str, owner: str) -> None:
        with self._writing() as connection:
            connection.execute(
                "DELETE FROM records WHERE name = ? AND value = ?", (f"lock:{name}", owner.encode())
            )

    def ping(self) -> None:
        with self._answering():
            self._connection.execute("SELECT 1 FROM records LIMIT 1").fetchone()

    def _sweep(self, connection: sqlite3.Connection, now: float) -> None:
        connection.execute(
            "DELETE FROM records WHERE name IN"
            " (SELECT name FROM records WHERE expires_at <= ? ORDER BY expires_at LIMIT ?)",
            (now, _SWEPT_PER_WRITE),
        )

    @property
    def _connection(self) -> sqlite3.Connection:
        connection: sqlite3.Connection | None = getattr(self._local, "connection", None)
        if connection is None or self._local.process != os.getpid():
            connection = self._connect()
            self._local.connection, self._local.process = connection, os.getpid()
        return connection

    def _connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(self._path, timeout=5.0, isolation_level=None)
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute(f"PRAGMA mmap_size = {_MAPPED_BYTES}")
        return connection

    @contextmanager
    def _writing(self) -> Generator[sqlite3.Connection]:
        with self._answering():
            connection = self._connection
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield connection
            except BaseException:
                connection.execute("ROLLBACK")
                raise
            connection.execute("COMMIT")

    @contextmanager
    def _answering(self) -> Generator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise StoreDown(type(error).__name__) from error
