"""Headers of every response, from a page or from the server itself (OWASP ASVS 5.0 V3)."""

from __future__ import annotations

FIXED = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Content-Security-Policy": "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "Cache-Control": "no-store",
}
"""Defaults, which a response may override."""

OVER_TLS = {"Strict-Transport-Security": "max-age=63072000; includeSubDomains"}
"""Added over HTTPS (RFC 6797)."""
