"""The identity server's addresses, all of them on one blueprint."""

from __future__ import annotations

from flask import Response, jsonify, make_response, request

from portal.careservice import database
from portal.careservice.identity import account, authorize, discovery, dpop, sign_in, sign_out
from portal.careservice.identity.pages import bp
from portal.careservice.identity.server import server
from portal.careservice.identity.tables import Person
from portal.careservice.identity.tokens import InvalidToken, NoToken, claims_of, verify_presented

PAGES = (discovery, authorize, sign_in, account, sign_out)
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
    authorization = request.headers.get("Authorization", "")
    try:
        claims = verify_presented(session, authorization, None)
    except dpop.ProofRefused as refused:
        return make_response("", 401, {"WWW-Authenticate": refused.challenge})
    except NoToken:  # no error code (RFC 6750 §3.1)
        return make_response("", 401, {"WWW-Authenticate": "Bearer"})
    except InvalidToken:
        is_bound = authorization[:5].casefold() == "dpop "
        refusal = dpop.challenge("invalid_token") if is_bound else 'Bearer error="invalid_token"'
        return make_response("", 401, {"WWW-Authenticate": refusal})
    if "openid" not in claims["scope"].split():
        challenge = 'Bearer error="insufficient_scope", scope="openid"'
        return make_response("", 403, {"WWW-Authenticate": challenge})
    person = session.get(Person, str(claims["sub"]))
    if person is None or not person.is_active:
        return make_response("", 401, {"WWW-Authenticate": 'Bearer error="invalid_token"'})
    return jsonify(claims_of(person, str(claims["scope"])))


__all__ = ["PAGES", "bp"]
