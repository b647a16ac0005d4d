"""`python -m portal check`: a good configuration passes, and each fault is reported with how to fix it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from datetime import timedelta
from email.utils import formatdate
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import requests
from redis import Redis

from portal.config.settings import Settings, SettingsError
from portal.demo.authority import certificate_of
from portal.demo.stack import portal_environment, tenants_file
from portal.operate import check
from portal.operate.check import Finding, findings
from tests.support.disk import small_disk
from tests.support.redis_server import RedisServer
from tests.support.seals import Clinic
from tests.support.stack import ROOT, SECRETS, CareService, free_port
from tests.support.upstream import Make, ok


@pytest.fixture
def looked(service: CareService, tmp_path: Path) -> Callable[..., list[Finding]]:
    """Everything that is found with this environment, and these words of the tenants file replaced."""

    def look(*replaced: tuple[str, str], **environment: str) -> list[Finding]:
        return list(findings(settings(service, tmp_path, *replaced, **environment)))

    return look


def environ(
    service: CareService, folder: Path, *replaced: tuple[str, str], **environment: str
) -> dict[str, str]:
    text = tenants_file(service.plan)
    for old, new in replaced:
        assert old in text
        text = text.replace(old, new)
    tenants = folder / "tenants.toml"
    tenants.write_text(text)
    mine = {"PORTAL_STORE_URL": f"sqlite:///{folder}/store.db", "PORTAL_AUDIT": str(folder / "audit")}
    return {**portal_environment(service.plan, tenants), **mine, **environment}


def settings(service: CareService, folder: Path, *replaced: tuple[str, str], **environment: str) -> Settings:
    return Settings.from_env(environ(service, folder, *replaced, **environment))


def faults(found: list[Finding]) -> list[Finding]:
    return [one for one in found if one.is_fault]


def the_fault(found: list[Finding], about: str) -> str:
    """The one fault there is, which is about this and says what to do."""
    (fault,) = faults(found)
    assert about in fault.what
    assert fault.advice
    return f"{fault.found}. {fault.advice}"


def test_check_reports_every_item_as_ok_when_nothing_is_wrong(service: CareService, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "portal", "check"],
        cwd=ROOT,
        env={**os.environ, **environ(service, tmp_path)},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert (done.returncode, done.stderr) == (0, "")
    for said in (
        "ok    settings: 2 clinics at 3 hosts",
        "ok    store: reads, writes and deletes",
        "ok    tenants.harbour.document_seal: the certificate is valid until 20",
        f"ok    identity server {service.base_url}: its issuer, endpoints and keys are valid",
        "ok    client riverside-portal: is accepted",
        "ok    service client harbour-service: gets a token",
        f"ok    care API {service.base_url}: answers, and asks for a token",
        "s from this machine's",
    ):
        assert said in done.stdout, done.stdout


def test_a_clinic_without_a_telephone_number_is_a_note(
    service: CareService, looked: Callable[..., list[Finding]]
) -> None:
    _, table, rest = tenants_file(service.plan).partition("[tenants.harbour.contact]")
    found = {one.what: one for one in looked((table + rest, ""))}
    assert not found["tenants.harbour.contact"].is_fault
    assert "telephone number" in found["tenants.harbour.contact"].advice
    assert "tenants.riverside.contact" not in found


def test_a_module_that_is_off_is_named_with_what_depends_on_it(looked: Callable[..., list[Finding]]) -> None:
    found = looked(('name = "Riverside Fertility"\n', 'name = "R"\nmodules_off = ["storage", "medicines"]\n'))
    told = [one for one in found if one.what == "tenants.riverside.modules_off"]
    assert [one.found for one in told] == ["medicines is off", "storage is off"]
    assert "Home and Today show no doses" in told[0].advice
    assert "staff can't name embryos in new consent forms" in told[1].advice
    assert not any(one.is_fault for one in told)
    assert not [one for one in found if one.what == "tenants.harbour.modules_off"]


def test_a_clinic_without_an_out_of_hours_number_is_a_note(looked: Callable[..., list[Finding]]) -> None:
    found = {one.what: one for one in looked(('out_of_hours = "020 7946 0199"\n', ""))}
    assert "out_of_hours" in found["tenants.riverside.contact"].found
    assert "contacts" in found


def test_a_clinics_signs_in_some_of_its_languages_are_a_note(looked: Callable[..., list[Finding]]) -> None:
    found = looked(("reply_hours = 24", 'reply_hours = 24\ncall_now = { en = ["Heavy bleeding"] }'))
    assert "has no call_now for ar, es" in [one.found for one in found]


def test_a_fault_goes_to_stderr_and_into_the_exit_status(service: CareService, tmp_path: Path) -> None:
    (tmp_path / "store.db").write_text("no database " * 1000)
    done = subprocess.run(
        [sys.executable, "-m", "portal", "check"],
        cwd=ROOT,
        env={**os.environ, **environ(service, tmp_path)},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 2
    assert done.stderr.startswith("FAULT store: doesn't work (DatabaseError). Check that the disk isn't full")
    assert "care API" in done.stdout, "the remaining checks must still run"


def test_an_unreachable_or_evicting_redis_is_a_fault(
    looked: Callable[..., list[Finding]], tmp_path: Path
) -> None:
    nowhere = f"redis://127.0.0.1:{free_port()}/0"
    assert "Check that Redis runs there" in the_fault(looked(PORTAL_STORE_URL=nowhere), "store")
    redis = RedisServer(tmp_path)
    try:
        assert faults(looked(PORTAL_STORE_URL=redis.url)) == []
        Redis.from_url(redis.url).config_set("maxmemory-policy", "allkeys-lru")
        found = looked(PORTAL_STORE_URL=redis.url)
        assert "Set maxmemory-policy noeviction" in the_fault(found, "Redis")
    finally:
        redis.stop()


@pytest.mark.parametrize(
    ("version", "is_fault"), [("5.0.14", True), ("6.0", False), ("10.1", False), ("", True)]
)
def test_redis_is_6_or_newer(monkeypatch: pytest.MonkeyPatch, version: str, is_fault: bool) -> None:
    told = {"redis_version": version, "maxmemory_policy": "noeviction", "aof_enabled": 1}
    monkeypatch.setattr(check, "redis_client", lambda *_, **__: SimpleNamespace(info=lambda: told))
    assert [one.is_fault for one in check._redis("redis://")] == [is_fault, False, False]


@pytest.mark.parametrize(("aof", "saves", "is_told"), [(1, "", False), (0, "3600 1", False), (0, "", True)])
def test_a_redis_that_forgets_at_a_restart_is_a_note(
    monkeypatch: pytest.MonkeyPatch, aof: int, saves: str, is_told: bool
) -> None:
    redis = SimpleNamespace(info=lambda: {"aof_enabled": aof}, config_get=lambda _: {"save": saves})
    monkeypatch.setattr(check, "redis_client", lambda *_, **__: redis)
    assert ("in memory only" in [one.found for one in check._redis("redis://")]) is is_told


def test_an_unreachable_cache_is_a_fault(looked: Callable[..., list[Finding]]) -> None:
    nowhere = f"redis://127.0.0.1:{free_port()}/0"
    assert "PORTAL_CACHE_URL" in the_fault(looked(PORTAL_CACHE_URL=nowhere), "cache")


def test_a_misspelt_setting_is_a_fault_and_an_unknown_variable_a_note(
    looked: Callable[..., list[Finding]],
) -> None:
    near = "PORTAL_STROE_URI"  # two slips; more would be another word
    found = looked(**{near: "x", "PORTAL_SERVICE_HOST": "10.0.0.1", "PORTAL_METRICS_TOKEN_FILE": "/dev/null"})
    assert "Is PORTAL_STORE_URL meant?" in the_fault(found, near)
    assert [one.what for one in found if one.found == "isn't a setting of the portal"] == [
        near,
        "PORTAL_SERVICE_HOST",
    ]


@pytest.mark.parametrize("name", ["PORTAL_WORKERS", "PORTAL_THREADS", "PORTAL_MAX_REQUESTS"])
def test_gunicorns_numeric_settings_are_validated(looked: Callable[..., list[Finding]], name: str) -> None:
    with pytest.raises(SettingsError, match=name):
        looked(**{name: "abc"})


def test_a_data_folder_readable_by_others_is_a_fault(
    looked: Callable[..., list[Finding]], tmp_path: Path
) -> None:
    folder = tmp_path / "open"
    folder.mkdir()
    folder.chmod(0o750)
    assert f"chmod 700 {folder}" in the_fault(looked(PORTAL_AUDIT=str(folder)), "audit folder")
    assert f"chmod 700 {folder}" in the_fault(
        looked(PORTAL_STORE_URL=f"sqlite:///{folder}/s.db"), "store's folder"
    )


def test_an_unusable_audit_folder_is_a_fault(looked: Callable[..., list[Finding]], tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert "isn't writable" in the_fault(looked(PORTAL_AUDIT=str(tmp_path / "file" / "audit")), "audit")


def test_an_audit_folder_on_a_full_disk_is_a_fault(
    looked: Callable[..., list[Finding]], tmp_path: Path
) -> None:
    with small_disk(tmp_path / "small") as disk:
        disk.fill()
        told = the_fault(looked(PORTAL_AUDIT=str(disk.folder)), "audit")
    assert "can't be written (No space left on device). Free some space" in told


def test_an_unreachable_identity_server_is_a_fault(
    looked: Callable[..., list[Finding]], service: CareService
) -> None:
    nowhere = f"http://127.0.0.1:{free_port()}"
    found = looked((f'auth_url = "{service.base_url}"', f'auth_url = "{nowhere}"'))
    assert "no answer (connection refused)" in the_fault(found, nowhere)


@pytest.mark.parametrize(
    ("document", "said"),
    [
        (b"<html>Not found</html>", "no usable discovery (metadata unreadable)"),
        (b'{"issuer": "https://other.example"}', "no usable discovery (metadata unreadable)"),
        (
            json.dumps(
                {
                    "issuer": "https://other.example",
                    "authorization_endpoint": "https://other.example/a",
                    "token_endpoint": "https://other.example/t",
                    "jwks_uri": "https://other.example/k",
                }
            ).encode(),
            "not to be trusted (metadata of another issuer)",
        ),
    ],
)
def test_invalid_discovery_or_that_of_another_issuer_is_a_fault(
    looked: Callable[..., list[Finding]], service: CareService, upstream: Make, document: bytes, said: str
) -> None:
    server = upstream(lambda line, number: ok(document))
    found = looked((f'auth_url = "{service.base_url}"', f'auth_url = "{server.url}"'))
    assert said in the_fault(found, server.url)


def test_a_wrong_client_secret_is_a_fault(looked: Callable[..., list[Finding]]) -> None:
    found = looked(HARBOUR_CLIENT_SECRET="not what is registered")
    assert "isn't accepted" in the_fault(found, "client harbour-portal")


def test_a_wrong_secret_of_the_service_client_is_a_fault(looked: Callable[..., list[Finding]]) -> None:
    found = looked(HARBOUR_SERVICE_SECRET="not what is registered")
    assert "isn't accepted" in the_fault(found, "service client harbour-service")


def test_a_service_client_that_may_not_use_client_credentials_is_a_fault(
    looked: Callable[..., list[Finding]],
) -> None:
    found = looked(
        ('client_id = "harbour-service"', 'client_id = "harbour-portal"'),
        HARBOUR_SERVICE_SECRET=SECRETS["HARBOUR_CLIENT_SECRET"],
    )
    assert "gets no token (unauthorized_client). Allow it the client_credentials grant" in the_fault(
        found, "service client"
    )


@pytest.mark.parametrize("answer", [b"{}", b"[]", b"not JSON"])
def test_a_token_endpoint_without_a_usable_answer_is_a_fault(
    looked: Callable[..., list[Finding]], service: CareService, upstream: Make, answer: bytes
) -> None:
    def respond(line: str, number: int) -> bytes:
        path = line.split()[1]
        if line.startswith("POST"):
            return ok(answer)
        return ok(requests.get(service.base_url + path, timeout=10).content.replace(theirs, ours))

    server = upstream(respond)
    theirs, ours = service.base_url.encode(), server.url.encode()
    found = looked((f'auth_url = "{service.base_url}"', f'auth_url = "{server.url}"'))
    told = [one for one in faults(found) if one.what.startswith("service client")]
    assert len(told) == 2
    assert all("the token endpoint fails" in one.found for one in told)


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (ok(b"{}"), "answers 200 to a call without a token. It must refuse such a call"),
        (b"HTTP/1.1 302 Found\r\nLocation: /x\r\nContent-Length: 0\r\n\r\n", "doesn't follow redirects"),
        (b"HTTP/1.1 403 No\r\nContent-Length: 0\r\n\r\n", "base_url must be the address"),
        (b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n", "base_url must be the address"),
        (b"HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n", "See the API's log"),
        (None, "no answer (empty reply)"),
    ],
)
def test_an_unusable_care_api_is_a_fault(
    looked: Callable[..., list[Finding]],
    service: CareService,
    upstream: Make,
    answer: bytes | None,
    said: str,
) -> None:
    server = upstream(lambda line, number: answer)
    found = looked((f'base_url = "{service.base_url}"', f'base_url = "{server.url}"'))
    assert said in the_fault(found, f"care API {server.url}")


@pytest.mark.parametrize("ahead", [-600, 600])
def test_clock_skew_is_a_fault(
    looked: Callable[..., list[Finding]], service: CareService, upstream: Make, ahead: int
) -> None:
    head = f"HTTP/1.1 401 No\r\nContent-Length: 0\r\nDate: {formatdate(time.time() + ahead, usegmt=True)}\r\n\r\n"
    server = upstream(lambda line, number: head.encode())
    found = looked((f'base_url = "{service.base_url}"', f'base_url = "{server.url}"'))
    assert "Synchronize both clocks with NTP" in the_fault(found, "clock of care API")


def test_an_accent_with_low_contrast_is_a_note(looked: Callable[..., list[Finding]]) -> None:
    found = looked(('accent = "#1f4e8c"', 'accent = "#2f8ecc"'))
    assert faults(found) == []
    assert any(one.what == "tenants.harbour.accent" and "Choose a darker one" in one.advice for one in found)


def sealed_by(clinic: Clinic, service: CareService) -> list[tuple[str, str]]:
    """What to replace in the tenants file so that Harbour has this certificate and key."""
    certificate, key_file = certificate_of(service.plan.data, "harbour")
    return [(str(certificate), str(clinic.certificate)), (str(key_file), str(clinic.key_file))]


@pytest.mark.parametrize(("days", "is_near"), [(29, True), (31, False)])
def test_a_certificate_that_expires_within_30_days_is_a_note(
    looked: Callable[..., list[Finding]], service: CareService, tmp_path: Path, days: int, is_near: bool
) -> None:
    clinic = Clinic(tmp_path / "clinic", lasts=timedelta(days=days))
    found = looked(*sealed_by(clinic, service))
    assert faults(found) == []
    (about,) = [one for one in found if one.what == "tenants.harbour.document_seal"]
    assert about.advice.startswith("Renew it") is is_near


def test_an_expired_certificate_is_a_fault(
    looked: Callable[..., list[Finding]], service: CareService, tmp_path: Path
) -> None:
    clinic = Clinic(tmp_path / "clinic", lasts=timedelta(minutes=-1))
    fault = the_fault(looked(*sealed_by(clinic, service)), "tenants.harbour.document_seal")
    assert "the certificate ended on" in fault
    assert "are unsealed" in fault


def test_a_missing_or_mismatched_key_is_a_fault(
    looked: Callable[..., list[Finding]], service: CareService, tmp_path: Path
) -> None:
    clinic = Clinic(tmp_path / "clinic")
    (_, key) = sealed_by(clinic, service)
    assert "doesn't belong to the first certificate" in the_fault(
        looked(key), "tenants.harbour.document_seal"
    )
    clinic.key_file.unlink()
    assert "can't be read" in the_fault(looked(key), "tenants.harbour.document_seal")


def test_clinics_without_a_certificate_are_ok_and_reported_as_unsealed(
    looked: Callable[..., list[Finding]], service: CareService
) -> None:
    def table(key: str) -> str:
        _, _, rest = tenants_file(service.plan).partition(f"[tenants.{key}.document_seal]")
        return f"[tenants.{key}.document_seal]{rest.partition('[')[0]}"

    found = looked((table("riverside"), ""), (table("harbour"), ""))
    assert faults(found) == []
    assert any("copies of consent forms are unsealed" in one.found for one in found)


def test_clinics_that_are_left_out_are_a_fault() -> None:
    settings: Any = SimpleNamespace(tenants=SimpleNamespace(left_out={"a.toml": ["no name"]}))
    (found,) = check._left_out(settings)
    assert (found.what, found.is_fault) == ("a.toml", True)
