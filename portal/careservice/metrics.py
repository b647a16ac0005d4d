"""The service's metrics for Prometheus (text format 0.0.4), served where a token for them is set."""

from __future__ import annotations

import secrets

from flask import Response, abort, request
from prometheus_client import CollectorRegistry, Gauge, generate_latest

from portal.careservice import database
from portal.careservice.identity import throttle
from portal.careservice.settings import current_settings


def serve() -> Response:
    """Answer `/metrics`: 404 where no token is set, 401 without it."""
    token = current_settings().metrics_token
    if not token:
        abort(404)
    given = request.headers.get("Authorization", "")
    if not secrets.compare_digest(given.encode(), f"Bearer {token}".encode()):
        return Response(status=401, headers={"WWW-Authenticate": "Bearer"})
    return Response(_exposition(), content_type="text/plain; version=0.0.4; charset=utf-8")


def _exposition() -> bytes:
    registry = CollectorRegistry()
    failures = Gauge(
        "care_sign_in_failures",
        "Failed sign-ins at all clinics in the last 15 minutes; from 1,000 on, each failure makes that name wait.",
        registry=registry,
    )
    failures.set(throttle.failures(database.session()))
    return generate_latest(registry)
