"""Tokens against forged forms (OWASP ASVS 5.0 V3.5), made without a record in the store.

A token is an HMAC over the session's cookie or, for visitors who aren't signed in, over a random cookie of their own:
so it lives exactly as long as the session, and a public page stores nothing. Each answer masks it anew, so that
compressing the page tells nothing about it (BREACH). It also says for whom its form was made, so that what was typed
into a form from an earlier session is given back to that person alone (`portal.web.unsent`).

Flask-WTF calls `protect` before every request; a view that another server calls is marked by `exempt`.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import secrets
from collections.abc import Callable
from typing import Any, TypeVar, cast

from flask import Flask, Response, current_app, g, request
from flask_wtf.csrf import CSRFError, CSRFProtect
from markupsafe import Markup

from portal.context import context, session
from portal.parse import address_parts
from portal.state.sessions import COOKIE

View = TypeVar("View", bound=Callable[..., object])

FIELD = "csrf_token"
VISITOR_COOKIE = "__Host-form"

_EXEMPT = "csrf_exempt"
_SAFE = frozenset({"GET", "HEAD", "OPTIONS", "TRACE"})
_TAG = 16
_LENGTH = 2 * _TAG


class Csrf(cast("type[Any]", CSRFProtect)):
    """Flask-WTF's protection of every unsafe request, with the tokens of this module."""

    def init_app(self, app: Flask) -> None:
        parent: Any = super()
        parent.init_app(app)
        app.jinja_env.globals["csrf_field"] = field  # pyright: ignore[reportArgumentType]
        app.after_request(_set_cookie)

    def exempt(self, view: View) -> View:
        """Mark a view that takes requests without a token."""
        setattr(view, _EXEMPT, True)
        return view

    def protect(self, apply_exemptions: bool = False) -> None:
        """Refuse an unsafe request of another site, or without a token of this browser; raise CSRFError."""
        if request.method in _SAFE or (apply_exemptions and _needs_no_token()):
            return
        if not is_same_origin():
            raise CSRFError("another site's form")
        if not _is_of_this_browser():
            raise CSRFError("no token of this browser")


def field() -> Markup:
    """Return the hidden input with this answer's token."""
    return Markup('<input type="hidden" name="{}" value="{}">').format(FIELD, token())


def token() -> str:
    """Return this answer's token: another text in every answer, and good for all forms of the browser."""
    if "csrf_token" not in g:
        here = session()
        owner = _owner(here.person.issuer, here.person.sub) if here.person else ""
        bound_to = here.cookie if here.person and here.cookie else _visitor()
        key = _keys()[0]
        g.csrf_token = _masked(_tag(key, "browser", bound_to) + _tag(key, "owner", owner))
    return g.csrf_token


def is_same_origin() -> bool:
    """Whether a page of the portal sent this request.

    The browser says so itself (Fetch Metadata), or else names the `Origin`; an old one says neither.
    """
    site = request.headers.get("Sec-Fetch-Site")
    if site is not None:
        return site in ("same-origin", "none")
    origin = request.headers.get("Origin")
    return origin is None or address_parts(origin).netloc == request.host


def is_issued_for(issuer: str, sub: str) -> bool:
    """Whether the form that was sent was made for this person, in this session or an earlier one."""
    given = _given()
    return given is not None and any(
        hmac.compare_digest(given[_TAG:], _tag(key, "owner", _owner(issuer, sub))) for key in _keys()
    )


def _needs_no_token() -> bool:
    """Whether the request meets no view (then there is nothing to do), or one that is exempt."""
    return not request.endpoint or hasattr(current_app.view_functions[request.endpoint], _EXEMPT)


def _is_of_this_browser() -> bool:
    given = _given()
    held = [cookie for name in (COOKIE, VISITOR_COOKIE) if (cookie := request.cookies.get(name))]
    return given is not None and any(
        hmac.compare_digest(given[:_TAG], _tag(key, "browser", cookie)) for cookie in held for key in _keys()
    )


def _given() -> bytes | None:
    """The token that was sent, without its mask."""
    try:
        sent = base64.b64decode(request.form.get(FIELD, "").encode(), b"-_", validate=True)
    except (binascii.Error, ValueError):
        return None
    return _xor(sent[:_LENGTH], sent[_LENGTH:]) if len(sent) == 2 * _LENGTH else None


def _masked(raw: bytes) -> str:
    mask = secrets.token_bytes(_LENGTH)
    return base64.urlsafe_b64encode(mask + _xor(mask, raw)).decode()


def _xor(one: bytes, other: bytes) -> bytes:
    return (int.from_bytes(one) ^ int.from_bytes(other)).to_bytes(_LENGTH)


def _tag(key: bytes, kind: str, what: str) -> bytes:
    return hmac.digest(key, f"{kind}\0{what}".encode(), "sha256")[:_TAG]


def _owner(issuer: str, sub: str) -> str:
    return "\0".join((issuer, g.tenant.key, sub))


def _keys() -> tuple[bytes, ...]:
    """The first makes tokens, every configured one is accepted, which is how keys are rotated."""
    keys: tuple[bytes, ...] | None = g.get("csrf_keys")
    if keys is None:
        keys = g.csrf_keys = tuple(
            hashlib.sha256(b"portal forms" + key.encode()).digest() for key in context().settings.secret_keys
        )
    return keys


def _visitor() -> str:
    """The cookie of someone who isn't signed in; made when a form first needs one."""
    held = request.cookies.get(VISITOR_COOKIE, "")
    if len(held) == 43:
        return held
    g.visitor_cookie = secrets.token_urlsafe(32)
    return g.visitor_cookie


def _set_cookie(response: Response) -> Response:
    if cookie := g.get("visitor_cookie"):
        response.set_cookie(VISITOR_COOKIE, cookie, path="/", secure=True, httponly=True, samesite="Lax")
    return response
