"""A Python client generated from the document by openapi-python-client works."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import requests

from portal.careservice.ids import sample_id
from tests.support.tokens import TokenMaker

GENERATOR = "openapi-python-client==0.29.1"

USE = """
import sys
from uuid import UUID

from clinic_care_portal_api_client import AuthenticatedClient
from clinic_care_portal_api_client.api.consent_form import get_consent_form, list_consent_forms
from clinic_care_portal_api_client.api.emr_endpoint_config import delete_emr_endpoint
from clinic_care_portal_api_client.api.file_management import get_file_content
from clinic_care_portal_api_client.models import ErrorBody

url, token, file_id = sys.argv[1:]
client = AuthenticatedClient(base_url=url, token=token)
page = list_consent_forms.sync(client=client, max_result_count=3)
assert page.total_count >= len(page.items) == 3
form = get_consent_form.sync(page.items[0].id, client=client)
assert isinstance(form.id, UUID) and form.creation_time.tzinfo is not None
refused = delete_emr_endpoint.sync_detailed(form.id, client=client)
assert (refused.status_code, refused.parsed) == (403, ""), refused
absent = get_consent_form.sync_detailed(UUID(int=0), client=client)
assert absent.status_code == 404 and isinstance(absent.parsed, ErrorBody)
content = get_file_content.sync(client=client, id=UUID(file_id))
assert content.payload.read().startswith(b"%PDF")
print("used")
"""


def run(*command: Any, cwd: Path, **environment: str) -> str:
    done = subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_a_generated_client_works(care_service: TokenMaker, tmp_path: Path) -> None:
    uv, place = Path(sys.executable).with_name("uv"), tmp_path / "venv"
    run(uv, "venv", "--quiet", place, cwd=tmp_path)
    run(uv, "pip", "install", "--quiet", GENERATOR, cwd=tmp_path, VIRTUAL_ENV=str(place))
    document = requests.get(f"{care_service.base_url}/openapi.json", timeout=10)
    (tmp_path / "openapi.json").write_bytes(document.content)
    made = tmp_path / "client"
    command = (
        place / "bin/openapi-python-client",
        "generate",
        "--path",
        "openapi.json",
        "--output-path",
        made,
    )
    assert "Unable to parse" not in run(*command, cwd=tmp_path)
    (made / "use.py").write_text(USE)
    file_id = sample_id("file", "amelia-plan")
    arguments = (care_service.base_url, care_service.token("amelia"), file_id)
    assert run(place / "bin/python", "use.py", *arguments, cwd=made) == "used\n"
