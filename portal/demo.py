"""`make demo`: the care service and the portal, each in its own process, with two clinics and sample people."""

from __future__ import annotations

import base64
import json
import os
import secrets
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from uuid import NAMESPACE_URL, uuid5

ROOT = Path(__file__).parents[1]
_READY_SECONDS = 60
# The care service's sample records have the same ids on every machine, made from this namespace.
_SAMPLES = uuid5(NAMESPACE_URL, "urn:clinic-portal:sample")

PEOPLE = {
    "riverside": [
        ("amelia", "patient, in the middle of stimulation"),
        ("daniel", "patient, Amelia's partner"),
        ("grace", "patient with frozen embryos and a PGT report"),
        ("nora", "nurse"),
        ("victor", "physician"),
        ("elif", "embryologist"),
        ("colin", "coordinator"),
        ("ada", "administrator"),
    ],
    "harbour": [("maya", "patient"), ("omar", "nurse")],
}


class DemoError(Exception):
    """The demo cannot start; `args[0]` is one line that says what to do."""


@dataclass(frozen=True, slots=True)
class Plan:
    """Where everything is."""

    portal_port: int
    service_port: int
    data: Path
    secrets: dict[str, str]

    @property
    def service(self) -> str:
        return f"http://127.0.0.1:{self.service_port}"

    def tenant_at(self, host: str) -> str:
        return next(tenant for tenant in PEOPLE if host in self.hosts(tenant))

    def hosts(self, tenant: str) -> list[str]:
        extra = [f"localhost:{self.portal_port}"] if tenant == "riverside" else []
        return [f"{tenant}.localhost:{self.portal_port}", *extra]


def run(*, portal_port: int, service_port: int, data: Path | None) -> None:
    """Run until Ctrl-C. Raises DemoError with one clear line when it can't start."""
    for port, option in ((portal_port, "--portal-port"), (service_port, "--service-port")):
        _check_port(port, option)
    with _folder(data) as folder:
        plan = Plan(portal_port, service_port, folder, _secrets(folder))
        tenants = folder / "tenants.toml"
        tenants.write_text(tenants_file(plan), encoding="utf-8")
        processes: list[subprocess.Popen[bytes]] = []
        # A shell that starts this in the background lets it ignore Ctrl-C's signal; it must stop all the same.
        signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        try:
            processes.append(_start(service_command(plan), plan.secrets, folder / "care-service.log"))
            processes.append(
                _start(_portal_command(), portal_environment(plan, tenants), folder / "portal.log")
            )
            _wait(f"{plan.service}/healthz", processes[0], folder / "care-service.log")
            _wait(f"http://127.0.0.1:{portal_port}/readyz", processes[1], folder / "portal.log")
            print(_welcome(plan, kept=data is not None), flush=True)
            _watch(processes)
        except KeyboardInterrupt:
            print("\nStopping.", flush=True)
        finally:
            _stop(processes)


def _check_port(port: int, option: str) -> None:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OverflowError as error:
            raise DemoError(f"{option}: {port} is no port number (1 to 65535)") from error
        except OSError as error:
            raise DemoError(
                f"Port {port} is taken: stop what uses it, or choose another with {option}."
            ) from error


@contextmanager
def _folder(data: Path | None) -> Generator[Path]:
    if data is None:
        with tempfile.TemporaryDirectory(prefix="portal-demo-", ignore_cleanup_errors=True) as made:
            yield Path(made)
        return
    try:
        data.mkdir(parents=True, exist_ok=True, mode=0o700)
        (data / ".writable").touch()
        (data / ".writable").unlink()
    except OSError as error:
        raise DemoError(
            f"{data} can't be written to ({error.strerror}): choose another folder with --data."
        ) from error
    yield data.resolve()


def _secrets(folder: Path) -> dict[str, str]:
    """Secrets of this demo: made at its first start and kept with its data."""
    file = folder / "secrets.json"
    kept: dict[str, str] = json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}
    names = (
        *("RIVERSIDE_CLIENT_SECRET", "RIVERSIDE_SERVICE_SECRET"),
        *("HARBOUR_CLIENT_SECRET", "HARBOUR_SERVICE_SECRET"),
        "PORTAL_SECRET_KEYS",
    )
    made = {name: kept.get(name) or secrets.token_urlsafe(36) for name in names}
    webhook_secret = "whsec_" + base64.b64encode(secrets.token_bytes(32)).decode()
    made["CARE_WEBHOOK_SECRETS"] = kept.get("CARE_WEBHOOK_SECRETS") or webhook_secret
    password = os.environ.get("PORTAL_DEMO_PASSWORD") or kept.get("PORTAL_DEMO_PASSWORD")
    made["PORTAL_DEMO_PASSWORD"] = password or secrets.token_urlsafe(9)
    file.touch(mode=0o600)
    file.write_text(json.dumps(made), encoding="utf-8")
    return made


def tenants_file(plan: Plan) -> str:
    """Return the tenants file of the two sample clinics."""
    clinics = {
        "riverside": ("Riverside Fertility", "Europe/London", "#0b6e4f"),
        "harbour": ("Harbour Fertility Centre", "Europe/Madrid", "#1f4e8c"),
    }
    parts = [f'[care]\nbase_url = "{plan.service}"\nauth_url = "{plan.service}"\nidempotency = true\n']
    parts += [_tenant(plan, key, *look) for key, look in clinics.items()]
    return "\n".join(parts)


def _tenant(plan: Plan, key: str, name: str, zone: str, accent: str) -> str:
    return f"""
[tenants.{key}]
hosts = {json.dumps(plan.hosts(key))}
name = "{name}"
client_id = "{key}-portal"
client_secret_env = "{key.upper()}_CLIENT_SECRET"
authorize_params = {{ acr_values = "tenant:{key}" }}
tenant_claim = "tenantid"
tenant_id = "{uuid5(_SAMPLES, f"tenant:{key}")}"
time_zone = "{zone}"
languages = ["en", "es", "ar"]
accent = "{accent}"
logo = "{key}.svg"

[tenants.{key}.roles]
claim = "role"
patient = ["patient"]
staff = ["nurse", "physician", "embryologist", "coordinator", "admin"]

[tenants.{key}.service_client]
client_id = "{key}-service"
client_secret_env = "{key.upper()}_SERVICE_SECRET"
"""


def service_command(plan: Plan) -> list[str]:
    """Return the command that runs the care service."""
    command = [
        *(sys.executable, "-m", "portal.careservice"),
        *("--database", f"sqlite:///{plan.data / 'care.db'}"),
        *("--host", "127.0.0.1", "--port", str(plan.service_port), "--issuer", plan.service),
        *("--sample", "small", "--demo"),
    ]
    for tenant in PEOPLE:
        for host in plan.hosts(tenant):
            command += ["--portal-origin", f"{tenant}=http://{host}"]
    return command


def _portal_command() -> list[str]:
    return [sys.executable, "-m", "gunicorn", "wsgi:app"]


def portal_environment(plan: Plan, tenants: Path) -> dict[str, str]:
    """Return the portal's part of the environment (README: configuration)."""
    return {
        **plan.secrets,
        "PORTAL_BIND": f"127.0.0.1:{plan.portal_port}",
        "PORTAL_TENANTS": str(tenants),
        "PORTAL_STORE_URL": f"sqlite:///{plan.data / 'store.db'}",
        "PORTAL_AUDIT": str(plan.data / "audit"),
        "PORTAL_DEMO": "1",
    }


def _start(command: list[str], environment: dict[str, str], log: Path) -> subprocess.Popen[bytes]:
    """Start a process in a session of its own, so that Ctrl-C reaches it through us and none is left behind."""
    with log.open("ab") as output:
        return subprocess.Popen(
            command,
            cwd=ROOT,
            env={**os.environ, **environment},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )


def _wait(address: str, process: subprocess.Popen[bytes], log: Path) -> None:
    until = time.monotonic() + _READY_SECONDS
    while time.monotonic() < until:
        if process.poll() is not None:
            raise DemoError(f"It stopped at once; its last words:\n{_tail(log)}")
        try:
            with urllib.request.urlopen(address, timeout=1) as answer:  # noqa: S310 (our own address)
                if answer.status == 200:
                    return
        except (urllib.error.URLError, OSError):
            time.sleep(0.05)
    raise DemoError(f"{address} didn't answer within {_READY_SECONDS} s; its last words:\n{_tail(log)}")


def _watch(processes: list[subprocess.Popen[bytes]]) -> None:
    while all(process.poll() is None for process in processes):
        time.sleep(0.5)
    raise DemoError(
        "A part of the demo stopped by itself; its log is in the data folder (--data DIR keeps it)."
    )


def _stop(processes: list[subprocess.Popen[bytes]]) -> None:
    for process in reversed(processes):
        _signal(process, signal.SIGTERM)
    for process in reversed(processes):
        try:
            process.wait(timeout=8)
        except subprocess.TimeoutExpired:
            _signal(process, signal.SIGKILL)
            process.wait()
        _signal(process, signal.SIGKILL)


def _signal(process: subprocess.Popen[bytes], number: signal.Signals) -> None:
    """Send the signal to the process and all its children: each was started in a group of its own."""
    try:
        os.killpg(process.pid, number)
    except (ProcessLookupError, PermissionError):
        return


def _tail(log: Path) -> str:
    return "\n".join(log.read_text(encoding="utf-8", errors="replace").splitlines()[-15:])


def _welcome(plan: Plan, *, kept: bool) -> str:
    port = plan.portal_port
    lines = ["", "The portal runs:"]
    for tenant, people in PEOPLE.items():
        lines += ["", f"  http://{tenant}.localhost:{port}"]
        lines += [f"    {name:<8} {what}" for name, what in people]
    lines += [
        "",
        f"  Password for everyone: {plan.secrets['PORTAL_DEMO_PASSWORD']}",
        "",
        f"  http://localhost:{port} is Riverside too. The care service is at {plan.service}.",
        f"  Data: {plan.data}{'' if kept else ' (gone when you stop; --data DIR keeps it)'}",
        f"  Its webhooks take what is signed with {plan.secrets['CARE_WEBHOOK_SECRETS']}",
        "  Stop with Ctrl-C.",
        "",
    ]
    return "\n".join(lines)
