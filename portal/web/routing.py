"""Addresses: what an id looks like in one, what answers there; each request gets its number and its clinic."""

from __future__ import annotations

import re
import secrets
import time
from collections.abc import Callable, Mapping
from typing import cast

from flask import Flask, abort, current_app, g, request
from werkzeug.exceptions import HTTPException
from werkzeug.routing import BaseConverter

from portal.context import Context, context
from portal.http import deadline
from portal.parse import address_parts
from portal.web import modules

CALLBACK = "/sign-in/callback"
"""Where the identity server sends the browser back to, with a code in the query."""

_ANY_HOST = ("health.healthz", "health.readyz", "health.metrics")


class RecordId(BaseConverter):
    """An id of the care API: opaque, 1 to 128 characters without a slash, and no dot segment."""

    regex = r"(?!\.{1,2}(?:/|$))[^/\x00-\x1f\x7f]{1,128}"
    part_isolating = False


def init_app(app: Flask) -> None:
    """Number every request and find its clinic; an unknown host gets 421."""
    app.url_map.converters["record"] = RecordId
    app.before_request(_begin)
    app.teardown_request(_end)


def endpoint_at(path: str) -> str | None:
    """Return the endpoint that answers GET at this path (unquoted), or None; it begins with one slash."""
    if path[1:2] in ("/", "\\"):  # the routing ignores further slashes, a browser doesn't
        return None
    try:
        endpoint, _arguments = current_app.url_map.bind(request.host).match(path, method="GET")
    except HTTPException:  # including a redirect to the canonical address
        return None
    return None if modules.is_off(str(endpoint)) else str(endpoint)


def current_address() -> str:
    """Return path and query of this request, as `without_sign_in_code` gives them."""
    return without_sign_in_code(request.full_path if request.query_string else request.path)


def without_sign_in_code(address: str) -> str:
    """Return an address of the portal as a page may repeat it; the sign-in callback's, which holds a code, becomes `/`.

    The code, `state` and `iss` belong into no page and no further address (RFC 9700 §4.2).
    """
    return "/" if address_parts(address).path.rstrip("/") == CALLBACK else address


def tenant_of(app: Flask) -> Callable[[Mapping[str, str]], str] | None:
    """Return what names the clinic of a request by its environ, before the application sees it; None if there is but one."""
    settings = cast("Context", app.extensions["portal"]).settings
    if len(settings.tenants.by_key) < 2:
        return None

    def tenant(environ: Mapping[str, str]) -> str:
        forwarded = environ.get("HTTP_X_FORWARDED_HOST") if settings.proxy_hops else None
        found = settings.tenants.at(forwarded or environ.get("HTTP_HOST", ""))
        return found.key if found else ""

    return tenant


def _begin() -> None:
    g.request_id = _request_id()
    g.started = time.monotonic()
    deadline.set_to(g.started + context().settings.timeouts.page)
    tenant = context().settings.tenants.at(request.host)
    if tenant is not None:
        g.tenant = tenant
    elif request.endpoint not in _ANY_HOST:
        abort(421)


def _end(_error: BaseException | None) -> None:
    deadline.set_to(None)


def _request_id() -> str:
    """The number that the proxy in front gave, if there is one in front; a browser may not choose it."""
    given = request.headers.get("X-Request-Id", "") if context().settings.proxy_hops else ""
    return given if re.fullmatch(r"[A-Za-z0-9._-]{8,64}", given) else secrets.token_hex(8)
