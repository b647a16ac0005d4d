"""Which clinic has which dialect, and how unusable files are reported."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from portal import __main__
from portal.config.settings import Settings, SettingsError
from portal.connect.dialects.file import DialectError
from portal.connect.dialects.load import load_dialects
from portal.demo.stack import portal_environment, tenants_file
from portal.operate.settings_files import would_start
from portal.services.consents import LIST_CONSENTS
from tests.support.stack import plan


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    the = plan(tmp_path)
    tenants = the.data / "tenants.toml"
    text = tenants_file(the).replace("[tenants.riverside]\n", '[tenants.riverside]\ndialect = "river.toml"\n')
    tenants.write_text(text)
    return portal_environment(the, tenants)


def write(environment: dict[str, str], text: str) -> Path:
    path = Path(environment["PORTAL_TENANTS"]).parent / "river.toml"
    path.write_text(text)
    return path


def test_only_the_clinic_that_names_a_dialect_has_it(environment: dict[str, str]) -> None:
    write(environment, 'base_path = "/v9"')
    made = load_dialects(Settings.from_env(environment).tenants, environment)
    assert set(made) == {"riverside"}
    assert made["riverside"].template(LIST_CONSENTS) == f"/v9{LIST_CONSENTS.template}"


def test_a_dialect_under_care_applies_to_all_clinics(environment: dict[str, str]) -> None:
    write(environment, "bom = true")
    tenants = Path(environment["PORTAL_TENANTS"])
    text = tenants.read_text().replace('dialect = "river.toml"\n', "")
    tenants.write_text(text.replace("[care]\n", '[care]\ndialect = "river.toml"\n'))
    made = load_dialects(Settings.from_env(environment).tenants, environment)
    assert set(made) == {"riverside", "harbour"}
    assert made["riverside"] is made["harbour"]


def test_a_missing_dialect_file_is_reported(environment: dict[str, str]) -> None:
    with pytest.raises(DialectError, match=r"river\.toml: cannot be read"):
        load_dialects(Settings.from_env(environment).tenants, environment)


def test_check_reports_every_fault_of_a_dialect(
    environment: dict[str, str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write(environment, '[members.Patient]\nfirstNam = "given"\n[times]\ndays = "soon"\n')
    for name, value in environment.items():
        monkeypatch.setitem(os.environ, name, value)
    monkeypatch.setattr("sys.argv", ["portal", "check", "--settings"])
    assert __main__.main() == 2
    told = capsys.readouterr().err.splitlines()
    assert told[0].startswith(
        f"{path}:2: members.Patient.firstNam: isn't a member of Patient: is firstName meant?"
    )
    assert told[1].startswith(f"{path}:4: times.days:")
    path.write_text("bom = true")
    assert __main__.main() == 0


@pytest.mark.parametrize("place", ["river.dialect.toml", "dialects/river.dialect.toml"])
@pytest.mark.parametrize("named", ["file", "folder"])
def test_a_portal_starts_with_a_dialect_in_each_documented_place(
    environment: dict[str, str], monkeypatch: pytest.MonkeyPatch, place: str, named: str
) -> None:
    tenants = Path(environment["PORTAL_TENANTS"])
    folder = tenants.parent
    if named == "folder":
        folder /= "clinics"
        folder.mkdir()
        environment["PORTAL_TENANTS"] = str(folder)
        tenants = tenants.rename(folder / tenants.name)
    tenants.write_text(tenants.read_text().replace("river.toml", place))
    (folder / place).parent.mkdir(exist_ok=True)
    (folder / place).write_text("bom = true")
    for name, value in environment.items():
        monkeypatch.setitem(os.environ, name, value)
    assert would_start()
    assert os.environ["PORTAL_TENANTS"] == environment["PORTAL_TENANTS"]


def test_check_tries_what_a_start_does(
    environment: dict[str, str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Workers start with copies of the files: one that isn't copied keeps them all down."""
    path = write(environment, "bom = true")
    monkeypatch.setattr("portal.operate.settings_files._dialects_of", lambda _: [])
    for name, value in {**environment, "PORTAL_LOG": "text"}.items():
        monkeypatch.setitem(os.environ, name, value)
    monkeypatch.setattr("sys.argv", ["portal", "check"])
    assert __main__.main() == 2
    assert f"{path}: cannot be read" in capsys.readouterr().err


def test_a_dialect_outside_the_tenants_folder_is_refused(environment: dict[str, str]) -> None:
    tenants = Path(environment["PORTAL_TENANTS"])
    tenants.write_text(tenants.read_text().replace("river.toml", "../river.toml"))
    with pytest.raises(SettingsError, match=r"dialect: must stand beside this file"):
        Settings.from_env(environment)
