"""Stateless CSRF tokens (OWASP ASVS 5.0 V3.5).

A token is an HMAC of the session cookie or, for visitors who aren't signed in, of a random cookie of their own, and one of the
session's epoch, which a fresh sign-in keeps where it changes the cookie. So it is valid as long as the session, and public pages
store nothing. It is masked differently in each response, so that the length of the compressed page reveals nothing about it
(BREACH). It also contains an HMAC of the person, with half of its bytes proving the others, so that text typed into a form of an
expired session, or without any, is only given back to its author (`portal.web.unsent`).

Flask-WTF calls `protect` before every request. Views that other servers call, or that change nothing, are marked with `exempt`.
A view marked with `from_older_pages` also takes a token that this person got in an earlier session, and any if nobody is signed in.
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
from portal.request_values import is_seen_by_staff, request_g
from portal.state.sessions import COOKIE
from portal.store.sealer import mac

View = TypeVar("View", bound=Callable[..., object])

FIELD = "csrf_token"
VISITOR_COOKIE = "__Host-form"

_EXEMPT = "csrf_exempt"
_FROM_OLDER_PAGES = "csrf_from_older_pages"
_SAFE = frozenset({"GET", "HEAD", "OPTIONS", "TRACE"})
_TAG = 16
"""Bytes of each of a token's three HMACs, of the cookie, the session and the person."""

_HALF = _TAG // 2
_LENGTH = 3 * _TAG


class Csrf(cast("type[Any]", CSRFProtect)):
    """Flask-WTF's extension, with this module's tokens."""

    def init_app(self, app: Flask) -> None:
        parent: Any = super()
        parent.init_app(app)
        app.jinja_env.globals["csrf_field"] = field  # pyright: ignore[reportArgumentType]
        app.after_request(_set_cookie)

    def exempt(self, view: View) -> View:
        setattr(view, _EXEMPT, True)
        return view

    def from_older_pages(self, view: View) -> View:
        setattr(view, _FROM_OLDER_PAGES, True)
        return view

    def protect(self, apply_exemptions: bool = False) -> None:
        """Raise CSRFError for an unsafe request from another site or without a valid token."""
        if request.method in _SAFE or (apply_exemptions and _needs_no_token()):
            return
        if not is_same_origin():
            raise CSRFError("another site's form")
        if not (_is_of_this_browser() or _is_of_this_session() or _is_of_older_page()):
            raise CSRFError("no token of this browser")


def field() -> Markup:
    """Return the hidden input with this response's token; none where nothing may be sent (portal.web.as_patient)."""
    if is_seen_by_staff():
        return Markup("")
    return Markup('<input type="hidden" name="{}" value="{}">').format(FIELD, token())


def token() -> str:
    """Return this response's token, masked; it is valid for all forms of this browser."""
    if "csrf_token" not in request_g():
        current, key = session(), _keys()[0]
        bound_to, of_session, owner = current.cookie, bytes(_TAG), bytes(_TAG)
        if record := current.record:
            of_session = _tag(key, "session", record.epoch)
            owner = owner_tag(record.person.issuer, record.person.sub)
        if not (record and bound_to):
            bound_to = _visitor_cookie()
        request_g().csrf_token = _masked(_tag(key, "browser", bound_to) + of_session + owner)
    return request_g().csrf_token


def is_same_origin() -> bool:
    """Return whether a page of the portal sent this request, by Fetch Metadata or else by `Origin`.

    True if the browser sends neither header, as old ones do.
    """
    site = request.headers.get("Sec-Fetch-Site")
    if site is not None:
        return site in ("same-origin", "none")
    origin = request.headers.get("Origin")
    return origin is None or address_parts(origin).netloc == request.host


def is_issued_for(issuer: str, sub: str) -> bool:
    """Return whether the submitted form's token was issued for this person, in this session or an earlier one."""
    submitted = _submitted_token()
    return submitted is not None and any(
        hmac.compare_digest(submitted[-_TAG:], _owner_tag(key, issuer, sub)) for key in _keys()
    )


def owner_tag(issuer: str, sub: str) -> bytes:
    """Return what stands for this person at this clinic in the tokens of their forms."""
    return _owner_tag(_keys()[0], issuer, sub)


def owner_of_form() -> bytes | None:
    """Return the tag of the person that the submitted form's token was issued for; None if it wasn't issued by the portal."""
    submitted = _submitted_token()
    owner = submitted[-_TAG:] if submitted else b""
    is_issued = any(hmac.compare_digest(owner[_HALF:], _proof(key, owner[:_HALF])) for key in _keys())
    return owner if owner and is_issued else None


def _needs_no_token() -> bool:
    """Return whether the request matches no view, or one that is exempt."""
    return not request.endpoint or hasattr(current_app.view_functions[request.endpoint], _EXEMPT)


def _is_of_this_browser() -> bool:
    submitted = _submitted_token()
    cookies = [cookie for name in (COOKIE, VISITOR_COOKIE) if (cookie := request.cookies.get(name))]
    return submitted is not None and any(
        hmac.compare_digest(submitted[:_TAG], _tag(key, "browser", cookie))
        for cookie in cookies
        for key in _keys()
    )


def _is_of_this_session() -> bool:
    """Whether the page is of the session that goes on here, under an earlier cookie."""
    submitted, record = _submitted_token(), session().record
    return (
        submitted is not None
        and record is not None
        and any(
            hmac.compare_digest(submitted[_TAG:-_TAG], _tag(key, "session", record.epoch)) for key in _keys()
        )
    )


def _is_of_older_page() -> bool:
    """Whether the view takes the person's older pages, and this is one; each is if the session has ended since."""
    if not hasattr(current_app.view_functions.get(request.endpoint or ""), _FROM_OLDER_PAGES):
        return False
    who = session().person
    return who is None or is_issued_for(who.issuer, who.sub)


def _submitted_token() -> bytes | None:
    """Return the submitted token without its mask; None if it is missing or malformed."""
    try:
        masked = base64.b64decode(request.form.get(FIELD, "").encode(), b"-_", validate=True)
    except (binascii.Error, ValueError):
        return None
    return _xor(masked[:_LENGTH], masked[_LENGTH:]) if len(masked) == 2 * _LENGTH else None


def _masked(raw: bytes) -> str:
    mask = secrets.token_bytes(_LENGTH)
    return base64.urlsafe_b64encode(mask + _xor(mask, raw)).decode()


def _xor(left: bytes, right: bytes) -> bytes:
    return (int.from_bytes(left) ^ int.from_bytes(right)).to_bytes(_LENGTH)


def _tag(key: bytes, purpose: str, value: str) -> bytes:
    return mac(key, f"{purpose}\0{value}".encode())[:_TAG]


def _owner_tag(key: bytes, issuer: str, sub: str) -> bytes:
    half = _tag(key, "owner", "\0".join((issuer, g.tenant.key, sub)))[:_HALF]
    return half + _proof(key, half)


def _proof(key: bytes, half: bytes) -> bytes:
    return _tag(key, "issued for", half.hex())[:_HALF]


def _keys() -> tuple[bytes, ...]:
    """Return the keys: new tokens use the first, and all are accepted, so that keys can be rotated."""
    keys: tuple[bytes, ...] | None = g.get("csrf_keys")
    if keys is None:
        keys = g.csrf_keys = tuple(
            hashlib.sha256(b"portal forms" + key.encode()).digest() for key in context().settings.secret_keys
        )
    return keys


def _visitor_cookie() -> str:
    """Return the cookie of a visitor who isn't signed in; created when a form first needs one."""
    cookie = request.cookies.get(VISITOR_COOKIE, "")
    if len(cookie) == 43:
        return cookie
    g.visitor_cookie = secrets.token_urlsafe(32)
    return g.visitor_cookie


def _set_cookie(response: Response) -> Response:
    if cookie := g.get("visitor_cookie"):
        response.set_cookie(VISITOR_COOKIE, cookie, path="/", secure=True, httponly=True, samesite="Lax")
    return response
