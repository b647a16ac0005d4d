"""Liveness, readiness and metrics of this process, under any `Host`."""

from __future__ import annotations

import hmac

from flask import Blueprint, Response, abort, make_response, request

from portal import metrics as counted
from portal.context import context

bp = Blueprint("health", __name__)

PATHS = frozenset({"/healthz", "/readyz", "/metrics"})
"""The server answers these in threads of their own, so that they don't wait behind pages."""


@bp.get("/healthz")
def healthz() -> Response:
    return _plain("ok")


@bp.get("/readyz")
def readyz() -> Response:
    """200 while this process should receive requests, else 503; the text says why (portal.operate.readiness).

    It names servers and files, so whoever asks through a proxy, as the internet does, reads its first part alone.
    """
    is_ready, words = context().readiness.probe()
    if "X-Forwarded-For" in request.headers:
        words = words.partition(";")[0]
    return _plain(words, 200 if is_ready else 503)


@bp.get("/metrics")
def metrics() -> Response:
    """The metrics of all workers, for clients with the token (RFC 6750 §2.1); 404 if no token is configured."""
    token = context().settings.metrics_token
    if token is None:
        abort(404)
    scheme, _, given = request.headers.get("Authorization", "").partition(" ")
    if scheme.lower() != "bearer" or not hmac.compare_digest(given.strip().encode(), token.encode()):
        return make_response("", 401, {"WWW-Authenticate": "Bearer"})
    return make_response(counted.exposition(), 200, {"Content-Type": counted.CONTENT_TYPE})


def _plain(words: str, status: int = 200) -> Response:
    return make_response(f"{words}\n", status, {"Content-Type": "text/plain; charset=utf-8"})
