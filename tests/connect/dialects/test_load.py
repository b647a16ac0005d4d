"""Which clinic has which dialect, and how unusable files are reported."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from portal import __main__
from portal.config.settings import Settings
from portal.connect.dialects.file import DialectError
from portal.connect.dialects.load import load_dialects
from portal.demo.stack import portal_environment, tenants_file
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
