"""The OAuth server: Authlib's authorization server with this service's rules (RFC 6749, 7009, 7636, 7662, 9700)."""

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
from portal.careservice.identity import client_assertions, dpop, refresh_answers
from portal.careservice.identity.assurance import class_told
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
from portal.careservice.identity.tokens import InvalidToken, access_token, id_token, verify_access_token
from portal.careservice.ids import new_id
from portal.careservice.settings import current_settings

METHODS = ["client_secret_basic", "client_secret_post", client_assertions.METHOD]
"""The supported methods of client authentication."""


class OAuthServer(AuthorizationServer):
    """Authlib's server over the request's database session."""

    def query_client(self, client_id: str) -> Client | None:
        return database.session().get(Client, client_id) if client_id.isprintable() else None

    def create_oauth2_request(self, request: Any) -> OAuthRequest:
        return request if isinstance(request, OAuthRequest) else posted_request()

    def token_answer(self) -> Response:
        """The response to the posted token request (RFC 6749 §5)."""
        return self._with_oauth_errors(self._token_response)

    def endpoint_answer(self, name: str) -> Response:
        """The response to the form posted to `revocation` or `introspection`."""
        return self._with_oauth_errors(partial(self.create_endpoint_response, name))

    def error_answer(self, error: OAuth2Error) -> Response:
        """The error as JSON (RFC 6749 §5.2)."""
        return self.handle_response(*error())

    def handle_response(self, status_code: int, payload: Any, headers: Any) -> Response:
        """Authlib's response; its challenge to clients lacks the realm (RFC 7617 §2)."""
        response = super().handle_response(status_code, payload, headers)
        if "WWW-Authenticate" in response.headers:
            response.headers["WWW-Authenticate"] = f'Basic realm="{current_settings().issuer}"'
        return response

    def _token_response(self) -> object:
        form = posted_request()
        if "grant_type" not in form.form:  # Authlib would answer unsupported_grant_type
            raise InvalidRequestError("Missing grant_type.")
        try:
            dpop.proven_key(database.session())
        except dpop.ProofRefused as refused:
            raise OAuth2Error(refused.description, status_code=400, error=refused.code) from refused
        return self.create_token_response(form)

    def _with_oauth_errors(self, answer: Callable[[], object]) -> Response:
        try:
            return cast("Response", answer())
        except OAuth2Error as error:  # Authlib doesn't catch what `create_oauth2_request` raises
            return self.error_answer(error)

    def save_token(self, token: dict[str, Any], request: Any) -> None:
        """Do nothing: the grants below store what they issue."""


server = OAuthServer()


def init_app(app: Flask) -> None:
    """Register the grants (authorization code, refresh token, client credentials) and the token endpoints."""
    server.init_app(app)
    server.register_client_auth_method(client_assertions.METHOD, client_assertions.authenticate)
    server.register_token_generator("default", _no_generic_token)
    server.register_grant(CodeGrant, [_S256(required=True)])
    server.register_grant(RefreshGrant)
    server.register_grant(ServiceGrant)
    server.register_endpoint(Revocation)
    server.register_endpoint(Introspection)


def authenticate_client(form: OAuthRequest, endpoint: str) -> Client:
    """The client that the form authenticates; raises OAuth2Error."""
    return cast("Client", server.authenticate_client(form, METHODS, endpoint))


def code_grant(asked: ValidatedRequest) -> CodeGrant:
    """Authlib's grant for an authorization request; raises OAuth2Error if its scope or challenge is invalid."""
    grant = cast("CodeGrant", server.get_authorization_grant(OAuthRequest(asked.parameters)))
    grant.validate_authorization_request()
    return grant


def address_with_code(asked: ValidatedRequest, sign_in: SignIn) -> str:
    """The redirect URI with a code for the signed-in person and the client's `state`."""
    grant = code_grant(asked)
    _, _, headers = grant.create_authorization_response(asked.redirect_uri, sign_in)
    return str(dict(headers)["Location"])


def revoke_family(session: Session, grant_id: str) -> None:
    """Revoke all tokens that were issued from one code."""
    session.execute(
        update(Grant).where(Grant.id == grant_id, Grant.revoked_at.is_(None)).values(revoked_at=now())
    )


class _S256(CodeChallenge):
    """PKCE with S256 only (RFC 9700 §2.1.1); `authorization_request.validate` makes it mandatory."""

    SUPPORTED_CODE_CHALLENGE_METHOD = ["S256"]  # noqa: RUF012 (Authlib's name and type)


class CodeGrant(AuthorizationCodeGrant):
    """Authorization Code (RFC 6749 §4.1); using a code again revokes the tokens that it gave."""

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
                amr=sign_in.amr,
                acr=class_told(str(request.payload.data.get("acr_values", "")).split(), sign_in.amr),
                dpop_jkt=request.payload.data.get("dpop_jkt"),
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
        """Keep the code until it expires, so that a second use is noticed."""

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
            amr=code.amr,
            acr=code.acr,
            dpop_jkt=_key_for(code.dpop_jkt),
            ends_at=now() + current_settings().lifetimes.refresh_token,
        )
        session.add(grant)
        session.flush()
        code.grant_id = grant.id
        return _token_response(session, client, grant, person, code.scope, code.nonce)


class RefreshGrant(RefreshTokenGrant):
    """Refresh (RFC 6749 §6) with rotation. A replaced token gets, for a grace period, the answer that it got before, so
    that nobody grows a second line of tokens from it; later reuse revokes the family.
    """

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

    def authenticate_user(self, refresh_token: RefreshToken) -> Person:
        person = _active(refresh_token.grant.person_id)
        if person is None:  # Authlib would answer invalid_request
            raise InvalidGrantError("The account is disabled.")
        return person

    def issue_token(self, user: Person, refresh_token: RefreshToken) -> dict[str, Any]:
        _key_for(refresh_token.grant.dpop_jkt)
        presented = str(self.request.form["refresh_token"])
        scope = self.request.payload.scope or refresh_token.grant.scope
        if refresh_token.replaced_at is not None:
            return refresh_answers.repeated(refresh_token, presented, scope)
        session = database.session()
        answer = _token_response(session, self.request.client, refresh_token.grant, user, scope)
        refresh_answers.keep(session, refresh_token, presented, answer)
        return answer

    def revoke_old_credential(self, refresh_token: RefreshToken) -> None:
        refresh_token.replaced_at = refresh_token.replaced_at or now()


class ServiceGrant(ClientCredentialsGrant):
    """Client Credentials (care API specification §5): tokens without a person or a clinic."""

    TOKEN_ENDPOINT_AUTH_METHODS = METHODS

    def generate_token(self, user: Any = None, scope: str | None = None, **_: Any) -> dict[str, Any]:
        client = cast("Client", self.request.client)
        given = client.get_allowed_scope(self.request.payload.scope)
        if given is None:
            raise InvalidScopeError
        session, jkt = database.session(), _key_for(None)
        return _answer(access_token(session, client, given, None, None, jkt), given, jkt)


@dataclass(frozen=True)
class _PresentedToken:
    """A token that was posted to the revocation or introspection endpoint: its claims, or its record."""

    client_id: str
    claims: dict[str, Any]
    refresh: RefreshToken | None = None

    def check_client(self, client: Client) -> bool:
        return self.client_id == client.client_id

    def is_expired(self) -> bool:
        return self.refresh is not None and self.refresh.expires_at <= now()

    def is_revoked(self) -> bool:
        return self.refresh is not None and (
            self.refresh.grant.revoked_at is not None
            or self.refresh.replaced_at is not None
            or _active(self.refresh.grant.person_id) is None
        )


class Revocation(RevocationEndpoint):
    """Token revocation (RFC 7009): revoking a refresh token revokes its whole family."""

    CLIENT_AUTH_METHODS = METHODS

    def check_params(self, request: OAuthRequest, client: Client) -> None:
        _require_token(request)

    def query_token(self, token_string: str, token_type_hint: str | None) -> _PresentedToken | None:
        return _find_token(token_string)

    def revoke_token(self, token: _PresentedToken, request: Any) -> None:
        session = database.session()
        if token.refresh:
            revoke_family(session, token.refresh.grant_id)
            return
        jti = str(token.claims["jti"])
        if session.get(RevokedToken, jti) is None:
            session.add(RevokedToken(jti=jti, expires_at=now() + current_settings().lifetimes.access_token))


class Introspection(IntrospectionEndpoint):
    """Token introspection (RFC 7662): for server clients, about tokens of their own clinic's clients."""

    CLIENT_AUTH_METHODS = METHODS

    def check_params(self, request: OAuthRequest, client: Client) -> None:
        _require_token(request)

    def query_token(self, token_string: str, token_type_hint: str | None) -> _PresentedToken | None:
        return _find_token(token_string)

    def check_permission(self, token: _PresentedToken, client: Client, request: Any) -> bool:
        owner = database.session().get_one(Client, token.client_id)
        return client.is_server and owner.tenant_id == client.tenant_id

    def introspect_token(self, token: _PresentedToken) -> dict[str, Any]:
        if token.refresh:
            grant = token.refresh.grant
            return {
                "iss": current_settings().issuer,
                "client_id": grant.client_id,
                "sub": grant.person_id,
                "scope": grant.scope,
                "exp": int(token.refresh.expires_at.timestamp()),
            }
        return {**token.claims, "token_type": "DPoP" if "cnf" in token.claims else "Bearer"}


def _find_token(token: str) -> _PresentedToken | None:
    session = database.session()
    refresh = session.get(RefreshToken, digest(token))
    if refresh is not None:
        return _PresentedToken(refresh.grant.client_id, {}, refresh)
    try:
        claims = verify_access_token(session, token, scope=None)
    except InvalidToken:
        return None
    return _PresentedToken(str(claims["client_id"]), claims)


def _require_token(request: OAuthRequest) -> None:
    """Check less than Authlib, which refuses an unknown `token_type_hint`; it is a hint only (RFC 7009 §2.1)."""
    if not request.form.get("token"):
        raise InvalidRequestError("Missing token.")


def _active(person_id: str) -> Person | None:
    person = database.session().get(Person, person_id)
    return person if person and person.is_active else None


def _token_response(
    session: Session, client: Client, grant: Grant, person: Person, scope: str, nonce: str | None = None
) -> dict[str, Any]:
    """The answer to a code or, without the nonce of its request, to a refresh (OpenID Connect Core §12.2).

    A refresh has an ID token too, so that clients needn't ask UserInfo for the roles of now.
    """
    token = _answer(
        access_token(session, client, scope, grant, person, grant.dpop_jkt), scope, grant.dpop_jkt
    )
    if "openid" in scope.split():
        token["id_token"] = id_token(session, client, scope, grant, person, nonce)
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


def _key_for(bound_to: str | None) -> str | None:
    """The key that the request proves, to which tokens are bound; raises OAuth2Error if it has to be another one."""
    proven = dpop.proven_key(database.session())
    if bound_to is not None and proven != bound_to:
        raise OAuth2Error("This is bound to another key.", status_code=400, error="invalid_dpop_proof")
    return proven


def _answer(token: str, scope: str, jkt: str | None) -> dict[str, Any]:
    return {
        "token_type": "DPoP" if jkt else "Bearer",
        "access_token": token,
        "expires_in": int(current_settings().lifetimes.access_token.total_seconds()),
        "scope": scope,
    }


def _no_generic_token(*_: Any, **__: Any) -> dict[str, Any]:
    raise InvalidGrantError
