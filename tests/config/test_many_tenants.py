"""A request costs no more with a thousand clinics than with two."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

import pytest

from portal import __main__
from portal.app import create_app
from portal.config.settings import Settings, SettingsError
from portal.operate import check

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
            tenant_claim = "clinic"
            tenant_id = "clinic{number}"
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
    assert time.process_time() - began < 3, "seconds of CPU: the budget for a start"
    assert len(read.tenants.by_key) == 1000
    found = read.tenants.at("CLINIC999.example")
    assert found is not None and found.key == "clinic999"


def read(folder: Path, **more: str) -> Settings:
    store = f"sqlite:///{folder.parent}/store.db"
    return Settings.from_env(
        {**ENVIRONMENT, "PORTAL_TENANTS": str(folder), "PORTAL_STORE_URL": store, **more}
    )


def test_one_invalid_file_among_a_thousand_is_left_out_and_named(tmp_path: Path) -> None:
    folder = clinics(tmp_path / "clinics", 1000)
    (folder / "0500.toml").write_text("[tenants.clinic500\n")
    tenants = read(folder).tenants
    assert len(tenants.by_key) == 999
    assert tenants.at("clinic500.example") is None
    ((file, (fault,)),) = tenants.left_out.items()
    assert file == "0500.toml"
    assert "0500.toml: is not TOML" in fault


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("CLINIC2_SECRET", "CLINIC9_SECRET"), "set CLINIC9_SECRET"),
        (("[tenants.clinic2]", "[tenants.clinic1]"), "tenants.clinic1: is defined twice"),
        (("clinic2.example", "clinic1.example"), "'clinic1.example' already belongs to clinic1"),
        (("[tenants.", "[clinics."), "clinics: isn't a setting of the tenants file"),
    ],
)
def test_a_clinic_with_a_fault_is_left_out_whole(tmp_path: Path, change: tuple[str, str], said: str) -> None:
    folder = clinics(tmp_path / "clinics", 4)
    file = folder / "0002.toml"
    text = file.read_text().replace("CLINIC_SECRET", "CLINIC2_SECRET")
    file.write_text(text)
    assert set(read(folder, CLINIC2_SECRET="s").tenants.by_key) == {f"clinic{n}" for n in range(4)}
    assert change[0] in text
    file.write_text(text.replace(*change))
    tenants = read(folder, CLINIC2_SECRET="s").tenants
    assert set(tenants.by_key) == {"clinic0", "clinic1", "clinic3"}
    assert tenants.by_key["clinic1"].hosts == ("clinic1.example",), "whose it was first"
    assert {tenant.key for tenant in tenants.by_host.values()} == set(tenants.by_key)
    assert any(said in fault for fault in tenants.left_out["0002.toml"])
    assert tenants.is_closed("Clinic2.example") == (change[0] != "clinic2.example")
    assert not tenants.is_closed("clinic1.example"), "it is another's"


@pytest.mark.parametrize(("comment", "is_its"), [("", True), ("# ", False)])
def test_no_clinic_gets_the_host_of_one_whose_file_has_a_fault(
    tmp_path: Path, comment: str, is_its: bool
) -> None:
    folder = clinics(tmp_path / "clinics", 3)
    (folder / "0001.toml").write_text(f'[tenants.clinic1\n  {comment}hosts = ["Clinic2.example"]\n')
    tenants = read(folder).tenants
    assert (tenants.at("clinic2.example") is None, tenants.is_closed("clinic2.example")) == (is_its, is_its)
    assert ("whose file can't be used" in str(tenants.left_out.get("0002.toml"))) is is_its


def test_a_clinic_that_would_take_anothers_people_is_left_out(tmp_path: Path) -> None:
    folder = clinics(tmp_path / "clinics", 3)
    claims = 'tenant_claim = "clinic"\n            tenant_id = "clinic0"\n'
    file = folder / "0000.toml"
    file.write_text(file.read_text().replace(claims, ""))
    tenants = read(folder).tenants
    assert set(tenants.by_key) == {"clinic1", "clinic2"}
    assert "tenants.clinic0.tenant_claim: is missing" in tenants.left_out["0000.toml"][0]
    assert tenants.is_closed("clinic0.example")
    file.write_text(
        file.read_text().replace('auth_url = "http://127.0.0.1:1"', 'auth_url = "http://127.0.0.1:2"')
    )
    assert len(read(folder).tenants.by_key) == 3, "at a server of its own it needs none"


@pytest.mark.parametrize(
    ("roles", "is_told_apart"),
    [
        ('claim = ["resource_access", "clinic0", "roles"]', True),
        ('map = { "nurses of 0" = "nurse", "patients of 0" = "patient" }', True),
        ('map = { "nurses of 0" = "nurse", "patient" = "patient" }', False),
        ('staff = ["nurse"]', False),
    ],
)
def test_a_clinic_with_roles_of_its_own_takes_nobody_elses_people(
    tmp_path: Path, roles: str, is_told_apart: bool
) -> None:
    folder = clinics(tmp_path / "clinics", 2)
    file = folder / "0000.toml"
    claims = 'tenant_claim = "clinic"\n            tenant_id = "clinic0"\n'
    file.write_text(file.read_text().replace(claims, "") + f"\n[tenants.clinic0.roles]\n{roles}\n")
    assert ("clinic0" in read(folder).tenants.by_key) is is_told_apart


def test_a_portal_without_a_usable_clinic_does_not_start(tmp_path: Path) -> None:
    folder = clinics(tmp_path / "clinics", 2)
    for file in folder.glob("*.toml"):
        file.write_text("[tenants.a")
    with pytest.raises(SettingsError) as refused:
        read(folder)
    assert len(refused.value.faults) == 2


def test_a_clinic_whose_dialect_cannot_be_used_is_left_out(tmp_path: Path) -> None:
    folder = clinics(tmp_path / "clinics", 3)
    file = folder / "0001.toml"
    file.write_text(file.read_text() + 'dialect = "odd.dialect.toml"\n')
    (folder / "odd.dialect.toml").write_text("nonsense = 1\n")
    app = create_app(read(folder))
    tenants = app.extensions["portal"].settings.tenants
    assert set(tenants.by_key) == {"clinic0", "clinic2"}
    assert "nonsense" in " ".join(tenants.left_out["0001.toml"])
    assert tenants.is_closed("clinic1.example")
    both = tenants.without("0001.toml", ["another fault"]).left_out["0001.toml"]
    assert both == (*tenants.left_out["0001.toml"], "another fault")


def test_readiness_metrics_and_check_name_the_file_and_others_are_served(tmp_path: Path) -> None:
    folder = clinics(tmp_path / "clinics", 3)
    (folder / "0001.toml").write_text('[tenants.a\nhosts = [\n  "clinic1.example", # ours\n]')
    settings = read(folder, PORTAL_METRICS_TOKEN="t" * 20, PORTAL_KEPT_FILES="0002.toml")
    client = create_app(settings).test_client()
    assert "tenants files that can't be used: 0001.toml, 0002.toml" in client.get("/readyz").text
    proxied = client.get("/readyz", headers={"X-Forwarded-For": "203.0.113.9"})
    assert proxied.text == "starting\n", "it names no files to the internet"
    told = client.get("/metrics", headers={"Authorization": f"Bearer {'t' * 20}"}).text
    assert 'portal_tenants_files_at_fault{file="0001.toml",state="left-out"} 1.0' in told
    assert 'portal_tenants_files_at_fault{file="0002.toml",state="kept"} 1.0' in told
    (finding,) = check._left_out(settings)
    assert (finding.what, finding.is_fault) == ("0001.toml", True)
    assert client.get("/signed-out", headers={"Host": "clinic0.example"}).status_code == 200
    closed = client.get("/signed-out", headers={"Host": "clinic1.example"})
    assert (closed.status_code, "be shown right now" in closed.text) == (503, True)
    assert client.get("/signed-out", headers={"Host": "clinic9.example"}).status_code == 421


@pytest.mark.parametrize(
    ("arguments", "status", "said"),
    [
        (["--all"], 1, "Not all was done, correct this and run it again:\n0001.toml can't be used: "),
        (
            ["--clinic", "clinic1"],
            2,
            "There is no clinic clinic1: clinic0, clinic2\n0001.toml can't be used: ",
        ),
        (["--clinic", "clinic0"], 0, None),
    ],
)
def test_a_command_for_all_clinics_says_at_which_nothing_was_done(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    status: int,
    said: str | None,
) -> None:
    folder = clinics(tmp_path / "clinics", 3)
    (folder / "0001.toml").write_text("[tenants.clinic1")
    store = f"sqlite:///{tmp_path}/store.db"
    for name, value in {**ENVIRONMENT, "PORTAL_TENANTS": str(folder), "PORTAL_STORE_URL": store}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(sys, "argv", ["portal", "sessions", "end", *arguments])
    assert __main__.main() == status
    told = capsys.readouterr().err
    assert said in told if said else "0001.toml" not in told
