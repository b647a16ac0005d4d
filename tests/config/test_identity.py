"""What the tenants file may say of an identity server, and the faults in it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from portal.config.identity import ClientAuth, KeyAudience, Par
from portal.config.tenants import Roles, TenantsError
from tests.support.clinic_file import ROLES, configured
from tests.support.stack import plan


@pytest.mark.parametrize(
    ("tenant", "roles", "said"),
    [
        ('par = "never"', ROLES, "par: 'never' is none of auto, off, required"),
        ('client_auth = "basic"', ROLES, "client_auth: 'basic' is none of client_secret_basic, client_secret_post"),
        ('client_key_audience = "me"', ROLES, "client_key_audience: 'me' is none of issuer, token_endpoint"),
        ('client_key_alg = "RS512"', ROLES, "client_key_alg: needs a usable client_key_env"),
        ('client_key_env = "RIVERSIDE_KEY"\nclient_key_alg = "ES256"', ROLES,
         "client_key_alg: must be one of this key's: RS256, RS384, RS512, PS256, PS384, PS512"),
        ('logout_params = { logout_uri = "{signed_in}" }', ROLES,
         "logout_params.logout_uri: must have no other placeholders than {client_id} and {signed_out}"),
        ('logout_params = { logout_uri = 1 }', ROLES, "logout_params.logout_uri: must be a string"),
        ('logout_params = "x"', ROLES, "logout_params: must be a table"),
        ("tenant_claim = []", ROLES, "tenant_claim: must be a claim's name, or a list of the names that lead to it"),
        ("", "claim = 5", "roles.claim: must be a claim's name, or a list of the names that lead to it"),
        ("", 'claim = ["a", 5]', "roles.claim: must be a list of strings"),
        ("", "separator = 1", 'roles.separator: must be a string such as ","'),
        ("", 'staff = ["nurse"]\nmap = { "Nurses" = "physician" }',
         "roles.map.Nurses: 'physician' is among neither patient nor staff"),
        ("", 'map = { "Nurses" = 1 }', "roles.map.Nurses: must be a string"),
    ],
)  # fmt: skip
def test_a_fault_is_reported_with_its_key(tmp_path: Path, tenant: str, roles: str, said: str) -> None:
    with pytest.raises(TenantsError) as refused:
        configured(plan(tmp_path), tenant, roles)
    assert f"tenants.riverside.{said}" in refused.value.faults


def test_the_defaults_are_the_standards(tmp_path: Path) -> None:
    clinic = configured(plan(tmp_path))
    assert (clinic.par, clinic.logout_params) == (Par.AUTO, {})
    assert (clinic.client.auth, clinic.client.key_audience) == (None, KeyAudience.ISSUER)
    assert (clinic.roles.claim, clinic.roles.separator, clinic.roles.map) == (("role",), "", {})


def test_every_key_is_read(tmp_path: Path) -> None:
    tenant = (
        'par = "off"\nclient_key_env = "RIVERSIDE_KEY"\nclient_key_alg = "PS384"\ntenant_claim = ["org", "a.b"]\n'
        'client_key_audience = "token_endpoint"\nclient_auth = "client_secret_post"'
    )
    clinic = configured(plan(tmp_path), tenant, 'claim = ["a", "b.c"]\nseparator = " "')
    assert clinic.client.signing_key is not None
    assert clinic.client.signing_key.algorithm == "PS384"
    assert (clinic.client.auth, clinic.client.key_audience) == (ClientAuth.POST, KeyAudience.TOKEN_ENDPOINT)
    assert (clinic.par, clinic.tenant_claim) == (Par.OFF, ("org", "a.b"))
    assert (clinic.roles.claim, clinic.roles.separator) == (("a", "b.c"), " ")


@pytest.mark.parametrize(
    ("words", "named"), [(["Nurses"], {"nurse"}), (["nurse"], set()), (["Nurses", "Others"], {"nurse"})]
)
def test_with_a_map_its_words_alone_count(words: list[str], named: Any) -> None:
    assert Roles(map={"Nurses": "nurse"}).named(words) == named
    assert Roles().named(words) == set(words)
