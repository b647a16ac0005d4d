"""The identity server's addresses, all of them on one blueprint."""

from __future__ import annotations

from flask import Response, jsonify, make_response, request

from portal.careservice import database
from portal.careservice.identity import authorize, discovery, sign_in, sign_out
from portal.careservice.identity.pages import bp
from portal.careservice.identity.server import server
from portal.careservice.identity.tables import Person
from portal.careservice.identity.tokens import InvalidToken, claims_of, verify_access_token

PAGES = (discovery, authorize, sign_in, sign_out)
"""The other modules with views on `bp`."""


@bp.post("/connect/token")
def token() -> Response:
    """The token endpoint (RFC 6749 §3.2)."""
    return server.token_answer()


@bp.post("/connect/revocation")
def revocation() -> Response:
    """Token revocation (RFC 7009)."""
    return server.endpoint_answer("revocation")


@bp.post("/connect/introspect")
def introspection() -> Response:
    """Token introspection (RFC 7662)."""
    return server.endpoint_answer("introspection")


@bp.route("/connect/userinfo", methods=["GET", "POST"])
def userinfo() -> Response:
    """The claims about the token's person that its scopes allow (OpenID Connect Core §5.3)."""
    session = database.session()
    scheme, _, value = request.headers.get("Authorization", "").partition(" ")
    token = value.strip() if scheme.lower() == "bearer" else ""
    try:
        claims = verify_access_token(session, token, None)
    except InvalidToken:
        # A request without a bearer token gets no error code (RFC 6750 §3.1).
        challenge = 'Bearer error="invalid_token"' if token else "Bearer"
        return make_response("", 401, {"WWW-Authenticate": challenge})
    if "openid" not in claims["scope"].split():
        challenge = 'Bearer error="insufficient_scope", scope="openid"'
        return make_response("", 403, {"WWW-Authenticate": challenge})
    person = session.get(Person, str(claims["sub"]))
    if person is None or not person.is_active:
        return make_response("", 401, {"WWW-Authenticate": 'Bearer error="invalid_token"'})
    return jsonify(claims_of(person, str(claims["scope"])))


__all__ = ["PAGES", "bp"]
