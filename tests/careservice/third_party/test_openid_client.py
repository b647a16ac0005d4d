"""The identity server, driven by the certified `openid-client` 6 (npm)."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest
from joserfc.jwk import KeySet, RSAKey

from portal.careservice.ids import sample_id
from portal.demo.programs import install_missing
from tests.support.stack import PASSWORD, SECRETS, CareService, plan
from tools.machine import NODE, NPM

PACKAGE = "openid-client@6"
DRIVER = Path(__file__).with_name("openid_client.mjs")


@pytest.fixture(scope="module")
def modules(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which the package is installed."""
    assert not install_missing(NODE, NPM)
    folder = tmp_path_factory.mktemp("openid-client")
    command = ["npm", "install", "--silent", "--no-audit", "--no-fund", "--prefix", str(folder), PACKAGE]
    subprocess.run(command, check=True, timeout=300)
    shutil.copy(DRIVER, folder)
    return folder


def test_openid_client_completes_all_flows(modules: Path, tmp_path: Path) -> None:
    key = RSAKey.generate_key(2048, auto_kid=True)
    keys = tmp_path / "keys.json"
    keys.write_text(json.dumps(KeySet([key]).as_dict(private=False)))
    running = CareService(plan(tmp_path), "--client-keys", f"harbour-service={keys}")
    try:
        given = {
            "issuer": running.base_url,
            "redirect": f"http://riverside.localhost:{running.plan.portal_port}/sign-in/callback",
            "secret": SECRETS["RIVERSIDE_CLIENT_SECRET"],
            "password": PASSWORD,
            "sub": sample_id("person", "amelia"),
            "key": key.as_dict(private=True),
        }
        done = subprocess.run(
            ["node", DRIVER.name, json.dumps(given)],
            cwd=modules,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
    finally:
        running.stop()
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.splitlines()[-1] == "content"
