"""The Prometheus rules use existing metrics and fire when they should; the dashboard shows what exists."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import requests
import yaml
from prometheus_client.parser import text_string_to_metric_families

from portal import metrics
from portal.careservice.app import create_app
from portal.careservice.settings import Settings
from portal.demo.programs import path_of
from portal.views import health
from tests.support.full import FULL
from tests.support.stack import ROOT, CareService, PortalThread

RULES = ROOT / "docs" / "alerts.yml"
DASHBOARD = ROOT / "deploy" / "grafana" / "portal.json"
ALERT_TESTS = sorted(Path(__file__).parent.glob("alerts*.test.yml"))
TOKEN = "a token for the tests of alerts"
NAME = re.compile(r"\b((?:portal|care)_[a-z_]+)(?:\{([^}]*)\})?")
BUILT_IN = {"up"}


@cache
def rules() -> list[dict[str, Any]]:
    groups = yaml.safe_load(RULES.read_text(encoding="utf-8"))["groups"]
    return [rule for group in groups for rule in group["rules"]]


@cache
def panels() -> list[dict[str, Any]]:
    return [
        one for one in json.loads(DASHBOARD.read_text(encoding="utf-8"))["panels"] if one["type"] != "row"
    ]


def shown() -> list[tuple[str, dict[str, Any]]]:
    """What the dashboard asks Prometheus for, with its panel's title."""
    return [(panel["title"], target) for panel in panels() for target in panel["targets"]]


def alerts() -> list[dict[str, Any]]:
    return [rule for rule in rules() if "alert" in rule]


@cache
def alert_tests() -> list[dict[str, Any]]:
    return [
        test for file in ALERT_TESTS for test in yaml.safe_load(file.read_text(encoding="utf-8"))["tests"]
    ]


def expectations(name: str) -> list[dict[str, Any]]:
    """What the tests expect of the alerts of this name, each at one time."""
    return [
        tried for test in alert_tests() for tried in test["alert_rule_test"] if tried["alertname"] == name
    ]


def labels_by_series(text: str) -> dict[str, set[str]]:
    """The series of a `/metrics` page by name, with their labels."""
    found: dict[str, set[str]] = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            found.setdefault(sample.name, set()).update(sample.labels)
    return found


@pytest.fixture(scope="module")
def portal(service: CareService, tmp_path_factory: pytest.TempPathFactory) -> Iterator[PortalThread]:
    audit = tmp_path_factory.mktemp("audit")
    running = PortalThread(service.plan, PORTAL_METRICS_TOKEN=TOKEN, PORTAL_AUDIT=str(audit))
    yield running
    running.stop()


def test_rules_use_existing_series_and_labels(
    service: CareService, portal: PortalThread, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(metrics._at_fault, "riverside.toml", "kept")
    portal.sign_in("amelia").get("/consents")
    asked = f"http://127.0.0.1:{portal.port}/metrics"
    known = labels_by_series(
        requests.get(asked, headers={"Authorization": f"Bearer {TOKEN}"}, timeout=20).text
    )
    # Thread metrics appear only under gunicorn, breaker metrics only after failures; take them from the declarations.
    known |= {name: labels for name, labels in declared().items() if name not in known}
    known |= labels_by_series(care_metrics(service))
    used = 0
    named = [(rule.get("alert") or rule["record"], rule["expr"]) for rule in rules()]
    for title, _expression in named:
        assert re.fullmatch(r"[A-Z]\w+|portal:\w+:ratio_rate\w+|portal:any_ready", title)
    for title, expression in [*named, *((title, target["expr"]) for title, target in shown())]:
        for name, labels in NAME.findall(expression):
            used += 1
            assert name in known, title
            matched = set(re.findall(r"(\w+)\s*(?:=~|!~|!=|=)", labels))
            assert matched <= known[name], f"{title}: {name} has no {matched - known[name]}"
        bare = set(re.findall(r"\b([a-z_]+)\{", expression)) - set(known) - BUILT_IN
        assert not bare, f"{title}: {bare}"
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


def test_rules_about_pages_exclude_health_checks_and_what_pages_ask_in_the_background(
    portal: PortalThread,
) -> None:
    asked = re.findall(r"portal_request_seconds_\w+\{([^}]*)\}", RULES.read_text())
    assert len(asked) > 10
    [left_out] = {matcher[1] for labels in asked if (matcher := re.search(r'route!~"([^"]*)"', labels))}
    assert all(f'route!~"{left_out}"' in labels for labels in asked)
    routes = {rule.rule for rule in portal.app.url_map.iter_rules()}
    matched = {route for route in routes if re.fullmatch(left_out, route)}
    assert matched == health.PATHS | {"/session", "/notifications/bell", "/page-speed"}


@pytest.mark.parametrize("rule", alerts(), ids=lambda rule: f"{rule['alert']} {rule['labels']['severity']}")
def test_an_alert_says_how_urgent_it_is_what_happened_and_what_to_do(rule: dict[str, Any]) -> None:
    assert rule["labels"]["severity"] in {"critical", "warning"}
    told = rule["annotations"]
    assert set(told) == {"summary", "description", "runbook"}
    assert told["runbook"] == f"docs/runbook.md#{rule['alert'].lower()}"
    has_label = set().union(
        *(
            expected.get("exp_labels", {})
            for tried in expectations(rule["alert"])
            for expected in tried["exp_alerts"]
        )
    )
    used = set(re.findall(r"\$labels\.(\w+)", " ".join(told.values())))
    assert used <= has_label, f"its alerts have no label {used - has_label}"


def test_the_runbook_has_an_entry_for_each_alert_and_no_other() -> None:
    text = (ROOT / "docs" / "runbook.md").read_text(encoding="utf-8")
    entries = dict(re.findall(r"^### (\w+)\n(.*?)(?=^#|\Z)", text, re.MULTILINE | re.DOTALL))
    assert set(entries) == {rule["alert"] for rule in alerts()}
    for name, entry in entries.items():
        parts = re.findall(r"^\*\*([\w ]+)\.\*\*", entry, re.MULTILINE)
        assert parts == ["For people", "Look at", "Do", "Over when"], name


@pytest.mark.parametrize("name", sorted({rule["alert"] for rule in alerts()}))
def test_each_alert_is_tried_firing_and_silent(name: str) -> None:
    fires = {bool(tried["exp_alerts"]) for tried in expectations(name)}
    severities = {
        expected["exp_labels"]["severity"] for tried in expectations(name) for expected in tried["exp_alerts"]
    }
    assert fires == {True, False}
    assert severities == {rule["labels"]["severity"] for rule in alerts() if rule["alert"] == name}


def test_the_alert_tests_use_no_series_that_no_rule_reads() -> None:
    written = {
        name
        for test in alert_tests()
        for one in test["input_series"]
        for name, _labels in NAME.findall(one["series"])
    }
    assert written <= {name for rule in rules() for name, _labels in NAME.findall(rule["expr"])}


@pytest.mark.parametrize(
    "file",
    ALERT_TESTS if FULL else [one for one in ALERT_TESTS if ".long." not in one.name],
    ids=lambda one: one.name,
)
def test_alerts_fire_when_they_should(file: Path, tmp_path: Path) -> None:
    rules = yaml.safe_load(RULES.read_text(encoding="utf-8"))
    for rule in (rule for group in rules["groups"] for rule in group["rules"]):
        rule.pop("annotations", None)
    tests = yaml.safe_load(file.read_text(encoding="utf-8"))
    assert [(file.parent / path).resolve() for path in tests["rule_files"]] == [RULES]
    tests["rule_files"] = ["rules.yml"]
    (tmp_path / "rules.yml").write_text(yaml.safe_dump(rules), encoding="utf-8")
    (tmp_path / "tests.yml").write_text(yaml.safe_dump(tests), encoding="utf-8")
    command = [path_of("promtool"), "test", "rules", str(tmp_path / "tests.yml")]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr


def test_promtool_accepts_the_rules_with_their_annotations_and_what_the_dashboard_asks(
    tmp_path: Path,
) -> None:
    """As recording rules: promtool parses no dashboard."""
    asked = [{"record": f"panel:{n}", "expr": target["expr"]} for n, (_, target) in enumerate(shown())]
    dashboard = tmp_path / "dashboard.yml"
    dashboard.write_text(yaml.safe_dump({"groups": [{"name": "dashboard", "rules": asked}]}), "utf-8")
    command = [path_of("promtool"), "check", "rules", str(RULES), str(dashboard)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_dashboard_names_its_series_and_overlaps_nowhere() -> None:
    recorded = {rule["record"] for rule in rules() if "record" in rule}
    for title, target in shown():
        assert set(re.findall(r"portal:[\w:]+", target["expr"])) <= recorded, title
        of_series = set(re.findall(r"{{(\w+)}}", target["legendFormat"]))
        grouped = {
            label.strip() for by in re.findall(r"by \(([^)]*)\)", target["expr"]) for label in by.split(",")
        }
        assert of_series <= grouped, title
    taken = [
        (x, y)
        for panel in panels()
        for x in range(panel["gridPos"]["x"], panel["gridPos"]["x"] + panel["gridPos"]["w"])
        for y in range(panel["gridPos"]["y"], panel["gridPos"]["y"] + panel["gridPos"]["h"])
    ]
    assert len(taken) == len(set(taken))
    assert max(x for x, _ in taken) < 24
    assert len({panel["id"] for panel in panels()}) == len(panels())
