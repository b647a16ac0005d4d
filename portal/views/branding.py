"""Each clinic's branding: its colours as a style sheet, its name in a web app manifest."""

from __future__ import annotations

from typing import Any, cast

from flask import Blueprint, Response, abort, current_app, g, jsonify, make_response, request

from portal.web import static
from portal.web.compression import best_encoding

_FOR_EVER = 10 * 365 * 24 * 3600

bp = Blueprint("branding", __name__)


@bp.get("/static/<version>/styles-<accent>.css")
def stylesheet(version: str, accent: str) -> Response:
    """Return the style sheet with the clinic's colours; it can be cached forever because its address contains them."""
    tenant = g.tenant
    if version != current_app.config["STATIC_VERSION"] or f"#{accent}" != tenant.accent:
        abort(404)
    encoding = best_encoding(request.headers.get("Accept-Encoding", ""))
    response = make_response(static.sheet(tenant.accent, tenant.on_accent, encoding))
    response.content_type = "text/css; charset=utf-8"
    response.cache_control.public = response.cache_control.immutable = True
    response.cache_control.max_age = _FOR_EVER
    response.vary.add("Accept-Encoding")
    if encoding:
        response.content_encoding = encoding
    return response


@bp.get("/portal.webmanifest")
def manifest() -> Response:
    """Return the web app manifest; nothing is stored offline."""
    address = cast("Any", current_app.jinja_env.globals["static"])
    icons = [
        {"src": address(f"brand/icon-{size}.png"), "sizes": f"{size}x{size}", "type": "image/png"}
        for size in (192, 512)
    ]
    if g.tenant.logo:
        icons.insert(0, {"src": address(f"brand/{g.tenant.logo}"), "sizes": "any", "type": "image/svg+xml"})
    response = jsonify(
        id="/",
        name=g.tenant.name,
        short_name=g.tenant.name,
        start_url="/",
        scope="/",
        display="standalone",
        theme_color=g.tenant.accent,
        icons=icons,
    )
    response.headers["Content-Type"] = "application/manifest+json"
    response.headers["Cache-Control"] = "public, max-age=3600"
    return response
