"""Headers that every answer carries, whoever makes it: a page, or the server itself (OWASP ASVS 5.0 V3)."""

from __future__ import annotations

FIXED = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Content-Security-Policy": "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "Cache-Control": "no-store",
}
"""What an answer has that doesn't say otherwise itself."""

OVER_TLS = {"Strict-Transport-Security": "max-age=63072000; includeSubDomains"}
"""And what it has besides over https (RFC 6797)."""
