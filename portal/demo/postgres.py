"""A temporary PostgreSQL cluster on loopback, for the multi-machine demo and for the tests."""

from __future__ import annotations

import signal
import subprocess
from pathlib import Path

from portal.demo.processes import DemoError, Process
from portal.demo.programs import Requirement, account, find, folder_of, request_to_install


def programs() -> Path | None:
    """Return the folder with the programs of the newest PostgreSQL server on this machine, or None."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/postgres"), key=lambda path: int(path.parts[4]))
    if found:
        return found[-1].parent
    on_path = find("postgres")
    return Path(on_path).parent if on_path else None


POSTGRESQL = Requirement("PostgreSQL", ("postgresql",), lambda: programs() is not None)


def new_cluster(folder: Path, port: int, *options: str) -> Process:
    """Make an empty cluster in `folder` and return its server, not yet started; `options` are its settings.

    The server refuses to run as root; then it runs as postgres, which must have access to the folder. It trusts
    everyone who connects to its port on 127.0.0.1. The URL of its first database is `database_url(port)`.
    """
    binaries, user = programs(), account("postgres")
    if binaries is None:
        raise DemoError(request_to_install([POSTGRESQL]))
    folder = folder_of(user, folder)
    made = subprocess.run(
        [
            str(binaries / "initdb"),
            *("--pgdata", str(folder / "data"), "--username", "postgres", "--auth", "trust"),
            *("--encoding", "UTF8", "--locale", "C.UTF-8", "--no-sync"),
        ],
        check=False,
        cwd=folder,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        user=user,
        group=user,
        extra_groups=[] if user else None,
    )
    if made.returncode != 0:
        raise DemoError(f"No PostgreSQL cluster could be made in {folder}:\n{made.stderr.strip()}")
    settings = ["listen_addresses=127.0.0.1", f"port={port}", "unix_socket_directories=", *options]

    def is_ready() -> bool:
        ask = [str(binaries / "pg_isready"), "-q", "-h", "127.0.0.1", "-p", str(port)]
        return subprocess.run(ask, check=False).returncode == 0

    return Process(
        "PostgreSQL server",
        [str(binaries / "postgres"), "-D", str(folder / "data"), *(f"--{setting}" for setting in settings)],
        folder / "log",
        is_ready,
        user=user,
        ends_by=signal.SIGINT,  # fast shutdown: closes open connections
    )


def database_url(port: int, name: str = "postgres") -> str:
    """Return the SQLAlchemy URL of a database in the cluster."""
    return f"postgresql+psycopg://postgres@127.0.0.1:{port}/{name}"
