"""`make demo-scale`: two machines behind nginx, with Redis, and the care service on PostgreSQL.

A machine is a gunicorn of its own with its workers; they share Redis and nothing else. nginx sends each request
to either of them, without stickiness. Everything listens on 127.0.0.1 alone and is gone with Ctrl-C.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path

from redis import Redis, RedisError

from portal.demo import (
    Plan,
    check_ports,
    portal_environment,
    portal_part,
    secrets_of,
    service_command,
    service_part,
    tenants_file,
    welcome,
)
from portal.demo_parts import Part, Parts, answers, free_port, until_ctrl_c
from portal.demo_postgres import database_url, need_programs, new_cluster
from portal.demo_programs import account, folder_of, need

_NGINX = Path(__file__).with_name("demo_nginx.conf")


class Scale:
    """All parts, to be started. `machines` are the two portals, `machine_ports` where each answers by itself.

    The servers have their data in `folder`, which their accounts must be able to pass through. `environment` is
    laid over the portals' own; `service_options` go to the care service's command line.
    """

    def __init__(
        self,
        plan: Plan,
        folder: Path,
        *,
        environment: Mapping[str, str] | None = None,
        service_options: tuple[str, ...] = (),
    ) -> None:
        programs = need_everything()
        self.plan = plan
        self.machine_ports = (free_port(), free_port())
        redis_port, postgres_port = free_port(), free_port()
        self.store_url = f"redis://127.0.0.1:{redis_port}/0"
        self.postgres = new_cluster(folder / "postgres", postgres_port)
        self.redis = _redis(programs["redis-server"], folder / "redis", redis_port)
        self.service = service_part(
            plan, [*service_command(plan, database_url(postgres_port)), *service_options]
        )
        tenants = plan.data / "tenants.toml"
        tenants.write_text(tenants_file(plan), encoding="utf-8")
        self.machines = tuple(
            self._machine(number, port, {**portal_environment(plan, tenants), **(environment or {})})
            for number, port in enumerate(self.machine_ports, start=1)
        )
        self.nginx = _nginx(programs["nginx"], folder / "nginx", plan.portal_port, self.machine_ports)

    def start(self, parts: Parts) -> None:
        """Start all, each after what it needs, and return when nginx answers. Raises DemoError."""
        parts.start(self.postgres, self.redis)
        parts.start(self.service)
        parts.start(*self.machines)
        parts.start(self.nginx)

    def _machine(self, number: int, port: int, environment: Mapping[str, str]) -> Part:
        folder = folder_of(None, self.plan.data / f"machine-{number}")
        own = {
            "PORTAL_BIND": f"127.0.0.1:{port}",
            "PORTAL_PROXY_HOPS": "1",
            "PORTAL_STORE_URL": self.store_url,
            "PORTAL_CACHE_URL": self.store_url.replace("/0", "/1"),
            "PORTAL_AUDIT": str(folder / "audit"),
        }
        return portal_part({**environment, **own}, folder / "portal.log", port)


def run(*, portal_port: int, service_port: int) -> None:
    """Run until Ctrl-C. Raises DemoError with one clear line when it can't start."""
    check_ports(portal_port, service_port)
    need_everything()
    with folder_for_all() as folder:
        own = folder_of(None, folder / "portal")
        plan = Plan(portal_port, service_port, own, secrets_of(own))
        with until_ctrl_c() as parts:
            scale = Scale(plan, folder)
            scale.start(parts)
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
            parts.watch()


def need_everything() -> dict[str, str]:
    """Return the paths of the servers that are not the portal's; raise DemoError with one clear line without them."""
    need_programs()
    return {program: need(program, program) for program in ("nginx", "redis-server")}


@contextmanager
def folder_for_all() -> Generator[Path]:
    """Lend a new folder that the servers' own accounts can pass through, to theirs within it."""
    with tempfile.TemporaryDirectory(prefix="portal-demo-", ignore_cleanup_errors=True) as made:
        folder = Path(made)
        if os.geteuid() == 0:
            folder.chmod(0o711)
        yield folder


def _redis(program: str, folder: Path, port: int) -> Part:
    """Redis as README: configuration asks for it: it evicts nothing, and what it holds outlives a restart."""
    user = account("redis")
    folder = folder_of(user, folder)
    command = [
        *(program, "--port", str(port), "--bind", "127.0.0.1", "--dir", str(folder)),
        *("--maxmemory-policy", "noeviction", "--save", "", "--appendonly", "yes"),
    ]

    def is_ready() -> bool:
        try:
            with Redis(port=port) as client:
                return bool(client.ping())  # pyright: ignore[reportUnknownMemberType]
        except RedisError:
            return False

    return Part("Redis", command, folder / "log", is_ready, user=user)


def _nginx(program: str, folder: Path, port: int, machines: tuple[int, int]) -> Part:
    user = account("www-data")
    folder = folder_of(user, folder)
    words = {"FOLDER": folder, "PORT": port, "ONE": machines[0], "OTHER": machines[1]}
    text = _NGINX.read_text(encoding="utf-8")
    for word, value in words.items():
        text = text.replace(f"@{word}@", str(value))
    file = folder / "nginx.conf"
    file.write_text(text, encoding="utf-8")
    command = [program, "-c", str(file), "-p", str(folder), "-e", "stderr"]
    return Part("nginx", command, folder / "log", answers(f"http://127.0.0.1:{port}/readyz"), user=user)
