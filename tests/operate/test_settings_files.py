"""Secrets in files: one that can't be read is one line at the start."""

from __future__ import annotations

from pathlib import Path

import pytest

from portal.config import tenants_file
from portal.config.settings import Settings
from portal.connect.dialects.load import leave_out_unusable
from portal.operate import settings_files, supervisor
from portal.operate.settings_files import SettingsFiles


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    tenants = tmp_path / "tenants.toml"
    tenants.write_text('[tenants.riverside]\nclient_secret_env = "RIVERSIDE_SECRET"\n')
    monkeypatch.setenv("PORTAL_TENANTS", str(tenants))
    monkeypatch.setattr(settings_files.scratch, "new_folder", lambda _: tmp_path)
    monkeypatch.setenv("PORTAL_LOG", "text")
    return tmp_path


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"a\0b", "holds a NUL"),
        (b"\xff\xfe", "isn't text in UTF-8"),
        (b"a" * 20_000, "too large for a secret"),
        (None, "No such file or directory"),
        ("a folder", "Is a directory"),
    ],
)
@pytest.mark.parametrize("name", ["PORTAL_SECRET_KEYS", "RIVERSIDE_SECRET"])
def test_a_secret_that_cannot_be_read_is_one_line(
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    name: str,
    content: bytes | str | None,
    why: str,
) -> None:
    secret = folder / "secret"
    if isinstance(content, bytes):
        secret.write_bytes(content)
    elif content:
        secret.mkdir()
    monkeypatch.setenv(f"{name}_FILE", str(secret))
    monkeypatch.delenv(name, raising=False)
    assert not SettingsFiles().read()
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"{name}_FILE: ")
    assert why in line


@pytest.fixture
def clinics(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Four clinics, each with a file and a secret of its own, of a portal that may start."""
    folder = tmp_path / "clinics"
    folder.mkdir()
    for key in ("a", "b", "c", "d"):
        (folder / f"{key}.toml").write_text(
            f'''
            [tenants.{key}]
            base_url = "http://127.0.0.1:1"
            auth_url = "http://127.0.0.1:1"
            hosts = ["{key}.example"]
            name = "Clinic {key}"
            client_id = "{key}"
            tenant_claim = "clinic"
            tenant_id = "{key}"
            client_secret_env = "{key.upper()}_CLIENT_SECRET"
            time_zone = "Europe/London"
            '''
        )
        (tmp_path / key).write_text(f"the secret of {key}")
        monkeypatch.setenv(f"{key.upper()}_CLIENT_SECRET_FILE", str(tmp_path / key))
        monkeypatch.setenv(f"{key.upper()}_CLIENT_SECRET", "")
        monkeypatch.delenv(f"{key.upper()}_CLIENT_SECRET")
    monkeypatch.setenv("PORTAL_TENANTS", str(folder))
    monkeypatch.setenv("PORTAL_SECRET_KEYS", "k" * 40)
    monkeypatch.setenv("PORTAL_STORE_URL", f"sqlite:///{tmp_path}/store.db")
    monkeypatch.setenv("PORTAL_LOG", "text")
    monkeypatch.setenv(settings_files.KEPT, "")
    monkeypatch.setattr(settings_files.scratch, "new_folder", lambda _: tmp_path / "copies")
    return folder


def test_a_clinic_with_a_fault_is_left_out_at_the_start(
    clinics: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (clinics / "b.toml").write_text("[tenants.b")
    (tmp_path / "c").unlink()
    assert SettingsFiles().read()
    said = capsys.readouterr().err
    assert f"{clinics}/b.toml: is not TOML" in said
    assert "C_CLIENT_SECRET_FILE: No such file or directory" in said
    tenants = Settings.from_env().tenants
    assert (set(tenants.by_key), set(tenants.left_out), tenants.kept) == (
        {"a", "d"},
        {"b.toml", "c.toml"},
        (),
    )


def test_a_clinic_with_a_fault_goes_on_as_before_at_a_reload(
    clinics: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (clinics / "a.toml").rename(tmp_path / "good.toml")
    (clinics / "a.toml").write_text("[tenants.a")
    files = SettingsFiles()
    assert files.read()
    (clinics / "b.toml").write_text((clinics / "b.toml").read_text() + "[tenants.b")
    (tmp_path / "b").write_text("new")
    (tmp_path / "c").unlink()
    (tmp_path / "d").write_text("new")
    capsys.readouterr()
    assert files.read()
    assert "b.toml, c.toml: used as before" in capsys.readouterr().err
    tenants = Settings.from_env().tenants
    assert (set(tenants.by_key), set(tenants.left_out)) == ({"b", "c", "d"}, {"a.toml"})
    assert tenants.kept == ("b.toml", "c.toml")
    used = {key: tenant.client.client_secret for key, tenant in tenants.by_key.items()}
    assert used == {"b": "the secret of b", "c": "the secret of c", "d": "new"}
    (tmp_path / "good.toml").rename(clinics / "a.toml")
    assert files.read()
    tenants = Settings.from_env().tenants
    assert (set(tenants.by_key), tenants.left_out, tenants.kept) == (
        {"a", "b", "c", "d"},
        {},
        ("b.toml", "c.toml"),
    )


def test_a_clinic_goes_on_with_its_dialect_as_before_at_a_reload(clinics: Path) -> None:
    dialect = clinics / "theirs" / "api.dialect.toml"
    dialect.parent.mkdir()
    dialect.write_text("")
    (clinics / "b.toml").write_text((clinics / "b.toml").read_text() + f'dialect = "theirs/{dialect.name}"')
    files = SettingsFiles()
    assert files.read()
    dialect.write_text("[half-written")
    assert files.read()
    left = leave_out_unusable(Settings.from_env().tenants, {})
    assert (set(left.by_key), left.kept) == ({"a", "b", "c", "d"}, ("b.toml",))


@pytest.mark.parametrize("name", ["b.toml", ".#b.toml", "consent-templates/storage.toml"])
def test_a_file_that_cannot_be_copied_is_a_fault_of_its_own(
    clinics: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    """Such as an editor's lock, which is a link to nothing, or a file that only root may read."""
    files = SettingsFiles()
    assert files.read()
    (clinics / name).parent.mkdir(exist_ok=True)
    (clinics / name).unlink(missing_ok=True)
    (clinics / name).symlink_to("nobody@host.1234")
    assert files.read()
    assert f"{clinics / name}: No such file or directory" in capsys.readouterr().err
    tenants = Settings.from_env().tenants
    assert (set(tenants.by_key), tenants.kept) == (
        {"a", "b", "c", "d"},
        ("b.toml",) if name == "b.toml" else (),
    )


def test_settings_that_cannot_be_copied_are_refused(
    clinics: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Such as when /dev/shm is full."""
    (tmp_path / "copies").write_text("")
    assert not SettingsFiles().read()
    assert "The settings' files can't be copied and checked: " in capsys.readouterr().err
    assert clinics.is_dir()


@pytest.mark.parametrize(
    "change", [("zero.example", "a.example"), ("http://127.0.0.1:1", "http://127.0.0.1:2")]
)
def test_a_running_clinic_is_not_ended_by_the_file_of_another(
    clinics: Path, capsys: pytest.CaptureFixture[str], change: tuple[str, str]
) -> None:
    text = (clinics / "a.toml").read_text()
    (clinics / "a.toml").write_text(
        text.replace(':1"', ':2"').replace('tenant_claim = "clinic"', "").replace('tenant_id = "a"', "")
    )
    files = SettingsFiles()
    assert files.read()
    new = text.replace("tenants.a", "tenants.zero").replace("a.example", "zero.example")
    (clinics / "0.toml").write_text(new.replace(*change))
    assert not files.read()
    assert "a.toml: can't go on beside what else was changed" in capsys.readouterr().err
    assert set(Settings.from_env().tenants.by_key) == {"a", "b", "c", "d"}


def test_a_clinic_goes_on_that_took_over_the_host_of_one_used_as_before(clinics: Path) -> None:
    files = SettingsFiles()
    assert files.read()
    (clinics / "a.toml").write_text("[tenants.a")
    (clinics / "b.toml").write_text((clinics / "b.toml").read_text().replace("b.example", "a.example"))
    assert files.read()
    tenants = Settings.from_env().tenants
    assert (set(tenants.by_host), tenants.kept) == (
        {"a.example", "b.example", "c.example", "d.example"},
        ("a.toml", "b.toml"),
    )


def test_a_clinic_is_added_by_a_reload_with_its_secret_in_the_folder_of_secrets(
    clinics: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    secrets = tmp_path / "secrets"
    secrets.mkdir()
    (secrets / "D_CLIENT_SECRET").write_text("what the environment's file goes before\n")
    (secrets / "B_CLIENT_SECRET").write_text("what the environment goes before\n")
    monkeypatch.delenv("B_CLIENT_SECRET_FILE")
    monkeypatch.setenv("B_CLIENT_SECRET", "given in the environment")
    monkeypatch.setenv("PORTAL_SECRETS", str(secrets))
    for name in ("NEW_CLIENT_SECRET", "ODD_CLIENT_SECRET"):
        monkeypatch.setenv(name, "")
        monkeypatch.delenv(name)
    files = SettingsFiles()
    assert files.read()
    text = (clinics / "a.toml").read_text()
    for key in ("new", "odd", "gone"):
        new = text.replace("tenants.a", f"tenants.{key}").replace("a.example", f"{key}.example")
        (clinics / f"{key}.toml").write_text(new.replace("A_CLIENT", f"{key.upper()}_CLIENT"))
    (secrets / "NEW_CLIENT_SECRET").write_text("the new one's\n")
    (secrets / "ODD_CLIENT_SECRET").write_bytes(b"\xff")
    assert files.read()
    assert "ODD_CLIENT_SECRET in PORTAL_SECRETS: the file isn't text in UTF-8" in capsys.readouterr().err
    tenants = Settings.from_env().tenants
    assert set(tenants.left_out) == {"odd.toml", "gone.toml"}
    assert tenants.by_key["new"].client.client_secret == "the new one's"
    assert tenants.by_key["d"].client.client_secret == "the secret of d"
    assert tenants.by_key["b"].client.client_secret == "given in the environment"
    (secrets / "NEW_CLIENT_SECRET").write_text("changed")
    assert Settings.from_env().tenants.by_key["new"].client.client_secret == "the new one's", "until a reload"
    assert files.read()
    assert Settings.from_env().tenants.by_key["new"].client.client_secret == "changed"


def test_the_master_and_the_settings_call_the_kept_files_the_same() -> None:
    assert settings_files.KEPT == tenants_file.KEPT


def test_other_programs_variables_are_not_read(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    secret = folder / "other"
    secret.write_bytes(b"a\0b")
    monkeypatch.setenv("SSL_CERT_FILE", str(secret))
    monkeypatch.setenv("HISTORY_FILE", str(folder))
    secrets = SettingsFiles()
    assert "SSL_CERT" in secrets._secrets
    assert secrets._read_secrets() == {}


@pytest.mark.parametrize(
    ("soft", "hard", "open_"), [(64, 128, 128), (64, -1, 1024), (4096, 4096, 1024), (-1, -1, 1024)]
)
def test_the_limit_of_open_files_is_raised_if_it_may_be(
    monkeypatch: pytest.MonkeyPatch, soft: int, hard: int, open_: int
) -> None:
    monkeypatch.setattr(supervisor.resource, "getrlimit", lambda _: (soft, hard))
    monkeypatch.setattr(supervisor.resource, "setrlimit", lambda *_: None)
    assert supervisor.open_files() == open_


def test_a_start_with_too_few_open_files_is_refused_in_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(supervisor, "open_files", lambda: 64)
    monkeypatch.setenv("PORTAL_LOG", "text")
    monkeypatch.setattr(supervisor.scratch, "remove_abandoned", lambda: None)
    with pytest.raises(SystemExit, match="2"):
        supervisor.check_settings(None)  # pyright: ignore[reportArgumentType]
    assert capsys.readouterr().err == (
        "Only 64 files may be open at once (ulimit -n), the portal needs 1024: one for each connection.\n"
    )
