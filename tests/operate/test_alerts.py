"""The Prometheus rules use existing metrics and fire when they should."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import requests
import yaml
from prometheus_client.parser import text_string_to_metric_families

from portal import metrics
from portal.careservice.app import create_app
from portal.careservice.settings import Settings
from tests.support.stack import ROOT, CareService, PortalThread

RULES = ROOT / "docs" / "alerts.yml"
ALERT_TESTS = Path(__file__).with_name("alerts.test.yml")
TOKEN = "a token for the tests of alerts"
NAME = re.compile(r"\b((?:portal|care)_[a-z_]+)(?:\{([^}]*)\})?")
BUILT_IN = {"up"}


def rules() -> list[dict[str, Any]]:
    groups = yaml.safe_load(RULES.read_text(encoding="utf-8"))["groups"]
    return [rule for group in groups for rule in group["rules"]]


def alert_tests() -> list[dict[str, Any]]:
    return yaml.safe_load(ALERT_TESTS.read_text(encoding="utf-8"))["tests"]


def labels_by_series(text: str) -> dict[str, set[str]]:
    """The series of a `/metrics` page by name, with their labels."""
    found: dict[str, set[str]] = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            found.setdefault(sample.name, set()).update(sample.labels)
    return found


def test_alert_rules_use_existing_series_and_labels(service: CareService, tmp_path: Path) -> None:
    portal = PortalThread(service.plan, PORTAL_METRICS_TOKEN=TOKEN, PORTAL_AUDIT=str(tmp_path))
    try:
        amelia = portal.sign_in("amelia")
        amelia.get("/consents")
        asked = f"http://127.0.0.1:{portal.port}/metrics"
        known = labels_by_series(
            requests.get(asked, headers={"Authorization": f"Bearer {TOKEN}"}, timeout=20).text
        )
    finally:
        portal.stop()
    # Thread metrics appear only under gunicorn, breaker metrics only after failures; take them from the declarations.
    known |= {name: labels for name, labels in declared().items() if name not in known}
    known |= labels_by_series(care_metrics(service))
    used = 0
    for rule in rules():
        assert re.fullmatch(r"[A-Z]\w+", rule["alert"])
        for name, labels in NAME.findall(rule["expr"]):
            used += 1
            assert name in known, rule["alert"]
            matched = set(re.findall(r"(\w+)\s*(?:=~|!~|!=|=)", labels))
            assert matched <= known[name], f"{rule['alert']}: {name} has no {matched - known[name]}"
        bare = set(re.findall(r"\b([a-z_]+)\{", rule["expr"])) - set(known) - BUILT_IN
        assert not bare, f"{rule['alert']}: {bare}"
    assert used >= 20


def declared() -> dict[str, set[str]]:
    """Every series that the portal's code declares, even if it hasn't counted anything yet."""
    series: dict[str, set[str]] = {}
    for collector in metrics._REGISTRY._collector_to_names:
        labels = set(getattr(collector, "_labelnames", ()))
        for name in metrics._REGISTRY._collector_to_names[collector]:
            series[name] = labels
    return series


def care_metrics(service: CareService) -> str:
    settings = Settings(
        database_url=f"sqlite:///{service.plan.data}/care.db",
        issuer="http://127.0.0.1:1",
        metrics_token=TOKEN,
    )
    client = create_app(settings).test_client()
    return client.get("/metrics", headers={"Authorization": f"Bearer {TOKEN}"}).text


def test_alert_rules_about_pages_exclude_health_checks() -> None:
    asked = re.findall(r"portal_request_seconds_\w+\{([^}]*)\}", RULES.read_text())
    assert len(asked) == 3
    assert all('route!~"/healthz|/readyz|/metrics"' in labels for labels in asked)


def test_the_alert_tests_cover_existing_rules_and_pass() -> None:
    """Also run promtool if it is installed."""
    names = {rule["alert"] for rule in rules()}
    tried = [one for test in alert_tests() for one in test["alert_rule_test"]]
    assert {one["alertname"] for one in tried} <= names
    for name in {one["alertname"] for one in tried}:
        expected = [bool(one["exp_alerts"]) for one in tried if one["alertname"] == name]
        assert True in expected, f"{name} is never expected to fire"
    written = {
        name
        for test in alert_tests()
        for one in test["input_series"]
        for name, _ in NAME.findall(one["series"])
    }
    read = {name for rule in rules() for name, _ in NAME.findall(rule["expr"])}
    assert written <= read, "a series that no rule uses"
    if tool := shutil.which("promtool"):
        command = [tool, "test", "rules", str(ALERT_TESTS)]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
        assert done.returncode == 0, done.stdout + done.stderr
