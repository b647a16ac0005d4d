"""Spans for OpenTelemetry: a request, the making of its page, its calls and its work with the store.

Off unless `start` was called; without that, nothing that makes or sends spans is even imported. Spans are sent by a thread,
so that nothing begins before the fork: a worker calls `begin` before it serves, and without one the first request does. They
name routes and templates of addresses and the clinic, never a person, a record, a query or what an exception says.
"""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable, Generator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import TracerProvider


_FAILED = 500
_NOTHING: AbstractContextManager[Any] = nullcontext()


class _Tracing:
    """OpenTelemetry, loaded: a tracer of spans, and what continues the traces of others."""

    def __init__(self, provider: TracerProvider, *, continues: bool) -> None:
        from opentelemetry import trace
        from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

        self._trace = trace
        self._tracer = provider.get_tracer("portal")
        self._propagator = TraceContextTextMapPropagator()
        self._continues = continues
        self.provider = provider

    def parent(self, environ: Mapping[str, str]) -> Any:
        """The context of a trace that the proxy in front has begun (W3C Trace Context), or none."""
        given = environ.get("HTTP_TRACEPARENT") if self._continues else None
        return self._propagator.extract({"traceparent": given}) if given else None

    @contextmanager
    def span(
        self, name: str, kind: str, attributes: Mapping[str, str], parent: Any = None
    ) -> Generator[None]:
        if kind != "SERVER" and not self._trace.get_current_span().is_recording():
            yield  # a thread's own work, or a request that isn't sampled
            return
        with self._tracer.start_as_current_span(
            name,
            context=parent,
            kind=self._trace.SpanKind[kind],
            attributes=dict(attributes),
            record_exception=False,
            set_status_on_exception=False,
        ) as begun:
            try:
                yield
            except Exception as error:
                begun.set_attribute("error.type", type(error).__name__)
                begun.set_status(self._trace.StatusCode.ERROR)
                raise

    def describe(self, name: str | None, attributes: Mapping[str, str | int]) -> None:
        current = self._trace.get_current_span()
        if name:
            current.update_name(name)
        for key, value in attributes.items():
            current.set_attribute(key, value)
        if int(attributes.get("http.response.status_code", 0)) >= _FAILED:
            current.set_status(self._trace.StatusCode.ERROR)

    def headers(self) -> list[tuple[str, str]]:
        carrier: dict[str, str] = {}
        self._propagator.inject(carrier)
        return list(carrier.items())


_on: _Tracing | None = None
_wanted: Callable[[], None] | None = None
"""Begins with what `start` was told, until that is done."""
_beginning = threading.Lock()


def start(url: str, *, version: str, continues: bool) -> None:
    """Send spans to this OTLP/HTTP address once they `begin`; `continues` the traces that requests bring.

    OpenTelemetry's own variables say the rest (`OTEL_TRACES_SAMPLER`, `OTEL_EXPORTER_OTLP_HEADERS`, `OTEL_RESOURCE_ATTRIBUTES`…).
    """
    global _wanted
    _wanted = partial(_begin, url, version, continues)


def begin() -> None:
    """Make what `start` was told, if it was, in this process; raises ValueError if one of OpenTelemetry's variables is wrong."""
    with _beginning:
        if _wanted:
            _wanted()


def _begin(url: str, version: str, continues: bool) -> None:
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    global _on, _wanted
    resource = {"service.name": os.environ.get("OTEL_SERVICE_NAME", "portal"), "service.version": version}
    provider = TracerProvider(resource=Resource.create(resource))
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(endpoint=url)))
    logger = logging.getLogger("opentelemetry")
    logger.handlers, logger.propagate = logging.getLogger("portal").handlers, False
    _on, _wanted = _Tracing(provider, continues=continues), None


def stop() -> None:
    """Send what is left, and make no more spans."""
    global _on, _wanted
    _wanted = None
    if _on:
        _on.provider.shutdown()
        _on = None


def request(environ: Mapping[str, str]) -> AbstractContextManager[None]:
    """The span of a request, which `answered` names once its route is known."""
    if _wanted:
        begin()
    return _on.span("request", "SERVER", {}, _on.parent(environ)) if _on else _NOTHING


def answered(method: str, route: str, status: int, *, tenant: str, request_id: str) -> None:
    """Say of the current request what its log line says."""
    if _on:
        told = {"http.request.method": method, "http.route": route, "http.response.status_code": status}
        _on.describe(f"{method} {route}", {**told, "portal.tenant": tenant, "portal.request": request_id})


def span(name: str, **attributes: str) -> AbstractContextManager[None]:
    """A part of the work on a request, within the current span."""
    return (
        _on.span(name, "INTERNAL", {f"portal.{key}": value for key, value in attributes.items()})
        if _on
        else _NOTHING
    )


def call(method: str, template: str) -> AbstractContextManager[None]:
    """A call to an upstream, by the template of its address."""
    told = {"http.request.method": method, "url.template": template}
    return _on.span(f"{method} {template}", "CLIENT", told) if _on else _NOTHING


def call_answered(status: int) -> None:
    """Say what status the current call brought."""
    if _on:
        _on.describe(None, {"http.response.status_code": status})


def headers() -> list[tuple[str, str]]:
    """Return the headers by which the upstream goes on with this trace (`traceparent`)."""
    return _on.headers() if _on else []
