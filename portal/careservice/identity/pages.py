"""What every answer of the identity server shares: its headers, its pages and their style."""

from __future__ import annotations

from datetime import timedelta
from typing import cast
from urllib.parse import urlsplit

from flask import Blueprint, Response, jsonify, make_response, redirect, render_template, request
from sqlalchemy import select

from portal.careservice import database, transactions
from portal.careservice.identity.tables import Tenant
from portal.careservice.identity.translations import choose_language, translate
from portal.careservice.settings import current_settings

bp = Blueprint("identity", __name__)

_FOR_BROWSERS = frozenset(
    f"{bp.name}.{view}" for view in ("authorize", "show_sign_in", "sign_in", "end_session")
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
def bound_forms() -> None:
    """No form of this server is large; a larger one is answered by 413."""
    request.max_content_length = _LARGEST_FORM


@bp.before_request
def lock_rows() -> None:
    """What is decided here is decided by rows that are locked; to begin a sign-in anew would cost another Argon2."""
    database.use_row_locks()


@bp.errorhandler(transactions.Busy)
def ask_to_come_back(_error: transactions.Busy) -> Response:
    """503: in words for browsers, by an error of OAuth's (RFC 6749 §4.1.2.1) for clients."""
    if request.endpoint in _FOR_BROWSERS:
        response = page("busy.html", status=503)
    else:
        response = jsonify(error="temporarily_unavailable")
        response.status_code = 503
    response.headers["Retry-After"] = str(transactions.RETRY_AFTER_SECONDS)
    return response


@bp.after_request
def add_headers(response: Response) -> Response:
    """Nothing is cached unless its view says so, and nothing is framed, guessed at or told to others."""
    for name, value in _HEADERS.items():
        response.headers.setdefault(name, value)
    return response


@bp.get("/identity/<tenant>.css")
def accent(tenant: str) -> Response:
    """The clinic's accent; a stylesheet of its own, since the pages allow no inline style."""
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
    """The page `identity/<template>`, branded for `tenant`; its forms may end at the address `leads_to`.

    It is in the first of `locales` (those of the client's request) that it is translated into, else in the browser's.

    Browsers hold a form's redirects to `form-action` too, so the client's origin has to be in it.
    """
    language = choose_language(locales or request.values.get("ui_locales", ""))
    direction = "rtl" if language == "ar" else "ltr"
    body = render_template(
        f"identity/{template}", tenant=tenant, language=language, direction=direction, _=translate, **context
    )
    response = make_response(body, status)
    targets = f"'self' {origin(leads_to)}" if leads_to else "'self'"
    response.headers["Content-Security-Policy"] = (
        "default-src 'none'; style-src 'self'; img-src 'self'; "
        f"form-action {targets}; frame-ancestors 'none'; base-uri 'none'"
    )
    return response


def go(address: str) -> Response:
    """On to `address` by GET."""
    return cast("Response", redirect(address, 303))


def origin(address: str) -> str:
    """Scheme, host and port of an address."""
    parts = urlsplit(address)
    return f"{parts.scheme}://{parts.netloc}"


def set_cookie(response: Response, name: str, value: str, *, lasts: timedelta | None = None) -> None:
    """A cookie for this server alone, until the browser closes unless it `lasts`."""
    secure = current_settings().issuer.startswith("https:")
    response.set_cookie(name, value, max_age=lasts, path="/", httponly=True, samesite="Lax", secure=secure)


def drop_cookie(response: Response, name: str) -> None:
    """Have the browser forget a cookie that `set_cookie` set."""
    secure = current_settings().issuer.startswith("https:")
    response.delete_cookie(name, path="/", httponly=True, samesite="Lax", secure=secure)
