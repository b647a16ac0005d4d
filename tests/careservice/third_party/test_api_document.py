"""The API document in third-party tools: Spectral's rules, and generated TypeScript types that compile."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest
import requests

from portal.demo.programs import install_missing
from tests.support.tokens import TokenMaker
from tools.machine import NODE, NPM

SPECTRAL = "@stoplight/spectral-cli@6.16.3"
TYPES = ("openapi-typescript@7.13.0", "openapi-fetch@0.17.0", "typescript@5.9.3")

USE = """
import createClient from "openapi-fetch";
import type { components, paths } from "./api";

const client = createClient<paths>({ baseUrl: "http://127.0.0.1:1" });

export async function first(): Promise<string | undefined> {
  const { data } = await client.GET("/api/care/consent-forms", { params: { query: { MaxResultCount: 3 } } });
  if (!data) return undefined;
  const forms: components["schemas"]["ConsentFormRecord"][] = data.items;
  return forms[0]?.creationTime;
}

export async function sign(id: string, body: components["schemas"]["StampedNewSignature"]): Promise<string> {
  const { data, response } = await client.POST("/api/care/consent-forms/{id}/sign", {
    params: { path: { id }, header: { "Idempotency-Key": "one" } },
    body,
  });
  if (!data) throw new Error(`${response.status}`);
  return data.status;
}
"""


def npm(folder: Path, *packages: str) -> Path:
    """Install packages into a folder, and return where their programs are."""
    assert not install_missing(NODE, NPM)
    command = ["npm", "install", "--silent", "--no-audit", "--no-fund", "--prefix", str(folder), *packages]
    subprocess.run(command, check=True, timeout=300)
    return folder / "node_modules" / ".bin"


def run(program: Path, *arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(program), *arguments],
        cwd=cwd,
        env={**os.environ, "NO_COLOR": "1"},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


@pytest.fixture(scope="module")
def document(care_service: TokenMaker, tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("document") / "openapi.json"
    file.write_bytes(requests.get(f"{care_service.base_url}/openapi.json", timeout=10).content)
    return file


KNOWN = {
    "info-contact": "a sandbox has nobody to write to",
    "oas3-operation-security-defined": "it looks for scopes of OpenID Connect where the document can't list any",
    "oas3-unused-component": "what a body is without its stamp, beside what it is with it",
}
"""Spectral's warnings that stand; any other is to be mended, as every error is."""


def found_by_spectral(programs: Path, document: Path) -> set[str]:
    """What the ruleset `spectral:oas` says, errors and warnings."""
    (document.parent / ".spectral.yaml").write_text('extends: ["spectral:oas"]\n')
    done = run(
        programs / "spectral", "lint", "--format", "json", "--quiet", document.name, cwd=document.parent
    )
    assert done.returncode in (0, 1), done.stderr
    return {one["code"] for one in json.loads(done.stdout)}


def test_spectral_finds_no_error(document: Path, tmp_path: Path) -> None:
    programs = npm(tmp_path, SPECTRAL)
    assert found_by_spectral(programs, document) == set(KNOWN)
    broken = json.loads(document.read_text())
    del broken["paths"]["/api/care/consent-forms/{id}"]["get"]["parameters"][0]
    wrong = tmp_path / "wrong.json"
    wrong.write_text(json.dumps(broken))
    assert found_by_spectral(programs, wrong) == {*KNOWN, "path-params"}


def test_generated_typescript_types_compile(document: Path, tmp_path: Path) -> None:
    programs = npm(tmp_path, *TYPES)
    made = run(programs / "openapi-typescript", str(document), "--output", "api.d.ts", cwd=tmp_path)
    assert made.returncode == 0, made.stdout + made.stderr
    (tmp_path / "use.ts").write_text(USE)
    options = ("--strict", "--noEmit", "--module", "nodenext", "--target", "es2022", "--lib", "es2022,dom")
    compiled = run(programs / "tsc", *options, "use.ts", cwd=tmp_path)
    assert compiled.returncode == 0, compiled.stdout + compiled.stderr
    (tmp_path / "use.ts").write_text(USE.replace("data.status", "data.noSuchMember"))
    assert run(programs / "tsc", *options, "use.ts", cwd=tmp_path).returncode != 0
