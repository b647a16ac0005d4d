"""`make demo`: the care service and the portal, in separate processes, with two clinics and sample people."""

from __future__ import annotations

import base64
import json
import os
import secrets
import socket
import sys
import tempfile
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from uuid import NAMESPACE_URL, uuid5

from portal.demo import reload
from portal.demo.authority import authority_file, certificate_of, certify
from portal.demo.processes import DemoError, Process, answers, until_ctrl_c
from portal.demo.programs import PANGO, install_missing

# The namespace of the sample records' ids, which are the same on every machine.
_SAMPLES = uuid5(NAMESPACE_URL, "urn:clinic-portal:sample")

WEBHOOK_SECRETS = {
    "CARE_SMS_SECRETS": "SMS",
    "CARE_EMAIL_SECRETS": "e-mail",
    "CARE_PAYMENT_SECRETS": "payment",
}
"""The environment variable that holds the secret of each webhook."""

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


@dataclass(frozen=True, slots=True)
class DemoSetup:
    """The demo's ports, data folder and secrets."""

    portal_port: int
    service_port: int
    data: Path
    secrets: dict[str, str]

    @property
    def service(self) -> str:
        return f"http://127.0.0.1:{self.service_port}"

    def hosts(self, tenant: str) -> list[str]:
        extra = [f"localhost:{self.portal_port}"] if tenant == "riverside" else []
        return [f"{tenant}.localhost:{self.portal_port}", *extra]


def run(*, portal_port: int, service_port: int, data: Path | None, reloads: bool = False) -> None:
    """Run until Ctrl-C; with `reloads`, reload on each change of the sources. Raises DemoError if it can't start."""
    check_ports(portal_port, service_port)
    with _folder(data) as folder:
        plan = DemoSetup(portal_port, service_port, folder, secrets_of(folder))
        tenants = folder / "tenants.toml"
        tenants.write_text(tenants_file(plan), encoding="utf-8")
        with until_ctrl_c() as processes:
            # In sequence: a worker that asks for the metadata too early would remember the failure for a second.
            care_service = service_process(plan, service_command(plan))
            processes.start(care_service)
            environment = portal_environment(plan, tenants)
            if reloads:
                environment |= {"PORTAL_WORKERS": "1", "PORTAL_LOG": "text"}
            portal = portal_process(environment, folder / "portal.log", portal_port)
            processes.start(portal)
            where = f"{folder}{'' if data else ' (gone when you stop; --data DIR keeps it)'}"
            notes = [
                f"PDF documents need {program.name}: {', '.join(program.packages)}."
                for program in install_missing(PANGO)
            ]
            print(welcome(plan, f"Data: {where}", *notes), flush=True)
            if reloads:
                reload.watch(portal, care_service)
            processes.watch()


def check_ports(portal_port: int, service_port: int) -> None:
    """Raise DemoError if either port can't be used, or both are one."""
    if portal_port == service_port:
        raise DemoError(f"Both can't have port {portal_port}: choose another with --service-port.")
    for port, option in ((portal_port, "--portal-port"), (service_port, "--service-port")):
        _check_port(port, option)


def _check_port(port: int, option: str) -> None:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if not 0 < port < 65536:
            raise DemoError(f"{option}: {port} isn't a port number (1 to 65535)")
        try:
            probe.bind(("127.0.0.1", port))
        except PermissionError as error:
            raise DemoError(
                f"Port {port} is for root alone: choose one from 1024 on with {option}."
            ) from error
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
    if data.is_dir() and data.stat().st_mode & 0o077:
        raise DemoError(f"{data} is open to others: chmod 700 {data}, or choose another folder with --data.")
    try:
        data.mkdir(parents=True, exist_ok=True, mode=0o700)
        (data / ".writable").touch()
        (data / ".writable").unlink()
    except OSError as error:
        raise DemoError(
            f"{data} can't be written to ({error.strerror}): choose another folder with --data."
        ) from error
    yield data.resolve()


def secrets_of(folder: Path) -> dict[str, str]:
    """Return this demo's secrets, made at its first start and kept with its data."""
    file = folder / "secrets.json"
    kept: dict[str, str] = json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}
    names = (
        *("RIVERSIDE_CLIENT_SECRET", "RIVERSIDE_SERVICE_SECRET"),
        *("HARBOUR_CLIENT_SECRET", "HARBOUR_SERVICE_SECRET"),
        "PORTAL_SECRET_KEYS",
    )
    made = {name: kept.get(name) or secrets.token_urlsafe(36) for name in names}
    for name in WEBHOOK_SECRETS:
        made[name] = kept.get(name) or "whsec_" + base64.b64encode(secrets.token_bytes(32)).decode()
    password = os.environ.get("PORTAL_DEMO_PASSWORD") or kept.get("PORTAL_DEMO_PASSWORD")
    made["PORTAL_DEMO_PASSWORD"] = password or secrets.token_urlsafe(9)
    file.touch(mode=0o600)
    file.write_text(json.dumps(made), encoding="utf-8")
    return made


def tenants_file(plan: DemoSetup) -> str:
    """Return the text of the tenants file of the two sample clinics; make their certificates if missing."""
    clinics = {
        "riverside": ("Riverside Fertility", "#0b6e4f"),
        "harbour": ("Harbour Fertility Centre", "#1f4e8c"),
    }
    certify(plan.data, {key: name for key, (name, _) in clinics.items()})
    # Telephone numbers that Ofcom reserves for drama, and a domain that RFC 2606 reserves.
    numbers = {"riverside": ("020 7946 0120", "020 7946 0199"), "harbour": ("01632 960120", "01632 960199")}
    tables = [f'[care]\nbase_url = "{plan.service}"\nauth_url = "{plan.service}"\nidempotency = true\n']
    tables += [
        _tenant(plan, key, *look) + _contact(key, *numbers[key]) + _PROTOCOL_CHOICES.get(key, "")
        for key, look in clinics.items()
    ]
    return "\n".join(tables)


_PROTOCOL_CHOICES = {
    "riverside": """
[tenants.riverside.protocol_choices]
drugs = ["Follitropin delta"]
units = ["ampoule"]

[[tenants.riverside.medicines]]
drug = "rFSH (follitropin alfa)"
brand = "Follisample"
strength = "300 IU pen"
guide = "https://riverside.example/pen"
how.en = "Take the pen out of the fridge half an hour before. Pinch a fold of skin on your belly, two fingers from the navel."
how.es = "Saca la pluma de la nevera media hora antes. Haz un pliegue en la piel del vientre, a dos dedos del ombligo."
missed.en = "Up to 6 hours late: inject it now, and the next one at the usual hour. Later than that: call us first."
missed.es = "Hasta 6 horas tarde: pínchate ahora, y la siguiente a la hora de siempre. Si es más tarde, llámanos antes."

[[tenants.riverside.medicines]]
drug = "Cetrorelix"
missed.en = "Up to 3 hours late: inject it now and tell us in the morning. Later than that: call us at once, at night too."

[[tenants.riverside.medicines]]
drug = "Choriogonadotropin alfa"
how.en = "One pen, the whole content, at exactly this time. Set two alarms."
missed.en = "Call us at once, whatever the hour: we plan the egg collection anew with you."

[[tenants.riverside.places]]
location = "Quayside"
address = "Riverside House\\n1 Quayside"
map = "https://maps.example/riverside"

[[tenants.riverside.visits]]
kind = "Monitoring scan"
arrive_minutes = 10
prepare.en = "Come with an empty bladder, and bring your plan."
prepare.es = "Ven con la vejiga vacía y trae tu plan."

[[tenants.riverside.visits]]
kind = "Initial consultation"
prepare.en = "Bring photo identification, your medicines, and results that you have from elsewhere."
prepare.es = "Trae un documento con foto, tus medicamentos y los resultados que tengas de otros centros."

[[tenants.riverside.visits]]
kind = "Egg collection"
arrive_minutes = 30
prepare.en = "Nothing to eat or drink for 6 hours before. Somebody has to take you home."
prepare.es = "Nada de comer ni beber desde 6 horas antes. Alguien tiene que acompañarte a casa."
"""
}


def _tenant(plan: DemoSetup, key: str, name: str, accent: str) -> str:
    certificate, key_file = certificate_of(plan.data, key)
    return f"""
[tenants.{key}]
hosts = {json.dumps(plan.hosts(key))}
name = "{name}"
client_id = "{key}-portal"
client_secret_env = "{key.upper()}_CLIENT_SECRET"
authorize_params = {{ acr_values = "tenant:{key}" }}
tenant_claim = "tenantid"
tenant_id = "{uuid5(_SAMPLES, f"tenant:{key}")}"
time_zone = "Europe/London"
country = "GB"
languages = ["en", "es", "ar"]
accent = "{accent}"
logo = "{key}.svg"
storage_payment = "https://pay.example/{key}"
passkey_signatures = "offered"

[tenants.{key}.roles]
claim = "role"
patient = ["patient"]
staff = ["nurse", "physician", "embryologist", "coordinator", "admin"]

[tenants.{key}.service_client]
client_id = "{key}-service"
client_secret_env = "{key.upper()}_SERVICE_SECRET"

[tenants.{key}.document_seal]
certificate = {json.dumps(str(certificate))}
key_file = {json.dumps(str(key_file))}
"""


def _contact(key: str, telephone: str, out_of_hours: str) -> str:
    years = range(date.today().year, date.today().year + 2)
    closed = ", ".join(f'"{year}-{day}"' for year in years for day in ("01-01", "12-25", "12-26"))
    return f"""
[tenants.{key}.contact]
telephone = "{telephone}"
out_of_hours = "{out_of_hours}"
emergency = "999"
hours = {{ "Mon-Fri" = "08:00-18:00", "Sat-Sun" = "08:00-13:00" }}
closed = [{closed}]
reply_hours = 24
email = "care@{key}.example"
address = "{key.capitalize()} House\\n1 Quayside"
map = "https://maps.example/{key}"
"""


def service_command(plan: DemoSetup, database: str | None = None) -> list[str]:
    """Return the command that runs the care service, on an SQLite file in the data folder unless `database` is given."""
    command = [
        *(sys.executable, "-m", "portal.careservice"),
        *("--database", database or f"sqlite:///{plan.data / 'care.db'}"),
        *("--host", "127.0.0.1", "--port", str(plan.service_port), "--issuer", plan.service),
        *("--sample", "small", "--demo"),
        *("--worker-class", "portal.demo.worker.LargeBodyWorker"),
    ]
    for tenant in PEOPLE:
        for host in plan.hosts(tenant):
            command += ["--portal-origin", f"{tenant}=http://{host}"]
    return command


def service_process(plan: DemoSetup, command: list[str]) -> Process:
    """Return the care service, not yet started."""
    return Process(
        "care service",
        command,
        plan.data / "care-service.log",
        answers(f"{plan.service}/healthz"),
        plan.secrets,
    )


def portal_process(environment: Mapping[str, str], log: Path, port: int) -> Process:
    """Return a portal under gunicorn, not yet started."""
    command = [sys.executable, "-m", "gunicorn", "wsgi:app"]
    return Process("portal", command, log, answers(f"http://127.0.0.1:{port}/readyz"), environment)


def portal_environment(plan: DemoSetup, tenants: Path) -> dict[str, str]:
    """Return the portal's settings as environment variables (docs/configuration.md)."""
    return {
        **plan.secrets,
        "PORTAL_BIND": f"127.0.0.1:{plan.portal_port}",
        "PORTAL_TENANTS": str(tenants),
        "PORTAL_STORE_URL": f"sqlite:///{plan.data / 'store.db'}",
        "PORTAL_AUDIT": str(plan.data / "audit"),
        "PORTAL_DEMO": "1",
    }


def welcome(plan: DemoSetup, *more: str) -> str:
    """Return the text shown once it runs: addresses, people, their password, and `more` lines."""
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
        *(
            f"  The secret of its {kind} webhook is {plan.secrets[name]}"
            for name, kind in WEBHOOK_SECRETS.items()
        ),
        f"  Copies of consent forms are sealed. To verify one, trust {authority_file(plan.data)}",
        *(f"  {line}" for line in more),
        "  Stop with Ctrl-C.",
        "",
    ]
    return "\n".join(lines)
