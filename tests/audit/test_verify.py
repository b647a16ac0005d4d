"""`python -m portal audit`, as an operator runs it beside the portal under gunicorn."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from portal.audit.verify import ChainResult, ChainVerdict, report
from portal.careservice.ids import sample_id
from portal.demo.stack import DemoSetup, portal_environment
from tests.support.stack import PASSWORD, ROOT, CareService, PortalProcess
from tests.support.visitor import Visitor


@pytest.fixture
def deployed(service: CareService, tmp_path: Path) -> Iterator[PortalProcess]:
    known = service.plan  # the identity server accepts only this port
    plan = DemoSetup(known.portal_port, known.service_port, tmp_path, known.secrets)
    process = PortalProcess(plan)
    yield process
    process.stop()


def verify(portal: PortalProcess, *paths: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return audit(portal, "verify", *map(str, paths), **environment)


def audit(portal: PortalProcess, *command: str, **environment: str) -> subprocess.CompletedProcess[str]:
    plan = portal.plan
    tenants = plan.data / f"tenants-{portal.port}.toml"
    return subprocess.run(
        [sys.executable, "-m", "portal", "audit", *command],
        cwd=ROOT,
        env={**os.environ, **portal_environment(plan, tenants), **environment},
        capture_output=True,
        text=True,
        timeout=60,
    )


def test_audit_files_verify_while_the_portal_runs_and_after_it_stopped(deployed: PortalProcess) -> None:
    visitor = Visitor(deployed.origin(), PASSWORD)
    visitor.sign_in("amelia")
    visitor.get("/consents")
    newer = {"PORTAL_SECRET_KEYS": "n" * 48 + "," + deployed.plan.secrets["PORTAL_SECRET_KEYS"]}
    actors = audit(deployed, "actor", sample_id("person", "amelia"), **newer).stdout.split()
    assert len(actors) == 2, "one pseudonym for each key"
    written = "".join(one.read_text() for one in (deployed.plan.data / "audit").glob("*.jsonl"))
    assert f'"actor":"{actors[1]}"' in written and actors[0] not in written
    running = verify(deployed)
    assert (running.returncode, running.stderr) == (0, ""), running.stdout
    assert ", 0 bad." in running.stdout

    visitor.get("/consents")
    deployed.stop()
    ended = verify(deployed)
    assert ended.returncode == 0, ended.stdout
    files = sorted((deployed.plan.data / "audit").glob("*.jsonl"))
    assert ended.stdout.count("fully checkpointed") == len(files) >= 1, (
        "each worker must checkpoint its last line"
    )

    whole = files[0].read_bytes()
    lines = whole.splitlines(keepends=True)
    files[0].write_bytes(b"".join(lines[:-1]))
    cut = verify(deployed)
    assert cut.returncode == 1
    assert f"TRUNCATED  {files[0]}" in cut.stdout or f"MISSING    {files[0].stem}" in cut.stdout
    assert "who could write to them" in cut.stdout

    files[0].unlink()
    gone = verify(deployed)
    assert gone.returncode == 1
    assert f"MISSING    {files[0].stem}" in gone.stdout

    elsewhere = deployed.plan.data / "archive"
    elsewhere.mkdir()
    (elsewhere / files[0].name).write_bytes(whole)
    archived = verify(deployed, deployed.plan.data / "audit", elsewhere)
    assert archived.returncode == 0, archived.stdout


def test_verifying_without_readable_files_or_valid_settings_exits_with_2(
    deployed: PortalProcess, tmp_path: Path
) -> None:
    sealed = tmp_path / "keys.gpg"
    sealed.write_bytes(b"\x85\x01\xff")
    for paths, environment, said in [
        ((Path("--old-keys"), sealed), {}, "keys.gpg isn't text in UTF-8"),
        ((), {"PORTAL_AUDIT": "stderr"}, "name the files"),
        ((Path("/nowhere/audit-x.jsonl"),), {}, "Nothing could be verified"),
        ((), {"PORTAL_STORE_URL": "redis://127.0.0.1:1/0"}, "Nothing could be verified"),
        ((), {"PORTAL_AUDIT_DAYS": "never"}, "PORTAL_AUDIT_DAYS"),
        ((tmp_path,), {"PORTAL_STORE_URL": f"sqlite:///{tmp_path}/another.db"}, "there is no audit line"),
    ]:
        done = verify(deployed, *paths, **environment)
        assert done.returncode == 2, done.stdout
        assert said in done.stderr


def test_the_report_counts_the_chains_by_verdict_and_says_what_to_do() -> None:
    good, gap, unvouched, *bad = (ChainResult("a", verdict, "why") for verdict in ChainVerdict)
    assert report([good, good, gap, unvouched, *bad]).split("\n")[1:8] == [
        *("good       a: why", "gap        a: why", "unvouched  a: why"),
        *("BROKEN     a: why", "TRUNCATED  a: why", "MISSING    a: why"),
        "",
    ]
    for findings, counted, advice in [
        ([good, good], "2 chains: 2 good, 0 unvouched, 0 bad.", []),
        ([good, gap], "2 chains: 1 good, 1 with gaps, 0 unvouched, 0 bad.", ["Gap:"]),
        ([good, good, unvouched], "3 chains: 2 good, 1 unvouched, 0 bad.", ["Unvouched:"]),
        *(([one], "1 chains: 0 good, 0 unvouched, 1 bad.", ["Lines"]) for one in bad),
    ]:
        *_, said = report(findings).partition("\n\n")
        first, *rest = said.split("\n")
        assert (first, [line.split()[0] for line in rest]) == (counted, advice)
