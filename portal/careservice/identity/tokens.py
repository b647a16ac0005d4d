"""Access, ID and logout tokens: JWTs signed with the service's own keys (RFC 9068, OpenID Connect Core §2)."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from joserfc import jwt
from joserfc.errors import JoseError
from sqlalchemy import select
from sqlalchemy.orm import Session

from portal.careservice.clock import now
from portal.careservice.identity import dpop
from portal.careservice.identity.keys import signing_key, verification_keys
from portal.careservice.identity.tables import Client, Grant, Person, RevokedToken
from portal.careservice.ids import new_id
from portal.careservice.settings import current_settings

AUDIENCE = "ClientelePortal"
LOGOUT_EVENT = "http://schemas.openid.net/event/backchannel-logout"
_ACCESS_TYPE = "at+jwt"
_ID_TYPE = "JWT"
_LOGOUT_TYPE = "logout+jwt"


class InvalidToken(Exception):
    """The token wasn't issued here, or is no longer valid."""


class NoToken(InvalidToken):
    """There is no token."""


class InsufficientScope(InvalidToken):
    """The token is valid, but for other scopes."""


def access_token(
    session: Session,
    client: Client,
    scope: str,
    grant: Grant | None,
    person: Person | None,
    jkt: str | None = None,
) -> str:
    """An access token for the API: a person's with clinic and roles, or a server client's with neither.

    `jkt` is the key that it is bound to (RFC 9449 §6), if any.
    """
    moment = now()
    claims: dict[str, Any] = {
        "iss": current_settings().issuer,
        "aud": AUDIENCE,
        "sub": person.id if person else client.client_id,
        "client_id": client.client_id,
        "scope": scope,
        "jti": new_id(),
        "iat": _seconds(moment),
        "nbf": _seconds(moment),
        "exp": _seconds(moment + current_settings().lifetimes.access_token),
    }
    if person and grant:
        claims |= {
            "tenantid": person.tenant_id,
            "role": _role(person.roles),
            "sid": grant.sid,
            "grant": grant.id,
            # When and how the person signed in, in refreshed tokens too (RFC 9068 §2.2.1).
            "auth_time": _seconds(grant.auth_time),
            **_how(grant),
        }
    if jkt:
        claims["cnf"] = {"jkt": jkt}
    return _sign(session, claims, _ACCESS_TYPE)


def id_token(
    session: Session, client: Client, scope: str, grant: Grant, person: Person, nonce: str | None
) -> str:
    """An ID token for one client (OpenID Connect Core §2)."""
    moment = now()
    claims: dict[str, Any] = {
        "iss": current_settings().issuer,
        "aud": client.client_id,
        "azp": client.client_id,
        "iat": _seconds(moment),
        "exp": _seconds(moment + current_settings().lifetimes.id_token),
        "auth_time": _seconds(grant.auth_time),
        "sid": grant.sid,
        **_how(grant),
        **claims_of(person, scope),
    }
    if nonce:
        claims["nonce"] = nonce
    return _sign(session, claims, _ID_TYPE)


def _how(grant: Grant) -> dict[str, Any]:
    """How the person signed in (OpenID Connect Core §2, RFC 9068 §2.2.1)."""
    return {"acr": grant.acr, "amr": grant.amr}


def logout_token(session: Session, client: Client, sub: str, sid: str) -> str:
    """The token that tells a client of a sign-out (OpenID Connect Back-Channel Logout §2.4)."""
    moment = now()
    claims: dict[str, Any] = {
        "iss": current_settings().issuer,
        "aud": client.client_id,
        "sub": sub,
        "sid": sid,
        "iat": _seconds(moment),
        "exp": _seconds(moment + timedelta(minutes=2)),
        "jti": new_id(),
        "events": {LOGOUT_EVENT: {}},
    }
    return _sign(session, claims, _LOGOUT_TYPE)


def claims_of(person: Person, scope: str) -> dict[str, Any]:
    """The claims about a person that the scopes allow (OpenID Connect Core §5.4; `tenantid`, `role` are our own)."""
    scopes = scope.split()
    claims: dict[str, Any] = {"sub": person.id, "tenantid": person.tenant_id}
    if "profile" in scopes:
        claims |= {
            "name": person.name,
            "given_name": person.given_name,
            "family_name": person.family_name,
            "preferred_username": person.username,
            "locale": person.locale,
        }
    if "email" in scopes:
        claims["email"] = person.email
    if "roles" in scopes:
        claims["role"] = _role(person.roles)
    return claims


def verify_access_token(session: Session, token: str, scope: str | None = AUDIENCE) -> dict[str, Any]:
    """The claims of an access token that is valid for `scope` (any scope if None); raises InvalidToken or InsufficientScope.

    Checks signature, type `at+jwt`, issuer, audience and expiry (RFC 9068 §4), that neither the token nor its
    grant is revoked, and that the person's account is active and has every role that the token names, so that
    clients learn of a removed role by refreshing it. `role` is what the account has now.
    """
    claims = _read(session, token, _ACCESS_TYPE)
    if (
        claims.get("aud") != AUDIENCE
        or claims["exp"] <= _seconds(now())
        or session.get(RevokedToken, claims["jti"]) is not None
    ):
        raise InvalidToken
    if "grant" in claims:
        roles = _roles_now(session, claims["grant"])
        if not _as_set(claims["role"]) <= set(roles):
            raise InvalidToken
        claims["role"] = _role(roles)
    if scope is not None and scope not in claims["scope"].split():
        raise InsufficientScope
    return claims


def verify_presented(session: Session, authorization: str, scope: str | None = AUDIENCE) -> dict[str, Any]:
    """The claims of the access token in an `Authorization` header: a bearer token, or one bound to a key with its proof.

    Raises what `verify_access_token` does, NoToken without one, and `dpop.ProofRefused` (RFC 6750 §2.1, RFC 9449 §7.1).
    """
    scheme, _, token = authorization.partition(" ")
    scheme, token = scheme.casefold(), token.strip()
    if scheme not in ("bearer", "dpop") or not token:
        raise NoToken
    if scheme == "dpop":
        proven = dpop.proven_key(session, token)
        if proven is None:
            raise dpop.ProofRefused("The proof is missing.")
    else:
        proven = None
    claims = verify_access_token(session, token, scope)
    if claims.get("cnf", {}).get("jkt") != proven:  # a bound token as a bearer token, or another's key
        raise InvalidToken
    return claims


def id_token_claims(session: Session, token: str) -> dict[str, Any]:
    """The claims of an ID token issued here, even an expired one (RP-Initiated Logout §4); raises InvalidToken."""
    return _read(session, token, _ID_TYPE)


def _read(session: Session, token: str, kind: str) -> dict[str, Any]:
    """The claims of a token signed here, expired or not; `kind` is the `typ` that tells kinds of tokens apart."""
    try:
        algorithm = current_settings().signing_algorithm
        decoded = jwt.decode(token, verification_keys(session), algorithms=[algorithm])
    except (JoseError, ValueError) as error:
        raise InvalidToken from error
    claims = dict(decoded.claims)
    if decoded.header.get("typ") != kind or claims.get("iss") != current_settings().issuer:
        raise InvalidToken
    return claims


def _roles_now(session: Session, grant_id: str) -> list[str]:
    """The current roles of a grant's account; raises InvalidToken if the grant is revoked or the account inactive."""
    roles = session.scalar(
        select(Person.roles)
        .join(Grant, Grant.person_id == Person.id)
        .where(Grant.id == grant_id, Grant.revoked_at.is_(None), Person.is_active)
    )
    if roles is None:
        raise InvalidToken
    return roles


def _sign(session: Session, claims: dict[str, Any], kind: str) -> str:
    key, algorithm = signing_key(session), current_settings().signing_algorithm
    header = {"alg": algorithm, "kid": key.kid, "typ": kind}
    return jwt.encode(header, claims, key, algorithms=[algorithm])


def _role(roles: list[str]) -> str | list[str]:
    return roles[0] if len(roles) == 1 else roles


def _as_set(role: str | list[str]) -> set[str]:
    return {role} if isinstance(role, str) else set(role)


def _seconds(moment: datetime) -> int:
    return int(moment.timestamp())
