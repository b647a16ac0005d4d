"""The rules for Prometheus name metrics that there are, and see what they are to see."""

from __future__ import annotations

import re
import shutil
import subprocess

from portal.operate import metrics
from tests.support.stack import ROOT

RULES = ROOT / "docs" / "alerts.yml"
SUFFIXES = re.compile(r"_(count|sum|bucket|total)$")


def test_rules_name_metrics_that_the_portal_has() -> None:
    named = set(re.findall(r"\bportal_[a-z_]+", RULES.read_text()))
    there = set(re.findall(r"^# TYPE (\w+) ", metrics.exposition().decode(), re.MULTILINE))
    known = {SUFFIXES.sub("", name) for name in there} | {
        "portal_store_free_bytes",
        "portal_audit_free_bytes",
    }
    assert {name for name in named if SUFFIXES.sub("", name) not in known} == set()
    assert len(named) > 10


def test_rules_about_pages_leave_out_what_machines_ask_for() -> None:
    asked = re.findall(r"portal_request_seconds_\w+\{([^}]*)\}", RULES.read_text())
    assert len(asked) == 3
    assert all('route!~"/healthz|/readyz|/metrics"' in labels for labels in asked)


def test_rules_see_what_they_are_to_see() -> None:
    """By Prometheus's own tool, where this machine has it."""
    tool = shutil.which("promtool")
    command = [tool or "true", "test", "rules", str(ROOT / "tests" / "operate" / "alerts.test.yml")]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr
