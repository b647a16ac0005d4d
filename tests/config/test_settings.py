"""Settings and tenants: valid ones are read, and all faults of invalid ones are reported at once."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import certifi
import pytest

from portal.config.modules import Module
from portal.config.settings import Settings, SettingsError
from portal.config.tenants import Side, contrast
from tests.support.certificates import self_signed

ROOT = Path(__file__).parents[2]

GOOD = """
[care]
base_url = "https://api.example/"
auth_url = "https://id.example"

[tenants.riverside]
hosts = ["Riverside.example", "r.example:8443"]
name = "Riverside"
client_id = "riverside-portal"
client_secret_env = "RIVERSIDE_SECRET"
time_zone = "Europe/London"
languages = ["en", "ar"]
accent = "#0b6e4f"
tenant_claim = "tenantid"
tenant_id = "one"
"""


def environment(folder: Path, toml: str = GOOD, **more: str) -> dict[str, str]:
    file = folder / "tenants.toml"
    file.write_text(toml)
    return {
        "PORTAL_TENANTS": str(file),
        "PORTAL_SECRET_KEYS": "k" * 40,
        "PORTAL_STORE_URL": f"sqlite:///{folder}/store.db",
        "RIVERSIDE_SECRET": "s" * 20,
        **more,
    }


def faults(environ: dict[str, str]) -> list[str]:
    with pytest.raises(SettingsError) as caught:
        Settings.from_env(environ)
    return caught.value.faults


def test_each_host_name_finds_its_clinic(tmp_path: Path) -> None:
    settings = Settings.from_env(environment(tmp_path))
    tenant = settings.tenants.at("RIVERSIDE.example")
    assert tenant is not None
    assert tenant is settings.tenants.at("r.example:8443")
    assert settings.tenants.at("elsewhere.example") is None
    assert tenant.base_url == "https://api.example"
    assert tenant.client.client_secret == "s" * 20
    assert tenant.scope.split()[0] == "openid"
    assert tenant.roles.side(frozenset({"nurse", "patient"})) is Side.STAFF
    assert tenant.roles.side(frozenset({"visitor"})) is None


@pytest.mark.asvs("13.3.1")
def test_secrets_can_be_read_from_files(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("from a file\n")
    environ = environment(tmp_path, RIVERSIDE_SECRET="", RIVERSIDE_SECRET_FILE=str(secret))
    tenant = Settings.from_env(environ).tenants.by_key["riverside"]
    assert tenant.client.client_secret == "from a file"


@pytest.mark.asvs("13.3.1")
def test_the_repr_of_settings_contains_no_secret(tmp_path: Path) -> None:
    shown = repr(Settings.from_env(environment(tmp_path)))
    assert "k" * 40 not in shown
    assert "s" * 20 not in shown


def test_all_faults_are_reported_at_once_with_their_keys(tmp_path: Path) -> None:
    wrong = GOOD.replace('hosts = ["Riverside.example", "r.example:8443"]', 'hosts = ["not a host"]')
    wrong = wrong.replace('"Europe/London"', '"Europe/Lundon"').replace('"#0b6e4f"', '"#ffee00"')
    wrong = wrong.replace('["en", "ar"]', '["en", "xx"]').replace('tenant_id = "one"', "colour = 1")
    named = faults(
        environment(tmp_path, wrong, RIVERSIDE_SECRET="", PORTAL_PROXY_HOPS="two", PORTAL_SECRET_KEYS="short")
    )
    for key in (
        "tenants.riverside.hosts",
        "tenants.riverside.time_zone",
        "tenants.riverside.accent",
        "tenants.riverside.languages",
        "tenants.riverside.tenant_id",
        "tenants.riverside.colour",
        "tenants.riverside.client_secret_env: set RIVERSIDE_SECRET",
        "PORTAL_PROXY_HOPS",
        "PORTAL_SECRET_KEYS",
    ):
        assert any(fault.startswith(key) for fault in named), (key, named)


@pytest.mark.parametrize(
    ("toml", "said"),
    [
        ("[tenants", "is not TOML"),
        ("", "no [tenants.<key>]"),
        (
            GOOD
            + '[tenants.other]\nhosts = ["r.example:8443"]\nname = "O"\nclient_id = "o"\nclient_secret_env = "RIVERSIDE_SECRET"',
            "already belongs to riverside",
        ),
        (
            GOOD
            + '[tenants.other]\nhosts = ["o.example"]\nname = "O"\nclient_id = "o"\nclient_secret_env = "RIVERSIDE_SECRET"',
            "tenants.other.tenant_claim: is missing, and riverside has the same auth_url",
        ),
        (GOOD.replace("https://id.example", "id.example"), "tenants.riverside.auth_url"),
        (GOOD.replace("https://id.example", "https://id.example#/"), "tenants.riverside.auth_url"),
        (
            GOOD + 'authorize_params = { client_id = "x" }',
            "tenants.riverside.authorize_params.client_id: must",
        ),
        (GOOD.replace('name = "Riverside"', ""), "tenants.riverside.name: is missing"),
        (GOOD + 'scope = "profile"', "must include openid"),
        (
            GOOD + '[tenants.riverside.roles]\nstaff = ["patient"]',
            "tenants.riverside.roles.staff: patient cannot be both patient and staff",
        ),
        (GOOD + "logos = 1", "tenants.riverside.logos: isn't a setting of a tenant; is logo meant?"),
        (
            GOOD.replace(":8443", ":443"),
            "'r.example:443' isn't a host name (with its port unless it is 80 or 443)",
        ),
        (GOOD.replace("time_zone = ", 'country = "XX"\ntime_zone = '), "tenants.riverside.country"),
        (GOOD.replace("time_zone = ", 'country = "gb"\ntime_zone = '), "tenants.riverside.country"),
    ],
)
def test_each_fault_of_the_tenants_file_is_reported(tmp_path: Path, toml: str, said: str) -> None:
    assert any(said in fault for fault in faults(environment(tmp_path, toml)))


@pytest.mark.asvs("13.2.3")
def test_an_empty_environment_reports_every_required_variable() -> None:
    named = " ".join(faults({}))
    assert "PORTAL_TENANTS" in named
    assert "PORTAL_SECRET_KEYS" in named
    assert "PORTAL_STORE_URL" in named


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("PORTAL_BREAKER", "101"),
        ("PORTAL_BREAKER", "-1"),
        ("PORTAL_METRICS_TOKEN", "too short"),
        ("PORTAL_AUDIT", __file__),
        ("PORTAL_HEALTH_BIND", "127.0.0.1:80000"),
        ("PORTAL_HEALTH_BIND", "fd://3"),
    ],
)
def test_optional_settings_are_validated(tmp_path: Path, name: str, text: str) -> None:
    (fault,) = faults(environment(tmp_path, **{name: text}))
    assert fault.startswith(f"{name}: ")
    assert name != "PORTAL_METRICS_TOKEN" or text not in fault


@pytest.mark.parametrize(
    ("url", "is_good"),
    [
        ("redis+sentinel://a:26379,b:26379/portal/0", True),
        ("rediss+sentinel://user:p%40ss@10.0.0.1,10.0.0.2:7/portal?ssl_ca_certs={folder}/ca.pem", True),
        ("rediss://user:p%40ss@[::1]:6379/2?ssl_ca_certs={folder}/ca.pem&socket_keepalive=true", True),
        ("redis://redis", True),
        ("redis://redis:port/0", False),
        ("redis://redis/first", False),
        ("redis://:p%40ss/secret@redis:6379/0", False),
        ("redis://:p%40ss@redis/0?unknown=1", False),
        ("redis://:p%40ss@redis/0?socket_timeout=soon", False),
        ("redis://:p%40ss@redis/0?protocol=5", False),
        ("rediss://:p%40ss@redis/0?ssl_cert_reqs=foo", False),
        ("rediss://:p%40ss@redis/0?ssl_ca_certs=/nowhere.pem", False),
        ("rediss://:p%40ss@redis/0?ssl_ca_certs={folder}/tenants.toml", False),
        ("redis+sentinel://a/portal?unknown=1", False),
        ("redis+sentinel://a:26379,b:26379", False),
        ("redis+sentinel://a:26379/", False),
        ("redis+sentinel:///portal/0", False),
        ("redis+sentinel://a:26379,/portal/0", False),
        ("redis+sentinel://a:26379/portal/first", False),
        ("sentinel://a:26379/portal/0", False),
    ],
)
def test_an_address_of_redis_is_tried_without_connecting(tmp_path: Path, url: str, is_good: bool) -> None:
    (tmp_path / "ca.pem").write_bytes(self_signed("redis")[1])
    url = url.format(folder=tmp_path)
    given = environment(tmp_path, PORTAL_STORE_URL=url)
    if is_good:
        assert Settings.from_env(given).store_url == url
    else:
        (fault,) = faults(given)
        assert fault.startswith("PORTAL_STORE_URL: ")
        assert "\n" not in fault
        assert "p%40ss" not in fault and "secret" not in fault


def test_the_metrics_token_can_be_read_from_a_file_and_is_not_in_the_repr(tmp_path: Path) -> None:
    secret = tmp_path / "token"
    secret.write_text("a long enough token\n")
    settings = Settings.from_env(environment(tmp_path, PORTAL_METRICS_TOKEN_FILE=str(secret)))
    assert settings.metrics_token == "a long enough token"
    assert "long enough" not in repr(settings)


def test_check_exits_with_2_and_prints_a_line_for_each_fault(tmp_path: Path) -> None:
    environ = environment(tmp_path, GOOD.replace("Europe/London", "Nowhere"), PORTAL_WORKERS="two")
    for command in (["-m", "portal", "check"], ["-m", "gunicorn", "wsgi:app"]):
        done = subprocess.run(
            [sys.executable, *command],
            cwd=ROOT,
            env=environ,
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
        assert done.returncode == 2, done.stderr
        assert "tenants.riverside.time_zone" in done.stderr
        assert "PORTAL_WORKERS: must be a whole number, 1 or more (found 'two')" in done.stderr


def test_contrast_is_computed_as_in_wcag() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#767676", "#ffffff") == pytest.approx(4.54, abs=0.01)


def test_a_ca_file_without_certificates_is_a_fault(tmp_path: Path) -> None:
    (tmp_path / "empty.pem").write_text("no certificate")
    for file in (tmp_path / "empty.pem", tmp_path / "nowhere.pem"):
        (fault,) = faults(environment(tmp_path, PORTAL_CA_FILE=str(file)))
        assert fault.startswith("PORTAL_CA_FILE: must be a PEM file of certificate authorities")
    good = environment(tmp_path, PORTAL_CA_FILE=certifi.where())
    assert Settings.from_env(good).ca_file == certifi.where()


def test_store_urls_can_be_read_from_files(tmp_path: Path) -> None:
    addresses = {
        "PORTAL_STORE_URL": "rediss://:pw@redis:6379/0",
        "PORTAL_CACHE_URL": "rediss://:pw@redis:6379/1",
    }
    given = environment(tmp_path, PORTAL_STORE_URL="")
    for name, address in addresses.items():
        (tmp_path / name).write_text(f"{address}\n")
        given[f"{name}_FILE"] = str(tmp_path / name)
    settings = Settings.from_env(given)
    assert {"PORTAL_STORE_URL": settings.store_url, "PORTAL_CACHE_URL": settings.cache_url} == addresses


def test_a_clinics_consent_templates_are_read_from_beside_the_tenants_file_or_its_folder(
    tmp_path: Path,
) -> None:
    given = environment(tmp_path)
    for tenants in (given["PORTAL_TENANTS"], str(tmp_path)):
        settings = Settings.from_env({**given, "PORTAL_TENANTS": tenants})
        assert settings.consent_templates == tmp_path / "consent-templates"


SEAL = """
[tenants.riverside.document_seal]
certificate = "/etc/portal/seal/riverside.pem"
key_file = "/etc/portal/seal/riverside-key.pem"
"""


def test_a_clinics_seal_names_its_certificate_and_key(tmp_path: Path) -> None:
    sealing = Settings.from_env(environment(tmp_path, GOOD + SEAL)).tenants.by_key["riverside"].document_seal
    assert sealing is not None, "the files are read only when a document is sealed"
    assert sealing.certificate == Path("/etc/portal/seal/riverside.pem")
    assert sealing.key_file == Path("/etc/portal/seal/riverside-key.pem")
    assert Settings.from_env(environment(tmp_path)).tenants.by_key["riverside"].document_seal is None


@pytest.mark.parametrize(
    ("toml", "said"),
    [
        (GOOD + "document_seal = true", "tenants.riverside.document_seal: must be a table"),
        (
            GOOD + SEAL.replace('"/etc/portal/seal/riverside.pem"', '"seal/riverside.pem"'),
            "tenants.riverside.document_seal.certificate: must be the absolute path of a PEM file (found 'seal/riverside.pem')",
        ),
        (
            GOOD + SEAL.replace("key_file =", "key ="),
            "tenants.riverside.document_seal.key: isn't a setting of a seal",
        ),
        (GOOD + SEAL.replace("key_file =", "key ="), "tenants.riverside.document_seal.key_file: is missing"),
    ],
)
def test_each_fault_of_a_seal_is_reported(tmp_path: Path, toml: str, said: str) -> None:
    assert said in faults(environment(tmp_path, toml))


def test_a_module_that_there_isnt_is_refused_with_those_there_are(tmp_path: Path) -> None:
    said = "tenants.riverside.modules_off: 'doses' is none of medicines, charts, storage, results, booking"
    assert said in faults(environment(tmp_path, GOOD + 'modules_off = ["charts", "doses"]'))
    clinic = Settings.from_env(environment(tmp_path, GOOD + 'modules_off = ["charts"]')).tenants.by_key[
        "riverside"
    ]
    assert clinic.modules_off == {Module.CHARTS}


def test_a_second_person_for_embryos_is_asked_for_where_the_clinic_says_so(tmp_path: Path) -> None:
    def clinic(more: str) -> bool:
        settings = Settings.from_env(environment(tmp_path, GOOD + more))
        return settings.tenants.by_key["riverside"].second_person_for_embryos

    assert not clinic("")
    assert clinic("second_person_for_embryos = true")
    assert any(
        "second_person_for_embryos" in fault
        for fault in faults(environment(tmp_path, GOOD + 'second_person_for_embryos = "yes"'))
    )
