"""URL converter and helpers for addresses of the portal; assigns each request its id, deadline and clinic."""

from __future__ import annotations

import re
import secrets
import time
from collections.abc import Callable, Mapping
from typing import cast
from urllib.parse import parse_qsl

from flask import Flask, abort, current_app, g, request
from werkzeug.exceptions import HTTPException
from werkzeug.routing import BaseConverter

from portal.context import Context, context
from portal.http import deadline
from portal.parse import address_parts
from portal.web import modules

PREFIX = "portal.prefix"
"""What was taken from the front of the address, in the WSGI environment (portal.web.as_patient)."""

CALLBACK = "/sign-in/callback"
"""The OAuth redirect URI's path: the identity server adds an authorization code to its query."""


class RecordId(BaseConverter):
    """An opaque id of the care API: 1 to 128 characters, without slashes and control characters, and no dot segment."""

    regex = r"(?!\.{1,2}(?:/|$))[^/\x00-\x1f\x7f]{1,128}"
    part_isolating = False


def init_app(app: Flask) -> None:
    """Assign each request an id, a deadline and the clinic of its host; respond with 421 to an unknown host.

    The host of a clinic that is left out because of a fault in its settings is known: 503.
    """
    app.url_map.converters["record"] = RecordId
    app.before_request(_begin)
    app.teardown_request(_end)


def endpoint_at(path: str) -> str | None:
    """Return the endpoint that handles GET at this unquoted path; None if there is none, or its module is off."""
    if path[1:2] in ("/", "\\"):  # Werkzeug merges slashes, but a browser would go to another host
        return None
    try:
        endpoint, _arguments = current_app.url_map.bind(request.host).match(path, method="GET")
    except HTTPException:  # including a redirect to the canonical address
        return None
    return None if modules.is_off(str(endpoint)) else str(endpoint)


def current_address() -> str:
    """Return this request's path and query; `/` for the sign-in callback."""
    path = request.full_path if request.query_string else request.path
    return request.environ.get(PREFIX, "") + without_sign_in_code(path)


def is_this_page(address: str) -> bool:
    """Whether an address of the portal is that of the page which is asked for, whatever the order of its query."""
    there, here = address_parts(address), address_parts(current_address())
    return there.path == here.path and sorted(parse_qsl(there.query)) == sorted(parse_qsl(here.query))


def without_sign_in_code(address: str) -> str:
    """Return the address, but `/` for the sign-in callback: its code and state must not be repeated (RFC 9700 §4.2)."""
    return "/" if address_parts(address).path.rstrip("/") == CALLBACK else address


def tenant_of(app: Flask) -> Callable[[Mapping[str, str]], str] | None:
    """Return a function that tells a request's clinic by its environ, before ProxyFix and Flask; None if there is but one.

    The name is the clinic's key, empty for an unknown host.
    """
    settings = cast("Context", app.extensions["portal"]).settings
    if len(settings.tenants.by_key) < 2:
        return None

    def tenant(environ: Mapping[str, str]) -> str:
        hosts = environ.get("HTTP_X_FORWARDED_HOST", "").split(",")[-settings.proxy_hops :]
        is_forwarded = settings.proxy_hops and len(hosts) == settings.proxy_hops and hosts[0]
        found = settings.tenants.at(hosts[0].strip() if is_forwarded else environ.get("HTTP_HOST", ""))
        return found.key if found else ""

    return tenant


def _begin() -> None:
    g.request_id = request_id(request.environ, context().settings.proxy_hops)
    g.started = time.monotonic()
    deadline.set_to(g.started + context().settings.timeouts.page)
    tenant = context().settings.tenants.at(request.host)
    if tenant is not None:
        g.tenant = tenant
    elif request.blueprint != "health":
        abort(503 if context().settings.tenants.is_closed(request.host) else 421)


def _end(_error: BaseException | None) -> None:
    deadline.set_to(None)


def request_id(environ: Mapping[str, str], proxy_hops: int) -> str:
    """Return the id set by a trusted proxy, else a random one; browsers can't choose it."""
    from_proxy = environ.get("HTTP_X_REQUEST_ID", "") if proxy_hops else ""
    return from_proxy if re.fullmatch(r"[A-Za-z0-9._-]{8,64}", from_proxy) else secrets.token_hex(8)
