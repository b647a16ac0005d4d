"""Security headers of all responses (OWASP ASVS 5.0 V3; Content Security Policy Level 3).

Constant headers are added by WSGI middleware around the whole application, so that static files and error responses have
them too. Those that only matter for pages are left out of other responses, where they would add half a kilobyte per file.

The Content Security Policy is created for each page with a new nonce. It is strict: nonces for scripts, no inline scripts
or styles, Trusted Types with only htmx's policy, forms only to the portal or the clinic's identity server.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from flask import Flask, Response, g, request

from portal.config.tenants import PasskeySignatures
from portal.request_values import request_g

if TYPE_CHECKING:
    from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

FIXED = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Content-Security-Policy": "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "Cache-Control": "no-store",
}
"""What every response has unless it says otherwise, also those of the server itself (`portal.server`)."""

OVER_TLS = {"Strict-Transport-Security": "max-age=63072000; includeSubDomains"}
"""What it has besides over HTTPS (RFC 6797)."""

_PERMISSIONS = (
    "accelerometer=(), autoplay=(), camera=(), display-capture=(), encrypted-media=(), fullscreen=(), "
    "geolocation=(), gyroscope=(), hid=(), idle-detection=(), local-fonts=(), magnetometer=(), "
    "microphone=(), midi=(), payment=(), picture-in-picture=(), publickey-credentials-get=(), "
    "screen-wake-lock=(), serial=(), usb=(), xr-spatial-tracking=(), clipboard-write=(self)"
)
_PAGE = {"Permissions-Policy": _PERMISSIONS}
"""Headers of pages only: browsers ignore them for other resources, such as what htmx fetches into a page."""

_PART = "HTTP_HX_REQUEST"
"""Of htmx's requests; a browser that opens an address can't send it."""

_WITH_PASSKEYS = _PERMISSIONS.replace("publickey-credentials-get=()", "publickey-credentials-get=(self)")
"""What pages of a clinic may do whose patients sign with passkeys."""

_POLICY = (
    "default-src 'none'; script-src 'nonce-{nonce}' 'strict-dynamic'; style-src 'self'; img-src 'self'; "
    "font-src 'self'; connect-src 'self'; frame-src 'self'; manifest-src 'self'; form-action {form_action}; "
    "frame-ancestors 'none'; base-uri 'none'; require-trusted-types-for 'script'; trusted-types htmx"
)
_POLICY_OF_PARTS = "default-src 'none'; script-src 'nonce-{nonce}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
"""For what htmx fetches into a page, which keeps its own policy; htmx's extension reads the nonce."""


def nonce() -> str:
    """Return this response's CSP nonce, which is also the one that htmx elements need."""
    try:
        return request_g().nonce
    except AttributeError:
        request_g().nonce = secrets.token_urlsafe(18)
        return request_g().nonce


def policy(*, form_action: str) -> str:
    """Return the Content Security Policy of this response's page."""
    return _POLICY.format(nonce=nonce(), form_action=form_action)


def init_app(app: Flask) -> None:
    """Set the headers on every response. Call it after the middleware for static files is installed."""
    app.after_request(set_for_request)
    app.wsgi_app = _with_constant_headers(app.wsgi_app)  # pyright: ignore[reportAttributeAccessIssue]


def set_for_request(response: Response) -> Response:
    """Set the headers that differ from request to request."""
    if response.mimetype == "text/html" and "Content-Security-Policy" not in response.headers:
        tenant = g.get("tenant")
        identity = f" {tenant.auth_origin}" if tenant else ""
        is_part = _PART in request.environ
        response.headers["Content-Security-Policy"] = (
            _POLICY_OF_PARTS.format(nonce=nonce()) if is_part else policy(form_action=f"'self'{identity}")
        )
        if not is_part and tenant and tenant.passkey_signatures != PasskeySignatures.OFF:
            response.headers["Permissions-Policy"] = _WITH_PASSKEYS
    if request_id := g.get("request_id"):
        response.headers["X-Request-Id"] = request_id
    return response


def _with_constant_headers(inner: WSGIApplication) -> WSGIApplication:
    def application(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        constant = FIXED | OVER_TLS if environ["wsgi.url_scheme"] == "https" else FIXED

        def begin(status: str, headers: list[tuple[str, str]], *error: Any) -> Callable[[bytes], object]:
            present = {name.lower(): value for name, value in headers}
            is_page = present.get("content-type", "").startswith("text/html") and _PART not in environ
            wanted = constant | _PAGE if is_page else constant
            missing = [(name, value) for name, value in wanted.items() if name.lower() not in present]
            return start_response(status, [*headers, *missing], *error)

        return inner(environ, begin)

    return application
