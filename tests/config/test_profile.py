"""`profile = "fapi2"` (FAPI 2.0 Security Profile): what it implies, and what contradicts it."""

from __future__ import annotations

from pathlib import Path

import pytest

from portal.config.identity import Par
from portal.config.tenants import Tenant, TenantsError
from portal.config.tenants_file import load_tenants
from tests.signin.test_client_key import KEYS, pem

HEAD = """
[tenants.riverside]
hosts = ["portal.example"]
name = "Riverside"
base_url = "https://api.example"
auth_url = "https://id.example"
client_id = "portal"
profile = "fapi2"
"""
KEY = 'client_key_env = "KEY"\n'


def read(folder: Path, text: str, key: str = "RS256") -> Tenant:
    file = folder / "tenants.toml"
    file.write_text(text)
    return load_tenants(file, {"KEY": pem(KEYS[key]), "SECRET": "s"}).by_key["riverside"]


@pytest.mark.parametrize(("key", "algorithm"), [("RS256", "PS256"), ("ES256", "ES256"), ("EdDSA", "EdDSA")])
def test_it_pushes_binds_and_signs_with_what_the_profile_takes(
    tmp_path: Path, key: str, algorithm: str
) -> None:
    service = '[tenants.riverside.service_client]\nclient_id = "service"\n' + KEY
    tenant = read(tmp_path, HEAD + KEY + service, key)
    assert (tenant.par, tenant.dpop) == (Par.REQUIRED, True)
    for client in (tenant.client, tenant.service_client):
        assert client and client.signing_key and client.signing_key.algorithm == algorithm


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        (HEAD + 'client_secret_env = "SECRET"', ".client_secret_env: fapi2 takes no secrets"),
        (HEAD + KEY + 'client_secret_env = "SECRET"', ".client_secret_env: fapi2 takes no secrets"),
        (HEAD + KEY + 'par = "off"', ".par: fapi2 needs pushed requests"),
        (HEAD + KEY + 'client_key_alg = "RS256"', ".client_key_alg: fapi2 takes PS256, ES256"),
        (HEAD + KEY + 'client_key_audience = "token_endpoint"', ".client_key_audience: fapi2 needs the issuer"),
        (HEAD.replace("https://id", "http://id") + KEY, ".auth_url: fapi2 needs https"),
        (HEAD.replace("https://api", "http://api") + KEY, ".base_url: fapi2 needs https"),
        (HEAD + KEY + 'identity_origins = ["http://keys.example"]', ".identity_origins: fapi2 needs https"),
        (HEAD + KEY + '[tenants.riverside.service_client]\nclient_id = "s"\nclient_secret_env = "SECRET"',
         ".service_client.client_secret_env: fapi2 takes no secrets"),
        (HEAD.replace("fapi2", "fapi1") + KEY, ".profile: 'fapi1' is none of fapi2"),
    ],
)  # fmt: skip
def test_what_contradicts_it_is_a_fault_with_its_key(tmp_path: Path, changed: str, said: str) -> None:
    with pytest.raises(TenantsError) as caught:
        read(tmp_path, changed)
    assert any(f"tenants.riverside{said}" in fault for fault in caught.value.faults), caught.value.faults
