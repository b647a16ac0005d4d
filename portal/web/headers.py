"""What every answer carries, set in one place (OWASP ASVS 5.0 V3; Content Security Policy Level 3).

The policy is strict: a nonce for the script, no inline script or style, Trusted Types with htmx's policy
alone, forms that post here or to the clinic's identity server.
"""

from __future__ import annotations

import secrets

from flask import Flask, Response, g, request

_FIXED = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": ", ".join(
        [
            *(
                f"{feature}=()"
                for feature in (
                    *(
                        "accelerometer",
                        "autoplay",
                        "camera",
                        "display-capture",
                        "encrypted-media",
                        "fullscreen",
                    ),
                    *("geolocation", "gyroscope", "hid", "idle-detection", "local-fonts", "magnetometer"),
                    *("microphone", "midi", "payment", "picture-in-picture", "publickey-credentials-get"),
                    *("screen-wake-lock", "serial", "usb", "xr-spatial-tracking"),
                )
            ),
            "clipboard-write=(self)",
        ]
    ),
}
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
    """Set the headers on every answer, whatever its route and status."""
    app.after_request(_set)


def _set(response: Response) -> Response:
    for name, value in _FIXED.items():
        response.headers.setdefault(name, value)
    if request.is_secure:
        response.headers.setdefault("Strict-Transport-Security", "max-age=63072000; includeSubDomains")
    if "Content-Security-Policy" not in response.headers:
        tenant = g.get("tenant")
        identity = f" {tenant.auth_origin}" if tenant else ""
        response.headers["Content-Security-Policy"] = _POLICY.format(nonce=nonce(), identity=identity)
    response.headers.setdefault("Cache-Control", "no-store")
    if request_id := g.get("request_id"):
        response.headers["X-Request-Id"] = request_id
    return response
