"""The identity server's addresses (OpenID Connect Core and Discovery 1.0, RFC 6749, 9126, 9207)."""

# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false
# (Authlib has no types.)

from __future__ import annotations

import secrets
from datetime import timedelta
from typing import Any, cast
from urllib.parse import urlencode

from authlib.oauth2 import OAuth2Error
from authlib.oauth2.rfc6749 import OAuth2Request
from authlib.oauth2.rfc6749.requests import BasicOAuth2Payload
from authlib.oidc.core.errors import LoginRequiredError
from flask import Blueprint, Response, jsonify, make_response, redirect, render_template, request
from joserfc import jwt
from joserfc.errors import JoseError
from sqlalchemy import delete, func, select
from sqlalchemy.orm import Session

from portal.careservice import database
from portal.careservice.clock import now
from portal.careservice.identity import back_channel, passwords
from portal.careservice.identity.keys import ALGORITHM, verification_keys
from portal.careservice.identity.server import revoke_sign_in, server
from portal.careservice.identity.tables import (
    AuthorizationRequest,
    Client,
    FailedSignIn,
    Person,
    SignIn,
    Tenant,
    digest,
)
from portal.careservice.identity.tokens import InvalidToken, claims_of, verify_access_token
from portal.careservice.ids import new_id
from portal.careservice.settings import current_settings

bp = Blueprint("identity", __name__)

COOKIE = "idsrv"
_BROWSER_COOKIE = "idsrv_browser"
_WAIT = timedelta(minutes=15)
_TRIES = 10
_TRIES_WITHIN = timedelta(minutes=15)
_SCOPES = ("openid", "profile", "email", "roles", "offline_access", "ClientelePortal")
_KEPT = (
    "state",
    "nonce",
    "scope",
    "redirect_uri",
    "response_type",
    "client_id",
    "code_challenge",
    "ui_locales",
)
_KEPT_TOO = ("code_challenge_method", "max_age", "prompt", "login_hint", "acr_values", "response_mode")


@bp.get("/.well-known/openid-configuration")
def discovery() -> Response:
    """The metadata (OpenID Connect Discovery §3, RFC 8414)."""
    issuer = current_settings().issuer
    return jsonify(
        issuer=issuer,
        authorization_endpoint=f"{issuer}/connect/authorize",
        token_endpoint=f"{issuer}/connect/token",
        userinfo_endpoint=f"{issuer}/connect/userinfo",
        end_session_endpoint=f"{issuer}/connect/endsession",
        introspection_endpoint=f"{issuer}/connect/introspect",
        revocation_endpoint=f"{issuer}/connect/revocation",
        pushed_authorization_request_endpoint=f"{issuer}/connect/par",
        jwks_uri=f"{issuer}/.well-known/jwks",
        scopes_supported=_SCOPES,
        response_types_supported=["code"],
        response_modes_supported=["query"],
        grant_types_supported=["authorization_code", "refresh_token", "client_credentials"],
        subject_types_supported=["public"],
        id_token_signing_alg_values_supported=[ALGORITHM],
        token_endpoint_auth_methods_supported=["client_secret_basic", "client_secret_post"],
        revocation_endpoint_auth_methods_supported=["client_secret_basic", "client_secret_post"],
        code_challenge_methods_supported=["S256"],
        prompt_values_supported=["login", "none"],
        claims_supported=[
            *("sub", "tenantid", "role", "name", "given_name", "family_name", "email"),
            *("preferred_username", "locale", "auth_time", "sid"),
        ],
        ui_locales_supported=["en"],
        authorization_response_iss_parameter_supported=True,
        backchannel_logout_supported=True,
        backchannel_logout_session_supported=True,
        frontchannel_logout_supported=False,
        request_parameter_supported=False,
        request_uri_parameter_supported=True,
        require_pushed_authorization_requests=False,
    )


@bp.get("/.well-known/jwks")
def jwks() -> Response:
    """The public keys (RFC 7517)."""
    keys = verification_keys(database.session())
    response = jsonify(keys.as_dict(private=False))
    response.headers["Cache-Control"] = "public, max-age=300"
    return response


@bp.route("/connect/authorize", methods=["GET", "POST"])
def authorize() -> Response:
    """The authorization endpoint (Core §3.1.2): straight back with a code, or by way of the sign-in page."""
    session = database.session_for_writing()
    try:
        parameters = _parameters(session)
        asked = _validated(parameters)
    except OAuth2Error as error:
        return _refuse(error)
    here = _sign_in_of_browser(session)
    wanted = parameters.get("prompt", "").split()
    if here is not None and _is_enough(here, parameters, asked):
        return _grant(asked, here)
    if "none" in wanted:
        error = LoginRequiredError(redirect_uri=asked.payload.redirect_uri)
        error.state = parameters.get("state")
        return _refuse(error)
    return _ask(session, parameters)


@bp.get("/sign-in")
def sign_in_page() -> Response:
    """The sign-in page of an authorization request that waits for it."""
    waiting = _waiting(database.session_for_writing(), request.args.get("request", ""))
    if waiting is None:
        return _stale()
    return _page(waiting, username=str(waiting.parameters.get("login_hint", "")))


@bp.post("/sign-in")
def sign_in() -> Response:
    """Check the password, and go on to where the person came from."""
    session = database.session()
    waiting = _waiting(session, request.form.get("request", ""))
    if waiting is None:
        return _stale()
    username = request.form.get("username", "").strip()[:64].lower()
    address = request.remote_addr or ""
    if _is_locked(session, username, address):
        return _page(waiting, username=username, status=429, error="locked")
    person = _person(session, waiting, username, request.form.get("password", ""))
    if person is None:
        session.add(FailedSignIn(id=new_id(), username=username, address=address[:64], at=now()))
        session.commit()
        return _page(waiting, username=username, status=401, error="wrong")
    session.execute(
        delete(FailedSignIn).where(FailedSignIn.username == username, FailedSignIn.address == address)
    )
    cookie, here = _begin_sign_in(session, person)
    waiting.used_at = now()
    try:
        asked = _validated({name: str(value) for name, value in waiting.parameters.items()})
    except OAuth2Error as error:
        return _refuse(error)
    response = _grant(asked, here)
    _set_cookie(response, COOKIE, cookie)
    return response


@bp.post("/connect/token")
def token() -> Response:
    """The token endpoint (RFC 6749 §3.2)."""
    return _uncached(server.create_token_response())


@bp.post("/connect/revocation")
def revocation() -> Response:
    """Token revocation (RFC 7009)."""
    return _uncached(server.create_endpoint_response("revocation"))


@bp.post("/connect/introspect")
def introspect() -> Response:
    """Token introspection (RFC 7662)."""
    return _uncached(server.create_endpoint_response("introspection"))


@bp.post("/connect/par")
def pushed_request() -> Response:
    """Pushed authorization requests (RFC 9126 §2)."""
    session = database.session()
    try:
        client = cast(
            "Client",
            server.authenticate_client(
                server.create_oauth2_request(None),
                ["client_secret_basic", "client_secret_post"],
                endpoint="par",
            ),
        )
        given = _known(request.form.to_dict())
        if "request_uri" in request.form or given.get("client_id", client.client_id) != client.client_id:
            return _json_error("invalid_request", 400)
        given["client_id"] = client.client_id
        _validated(given)
    except OAuth2Error as error:
        return _json_error(str(error.error), int(error.status_code))
    handle = secrets.token_urlsafe(32)
    lifetime = current_settings().lifetimes.pushed_request
    session.add(
        AuthorizationRequest(
            handle_hash=digest(handle),
            client_id=client.client_id,
            parameters=given,
            is_pushed=True,
            created_at=now(),
            expires_at=now() + lifetime,
        )
    )
    answer = jsonify(
        request_uri=f"urn:ietf:params:oauth:request_uri:{handle}", expires_in=int(lifetime.total_seconds())
    )
    answer.status_code = 201
    return _uncached(answer)


@bp.route("/connect/userinfo", methods=["GET", "POST"])
def userinfo() -> Response:
    """What the access token's scopes tell of its person (Core §5.3)."""
    session = database.session()
    scheme, _, value = request.headers.get("Authorization", "").partition(" ")
    try:
        claims = verify_access_token(session, value if scheme.lower() == "bearer" else "")
        person = session.get(Person, str(claims["sub"]))
    except InvalidToken:
        person = None
        claims = {}
    if person is None or not person.is_active:
        answer = make_response("", 401, {"WWW-Authenticate": 'Bearer error="invalid_token"'})
        return _uncached(answer)
    return _uncached(jsonify(claims_of(person, str(claims["scope"]))))


@bp.route("/connect/endsession", methods=["GET", "POST"])
def end_session() -> Response:
    """RP-initiated logout (OpenID Connect RP-Initiated Logout 1.0)."""
    session = database.session_for_writing()
    given = request.values.to_dict()
    client = _logout_client(session, given)
    here = _sign_in_of_browser(session)
    if here is not None and not _is_asked_by_this_browser(given, here):
        return _confirm_logout(given, client)
    if here is not None:
        grants = revoke_sign_in(session, here.sid)
        back_channel.announce(session, here, grants)
        session.delete(here)
    target = given.get("post_logout_redirect_uri", "")
    if client is not None and target in client.post_logout_redirect_uris:
        state = given.get("state")
        location = f"{target}?{urlencode({'state': state})}" if state else target
        response = cast("Response", redirect(location, 303))
    else:
        response = make_response(_render("signed_out.html", None))
    response.delete_cookie(COOKIE, path="/", httponly=True, samesite="Lax")
    return _uncached(response)


# Authorization requests


def _parameters(session: Session) -> dict[str, str]:
    given = request.values.to_dict()
    if "request" in given:
        raise _error("request_not_supported")
    request_uri = given.get("request_uri")
    if request_uri is None:
        return _known(given)
    prefix = "urn:ietf:params:oauth:request_uri:"
    found = session.get(AuthorizationRequest, digest(request_uri.removeprefix(prefix)))
    if (
        found is None
        or not request_uri.startswith(prefix)
        or not found.is_pushed
        or found.used_at is not None
        or found.expires_at <= now()
        or found.client_id != given.get("client_id")
    ):
        raise _error("invalid_request_uri")
    found.used_at = now()
    return {name: str(value) for name, value in found.parameters.items()}


def _known(given: dict[str, str]) -> dict[str, str]:
    return {name: value[:2000] for name, value in given.items() if name in (*_KEPT, *_KEPT_TOO)}


def _validated(parameters: dict[str, str]) -> Any:
    """Authlib's request object of a good authorization request; raises OAuth2Error."""
    asked = OAuth2Request("GET", f"{current_settings().issuer}/connect/authorize")
    asked.payload = BasicOAuth2Payload(parameters)
    grant = cast("Any", server).get_authorization_grant(asked)
    redirect_uri = grant.validate_authorization_request()
    if parameters.get("max_age") and not parameters["max_age"].isdecimal():
        raise _error("invalid_request", redirect_uri)
    cast("Any", asked).grant = grant
    return asked


def _is_enough(here: SignIn, parameters: dict[str, str], asked: Any) -> bool:
    """Whether the sign-in in this browser answers the request without asking for the password again."""
    if "login" in parameters.get("prompt", "").split():
        return False
    age = (now() - here.auth_time).total_seconds()
    if parameters.get("max_age") and age > int(parameters["max_age"]):
        return False
    tenant = _tenant_name(parameters)
    if tenant is not None and here.person.tenant.name != tenant:
        return False
    return here.person.tenant_id == asked.client.tenant_id


def _grant(asked: Any, here: SignIn) -> Response:
    _, _, headers = asked.grant.create_authorization_response(asked.payload.redirect_uri, here)
    return _back(dict(headers)["Location"])


def _ask(session: Session, parameters: dict[str, str]) -> Response:
    """Keep the request until its person has signed in, bound to this browser."""
    handle = secrets.token_urlsafe(32)
    browser = request.cookies.get(_BROWSER_COOKIE) or secrets.token_urlsafe(32)
    session.add(
        AuthorizationRequest(
            handle_hash=digest(handle),
            client_id=parameters["client_id"],
            parameters={**parameters, "browser": digest(browser)},
            is_pushed=False,
            created_at=now(),
            expires_at=now() + _WAIT,
        )
    )
    session.execute(delete(AuthorizationRequest).where(AuthorizationRequest.expires_at < now() - _WAIT))
    response = cast("Response", redirect(f"/sign-in?{urlencode({'request': handle})}", 303))
    _set_cookie(response, _BROWSER_COOKIE, browser)
    return _uncached(response)


def _waiting(session: Session, handle: str) -> AuthorizationRequest | None:
    found = session.get(AuthorizationRequest, digest(handle)) if handle else None
    browser = request.cookies.get(_BROWSER_COOKIE, "")
    if found is None or found.is_pushed or found.used_at is not None or found.expires_at <= now():
        return None
    return found if secrets.compare_digest(str(found.parameters.get("browser")), digest(browser)) else None


def _back(location: str) -> Response:
    """To the client, naming the issuer (RFC 9207 §2)."""
    joint = "&" if "?" in location else "?"
    target = f"{location}{joint}{urlencode({'iss': current_settings().issuer})}"
    return _uncached(cast("Response", redirect(target, 303)))


def _refuse(error: OAuth2Error) -> Response:
    """An error goes to the client where its address is known to be good, else onto a page of our own."""
    status, _, headers = cast("Any", error)()
    location = dict(headers).get("Location") if status == 302 else None
    if location:
        return _back(location)
    return _uncached(make_response(_render("refused.html", None, error=error.error), 400))


def _error(code: str, redirect_uri: str | None = None) -> OAuth2Error:
    error = OAuth2Error(redirect_uri=redirect_uri)
    error.error = code
    return error


# Signing in


def _person(session: Session, waiting: AuthorizationRequest, username: str, password: str) -> Person | None:
    client = session.get(Client, waiting.client_id)
    tenant = _tenant_name(waiting.parameters)
    found = session.scalar(
        select(Person)
        .join(Tenant, Person.tenant_id == Tenant.id)
        .where(Person.username == username, Person.tenant_id == (client.tenant_id if client else ""))
    )
    if found is not None and (not found.is_active or (tenant is not None and found.tenant.name != tenant)):
        found = None
    return found if passwords.is_right(password, found.password_hash if found else None) else None


def _is_locked(session: Session, username: str, address: str) -> bool:
    tries = session.scalar(
        select(func.count())
        .select_from(FailedSignIn)
        .where(
            FailedSignIn.username == username,
            FailedSignIn.address == address[:64],
            FailedSignIn.at > now() - _TRIES_WITHIN,
        )
    )
    return (tries or 0) >= _TRIES


def _begin_sign_in(session: Session, person: Person) -> tuple[str, SignIn]:
    """A new sign-in of this browser; giving the password again keeps the `sid` and renews cookie and time."""
    cookie = secrets.token_urlsafe(32)
    here = _sign_in_of_browser(session)
    if here is not None and here.person_id != person.id:
        back_channel.announce(session, here, revoke_sign_in(session, here.sid))
        session.delete(here)
        here = None
    if here is None:
        here = SignIn(
            sid=new_id(),
            cookie_hash=digest(cookie),
            person_id=person.id,
            auth_time=now(),
            expires_at=now() + current_settings().lifetimes.sign_in,
        )
        session.add(here)
    here.cookie_hash, here.auth_time = digest(cookie), now()
    session.flush()
    return cookie, here


def _sign_in_of_browser(session: Session) -> SignIn | None:
    cookie = request.cookies.get(COOKIE)
    if not cookie:
        return None
    return session.scalar(
        select(SignIn).where(SignIn.cookie_hash == digest(cookie), SignIn.expires_at > now())
    )


def _tenant_name(parameters: Any) -> str | None:
    values = str(parameters.get("acr_values", "")).split()
    return next((value.removeprefix("tenant:") for value in values if value.startswith("tenant:")), None)


# Signing out


def _logout_client(session: Session, given: dict[str, str]) -> Client | None:
    hinted = _hint_claims(given).get("aud")
    client_id = given.get("client_id") or (hinted if isinstance(hinted, str) else None)
    if hinted is not None and client_id != hinted:
        return None
    return session.get(Client, client_id) if client_id else None


def _hint_claims(given: dict[str, str]) -> dict[str, Any]:
    """The claims of an ID token hint, which may be expired but must be ours."""
    hint = given.get("id_token_hint")
    if not hint:
        return {}
    try:
        claims = dict(
            jwt.decode(hint, verification_keys(database.session_for_writing()), algorithms=[ALGORITHM]).claims
        )
    except (JoseError, ValueError, TypeError):
        return {}
    return claims if claims.get("iss") == current_settings().issuer else {}


def _is_asked_by_this_browser(given: dict[str, str], here: SignIn) -> bool:
    """Whether the request shows that it comes from a client in which this very sign-in lives (§2, §6)."""
    if request.method == "POST" and given.get("confirm") == digest(request.cookies.get(COOKIE, "")):
        return True
    known = {here.sid, here.person_id, here.person.username}
    claims = _hint_claims(given)
    return (
        given.get("logout_hint") in known
        or claims.get("sid") == here.sid
        or claims.get("sub") == here.person_id
    )


def _confirm_logout(given: dict[str, str], client: Client | None) -> Response:
    fields = {
        name: given[name] for name in ("client_id", "post_logout_redirect_uri", "state") if name in given
    }
    page = _render(
        "confirm_sign_out.html",
        None,
        client=client,
        fields={**fields, "confirm": digest(request.cookies.get(COOKIE, ""))},
    )
    return _uncached(make_response(page))


# Pages


def _page(
    waiting: AuthorizationRequest, *, username: str, status: int = 200, error: str | None = None
) -> Response:
    session = database.session_for_writing()
    client = session.get(Client, waiting.client_id)
    tenant = session.get(Tenant, client.tenant_id) if client else None
    people: list[Person] = []
    if current_settings().demo and tenant is not None:
        people = list(
            session.scalars(select(Person).where(Person.tenant_id == tenant.id).order_by(Person.username))
        )
    handle = request.values.get("request", "")
    page = _render(
        "sign_in.html",
        tenant,
        handle=handle,
        username=username,
        error=error,
        people=people[:30],
    )
    return _uncached(make_response(page, status))


def _stale() -> Response:
    return _uncached(make_response(_render("stale.html", None), 400))


def _render(name: str, tenant: Tenant | None, **context: Any) -> str:
    return render_template(f"identity/{name}", tenant=tenant, **context)


@bp.get("/identity.css")
def style() -> Response:
    """The pages' style, with the accent of a clinic that exists."""
    found = database.session().scalar(select(Tenant).where(Tenant.name == request.args.get("tenant", "")))
    body = render_template("identity/identity.css", accent=found.accent if found else "#3a4a5a")
    return make_response(
        body, {"Content-Type": "text/css; charset=utf-8", "Cache-Control": "public, max-age=300"}
    )


def _set_cookie(response: Response, name: str, value: str) -> None:
    secure = current_settings().issuer.startswith("https:")
    response.set_cookie(name, value, path="/", httponly=True, samesite="Lax", secure=secure)


def _json_error(code: str, status: int) -> Response:
    answer = jsonify(error=code)
    answer.status_code = status
    return _uncached(answer)


def _uncached(answer: Any) -> Response:
    response = cast("Response", answer)
    response.headers["Cache-Control"] = "no-store"
    response.headers["X-Content-Type-Options"] = "nosniff"
    response.headers["Referrer-Policy"] = "no-referrer"
    if response.mimetype == "text/html":
        # form-action is left out: the form's redirect goes on to the client's own address.
        response.headers["Content-Security-Policy"] = (
            "default-src 'none'; style-src 'self'; frame-ancestors 'none'; base-uri 'none'"
        )
    return response
