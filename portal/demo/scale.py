"""`make demo-scale`: two machines behind nginx, with Redis, and the care service on PostgreSQL.

Each "machine" is a separate gunicorn with its workers; they share nothing but Redis. nginx sends each request to either
of them, without sticky sessions. Everything listens on 127.0.0.1 only and is gone after Ctrl-C.
"""

from __future__ import annotations

import os
import shutil
import socket
import tempfile
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path

from portal.demo.postgres import POSTGRESQL, database_url, new_cluster
from portal.demo.processes import DemoError, Process, Processes, answers, free_port, until_ctrl_c
from portal.demo.programs import account, folder_of, install_missing, path_of, program, request_to_install
from portal.demo.stack import (
    DemoSetup,
    check_ports,
    portal_environment,
    portal_process,
    secrets_of,
    service_command,
    service_process,
    tenants_file,
    welcome,
)

SERVERS = (POSTGRESQL, program("nginx"), program("redis-server"))
_NGINX = Path(__file__).with_name("nginx.conf")
_PAGES = Path(__file__).parents[2] / "deploy" / "nginx"


class Scale:
    """All processes, not yet started. `machines` are the two portals, `machine_ports` the port of each one.

    The servers keep their data in `folder`, which their accounts must be able to traverse. `environment` overrides the
    portals' own; `service_options` are added to the care service's command line.
    """

    def __init__(
        self,
        plan: DemoSetup,
        folder: Path,
        *,
        environment: Mapping[str, str] | None = None,
        service_options: tuple[str, ...] = (),
    ) -> None:
        require_servers()
        self.plan = plan
        self.machine_ports = (free_port(), free_port())
        redis_port, postgres_port = free_port(), free_port()
        self.store_url = f"redis://127.0.0.1:{redis_port}/0"
        self.postgres = new_cluster(folder / "postgres", postgres_port)
        self.redis = _redis(folder / "redis", redis_port)
        self.service = service_process(
            plan, [*service_command(plan, database_url(postgres_port)), *service_options]
        )
        tenants = plan.data / "tenants.toml"
        tenants.write_text(tenants_file(plan), encoding="utf-8")
        self.machines = tuple(
            self._machine(number, port, {**portal_environment(plan, tenants), **(environment or {})})
            for number, port in enumerate(self.machine_ports, start=1)
        )
        self.nginx = _nginx(folder / "nginx", plan.portal_port, self.machine_ports)

    def start(self, processes: Processes) -> None:
        """Start all in order of dependency and return when nginx answers. Raises DemoError."""
        processes.start(self.postgres, self.redis)
        processes.start(self.service)
        processes.start(*self.machines)
        processes.start(self.nginx)

    def _machine(self, number: int, port: int, environment: Mapping[str, str]) -> Process:
        folder = folder_of(None, self.plan.data / f"machine-{number}")
        own = {
            "PORTAL_BIND": f"127.0.0.1:{port}",
            "PORTAL_PROXY_HOPS": "1",
            "PORTAL_STORE_URL": self.store_url,
            "PORTAL_CACHE_URL": self.store_url.replace("/0", "/1"),
            "PORTAL_AUDIT": str(folder / "audit"),
        }
        return portal_process({**environment, **own}, folder / "portal.log", port)


def run(*, portal_port: int, service_port: int) -> None:
    """Run until Ctrl-C. Raises DemoError if it can't start."""
    check_ports(portal_port, service_port)
    require_servers()
    with folder_for_all() as folder:
        own = folder_of(None, folder / "portal")
        plan = DemoSetup(portal_port, service_port, own, secrets_of(own))
        with until_ctrl_c() as processes:
            scale = Scale(plan, folder)
            scale.start(processes)
            one, other = scale.machine_ports
            print(
                welcome(
                    plan,
                    f"Two machines, at 127.0.0.1:{one} and 127.0.0.1:{other}, answer in turn behind nginx (header",
                    f"X-Machine). They share {scale.store_url}; the care service is on PostgreSQL.",
                    f"Data and logs: {folder} (gone when you stop)",
                ),
                flush=True,
            )
            processes.watch()


def require_servers() -> None:
    """Install the servers if possible. Raises DemoError with one line that names what is still missing."""
    if missing := install_missing(*SERVERS):
        raise DemoError(request_to_install(missing))


@contextmanager
def folder_for_all() -> Generator[Path]:
    """Yield a new temporary folder that the servers' accounts can traverse to reach theirs inside it."""
    with tempfile.TemporaryDirectory(prefix="portal-demo-", ignore_cleanup_errors=True) as made:
        folder = Path(made)
        if os.geteuid() == 0:
            folder.chmod(0o711)
        yield folder


def _redis(folder: Path, port: int) -> Process:
    """Redis as docs/configuration.md requires it: no eviction, and its data survive a restart."""
    user = account("redis")
    folder = folder_of(user, folder)
    command = [
        *(path_of("redis-server"), "--port", str(port), "--bind", "127.0.0.1", "--dir", str(folder)),
        *("--maxmemory-policy", "noeviction", "--save", "", "--appendonly", "yes"),
    ]

    def is_ready() -> bool:
        try:
            with socket.create_connection(("127.0.0.1", port), timeout=1) as connection:
                connection.sendall(b"PING\r\n")
                return connection.recv(7) == b"+PONG\r\n"
        except OSError:
            return False

    return Process("Redis", command, folder / "log", is_ready, user=user)


def _nginx(folder: Path, port: int, machines: tuple[int, int]) -> Process:
    user = account("www-data")
    folder = folder_of(user, folder)
    shutil.copytree(_PAGES, folder / "nginx", dirs_exist_ok=True)  # to where its account can read them
    words = {"FOLDER": folder, "PORT": port, "ONE": machines[0], "OTHER": machines[1]}
    text = _NGINX.read_text(encoding="utf-8")
    for word, value in words.items():
        text = text.replace(f"@{word}@", str(value))
    file = folder / "nginx.conf"
    file.write_text(text, encoding="utf-8")
    command = [path_of("nginx"), "-c", str(file), "-p", str(folder), "-e", "stderr"]
    return Process("nginx", command, folder / "log", answers(f"http://127.0.0.1:{port}/readyz"), user=user)
