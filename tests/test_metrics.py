"""Metrics: only with the token, over all workers, with labels from short lists."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import re
import shutil
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
import requests
from prometheus_client.metrics import Gauge
from prometheus_client.parser import text_string_to_metric_families

from portal import metrics
from portal.careservice.ids import sample_id
from portal.demo.stack import DemoSetup, tenants_file
from portal.state.session_records import record_name
from tests.support.faults import Switchboard
from tests.support.stack import ROOT, CareService, PortalProcess, PortalThread, free_port, workers_of
from tests.support.visitor import Visitor

TOKEN = "a token for the tests of metrics"
WITH_TOKEN = {"Authorization": f"Bearer {TOKEN}"}
Sample = tuple[str, frozenset[tuple[str, str]]]


@pytest.fixture(scope="module")
def portal(
    service: CareService, board: Switchboard, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[PortalThread]:
    """The portal with a token for its metrics, whose way to the care API leads through the switchboard."""
    tenants: Path = tmp_path_factory.mktemp("metrics") / "tenants.toml"
    text = tenants_file(service.plan)
    tenants.write_text(text.replace(f'base_url = "{service.plan.service}"', f'base_url = "{board.address}"'))
    running = PortalThread(service.plan, PORTAL_TENANTS=str(tenants), PORTAL_METRICS_TOKEN=TOKEN)
    yield running
    running.stop()


_SAMPLE = re.compile(r"^(\w+)(?:\{(.*)\})? (\S+)$", re.MULTILINE)
_LABEL = re.compile(r'(\w+)="([^"]*)"')


def read(port: int) -> dict[Sample, float]:
    answer = requests.get(f"http://127.0.0.1:{port}/metrics", headers=WITH_TOKEN, timeout=20)
    assert answer.status_code == 200
    assert answer.headers["Content-Type"].startswith("text/plain; version=0.0.4")
    return {
        (name, frozenset(_LABEL.findall(labels))): float(number)
        for name, labels, number in _SAMPLE.findall(answer.text)
    }


def value(samples: dict[Sample, float], name: str, **labels: str) -> float:
    """The sum of all samples of this name that have these labels."""
    wanted = set(labels.items())
    return sum(number for (given, held), number in samples.items() if given == name and wanted <= held)


class Difference:
    """What was counted since this was made."""

    def __init__(self, portal: PortalThread) -> None:
        self._port = portal.port
        self._before = read(portal.port)

    def of(self, name: str, **labels: str) -> float:
        return value(read(self._port), name, **labels) - value(self._before, name, **labels)


@pytest.mark.asvs("13.4.5")
def test_metrics_need_the_token(portal: PortalThread) -> None:
    address = f"http://127.0.0.1:{portal.port}/metrics"
    for given in (
        {},
        {"Authorization": "Bearer wrong"},
        {"Authorization": f"Basic {TOKEN}"},
        {"Authorization": "Bearer"},
    ):
        answer = requests.get(address, headers=given, timeout=20)
        assert (answer.status_code, answer.text) == (401, "")
        assert answer.headers["WWW-Authenticate"] == "Bearer"
    for host in ("elsewhere.example", "riverside.localhost"):
        answer = requests.get(address, headers={**WITH_TOKEN, "Host": host}, timeout=20)
        assert answer.status_code == 200
    assert [*text_string_to_metric_families(answer.text)], "the format of the exposition is a scraper's"


def test_metrics_do_not_exist_without_a_configured_token(service: CareService, tmp_path: Path) -> None:
    running = PortalThread(DemoSetup(free_port(), service.plan.service_port, tmp_path, service.plan.secrets))
    try:
        answer = requests.get(f"http://127.0.0.1:{running.port}/metrics", headers=WITH_TOKEN, timeout=20)
        assert answer.status_code == 404
    finally:
        running.stop()


def test_pages_are_counted_by_route_and_calls_by_group(portal: PortalThread, amelia: Visitor) -> None:
    since = Difference(portal)
    amelia.get("/consents")
    amelia.get("/no/such/page", status=404)
    assert since.of("portal_request_seconds_count", route="/consents", method="GET", status="2xx") == 1
    assert since.of("portal_request_seconds_count", route="-", status="4xx") == 1
    assert since.of("portal_upstream_seconds_count", group="ConsentForm", outcome="2xx") >= 1


def test_shown_records_are_counted_by_role_and_kind(portal: PortalThread, amelia: Visitor) -> None:
    before = read(portal.port)
    for name in ("portal_records_opened_total", "portal_records_listed_total"):
        series = {key for key in before if key[0] == name}
        assert len(series) == len(metrics.ROLES) * len(metrics.RECORDS), f"{name} doesn't start at 0"
    since = Difference(portal)
    amelia.get(f"/protocols/{sample_id('protocol', 'amelia')}")
    forms = len(amelia.get("/consents").select("main a[href^='/consents/']"))
    elif_ = portal.sign_in("elif")
    elif_.get(f"/episodes/{sample_id('episode', 'amelia-1')}")
    assert since.of("portal_records_opened_total", role="patient", kind="protocol") == 1
    assert since.of("portal_records_listed_total", role="patient", kind="consent") >= forms > 1
    assert since.of("portal_records_opened_total", role="embryologist", kind="episode") == 1


def test_people_with_several_or_unknown_roles_are_counted() -> None:
    assert metrics._role_of({"nurse", "admin"}) == "several"
    assert metrics._role_of({"receptionist"}) == "other"
    assert metrics._role_of({"nurse", "receptionist"}) == "nurse"


def test_sign_ins_sign_outs_and_refusals_are_counted(portal: PortalThread) -> None:
    since = Difference(portal)
    visitor = portal.sign_in("grace")
    visitor.sign_out()
    visitor.request("GET", "/sign-in/callback?state=x&code=y", status=400)
    assert since.of("portal_sessions_total", event="begun") == 1
    assert since.of("portal_sessions_total", event="ended") == 1
    assert since.of("portal_events_total", event="sign-in", outcome="done") == 1
    assert since.of("portal_events_total", event="sign-in", outcome="unknown") == 1
    assert since.of("portal_events_total", event="sign-out", outcome="done") == 1
    assert since.of("portal_upstream_seconds_count", group="identity", outcome="2xx") >= 1


def test_sign_ins_and_pages_are_counted_by_clinic(portal: PortalThread, board: Switchboard) -> None:
    since = Difference(portal)
    portal.sign_in("grace")
    visitor = portal.visitor("harbour")
    visitor.request("GET", "/sign-in/callback?state=x&code=y", status=400)
    assert since.of("portal_sign_ins_begun_total", tenant="riverside") == 1
    assert since.of("portal_sign_ins_total", tenant="riverside", outcome="done") == 1
    assert since.of("portal_sign_ins_total", tenant="harbour") == 0, "nobody began it"
    assert since.of("portal_tenant_pages_total", tenant="riverside", outcome="served") > 1
    assert since.of("portal_tenant_pages_total", tenant="harbour", outcome="served") == 1
    waits = since.of("portal_request_wait_seconds_count")
    for path in ("/healthz", "/readyz"):
        visitor.get(path)
    assert since.of("portal_request_wait_seconds_count") == waits, "checks of health don't wait"
    assert since.of("portal_tenant_pages_total") == waits


def test_only_503_and_the_like_count_as_failures(portal: PortalThread) -> None:
    since = Difference(portal)
    for status in (200, 404, 501, 503):
        metrics.request("/made-up", "GET", status, 0.1)
        metrics.tenant_page("riverside", status)
    for class_ in ("2xx", "4xx", "501", "5xx"):
        assert since.of("portal_request_seconds_count", route="/made-up", status=class_) == 1
    assert since.of("portal_tenant_pages_total", tenant="riverside", outcome="failed") == 1
    metrics.request("/good-so-far", "GET", 200, 0.1)
    first = frozenset({("route", "/good-so-far"), ("method", "GET"), ("status", "5xx")})
    assert read(portal.port)["portal_request_seconds_count", first] == 0


@pytest.mark.parametrize(
    ("outcome", "counted"),
    [
        ("done", "done"),
        ("fresh", "done"),
        ("refused", "refused"),
        ("no-role", "refused"),
        ("not-strong", "refused"),
        ("unavailable", "failed"),
        ("client-refused", "failed"),
        ("loop", "failed"),
        ("unknown", None),
    ],
)
def test_a_sign_in_is_counted_by_who_was_in_the_way(
    portal: PortalThread, outcome: str, counted: str | None
) -> None:
    since = Difference(portal)
    metrics.sign_in("harbour", outcome)
    assert since.of("portal_sign_ins_total", tenant="harbour") == (counted is not None)
    assert counted is None or since.of("portal_sign_ins_total", tenant="harbour", outcome=counted) == 1


def test_a_refreshed_token_is_counted(portal: PortalThread) -> None:
    visitor = portal.sign_in("grace")
    cookie = visitor.session_id
    name = record_name(cookie)
    tokens = portal.context.sessions.tokens_of(name)
    portal.context.sessions.replace_tokens(name, tokens, msgspec.structs.replace(tokens, refresh_at=0.0))
    since = Difference(portal)
    visitor.get("/notifications")
    assert since.of("portal_token_refreshes_total", outcome="renewed") == 1


def test_reference_data_are_counted_by_source(
    portal: PortalThread, amelia: Visitor, board: Switchboard
) -> None:
    since = Difference(portal)
    amelia.get("/care-team")
    amelia.get("/care-team")
    assert since.of("portal_reference_data_total", outcome="miss") >= 1
    assert since.of("portal_reference_data_total", outcome="hit") >= 1


def test_an_open_breaker_is_in_metrics_fails_its_pages_fast_and_spares_others(
    portal: PortalThread, amelia: Visitor, board: Switchboard
) -> None:
    since = Difference(portal)
    with portal.clock.stopped(), board.failing("HTML 502", only=r"GET .*/getconversations"):
        pages = [amelia.get("/conversations", status=503) for _ in range(6)]
        calls = len(board.calls)
        held_back = amelia.get("/conversations", status=503)
        assert not [call for call in board.calls[calls:] if "getconversations" in call[1]]
        assert held_back.heading == pages[0].heading
        assert int(held_back.headers["Retry-After"]) <= 2
        assert amelia.get("/consents").status == 200
        assert since.of("portal_breaker_open", group="Messaging") == 1
        assert since.of("portal_breaker_opened_total", group="Messaging") == 1
        assert since.of("portal_breaker_held_back_total", group="Messaging") >= 1
        assert since.of("portal_upstream_retries_total", group="Messaging") >= 1
        assert since.of("portal_upstream_seconds_count", group="Messaging", outcome="5xx") == 5
    portal.clock.advance(10)
    try:
        assert amelia.get("/conversations").status == 200
    finally:
        portal.clock.advance(-10)
    assert since.of("portal_breaker_open", group="Messaging") == 0


def test_counts_begin_at_zero_and_clocks_are_compared(portal: PortalThread, amelia: Visitor) -> None:
    amelia.get("/consents")
    samples = read(portal.port)
    for name, labels in (
        ("portal_token_refreshes_total", {"outcome": "client-refused"}),
        ("portal_upstream_seconds_count", {"group": "identity", "outcome": "client-refused"}),
        ("portal_events_total", {"event": "sign-in", "outcome": "client-refused"}),
        ("portal_store_seconds_count", {"operation": "write", "outcome": "full"}),
        ("portal_audit_lost_total", {}),
        ("portal_acts_unknown_total", {}),
        ("portal_store_emptied_total", {}),
        ("portal_events_total", {"event": "session", "outcome": "unknown"}),
        ("portal_events_total", {"event": "consent.sign", "outcome": "unknown"}),
        ("portal_sign_ins_total", {"tenant": "harbour", "outcome": "failed"}),
        ("portal_tenant_pages_total", {"tenant": "harbour", "outcome": "failed"}),
    ):
        assert (name, frozenset(labels.items())) in samples, "the series must exist before the first event"
    assert value(samples, "portal_ready") == 1
    skew = samples[("portal_clock_skew_seconds", frozenset({("upstream", portal.plan.service)}))]
    assert -3 < skew < 3


def test_seconds_are_not_added_up_over_workers() -> None:
    told = {one._name: one._multiprocess_mode for one in vars(metrics).values() if isinstance(one, Gauge)}
    seconds = {mode for name, mode in told.items() if name.endswith("_seconds")}
    assert seconds and not seconds & {"sum", "livesum", "all", "liveall"}


def test_a_visitors_input_never_becomes_a_label(portal: PortalThread) -> None:
    visitor = portal.visitor()
    before = {key for key in read(portal.port) if key[0] != "portal_request_seconds_bucket"}
    for number in range(40):
        mark = f"canary{number}"
        visitor.request("GET", f"/{mark}/{mark}?{mark}={mark}", status=404)
        for method, path in ((mark.upper(), "/"), ("PROPFIND", f"/{mark}"), ("GET", "/sign-in/callback")):
            visitor.http.request(
                method,
                f"{portal.origin()}{path}?state={mark}",
                headers={"User-Agent": mark, "X-Request-Id": mark, "Cookie": f"__Host-sid={mark}"},
                allow_redirects=False,
                timeout=20,
            )
        requests.get(f"http://127.0.0.1:{portal.port}/", headers={"Host": f"{mark}.example"}, timeout=20)
    samples = read(portal.port)
    assert "canary" not in str(samples).lower()
    new = {key for key in samples if key[0] != "portal_request_seconds_bucket"} - before
    assert len(new) < 30, new


def test_a_worker_without_a_free_descriptor_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """Raising would end the worker's loop."""

    def none_left(_path: Path) -> str:
        raise OSError(errno.EMFILE, "Too many open files")

    monkeypatch.setattr(Path, "read_text", none_left)
    metrics.worker(connections=3, waiting=2)


def test_metrics_add_up_over_restartedworkers_of(service: CareService, tmp_path: Path) -> None:
    process = PortalProcess(
        DemoSetup(free_port(), service.plan.service_port, tmp_path, service.plan.secrets),
        PORTAL_METRICS_TOKEN=TOKEN,
        PORTAL_STORE_URL=f"sqlite:///{tmp_path}/store.db",
        PORTAL_WORKERS="2",
    )
    try:
        address = f"http://127.0.0.1:{process.port}/healthz"
        for _ in range(20):
            assert requests.get(address, timeout=20).status_code == 200
        folder = _folder(process.child.pid)
        os.kill(workers_of(process.child.pid)[0], signal.SIGKILL)
        for _ in range(20):
            requests.get(address, timeout=20)
        count = value(read(process.port), "portal_request_seconds_count", route="/healthz", status="2xx")
        assert count == 40
        slots = {file.stem.rpartition("_")[2] for file in folder.glob("*.db")}
        assert slots <= {"0", "1"}, "a replaced worker must reuse its slot's files"
        samples = read(process.port)
        assert value(samples, "portal_threads") in (8, 16), "the new worker may not be there yet"
        assert value(samples, "portal_threads_busy") == 0, (
            "checks of health and metrics have threads of their own"
        )
        assert value(samples, "portal_worker_stops_total") == 0, "it was killed"
        assert value(samples, "portal_store_free_bytes") > 0 and value(samples, "portal_build_info") == 1
        assert value(samples, "portal_store_seconds_count", operation="write", outcome="done") > 0
    finally:
        process.stop()
    said = [json.loads(line) for line in process.log.read_text().splitlines()]
    assert any("SIGKILL" in line.get("message", "") for line in said), "gunicorn's own lines are JSON too"
    assert not folder.exists()


def test_a_recycled_worker_counts_as_stopped(service: CareService, tmp_path: Path) -> None:
    process = PortalProcess(
        DemoSetup(free_port(), service.plan.service_port, tmp_path, service.plan.secrets),
        PORTAL_METRICS_TOKEN=TOKEN,
        PORTAL_STORE_URL=f"sqlite:///{tmp_path}/store.db",
        PORTAL_WORKERS="1",
        PORTAL_MAX_REQUESTS="10",
    )
    try:
        for _ in range(15):
            requests.get(f"http://127.0.0.1:{process.port}/healthz", timeout=20)
        started, stopped, now = (0.0, 0.0, 0.0)
        until = time.monotonic() + 20
        while time.monotonic() < until and not (stopped and started - stopped == now):
            samples = read(process.port)
            started = value(samples, "portal_worker_starts_total")
            stopped = value(samples, "portal_worker_stops_total")
            now = value(samples, "portal_workers")
            time.sleep(0.1)
        assert stopped >= 1
        assert started - stopped == now
    finally:
        process.stop()


def _folder(master: int) -> Path:
    """Where the workers of this master write: a worker's environment as it was at its start is the master's."""
    found = [
        Path(line.rpartition(" ")[2]).parent
        for worker in workers_of(master)  # a worker that hasn't served a request has written nothing
        for line in Path(f"/proc/{worker}/maps").read_text().splitlines()
        if "portal-metrics-" in line
    ]
    return found[0]


def test_the_code_is_told_by_what_it_says(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Else machines of two versions tell the same, and nobody learns of it (VersionMismatch)."""
    copy = tmp_path / "portal" / "metrics.py"
    shutil.copytree(ROOT / "templates", tmp_path / "templates")
    copy.parent.mkdir()
    shutil.copy(ROOT / "portal" / "metrics.py", copy)
    told = [metrics.code()]
    monkeypatch.setattr(metrics, "__file__", str(copy))
    for more in ("", "# another version\n"):
        copy.write_text(copy.read_text(encoding="utf-8") + more, encoding="utf-8")
        metrics.code.cache_clear()
        told.append(metrics.code())
    metrics.code.cache_clear()
    assert len({*told, hashlib.sha256().hexdigest()[:12]}) == 4
