"""Every block of docs/identity-servers.md is a clinic that the portal can start with."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from joserfc.jwk import RSAKey

from portal.config.tenants_file import load_tenants
from tests.support.stack import ROOT

DOCUMENT = (ROOT / "docs" / "identity-servers.md").read_text(encoding="utf-8")
PROVIDERS = DOCUMENT.partition("\n## Providers\n")[2]
BLOCKS = re.findall(r"^### ([^\n]+)\n\n```toml\n(.*?)```", PROVIDERS, re.MULTILINE | re.DOTALL)
SECRETS = {
    "PORTAL_CLIENT_SECRET": "s" * 20,
    "PORTAL_CLIENT_KEY": RSAKey.generate_key(2048).as_pem(private=True).decode(),
}


def test_every_provider_has_a_block_of_at_most_fifteen_lines() -> None:
    assert len(BLOCKS) == PROVIDERS.count("\n### ") == PROVIDERS.count("```toml\n") == 14
    assert all(len(block.splitlines()) <= 15 for _, block in BLOCKS)


@pytest.mark.parametrize("block", [block for _, block in BLOCKS], ids=[name for name, _ in BLOCKS])
def test_each_block_is_a_valid_clinic(tmp_path: Path, block: str) -> None:
    file = tmp_path / "tenants.toml"
    own = 'hosts = ["portal.example"]\nname = "Clinic"\nbase_url = "https://api.example"\n'
    file.write_text(block.replace("[tenants.clinic]\n", f"[tenants.clinic]\n{own}", 1))
    clinic = load_tenants(file, SECRETS).by_key["clinic"]
    assert clinic.auth_url
    assert clinic.roles.patient
