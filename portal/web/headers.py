"""What every answer carries, set in one place (OWASP ASVS 5.0 V3; Content Security Policy Level 3).

What is the same for all is added around the whole application, so that static files and answers that no handler
made have it too; the policy, with its nonce, is made for each page of a handler. What only pages heed is left out of
the rest: with a first visit it would be half a kilobyte for each file.

The policy is strict: a nonce for the script, no inline script or style, Trusted Types with htmx's policy
alone, forms that post here or to the clinic's identity server.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from flask import Flask, Response, g

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

_PAGE = {
    "Permissions-Policy": (
        "accelerometer=(), autoplay=(), camera=(), display-capture=(), encrypted-media=(), fullscreen=(), "
        "geolocation=(), gyroscope=(), hid=(), idle-detection=(), local-fonts=(), magnetometer=(), "
        "microphone=(), midi=(), payment=(), picture-in-picture=(), publickey-credentials-get=(), "
        "screen-wake-lock=(), serial=(), usb=(), xr-spatial-tracking=(), clipboard-write=(self)"
    )
}
"""What a page has besides; no other answer can use a camera."""

_POLICY = (
    "default-src 'none'; script-src 'nonce-{nonce}' 'strict-dynamic'; style-src 'self'; img-src 'self'; "
    "font-src 'self'; connect-src 'self'; frame-src 'self'; manifest-src 'self'; form-action 'self'{identity}; "
    "frame-ancestors 'none'; base-uri 'none'; require-trusted-types-for 'script'; trusted-types htmx"
)


def nonce() -> str:
    """Return this answer's nonce; the same one for scripts and for every htmx element."""
    try:
        return g.nonce
    except AttributeError:
        g.nonce = secrets.token_urlsafe(18)
        return g.nonce


def init_app(app: Flask) -> None:
    """Set the headers on every answer, whatever its route and status; call it when static files are served."""
    app.after_request(_set)
    app.wsgi_app = _everywhere(app.wsgi_app)  # pyright: ignore[reportAttributeAccessIssue]


def _set(response: Response) -> Response:
    if response.mimetype == "text/html" and "Content-Security-Policy" not in response.headers:
        tenant = g.get("tenant")
        identity = f" {tenant.auth_origin}" if tenant else ""
        response.headers["Content-Security-Policy"] = _POLICY.format(nonce=nonce(), identity=identity)
    if request_id := g.get("request_id"):
        response.headers["X-Request-Id"] = request_id
    return response


def _everywhere(inner: WSGIApplication) -> WSGIApplication:
    def application(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        wanted = FIXED | OVER_TLS if environ["wsgi.url_scheme"] == "https" else FIXED

        def begin(status: str, headers: list[tuple[str, str]], *error: Any) -> Callable[[bytes], object]:
            given = {name.lower(): value for name, value in headers}
            all_wanted = wanted | _PAGE if given.get("content-type", "").startswith("text/html") else wanted
            more = [(name, value) for name, value in all_wanted.items() if name.lower() not in given]
            return start_response(status, [*headers, *more], *error)

        return inner(environ, begin)

    return application
