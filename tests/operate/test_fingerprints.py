"""Fingerprints in `/metrics`: the same for the same content, another for any difference between machines that matters."""

from __future__ import annotations

from pathlib import Path

import pytest
from joserfc.jwk import ECKey

from portal.config.settings import Settings
from portal.operate.fingerprints import fingerprints

KEYS = "k" * 40
BOOKING, ANOTHER = (ECKey.generate_key("P-256").as_pem(private=True).decode() for _ in range(2))


def of(
    folder: Path,
    *,
    client: str = "s",
    booking: str = BOOKING,
    keys: str = KEYS,
    name: str = "Riverside",
    **more: str,
) -> dict[str, str]:
    """What a machine with these settings tells; its files stand in `folder`."""
    folder.mkdir(exist_ok=True)
    (folder / "tenants.toml").write_text(
        f'''
        [tenants.riverside]
        base_url = "http://127.0.0.1:1"
        auth_url = "http://127.0.0.1:1"
        hosts = ["riverside.example"]
        name = "{name}"
        client_id = "riverside"
        client_secret_env = "SECRET"
        time_zone = "Europe/London"
        dialect = "their.dialect.toml"
        [tenants.riverside.service_client]
        client_id = "booking"
        client_key_env = "BOOKING"
        '''
    )
    usual = {
        "PORTAL_TENANTS": str(folder / "tenants.toml"),
        "PORTAL_SECRET_KEYS": keys,
        "PORTAL_STORE_URL": "redis://redis.example/0",
        "SECRET": client,
        "BOOKING": booking,
    }
    return fingerprints(Settings.from_env({**usual, **more}))


def test_two_machines_with_the_same_content_have_the_same(tmp_path: Path) -> None:
    here = of(tmp_path / "here", PORTAL_WORKERS="2", PORTAL_AUDIT=str(tmp_path))
    assert here == of(tmp_path / "there", PORTAL_WORKERS="8", PORTAL_BIND="0.0.0.0:8000")
    assert set(here) == {"keys", "tenants", "settings"}
    assert all(len(fingerprint) == 12 for fingerprint in here.values())


@pytest.mark.parametrize(
    ("more", "differ"),
    [
        ({"client": "t"}, {"tenants"}),
        ({"booking": ANOTHER}, {"tenants"}),
        ({"name": "Riverbank"}, {"tenants"}),
        ({"PORTAL_SESSION_IDLE_STAFF": "600"}, {"settings"}),
        ({"PORTAL_STORE_URL": "redis://another.example/0"}, {"settings"}),
        ({"PORTAL_TIMEOUT_READ": "7"}, {"settings"}),
        ({"keys": f"{KEYS},{'o' * 40}"}, {"keys"}),
        ({"keys": "o" * 40}, {"keys", "tenants", "settings"}),
    ],
)
def test_what_differs_is_seen(tmp_path: Path, more: dict[str, str], differ: set[str]) -> None:
    usual, other = of(tmp_path), of(tmp_path, **more)
    assert {what for what in usual if usual[what] != other[what]} == differ


@pytest.mark.parametrize("name", ["consent-templates/storage.toml", "their.dialect.toml"])
def test_templates_and_dialects_are_part_of_the_tenants(tmp_path: Path, name: str) -> None:
    before = of(tmp_path)
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_text("title = 'Storage'")
    assert of(tmp_path)["tenants"] != before["tenants"]
