"""Logging: one line for each request and each failed API call, as JSON or text.

A line contains the route's template instead of the address, which may contain personal data. `request` is the request id
that error pages show and API calls send as `X-Correlation-Id`; `upstream` is the API's own id of a call, if it differs.
`ms` counts from when the request had come in completely, so it includes the wait for a thread.
"""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import msgspec
from flask import Flask, Response, g, has_request_context, request

from portal import metrics, tracing
from portal.config.tenants import Tenant
from portal.operate import log_lines
from portal.server.state import COMPLETE_AT

_EXTRA = ("route", "status", "ms", "group", "reason", "upstream", "tenant", "client")
_METHODS = ("GET", "HEAD", "POST", "OPTIONS", "PUT", "DELETE", "PATCH")

_log_of_portal = logging.getLogger("portal")


class JsonFormatter(logging.Formatter):
    """Formats a log record as one line of JSON with the request id."""

    def format(self, record: logging.LogRecord) -> str:
        entry: dict[str, object] = {
            "at": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "message": record.getMessage(),
        }
        if request_id := _request_id_of(record):
            entry["request"] = request_id
        entry |= {name: getattr(record, name) for name in _EXTRA if hasattr(record, name)}
        if record.exc_info:
            entry["error"] = log_lines.raised_at(record)
        return msgspec.json.encode(entry).decode()


class TextFormatter(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        request_id = _request_id_of(record) or "-"
        extra = " ".join(f"{name}={getattr(record, name)}" for name in _EXTRA if hasattr(record, name))
        error = f" {log_lines.raised_at(record)}" if record.exc_info else ""
        return f"{record.levelname[0]} {request_id} {record.getMessage()} {extra}{error}".rstrip()


def init_app(app: Flask, style: str) -> None:
    """Send the portal's logs to stderr, as `json` or text, with one line for each request."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonFormatter() if style == "json" else TextFormatter())
    _log_of_portal.handlers = [handler]
    _log_of_portal.setLevel(logging.INFO)
    _log_of_portal.propagate = False
    app.after_request(_log)


def _log(response: Response) -> Response:
    answered(
        request.environ,
        request.url_rule.rule if request.url_rule else None,
        response.status_code,
        tenant=g.get("tenant"),
        request_id=g.get("request_id"),
        started=g.get("started"),
        is_check=request.blueprint == "health",
    )
    return response


def answered(
    environ: Mapping[str, Any],
    route: str | None,
    status: int,
    *,
    tenant: Tenant | None,
    request_id: str | None,
    started: float | None,
    is_check: bool = False,
) -> None:
    """Log and count that a request was answered; `started` is when a thread took it, by the monotonic clock."""
    now = time.monotonic()
    started = now if started is None else started
    complete_at: float = environ.get(COMPLETE_AT, started)
    seconds = now - complete_at
    metrics.request(route, environ["REQUEST_METHOD"], status, seconds)
    method = environ["REQUEST_METHOD"] if environ["REQUEST_METHOD"] in _METHODS else "other"
    if tenant and not is_check:  # checks of health don't wait for a thread
        metrics.waited(started - complete_at)
        metrics.tenant_page(tenant.key, status)
        tracing.answered(method, route or "-", status, tenant=tenant.key, request_id=request_id or "-")
    told = {
        "route": route or "-",
        "status": status,
        "ms": round(seconds * 1000),
        "tenant": tenant.key if tenant else "-",
    }
    _log_of_portal.info("%s", method, extra={**told, "request_id": request_id})


def _request_id_of(record: logging.LogRecord) -> str | None:
    told = getattr(record, "request_id", None)
    return told or (g.get("request_id") if has_request_context() else None)
