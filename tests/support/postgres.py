"""PostgreSQL for tests: a throw-away cluster on loopback, run by the postgres user, gone with the tests.

`CARE_TEST_DATABASE=postgresql` makes the care service's tests use it in place of SQLite.
"""

from __future__ import annotations

import atexit
import os
import pwd
import shutil
import socket
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path

import psycopg

from portal.careservice.ids import new_id


def database_url(sqlite: Path) -> str:
    """The URL of an empty database: a new one of the cluster's where PostgreSQL is asked for, else `sqlite`."""
    if os.environ.get("CARE_TEST_DATABASE") != "postgresql":
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
    return f"postgresql+psycopg://postgres@127.0.0.1:{port}/{name}"


def binaries() -> Path | None:
    """The folder of the newest server's programs on this machine, or None."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/postgres"), key=lambda path: int(path.parts[4]))
    if found:
        return found[-1].parent
    on_path = shutil.which("postgres")
    return Path(on_path).parent if on_path else None


def main() -> int:
    """Install the server where it is missing and this is root; 2 with one clear line where it can't be had."""
    if binaries() is None and os.geteuid() == 0 and shutil.which("apt-get"):
        print("Installing PostgreSQL by apt …", flush=True)
        environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
        for command in (["update"], ["install", "-y", "--no-install-recommends", "postgresql"]):
            subprocess.run(
                ["apt-get", "-qq", *command], check=False, env=environment, stdout=subprocess.DEVNULL
            )
    if binaries() is None:
        print(
            "The tests need PostgreSQL: install it (apt-get install postgresql) and run them again.",
            file=sys.stderr,
        )
        return 2
    return 0


@cache
def _running_cluster() -> int:
    """Start a cluster, to be stopped and removed when this process ends; returns its port."""
    programs = binaries()
    assert programs is not None, "PostgreSQL is missing: run `python -m tests.support.postgres`"
    # Not under pytest's own temporary folder, which another user can't enter.
    folder = Path(tempfile.mkdtemp(prefix="care-postgres-"))
    as_user = _Other("postgres") if os.geteuid() == 0 else None
    if as_user is not None:
        os.chown(folder, as_user.uid, as_user.gid)
    port = _free_port()
    _run(
        [
            str(programs / "initdb"),
            *("--pgdata", str(folder / "data"), "--username", "postgres", "--auth", "trust"),
            *("--encoding", "UTF8", "--locale", "C.UTF-8", "--no-sync"),
        ],
        folder,
        as_user,
    )
    options = (
        f"-c listen_addresses=127.0.0.1 -c port={port} -c unix_socket_directories='' -c max_connections=300"
    )
    fast = "-c fsync=off -c synchronous_commit=off -c full_page_writes=off"
    control = [str(programs / "pg_ctl"), "--pgdata", str(folder / "data"), "--silent", "--wait"]
    _run([*control, "--log", str(folder / "log"), "--options", f"{options} {fast}", "start"], folder, as_user)

    def end() -> None:
        _run([*control, "--mode", "immediate", "stop"], folder, as_user)
        shutil.rmtree(folder, ignore_errors=True)

    atexit.register(end)
    return port


class _Other:
    """Another user of this machine: the server refuses to run as root."""

    def __init__(self, name: str) -> None:
        entry = pwd.getpwnam(name)
        self.uid, self.gid = entry.pw_uid, entry.pw_gid


def _run(command: list[str], folder: Path, user: _Other | None) -> None:
    with (folder / "commands.log").open("ab") as log:
        subprocess.run(
            command,
            check=True,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            user=user.uid if user else None,
            group=user.gid if user else None,
            extra_groups=[] if user else None,
        )


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


if __name__ == "__main__":
    sys.exit(main())
