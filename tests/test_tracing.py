"""Spans for OpenTelemetry: the SDK sends them over OTLP to a collector on loopback, which says what came."""

from __future__ import annotations

import runpy
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status

from portal import metrics, tracing
from portal.config.settings import SettingsError
from portal.config.variables import DECLARED
from portal.services.consents import LIST_CONSENTS, READ_CONSENT
from tests.support.clock import Clock
from tests.support.fake_api import NOW, FakeApi, fake_api
from tests.support.in_process import InProcess
from tests.support.stack import ROOT

__all__ = ["fake_api"]
THEIRS = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"


class Collector(ThreadingHTTPServer):
    """An OTLP/HTTP receiver: the bodies as they came, and the spans in them."""

    def __init__(self) -> None:
        self.bodies: list[bytes] = []
        bodies = self.bodies

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                bodies.append(self.rfile.read(int(self.headers["Content-Length"])))
                self.send_response(200)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_: object) -> None:
                pass

        super().__init__(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self.server_port}/v1/traces"

    def take(self) -> list[Span]:
        """The spans that came since this was last asked."""
        if tracing._on:
            tracing._on.provider.force_flush()
        requests = [ExportTraceServiceRequest.FromString(body) for body in self.bodies]
        self.bodies.clear()
        return [
            span
            for request in requests
            for resource in request.resource_spans
            for scope in resource.scope_spans
            for span in scope.spans
        ]


@pytest.fixture
def collector() -> Iterator[Collector]:
    running = Collector()
    yield running
    tracing.stop()
    running.shutdown()
    running.server_close()


def told(span: Span) -> dict[str, str | int]:
    return {one.key: one.value.string_value or one.value.int_value for one in span.attributes}


def test_a_request_its_page_its_calls_and_its_store_are_one_trace(
    collector: Collector, fake_api: FakeApi, tmp_path: Path
) -> None:
    portal = InProcess(tmp_path, Clock(NOW.timestamp), PORTAL_TRACES_URL=collector.url)
    amelia = portal.visitor("amelia", "patient")
    collector.take()
    page = amelia.request("GET", "/consents?q=kanary", headers={"traceparent": THEIRS})
    bodies = list[bytes]()
    assert tracing._on
    tracing._on.provider.force_flush()
    bodies += collector.bodies
    spans = collector.take()
    (request,) = [span for span in spans if not span.parent_span_id]
    assert request.name == "GET /consents"
    assert request.kind == Span.SpanKind.SPAN_KIND_SERVER
    assert told(request) == {
        "http.request.method": "GET",
        "http.route": "/consents",
        "http.response.status_code": 200,
        "portal.tenant": "riverside",
        "portal.request": page.headers["X-Request-Id"],
    }
    assert request.trace_id.hex() not in THEIRS, "whom no proxy vouches for begins no trace here"
    assert {span.trace_id for span in spans} == {request.trace_id}
    kinds = {span.name for span in spans}
    assert {"store", "page", f"GET {LIST_CONSENTS.template}"} <= kinds
    (call,) = [span for span in spans if span.name == f"GET {LIST_CONSENTS.template}"]
    what = {"http.request.method": "GET", "url.template": LIST_CONSENTS.template}
    assert told(call) == {**what, "http.response.status_code": 200}
    (sent,) = fake_api.sent(LIST_CONSENTS)
    assert sent.headers["traceparent"].startswith(f"00-{call.trace_id.hex()}-{call.span_id.hex()}-")
    raw = b"".join(bodies)
    assert b"riverside" in raw
    for private in (b"kanary", b"amelia", b"Amelia", b"token-of", b"api.localhost"):
        assert private not in raw, private


def test_a_failure_is_marked_and_a_proxys_trace_goes_on_without_what_was_asked_for(
    collector: Collector, fake_api: FakeApi, tmp_path: Path
) -> None:
    portal = InProcess(tmp_path, Clock(NOW.timestamp), PORTAL_TRACES_URL=collector.url, PORTAL_PROXY_HOPS="1")
    amelia = portal.visitor("amelia", "patient")
    fake_api.loses(READ_CONSENT)
    collector.take()
    amelia.request("GET", "/consents/kanary-1", headers={"traceparent": THEIRS}, status=503)
    assert tracing._on
    tracing._on.provider.force_flush()
    raw = b"".join(collector.bodies)
    spans = collector.take()
    (request,) = [span for span in spans if span.kind == Span.SpanKind.SPAN_KIND_SERVER]
    assert (request.trace_id.hex(), request.parent_span_id.hex()) == tuple(THEIRS.split("-")[1:3])
    assert request.name == "GET /consents/<record:consent_id>"
    assert request.status.code == Status.StatusCode.STATUS_CODE_ERROR
    calls = [span for span in spans if span.name == f"GET {READ_CONSENT.template}"]
    assert calls
    assert {told(call)["error.type"] for call in calls} == {"TransportError"}
    assert not any(span.events or span.status.message for span in spans)
    assert b"kanary" not in raw


def test_a_worker_begins_traces_before_it_serves_and_fails_where_they_cannot(
    collector: Collector, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the first page instead, a wrong variable would make each a failure while checks of health say ok."""
    worker_init = runpy.run_path(str(ROOT / "gunicorn.conf.py"))["post_worker_init"]
    monkeypatch.setattr("portal.operate.supervisor.settle", lambda worker: None)
    portal = InProcess(tmp_path, Clock(NOW.timestamp), PORTAL_TRACES_URL=collector.url)
    worker = SimpleNamespace(wsgi=portal.app, cfg=SimpleNamespace(threads=3))
    assert not tracing._on, "its parent starts no thread"
    with monkeypatch.context() as wrong, pytest.raises(ValueError, match="max_queue_size"):
        wrong.setenv("OTEL_BSP_MAX_QUEUE_SIZE", "100")
        worker_init(worker)
    assert not tracing._on
    worker_init(worker)
    assert tracing._on
    assert b"\nportal_threads 3.0\n" in metrics.exposition()


def test_without_the_setting_what_makes_and_sends_spans_is_not_imported() -> None:
    """The Redis client looks for OpenTelemetry's metrics by itself, where it is installed."""
    names = ("opentelemetry.sdk.trace", "opentelemetry.exporter")
    code = f"import sys, portal.app; sys.exit(any(name.startswith({names}) for name in sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.parametrize(
    ("url", "said"), [("collector:4318", "must be an address"), ("ftp://x/", "must be an")]
)
def test_an_unusable_address_is_one_line(tmp_path: Path, url: str, said: str) -> None:
    with pytest.raises(SettingsError) as refused:
        InProcess(tmp_path, Clock(NOW.timestamp), PORTAL_TRACES_URL=url)
    (fault,) = refused.value.faults
    assert fault.startswith("PORTAL_TRACES_URL: ")
    assert said in fault


def test_a_portal_that_lacks_opentelemetry_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("portal.config.variables.find_spec", lambda name: None)
    with pytest.raises(ValueError, match=r"requirements/tracing\.txt"):
        DECLARED["traces_url"].parse("http://collector:4318/v1/traces")
