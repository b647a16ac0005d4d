"""What gives each clinic its face: its colours as a stylesheet, its name as a web-app manifest."""

from __future__ import annotations

from flask import Blueprint, Response, g, jsonify, make_response

bp = Blueprint("look", __name__)


@bp.get("/tenant.css")
def tenant_css() -> Response:
    """Return the clinic's accent as custom properties (no inline style is needed, or allowed)."""
    css = f":root{{--accent:{g.tenant.accent};--on-accent:{g.tenant.on_accent}}}"
    response = make_response(
        css, {"Content-Type": "text/css; charset=utf-8", "Cache-Control": "public, max-age=3600"}
    )
    response.add_etag()
    return response


@bp.get("/portal.webmanifest")
def manifest() -> Response:
    """Return the web-app manifest; nothing is stored offline."""
    response = jsonify(name=g.tenant.name, short_name=g.tenant.name, start_url="/", display="browser")
    response.headers["Content-Type"] = "application/manifest+json"
    response.headers["Cache-Control"] = "public, max-age=3600"
    return response
