"""A request costs no more with a thousand clinics than with two."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

import pytest

from portal.app import create_app
from portal.config.settings import Settings, SettingsError

ENVIRONMENT = {
    "PORTAL_SECRET_KEYS": "a-key-for-tests-a-key-for-tests-a-key-for-tests",
    "CLINIC_SECRET": "a-client-secret-for-tests",
}


def clinics(folder: Path, count: int) -> Path:
    """A folder of tenants files, each with a clinic of its own; two portals share no more than the servers."""
    folder.mkdir()
    for number in range(count):
        (folder / f"{number:04}.toml").write_text(
            f"""
            [tenants.clinic{number}]
            base_url = "http://127.0.0.1:1"
            auth_url = "http://127.0.0.1:1"
            hosts = ["clinic{number}.example"]
            name = "Clinic {number}"
            client_id = "clinic{number}"
            client_secret_env = "CLINIC_SECRET"
            time_zone = "Europe/London"
            """
        )
    return folder


def settings(tmp_path: Path, count: int) -> Settings:
    tenants = clinics(tmp_path / f"clinics-{count}", count)
    store = f"sqlite:///{tmp_path}/store-{count}.db"
    return Settings.from_env({**ENVIRONMENT, "PORTAL_TENANTS": str(tenants), "PORTAL_STORE_URL": store})


def calls_for(app: Any, path: str) -> int:
    """How many Python functions one request calls, after one that fills what is kept."""
    client = app.test_client()
    counted = 0

    def count(frame: object, event: str, argument: object) -> None:
        nonlocal counted
        counted += event == "call"

    for _ in range(2):
        counted = 0
        sys.setprofile(count)
        try:
            answer = client.get(path, headers={"Host": "clinic1.example"})
            answer.close()
        finally:
            sys.setprofile(None)
        assert answer.status_code in (200, 503), answer.status
    return counted


@pytest.mark.parametrize("path", ["/signed-out", "/portal.webmanifest", "/healthz", "/readyz"])
def test_a_request_costs_the_same_with_a_thousand_clinics(tmp_path: Path, path: str) -> None:
    apps = [create_app(settings(tmp_path, count), clock=lambda: 1_000_000.0) for count in (2, 1000)]
    few, many = (calls_for(app, path) for app in apps)
    assert many == pytest.approx(few, rel=0.02)


def test_a_thousand_clinics_are_read_within_the_start_budget(tmp_path: Path) -> None:
    clinics(tmp_path / "there", 1000)
    began = time.process_time()
    read = Settings.from_env(
        {
            **ENVIRONMENT,
            "PORTAL_TENANTS": str(tmp_path / "there"),
            "PORTAL_STORE_URL": f"sqlite:///{tmp_path}/store.db",
        }
    )
    assert time.process_time() - began < 1.5, "seconds of CPU; the budget for a start is three"
    assert len(read.tenants.by_key) == 1000
    found = read.tenants.at("CLINIC999.example")
    assert found is not None and found.key == "clinic999"


def test_one_invalid_file_among_a_thousand_is_named(tmp_path: Path) -> None:
    folder = clinics(tmp_path / "clinics", 1000)
    (folder / "0500.toml").write_text("[tenants.clinic500\n")
    with pytest.raises(SettingsError) as refused:
        Settings.from_env(
            {
                **ENVIRONMENT,
                "PORTAL_TENANTS": str(folder),
                "PORTAL_STORE_URL": f"sqlite:///{tmp_path}/store.db",
            }
        )
    assert len(refused.value.faults) == 1
    assert "0500.toml: is not TOML" in refused.value.faults[0]
