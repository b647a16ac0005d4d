"""What gives each clinic its face: its colours as a stylesheet, its name as a web-app manifest."""

from __future__ import annotations

from typing import Any, cast

from flask import Blueprint, Response, abort, current_app, g, jsonify, make_response

from portal.parts import parts
from portal.views.episodes import is_rtl
from portal.views.pieces import pieces
from portal.web.htmx import render

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


@bp.get("/styles")
def styles() -> Response:
    """Show every piece of the interface in all its states; in the demo alone."""
    if not parts().settings.demo:
        abort(404)
    return render("styles.html", **pieces(rtl=is_rtl()))


@bp.get("/portal.webmanifest")
def manifest() -> Response:
    """Return the web-app manifest; nothing is stored offline."""
    static = current_app.jinja_env.globals["static"]
    icons = [
        {"src": cast("Any", static)(f"brand/icon-{size}.png"), "sizes": f"{size}x{size}", "type": "image/png"}
        for size in (192, 512)
    ]
    response = jsonify(
        name=g.tenant.name, short_name=g.tenant.name, start_url="/", display="browser", icons=icons
    )
    response.headers["Content-Type"] = "application/manifest+json"
    response.headers["Cache-Control"] = "public, max-age=3600"
    return response
