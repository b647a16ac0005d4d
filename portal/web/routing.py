"""What happens before a handler: the request gets its number and its clinic; and what an id looks like."""

from __future__ import annotations

import re
import secrets
import time

from flask import Flask, abort, g, request
from werkzeug.routing import BaseConverter

from portal.parts import parts

_ANY_HOST = ("health.healthz", "health.readyz", "health.metrics")


class RecordId(BaseConverter):
    """An id of the care API: opaque, 1 to 128 characters without a slash, and no dot segment."""

    regex = r"(?!\.{1,2}(?:/|$))[^/\x00-\x1f\x7f]{1,128}"
    part_isolating = False


def init_app(app: Flask) -> None:
    """Number every request and find its clinic; an unknown host gets 421."""
    app.url_map.converters["record"] = RecordId
    app.before_request(_begin)


def _begin() -> None:
    g.request_id = _request_id()
    g.started = time.monotonic()
    tenant = parts().settings.tenants.at(request.host)
    if tenant is not None:
        g.tenant = tenant
    elif request.endpoint not in _ANY_HOST:
        abort(421)


def _request_id() -> str:
    """The number that the proxy in front gave, if there is one in front; a browser may not choose it."""
    given = request.headers.get("X-Request-Id", "") if parts().settings.proxy_hops else ""
    return given if re.fullmatch(r"[A-Za-z0-9._-]{8,64}", given) else secrets.token_hex(8)
