"""The OAuth part: Authlib's authorization server with this service's rules (RFC 6749, 7009, 7636, 7662, 9700)."""

# pyright: reportUnknownMemberType=false, reportUnknownParameterType=false, reportMissingParameterType=false
# pyright: reportUnknownArgumentType=false, reportUnknownVariableType=false, reportUntypedBaseClass=false
# pyright: reportIncompatibleMethodOverride=false, reportOptionalMemberAccess=false, reportAttributeAccessIssue=false
# pyright: reportArgumentType=false
# (Authlib has no types.)

from __future__ import annotations

import secrets
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, cast

from authlib.integrations.flask_oauth2 import AuthorizationServer
from authlib.oauth2 import OAuth2Error
from authlib.oauth2.rfc6749.errors import InvalidGrantError, InvalidRequestError, InvalidScopeError
from authlib.oauth2.rfc6749.grants import AuthorizationCodeGrant, ClientCredentialsGrant, RefreshTokenGrant
from authlib.oauth2.rfc7009 import RevocationEndpoint
from authlib.oauth2.rfc7636 import CodeChallenge
from authlib.oauth2.rfc7662 import IntrospectionEndpoint
from flask import Flask, Response
from sqlalchemy import update
from sqlalchemy.orm import Session

from portal.careservice import database
from portal.careservice.clock import now
from portal.careservice.identity import client_assertions
from portal.careservice.identity.authorization_request import OAuthRequest, ValidatedRequest, posted_request
from portal.careservice.identity.tables import (
    AuthorizationCode,
    Client,
    Grant,
    Person,
    RefreshToken,
    RevokedToken,
    SignIn,
    digest,
)
from portal.careservice.identity.tokens import (
    InvalidToken,
    access_token,
    id_token,
    verify_access_token,
)
from portal.careservice.ids import new_id
from portal.careservice.settings import current_settings

METHODS = ["client_secret_basic", "client_secret_post", client_assertions.METHOD]
"""How clients prove themselves, one way at a time."""


class OAuthServer(AuthorizationServer):
    """Authlib's server; the session of the request is where everything is kept."""

    def query_client(self, client_id: str) -> Client | None:
        return database.session().get(Client, client_id) if client_id.isprintable() else None

    def create_oauth2_request(self, request: Any) -> OAuthRequest:
        return request if isinstance(request, OAuthRequest) else posted_request()

    def token_answer(self) -> Response:
        """The answer to the posted token request (RFC 6749 §5)."""
        return self._answered(self.create_token_response)

    def endpoint_answer(self, name: str) -> Response:
        """The answer to the form posted to `revocation` or `introspection`."""
        return self._answered(partial(self.create_endpoint_response, name))

    def error_answer(self, error: OAuth2Error) -> Response:
        """The error as JSON (RFC 6749 §5.2)."""
        return cast("Response", self.handle_response(*error()))

    def _answered(self, answer: Callable[[], object]) -> Response:
        try:
            return cast("Response", answer())
        except OAuth2Error as error:  # Authlib doesn't catch what its own reading of the request raises
            return self.error_answer(error)

    def save_token(self, token: dict[str, Any], request: Any) -> None:
        """Nothing more to keep: the grants below keep what they give."""


server = OAuthServer()


def init_app(app: Flask) -> None:
    """Register the grants of contract and specification: code, refresh, client credentials."""
    server.init_app(app)
    server.register_client_auth_method(client_assertions.METHOD, client_assertions.authenticate)
    server.register_token_generator("default", _no_generic_token)
    server.register_grant(CodeGrant, [_S256(required=True)])
    server.register_grant(RefreshGrant)
    server.register_grant(ServiceGrant)
    server.register_endpoint(Revocation)
    server.register_endpoint(Introspection)


def authenticate_client(form: OAuthRequest, endpoint: str) -> Client:
    """The client that proved itself with the form; raises OAuth2Error."""
    return cast("Client", server.authenticate_client(form, METHODS, endpoint))


def code_grant(asked: ValidatedRequest) -> CodeGrant:
    """Authlib's grant for a good authorization request; raises OAuth2Error when scope or challenge isn't."""
    grant = cast("CodeGrant", server.get_authorization_grant(OAuthRequest(asked.parameters)))
    grant.validate_authorization_request()
    return grant


def address_with_code(asked: ValidatedRequest, here: SignIn) -> str:
    """The client's address with a code for the person who is signed in, and the client's `state`."""
    grant = code_grant(asked)
    _, _, headers = grant.create_authorization_response(asked.redirect_uri, here)
    return str(dict(headers)["Location"])


def revoke_family(session: Session, grant_id: str) -> None:
    """End all tokens that came of one code."""
    session.execute(
        update(Grant).where(Grant.id == grant_id, Grant.revoked_at.is_(None)).values(revoked_at=now())
    )


class _S256(CodeChallenge):
    """PKCE as S256 alone (RFC 9700 §2.1.1); that a request has it at all, `authorization_request.validate` sees to."""

    SUPPORTED_CODE_CHALLENGE_METHOD = ["S256"]  # noqa: RUF012 (Authlib's name and type)


class CodeGrant(AuthorizationCodeGrant):
    """Authorization Code (RFC 6749 §4.1); a code's second use ends what the first gave."""

    TOKEN_ENDPOINT_AUTH_METHODS = METHODS

    def save_authorization_code(self, code: str, request: Any) -> None:
        sign_in = cast("SignIn", request.user)
        database.session_for_writing().add(
            AuthorizationCode(
                code_hash=digest(code),
                client_id=request.client.client_id,
                person_id=sign_in.person_id,
                redirect_uri=request.payload.redirect_uri,
                scope=request.scope,
                nonce=request.payload.data.get("nonce"),
                code_challenge=request.payload.data["code_challenge"],
                sid=sign_in.sid,
                auth_time=sign_in.auth_time,
                expires_at=now() + current_settings().lifetimes.code,
            )
        )

    def query_authorization_code(self, code: str, client: Client) -> AuthorizationCode | None:
        session = database.session()
        found = session.get(AuthorizationCode, digest(code), with_for_update=True)
        if found is None or found.client_id != client.client_id:
            return None
        if found.grant_id is not None:
            revoke_family(session, found.grant_id)
            session.commit()
            return None
        if session.get(SignIn, found.sid) is None:  # signed out meanwhile
            return None
        return found if found.expires_at > now() else None

    def delete_authorization_code(self, authorization_code: AuthorizationCode) -> None:
        """Kept until it expires, so that a second use is seen."""

    def authenticate_user(self, authorization_code: AuthorizationCode) -> Person | None:
        return _active(authorization_code.person_id)

    def generate_token(self, user: Any = None, scope: Any = None, **_: Any) -> dict[str, Any]:
        session = database.session()
        code, client, person = self.request.authorization_code, self.request.client, cast("Person", user)
        grant = Grant(
            id=new_id(),
            client_id=client.client_id,
            person_id=person.id,
            sid=code.sid,
            scope=code.scope,
            auth_time=code.auth_time,
            ends_at=now() + current_settings().lifetimes.refresh_token,
        )
        session.add(grant)
        session.flush()
        code.grant_id = grant.id
        return _answer(session, client, grant, person, code.scope, auth_time=code.auth_time, nonce=code.nonce)


class RefreshGrant(RefreshTokenGrant):
    """Refresh (RFC 6749 §6) with rotation: the last token is good for a little longer, later reuse ends the family."""

    TOKEN_ENDPOINT_AUTH_METHODS = METHODS
    INCLUDE_NEW_REFRESH_TOKEN = True

    def authenticate_refresh_token(self, refresh_token: str) -> RefreshToken | None:
        session = database.session()
        found = session.get(RefreshToken, digest(refresh_token), with_for_update=True)
        if found is None or found.expires_at <= now() or found.grant.revoked_at is not None:
            return None
        if (
            found.replaced_at is not None
            and now() > found.replaced_at + current_settings().lifetimes.refresh_grace
        ):
            revoke_family(session, found.grant_id)
            session.commit()
            return None
        return found

    def authenticate_user(self, refresh_token: RefreshToken) -> Person | None:
        return _active(refresh_token.grant.person_id)

    def issue_token(self, user: Person, refresh_token: RefreshToken) -> dict[str, Any]:
        session = database.session()
        scope = self.request.payload.scope or refresh_token.grant.scope
        return _answer(session, self.request.client, refresh_token.grant, user, scope)

    def revoke_old_credential(self, refresh_token: RefreshToken) -> None:
        refresh_token.replaced_at = refresh_token.replaced_at or now()


class ServiceGrant(ClientCredentialsGrant):
    """Client Credentials (care API specification §5): no person, no clinic."""

    TOKEN_ENDPOINT_AUTH_METHODS = METHODS

    def generate_token(self, user: Any = None, scope: str | None = None, **_: Any) -> dict[str, Any]:
        client = cast("Client", self.request.client)
        given = client.get_allowed_scope(self.request.payload.scope)
        if given is None:
            raise InvalidScopeError
        return _bearer(access_token(database.session(), client, given, None, None), given)


@dataclass(frozen=True)
class _Shown:
    """A token that was shown to the revocation or introspection endpoint: its claims, or its record."""

    client_id: str
    claims: dict[str, Any]
    refresh: RefreshToken | None = None

    def check_client(self, client: Client) -> bool:
        return self.client_id == client.client_id

    def is_expired(self) -> bool:
        return self.refresh is not None and self.refresh.expires_at <= now()

    def is_revoked(self) -> bool:
        return self.refresh is not None and (
            self.refresh.grant.revoked_at is not None or self.refresh.replaced_at is not None
        )


class Revocation(RevocationEndpoint):
    """Token revocation (RFC 7009): a refresh token takes its whole family along."""

    CLIENT_AUTH_METHODS = METHODS

    def check_params(self, request: OAuthRequest, client: Client) -> None:
        _require_token(request)

    def query_token(self, token_string: str, token_type_hint: str | None) -> _Shown | None:
        return _shown(token_string)

    def revoke_token(self, token: _Shown, request: Any) -> None:
        session = database.session()
        if token.refresh:
            revoke_family(session, token.refresh.grant_id)
            return
        jti = str(token.claims["jti"])
        if session.get(RevokedToken, jti) is None:
            session.add(RevokedToken(jti=jti, expires_at=now() + current_settings().lifetimes.access_token))


class Introspection(IntrospectionEndpoint):
    """Token introspection (RFC 7662): a server client may ask, about tokens of its own clinic's clients."""

    CLIENT_AUTH_METHODS = METHODS

    def check_params(self, request: OAuthRequest, client: Client) -> None:
        _require_token(request)

    def query_token(self, token_string: str, token_type_hint: str | None) -> _Shown | None:
        return _shown(token_string)

    def check_permission(self, token: _Shown, client: Client, request: Any) -> bool:
        owner = database.session().get_one(Client, token.client_id)
        return client.is_server and owner.tenant_id == client.tenant_id

    def introspect_token(self, token: _Shown) -> dict[str, Any]:
        if token.refresh:
            grant = token.refresh.grant
            return {
                "iss": current_settings().issuer,
                "client_id": grant.client_id,
                "sub": grant.person_id,
                "scope": grant.scope,
                "exp": int(token.refresh.expires_at.timestamp()),
            }
        return {**token.claims, "token_type": "Bearer"}


def _shown(token: str) -> _Shown | None:
    session = database.session()
    refresh = session.get(RefreshToken, digest(token))
    if refresh is not None:
        return _Shown(refresh.grant.client_id, {}, refresh)
    try:
        claims = verify_access_token(session, token, scope=None)
    except InvalidToken:
        return None
    return _Shown(str(claims["client_id"]), claims)


def _require_token(request: OAuthRequest) -> None:
    """Authlib would refuse an unknown `token_type_hint`, which RFC 7009 §2.1 and RFC 7662 §2.1 only call a hint."""
    if not request.form.get("token"):
        raise InvalidRequestError("Missing token.")


def _active(person_id: str) -> Person | None:
    person = database.session().get(Person, person_id)
    return person if person and person.is_active else None


def _answer(
    session: Session,
    client: Client,
    grant: Grant,
    person: Person,
    scope: str,
    *,
    auth_time: Any = None,
    nonce: str | None = None,
) -> dict[str, Any]:
    token = _bearer(access_token(session, client, scope, grant, person), scope)
    if "openid" in scope.split() and auth_time is not None:
        token["id_token"] = id_token(session, client, scope, grant, person, auth_time, nonce)
    if "offline_access" in grant.scope.split() and client.check_grant_type("refresh_token"):
        token["refresh_token"] = _new_refresh_token(session, grant)
    return token


def _new_refresh_token(session: Session, grant: Grant) -> str:
    fresh = secrets.token_urlsafe(48)
    lifetime = current_settings().lifetimes.refresh_token
    session.add(
        RefreshToken(
            token_hash=digest(fresh), grant_id=grant.id, issued_at=now(), expires_at=now() + lifetime
        )
    )
    grant.ends_at = now() + lifetime
    return fresh


def _bearer(token: str, scope: str) -> dict[str, Any]:
    return {
        "token_type": "Bearer",
        "access_token": token,
        "expires_in": int(current_settings().lifetimes.access_token.total_seconds()),
        "scope": scope,
    }


def _no_generic_token(*_: Any, **__: Any) -> dict[str, Any]:
    raise InvalidGrantError
