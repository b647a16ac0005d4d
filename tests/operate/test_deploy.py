"""The configurations under deploy/, each checked by its own tool, and what they say of the portal against the portal."""

from __future__ import annotations

import re
import shutil
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml
from compose_spec import PyCompose
from opentelemetry.sdk import environment_variables

from portal.config.tenants_file import load_tenants
from portal.config.variables import DECLARED
from portal.demo.programs import path_of
from tests.support.certificates import self_signed
from tests.support.nginx import MAIN
from tests.support.stack import ROOT

DEPLOY = ROOT / "deploy"
KUBERNETES = DEPLOY / "kubernetes"
OVERLAYS = sorted(folder.name for folder in (KUBERNETES / "overlays").iterdir())
VARIABLES = {variable.name for variable in DECLARED.values()}


def run(*command: str | Path, **environment: str) -> str:
    done = subprocess.run(
        [str(one) for one in command], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def is_variable(name: str) -> bool:
    """Whether the portal reads it: a setting, or a client secret's, each also from a file; or OpenTelemetry's library does."""
    if name.startswith("OTEL_"):
        return name in vars(environment_variables).values()
    return not {name, name.removesuffix("_FILE")}.isdisjoint({*VARIABLES, "RIVERSIDE_CLIENT_SECRET"})


def test_systemd_accepts_the_service(tmp_path: Path) -> None:
    text = (DEPLOY / "systemd/portal.service").read_text(encoding="utf-8")
    here = text.replace("/srv/portal/.venv/bin/gunicorn", "/bin/true")
    assert here != text
    (tmp_path / "portal.service").write_text(here)
    said = run(path_of("systemd-analyze"), "verify", tmp_path / "portal.service", SYSTEMD_LOG_LEVEL="warning")
    assert "portal.service" not in said
    assert "LoadCredential" not in text, (
        "they stay as they were at the start: a reload would reread the old secrets"
    )


def test_the_service_waits_longer_than_a_stop_takes() -> None:
    text = (DEPLOY / "systemd/portal.service").read_text(encoding="utf-8")
    stop = re.search(r"graceful_timeout = (\d+)", (ROOT / "gunicorn.conf.py").read_text(encoding="utf-8"))
    assert stop is not None
    seconds = int(stop[1])
    assert int(re.findall(r"TimeoutStopSec=(\d+)", text)[0]) > seconds
    assert int(compose()["services"]["portal"]["stop_grace_period"].removesuffix("s")) > seconds
    assert pod(KUBERNETES / "base")["terminationGracePeriodSeconds"] > seconds + 5


def test_the_environment_names_settings_that_exist() -> None:
    lines = (DEPLOY / "systemd/portal.env").read_text(encoding="utf-8").splitlines()
    names = [line.partition("=")[0] for line in lines if line and not line.startswith("#")]
    assert names
    assert all(is_variable(name) for name in names)


def test_nginx_accepts_its_configuration(tmp_path: Path) -> None:
    key, certificate = self_signed("portal.riverside.example")
    (tmp_path / "fullchain.pem").write_bytes(certificate)
    (tmp_path / "key.pem").write_bytes(key)
    (tmp_path / "temp").mkdir()
    text = (DEPLOY / "nginx/portal.conf").read_text(encoding="utf-8")
    text = text.replace("/etc/portal/tls", str(tmp_path)).replace("/var/log/nginx", str(tmp_path))
    (tmp_path / "portal.conf").write_text(text)
    (tmp_path / "nginx.conf").write_text(MAIN.format(folder=tmp_path, user=""))
    run(path_of("nginx"), "-t", "-c", tmp_path / "nginx.conf", "-p", tmp_path, "-e", "stderr")


def test_caddy_accepts_its_configuration() -> None:
    file = DEPLOY / "caddy/Caddyfile"
    said = run(
        path_of("caddy"),
        *("validate", "--adapter", "caddyfile", "--config", file),
        PORTAL_HOSTS="portal.riverside.example, portal.lakeside.example",
        PORTAL_UPSTREAMS="10.0.0.11:8000 10.0.0.12:8000",
        HOME="/nonexistent",
    )
    assert "Valid configuration" in said
    assert "not formatted" not in said


def compose() -> dict[str, Any]:
    text = (DEPLOY / "compose/compose.yaml").read_text(encoding="utf-8")
    given = re.sub(r"\$\{(\w+):\?[^}]*\}", "registry.example/image@sha256:" + "0" * 64, text)
    PyCompose.from_yaml(given)
    return yaml.safe_load(given)


def test_compose_follows_its_specification_and_knows_the_portal() -> None:
    document = compose()
    portal = document["services"]["portal"]
    assert all(is_variable(name) for name in portal["environment"])
    files = {value for name, value in portal["environment"].items() if name.endswith("_FILE")}
    assert files == {f"/run/secrets/{name}" for name in portal["secrets"]}
    assert set(document["secrets"]) == {
        name for service in document["services"].values() for name in service.get("secrets", ())
    }
    assert portal["read_only"]
    assert portal["cap_drop"] == ["ALL"]
    for image in ("PORTAL_IMAGE", "REDIS_IMAGE", "CADDY_IMAGE"):
        assert f"${{{image}:?" in (DEPLOY / "compose/compose.yaml").read_text(encoding="utf-8")


def rendered(folder: Path) -> list[dict[str, Any]]:
    """The manifests that kubectl makes of a folder."""
    command = [path_of("kubectl"), "kustomize", str(folder)]
    made = subprocess.run(command, capture_output=True, text=True, check=False)
    assert made.returncode == 0, made.stderr
    return [*yaml.safe_load_all(made.stdout)]


def pod(folder: Path) -> dict[str, Any]:
    (deployment,) = [one for one in rendered(folder) if one["kind"] == "Deployment"]
    return deployment["spec"]["template"]["spec"]


@pytest.mark.parametrize("folder", [KUBERNETES / "base", *(KUBERNETES / "overlays" / o for o in OVERLAYS)])
def test_kustomize_makes_a_portal_that_may_write_nothing(folder: Path) -> None:
    documents = rendered(folder)
    spec = pod(folder)
    (container,) = spec["containers"]
    assert spec["securityContext"]["runAsNonRoot"]
    assert container["securityContext"]["readOnlyRootFilesystem"]
    assert container["livenessProbe"]["httpGet"]["path"] == "/healthz"
    assert container["readinessProbe"]["httpGet"]["path"] == "/readyz"
    (settings,) = [
        one
        for one in documents
        if one["kind"] == "ConfigMap" and one["metadata"]["name"].startswith("portal-settings-")
    ]
    assert container["envFrom"] == [{"configMapRef": {"name": settings["metadata"]["name"]}}]
    variables = settings["data"] | {one["name"]: one["value"] for one in container.get("env", ())}
    assert all(is_variable(name) for name in variables)
    ports = {one["containerPort"]: one["name"] for one in container["ports"]}
    checked = ports[int(variables.get("PORTAL_HEALTH_BIND", ":8000").rpartition(":")[2])]
    asked = [container[f"{probe}Probe"]["httpGet"] for probe in ("startup", "readiness", "liveness")]
    asked += [at for one in documents for at in one.get("spec", {}).get("podMetricsEndpoints", ())]
    assert {one["port"] for one in asked} == {checked}
    mounts = {one["mountPath"]: one["name"] for one in container["volumeMounts"]}
    volumes = {one["name"] for one in spec["volumes"]}
    assert set(mounts.values()) <= volumes
    for value in (value for name, value in variables.items() if name.endswith(("_FILE", "_TENANTS"))):
        assert any(value == path or value.startswith(f"{path}/") for path in mounts), value


def test_the_base_holds_a_lawful_clinic(tmp_path: Path) -> None:
    file = KUBERNETES / "base/riverside.toml"
    assert tomllib.loads(file.read_text(encoding="utf-8"))["tenants"]["riverside"]
    shutil.copy(file, tmp_path)
    assert load_tenants(tmp_path, {"RIVERSIDE_CLIENT_SECRET": "s" * 32})


def test_each_configuration_is_listed() -> None:
    listed = (DEPLOY / "README.md").read_text(encoding="utf-8")
    assert all(f"]({folder.name})" in listed for folder in DEPLOY.iterdir() if folder.is_dir())
    overlays = (KUBERNETES / "README.md").read_text(encoding="utf-8")
    assert all(f"(overlays/{name})" in overlays for name in OVERLAYS)
