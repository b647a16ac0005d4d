"""What the image is made of; `make image` carries its steps out."""

from __future__ import annotations

import json
from pathlib import PurePosixPath

from tests.support.dockerfile import ROOT, context, stages

BUILD, FINAL = stages((ROOT / "Dockerfile").read_text(encoding="utf-8"))


def test_it_is_the_portal_alone() -> None:
    files = context()
    top = {PurePosixPath(name).parts[0] for name in files}
    assert top == {"gunicorn.conf.py", "portal", "requirements", "static", "templates", "wsgi.py"}
    assert not [
        name for name in files if name.startswith("portal/careservice") or name.endswith((".br", ".mo"))
    ]
    assert "sqlalchemy" not in (ROOT / "requirements/portal.txt").read_text(encoding="utf-8").lower()


def test_everything_that_is_copied_is_there() -> None:
    files = context()
    for stage in (BUILD, FINAL):
        for step in stage.steps:
            if step.word == "COPY" and not step.argument.startswith("--from="):
                for source in step.argument.split()[:-1]:
                    assert any(name == source or name.startswith(f"{source}/") for name in files), source


def test_it_runs_as_nobody_with_a_check_of_its_health() -> None:
    assert FINAL.base == BUILD.base, "compiled in one, it must run in the other"
    user, group = FINAL.last("USER").split(":")
    assert int(user) > 999 and int(group) > 999
    assert json.loads(FINAL.last("CMD")) == ["gunicorn", "wsgi:app"]
    assert "/healthz" in json.loads(FINAL.last("HEALTHCHECK").partition("CMD ")[2])[-1]
    assert all("--require-hashes" in line for line in _installing())


def _installing() -> list[str]:
    runs = [step.argument for step in BUILD.steps if step.word == "RUN"]
    return [part for run in runs for part in run.split(" && ") if " install " in part]
