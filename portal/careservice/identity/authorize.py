"""The authorization endpoint, pushed requests (RFC 9126), and requests that wait for a sign-in."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from authlib.oauth2 import OAuth2Error
from flask import Response, jsonify, request
from sqlalchemy import delete, func, or_, select
from sqlalchemy.orm import Session

from portal.careservice import database
from portal.careservice.clock import is_recent, now, recent
from portal.careservice.identity import dpop, passkeys, sessions, throttle
from portal.careservice.identity.assurance import can_do_more
from portal.careservice.identity.authorization_request import (
    SUPPORTED,
    RefusedRequest,
    RepeatedParameter,
    ValidatedRequest,
    answer_address,
    posted_request,
    refusal,
    repeated,
    single_values,
    validate,
    with_parameters,
)
from portal.careservice.identity.pages import bp, origin, page, portal_of, see_other, set_cookie
from portal.careservice.identity.server import address_with_code, authenticate_client, code_grant, server
from portal.careservice.identity.tables import AuthorizationRequest, Client, SignIn, Tenant, digest
from portal.careservice.settings import current_settings

BROWSER_COOKIE = "idsrv_browser"
"""Binds a waiting request to the browser that sent it, against login CSRF."""

CHECKED = "checked"
"""Names, in a waiting request, the person whose password has been checked."""

PUSHED_IS_OVER = "invalid_request_uri"
"""The code for a pushed request that is used, expired or unknown."""

_URN = "urn:ietf:params:oauth:request_uri:"
_WAIT = timedelta(minutes=15)
_KEPT = timedelta(hours=12)
"""How long after its end a form is still known, so that whoever sends it in the morning is led back to the portal."""

_MOST_PER_PLACE = 200
_RETRY_AFTER_SECONDS = 60


@bp.errorhandler(RefusedRequest)
def refuse(refused: RefusedRequest) -> Response:
    """Send the error to the client if its redirect URI is known to be valid, else show it on a page."""
    if refused.location is not None:
        return see_other(refused.location)
    if refused.code == PUSHED_IS_OVER:
        return _lead_back()
    return page("refused.html", status=400, code=refused.code, description=refused.description)


@bp.route("/connect/authorize", methods=["GET", "POST"])
def authorize() -> Response:
    """Redirect back to the client with a code, at once or after the sign-in page (OpenID Connect Core §3.1.2)."""
    session = database.session_for_writing()
    try:
        asked = checked(session, _parameters(session))
        sign_in = sessions.current(session)
        if sign_in is not None and _is_sufficient(sign_in, asked):
            return grant(asked, sign_in)
        if "none" in asked.prompts:
            raise RefusedRequest("login_required", "Nobody is signed in.", asked.parameters)
        known = (
            sign_in if sign_in is not None and _is_sufficient(sign_in, asked, at_any_strength=True) else None
        )
    except RepeatedParameter:
        return refuse(repeated(session, request.values))
    except OAuth2Error as error:
        return refuse(RefusedRequest(str(error.error), str(error.description or "")))
    return _ask_to_sign_in(session, asked, known)


@bp.post("/connect/par")
def push() -> Response:
    """Store a client's authorization request for a single use (RFC 9126 §2)."""
    session = database.session()
    try:
        form = posted_request()
        client = authenticate_client(form, "par")
        parameters = _supported(form.form)
        if "request_uri" in form.form:
            raise RefusedRequest("invalid_request", "A pushed request can't contain a request_uri.")
        jkt = dpop.proven_key(session)
        if jkt and parameters.setdefault("dpop_jkt", jkt) != jkt:
            raise dpop.ProofRefused("The proof is of another key than dpop_jkt.")
        if parameters.setdefault("client_id", client.client_id) != client.client_id:
            raise RefusedRequest("invalid_request", "The client_id is another client's.")
        checked(session, parameters)
    except OAuth2Error as error:
        return server.error_answer(error)
    except dpop.ProofRefused as refused:
        return _json_refusal(RefusedRequest(refused.code, refused.description))
    except RefusedRequest as refused:
        return _json_refusal(refused)
    lifetime = current_settings().lifetimes.pushed_request
    handle = _store(session, parameters, lifetime)
    response = jsonify(request_uri=_URN + handle, expires_in=int(lifetime.total_seconds()))
    response.status_code = 201
    return response


def grant(asked: ValidatedRequest, sign_in: SignIn) -> Response:
    """Redirect back to the client with a code for the signed-in person."""
    return see_other(answer_address(address_with_code(asked, sign_in), {}))


def checked(session: Session, parameters: Mapping[str, str]) -> ValidatedRequest:
    """The authorization request in `parameters`, validated; raises RefusedRequest."""
    asked = validate(session, parameters)
    try:
        code_grant(asked)
    except OAuth2Error as error:
        raise refusal(error, asked) from error
    return asked


def waiting_request(session: Session, handle: str) -> AuthorizationRequest | None:
    """The request waiting for a sign-in in this browser, even if used or expired; None if there is none."""
    found = session.get(AuthorizationRequest, digest(handle))
    browser = request.cookies.get(BROWSER_COOKIE, "")
    if found is None or found.is_pushed or not browser:
        return None
    return found if secrets.compare_digest(str(found.parameters["browser"]), digest(browser)) else None


def _parameters(session: Session) -> dict[str, str]:
    given = single_values(request.values)
    if given.get("request_uri", "").startswith(_URN):
        return _pushed(session, given["request_uri"], given.get("client_id"))
    return _supported(given)


def _pushed(session: Session, request_uri: str, client_id: str | None) -> dict[str, str]:
    """The parameters of a pushed request, which can be used once (RFC 9126 §4)."""
    handle_hash = digest(request_uri.removeprefix(_URN))
    found = session.get(AuthorizationRequest, handle_hash, with_for_update=True)
    if (
        found is None
        or not found.is_pushed
        or found.used_at is not None
        or found.expires_at <= now()
        or found.client_id != client_id
    ):
        raise RefusedRequest(PUSHED_IS_OVER, "The request_uri is unknown, used or expired.")
    found.used_at = now()
    return {name: str(value) for name, value in found.parameters.items()}


def _lead_back() -> Response:
    """The page for a pushed request that is used or expired, as after a reload: it leads back to the clinic's portal."""
    session = database.session()
    client = session.get(Client, request.values.get("client_id", ""))
    clinic = session.get_one(Tenant, client.tenant_id) if client else None
    home = portal_of(session, clinic) if clinic else None
    return page("too_late.html", status=400, tenant=clinic, home=home)


def _supported(given: dict[str, str]) -> dict[str, str]:
    return {name: value for name, value in given.items() if name in SUPPORTED}


def asked_again_elsewhere(session: Session, asked: ValidatedRequest) -> str:
    """The address, at the name that passkeys are made for, where the same request asks for a sign-in again."""
    prompts = sorted(asked.prompts | {"login"})
    parameters = {**_supported(dict(asked.parameters)), "prompt": " ".join(prompts)}
    handle = _store(session, parameters, current_settings().lifetimes.pushed_request)
    query = {"client_id": asked.client.client_id, "request_uri": _URN + handle}
    return with_parameters(f"{passkeys.origin()}/connect/authorize", query)


def _is_sufficient(sign_in: SignIn, asked: ValidatedRequest, *, at_any_strength: bool = False) -> bool:
    """Whether this browser's sign-in satisfies the request, so that the password isn't needed again."""
    if not at_any_strength and can_do_more(sign_in.person, asked.acr_values, sign_in.amr):
        return False
    if sign_in.person.tenant_id != asked.tenant.id or asked.prompts & {"login", "select_account"}:
        return False
    if asked.sub not in (None, sign_in.person_id):
        return False
    return asked.max_age is None or is_recent(sign_in.auth_time, timedelta(seconds=asked.max_age))


def _ask_to_sign_in(session: Session, asked: ValidatedRequest, known: SignIn | None) -> Response:
    """To the sign-in page, or to the one-time code of who is known by a password that still counts."""
    place = throttle.place(session)
    if _waiting_from(session, place) >= _MOST_PER_PLACE:
        response = page(
            "busy.html",
            status=429,
            tenant=asked.tenant,
            home=origin(asked.redirect_uri) + "/",
            locales=asked.parameters.get("ui_locales", ""),
        )
        response.headers["Retry-After"] = str(_RETRY_AFTER_SECONDS)
        return response
    browser = request.cookies.get(BROWSER_COOKIE) or secrets.token_urlsafe(32)
    parameters = {**asked.parameters, "browser": digest(browser)}
    if known is not None:
        parameters[CHECKED] = known.person_id
    handle = _store(session, parameters, _WAIT, place=place)
    response = see_other(f"/sign-in{'/code' if known else ''}?request={handle}")
    set_cookie(response, BROWSER_COOKIE, browser)
    return response


def _waiting_from(session: Session, place: str) -> int:
    """How many requests of this browser or network (`throttle.place`) wait for a sign-in."""
    waiting = select(func.count()).where(
        AuthorizationRequest.place == place,
        AuthorizationRequest.used_at.is_(None),
        recent(AuthorizationRequest.created_at, _WAIT),
    )
    return session.scalar(waiting) or 0


def _store(
    session: Session, parameters: dict[str, Any], lifetime: timedelta, *, place: str | None = None
) -> str:
    """Store a request that waits for a sign-in of a browser at `place`, or a pushed one, and return its handle."""
    over = AuthorizationRequest.expires_at
    is_past = or_(over < now() - _KEPT, (over < now()) & AuthorizationRequest.is_pushed)
    session.execute(delete(AuthorizationRequest).where(is_past))
    handle = secrets.token_urlsafe(32)
    session.add(
        AuthorizationRequest(
            handle_hash=digest(handle),
            client_id=str(parameters["client_id"]),
            parameters=parameters,
            is_pushed=place is None,
            place=place,
            created_at=now(),
            expires_at=now() + lifetime,
        )
    )
    return handle


def _json_refusal(refused: RefusedRequest) -> Response:
    response = jsonify(error=refused.code, error_description=refused.description)
    response.status_code = 400
    return response
