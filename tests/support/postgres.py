"""PostgreSQL for tests: a temporary cluster on loopback, run by the postgres user.

`CARE_TEST_DATABASE=postgresql` makes the care service's tests use it in place of SQLite.
"""

from __future__ import annotations

import atexit
import os
import shutil
import signal
import tempfile
from functools import cache
from pathlib import Path

import psycopg

from portal.careservice.ids import new_id
from portal.demo.postgres import database_url as address
from portal.demo.postgres import new_cluster
from portal.demo.processes import free_port

ENGINES = ("sqlite", "postgresql")


def database_url(sqlite: Path, kind: str | None = None) -> str:
    """The URL of an empty database of one of ENGINES, or of the kind that is asked for; `sqlite` is where a file goes."""
    if (kind or os.environ.get("CARE_TEST_DATABASE")) != "postgresql":
        return f"sqlite:///{sqlite}"
    return _new_database("template1")


def copy_of(url: str, sqlite: Path) -> str:
    """The URL of a copy of a database that nobody is connected to; `sqlite` is where a file goes."""
    if url.startswith("sqlite"):
        shutil.copy(url.removeprefix("sqlite:///"), sqlite)
        return f"sqlite:///{sqlite}"
    return _new_database(url.rpartition("/")[2])


def _new_database(template: str) -> str:
    port = _running_cluster()
    name = f"care_{new_id().replace('-', '')}"
    with psycopg.connect(f"postgresql://postgres@127.0.0.1:{port}/postgres", autocommit=True) as connection:
        connection.execute(f'CREATE DATABASE "{name}" TEMPLATE "{template}"'.encode())
    return address(port, name)


@cache
def _running_cluster() -> int:
    """Start a cluster, to be stopped and removed when this process ends; returns its port."""
    # Not in pytest's temporary folder, which another user can't enter.
    folder = Path(tempfile.mkdtemp(prefix="care-postgres-"))
    folder.chmod(0o711)
    port = free_port()
    unsafe_and_fast = ("fsync=off", "synchronous_commit=off", "full_page_writes=off", "max_connections=300")
    server = new_cluster(folder / "cluster", port, *unsafe_and_fast)
    server.ends_by = signal.SIGQUIT  # immediately: no data is kept
    server.start()
    server.wait()

    def end() -> None:
        server.stop()
        shutil.rmtree(folder, ignore_errors=True)

    atexit.register(end)
    return port
