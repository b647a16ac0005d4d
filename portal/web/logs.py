"""Logging: one line for each request and each failed API call, as JSON or text.

A line contains the route's template instead of the address, which may contain personal data. `request` is the request id
that error pages show and API calls send as `X-Correlation-Id`; `upstream` is the API's own id of a call, if it differs.
`ms` counts from when the request had come in completely, so it includes the wait for a thread.
"""

from __future__ import annotations

import logging
import sys
import time
from datetime import UTC, datetime

import msgspec
from flask import Flask, Response, g, has_request_context, request

from portal import metrics, tracing
from portal.operate import lines
from portal.server.state import COMPLETE_AT

_EXTRA = ("route", "status", "ms", "group", "reason", "upstream", "tenant", "client")
_METHODS = ("GET", "HEAD", "POST", "OPTIONS", "PUT", "DELETE", "PATCH")


class JsonFormatter(logging.Formatter):
    """Formats a log record as one line of JSON with the request id."""

    def format(self, record: logging.LogRecord) -> str:
        entry: dict[str, object] = {
            "at": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "message": record.getMessage(),
        }
        if has_request_context():
            entry["request"] = g.get("request_id")
        entry |= {name: getattr(record, name) for name in _EXTRA if hasattr(record, name)}
        if record.exc_info:
            entry["error"] = lines.raised_at(record)
        return msgspec.json.encode(entry).decode()


class TextFormatter(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        request_id = g.get("request_id", "-") if has_request_context() else "-"
        extra = " ".join(f"{name}={getattr(record, name)}" for name in _EXTRA if hasattr(record, name))
        error = f" {lines.raised_at(record)}" if record.exc_info else ""
        return f"{record.levelname[0]} {request_id} {record.getMessage()} {extra}{error}".rstrip()


def init_app(app: Flask, style: str) -> None:
    """Send the portal's logs to stderr, as `json` or text, with one line for each request."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonFormatter() if style == "json" else TextFormatter())
    logger = logging.getLogger("portal")
    logger.handlers = [handler]
    logger.setLevel(logging.INFO)
    logger.propagate = False
    app.after_request(_log)


def _log(response: Response) -> Response:
    tenant = g.get("tenant")
    route = request.url_rule.rule if request.url_rule else None
    now = time.monotonic()
    started: float = g.get("started", now)
    complete_at: float = request.environ.get(COMPLETE_AT, started)
    seconds = now - complete_at
    metrics.request(route, request.method, response.status_code, seconds)
    if tenant and request.blueprint != "health":  # checks of health don't wait for a thread
        metrics.waited(started - complete_at)
        metrics.tenant_page(tenant.key, response.status_code)
    method = request.method if request.method in _METHODS else "other"
    if tenant and request.blueprint != "health":
        tracing.answered(
            method, route or "-", response.status_code, tenant=tenant.key, request_id=g.request_id
        )
    logging.getLogger("portal").info(
        "%s",
        method,
        extra={
            "route": route or "-",
            "status": response.status_code,
            "ms": round(seconds * 1000),
            "tenant": tenant.key if tenant else "-",
        },
    )
    return response
