"""What all responses of the identity server share: headers, pages and their style."""

from __future__ import annotations

from datetime import timedelta
from typing import cast
from urllib.parse import urlsplit

from flask import Blueprint, Response, jsonify, make_response, redirect, render_template, request
from sqlalchemy import select
from sqlalchemy.orm import Session

from portal.careservice import database, transactions
from portal.careservice.identity.tables import Client, Tenant
from portal.careservice.identity.translations import choose_language, translate
from portal.careservice.settings import current_settings

bp = Blueprint("identity", __name__)

_FOR_BROWSERS = frozenset(
    f"{bp.name}.{view}"
    for view in (
        *("authorize", "show_sign_in", "sign_in", "show_code", "sign_in_with_code", "show_passkey"),
        *("sign_in_with_passkey", "show_account", "sign_in_to_account", "change_account", "end_session"),
    )
)
_LARGEST_FORM = 128 * 1024
_ACCENT = "#3f5a63"
_HEADERS = {
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
}


@bp.before_request
def limit_forms() -> None:
    """Answer a form larger than any of this server's with 413."""
    request.max_content_length = _LARGEST_FORM


@bp.before_request
def lock_rows() -> None:
    """Lock rows instead of retrying on conflict: a retried sign-in would cost another Argon2 hash."""
    database.use_row_locks()


@bp.errorhandler(transactions.Busy)
def answer_busy(_error: transactions.Busy) -> Response:
    """503: a page for browsers, an OAuth error (RFC 6749 §4.1.2.1) for clients."""
    if request.endpoint in _FOR_BROWSERS:
        again = request.full_path if request.method == "GET" else None
        response = page("busy.html", status=503, again=again)
    else:
        response = jsonify(error="temporarily_unavailable")
        response.status_code = 503
    response.headers["Retry-After"] = str(transactions.RETRY_AFTER_SECONDS)
    return response


@bp.after_request
def add_headers(response: Response) -> Response:
    """Add the default headers: no caching unless the view allows it, no MIME sniffing, no referrer."""
    for name, value in _HEADERS.items():
        response.headers.setdefault(name, value)
    return response


@bp.get("/identity/<tenant>.css")
def accent(tenant: str) -> Response:
    """The clinic's accent colour, as a stylesheet because the pages' CSP allows no inline style."""
    is_name = tenant.isprintable()  # PostgreSQL refuses text with NUL in it
    found = database.session().scalar(select(Tenant).where(Tenant.name == tenant)) if is_name else None
    body = f":root {{ --accent: {found.accent if found else _ACCENT}; }}\n"
    return make_response(
        body, {"Content-Type": "text/css; charset=utf-8", "Cache-Control": "public, max-age=300"}
    )


def page(
    template: str,
    /,
    *,
    status: int = 200,
    tenant: Tenant | None = None,
    leads_to: str | None = None,
    locales: str = "",
    **context: object,
) -> Response:
    """The page `identity/<template>`, branded for `tenant`.

    Its language is the first supported one of `locales` (the request's `ui_locales`), else the browser's.
    `leads_to` is the address that its form finally redirects to: browsers apply `form-action` to redirects
    too, so its origin has to be listed there.
    """
    language = choose_language(locales or request.values.get("ui_locales", ""))
    direction = "rtl" if language == "ar" else "ltr"
    body = render_template(
        f"identity/{template}", tenant=tenant, language=language, direction=direction, _=translate, **context
    )
    response = make_response(body, status)
    targets = f"'self' {origin(leads_to)}" if leads_to else "'self'"
    response.headers["Content-Security-Policy"] = (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
        f"form-action {targets}; frame-ancestors 'none'; base-uri 'none'"
    )
    return response


def see_other(address: str) -> Response:
    """Redirect to `address` by 303 See Other."""
    return cast("Response", redirect(address, 303))


def origin(address: str) -> str:
    """Scheme, host and port of an address."""
    parts = urlsplit(address)
    return f"{parts.scheme}://{parts.netloc}"


def portal_of(session: Session, clinic: Tenant) -> str | None:
    """Where the clinic's portal is; None if it has none."""
    addresses = session.scalars(select(Client.redirect_uris).where(Client.tenant_id == clinic.id))
    return next((f"{origin(one)}/" for several in addresses for one in several), None)


def set_cookie(response: Response, name: str, value: str, *, lasts: timedelta | None = None) -> None:
    """Set a cookie for this host only, kept until the browser closes or for as long as it `lasts`."""
    secure = current_settings().issuer.startswith("https:")
    response.set_cookie(name, value, max_age=lasts, path="/", httponly=True, samesite="Lax", secure=secure)


def drop_cookie(response: Response, name: str) -> None:
    """Delete a cookie that `set_cookie` set."""
    secure = current_settings().issuer.startswith("https:")
    response.delete_cookie(name, path="/", httponly=True, samesite="Lax", secure=secure)
