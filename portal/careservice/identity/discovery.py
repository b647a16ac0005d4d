"""The identity server's metadata (OpenID Connect Discovery §3, RFC 8414)."""

from __future__ import annotations

from flask import Response, jsonify

from portal.careservice import database
from portal.careservice.identity import dpop
from portal.careservice.identity.assurance import CLASSES
from portal.careservice.identity.client_assertions import ALGORITHMS
from portal.careservice.identity.keys import verification_keys
from portal.careservice.identity.pages import bp
from portal.careservice.identity.server import METHODS
from portal.careservice.identity.tokens import AUDIENCE
from portal.careservice.identity.translations import LANGUAGES
from portal.careservice.settings import current_settings

SCOPES = ("openid", "profile", "email", "roles", "offline_access", AUDIENCE)


@bp.get("/.well-known/openid-configuration")
def metadata() -> Response:
    """The metadata document."""
    settings = current_settings()
    issuer = settings.issuer
    response = jsonify(
        issuer=issuer,
        authorization_endpoint=f"{issuer}/connect/authorize",
        token_endpoint=f"{issuer}/connect/token",
        userinfo_endpoint=f"{issuer}/connect/userinfo",
        end_session_endpoint=f"{issuer}/connect/endsession",
        introspection_endpoint=f"{issuer}/connect/introspect",
        revocation_endpoint=f"{issuer}/connect/revocation",
        pushed_authorization_request_endpoint=f"{issuer}/connect/par",
        jwks_uri=f"{issuer}/.well-known/jwks",
        scopes_supported=SCOPES,
        response_types_supported=["code"],
        response_modes_supported=["query"],
        grant_types_supported=["authorization_code", "refresh_token", "client_credentials"],
        subject_types_supported=["public"],
        id_token_signing_alg_values_supported=[settings.signing_algorithm],
        token_endpoint_auth_methods_supported=METHODS,
        token_endpoint_auth_signing_alg_values_supported=ALGORITHMS,
        revocation_endpoint_auth_methods_supported=METHODS,
        revocation_endpoint_auth_signing_alg_values_supported=ALGORITHMS,
        introspection_endpoint_auth_methods_supported=METHODS,
        introspection_endpoint_auth_signing_alg_values_supported=ALGORITHMS,
        dpop_signing_alg_values_supported=dpop.ALGORITHMS,
        code_challenge_methods_supported=["S256"],
        prompt_values_supported=["none", "login", "consent", "select_account"],
        acr_values_supported=CLASSES,
        claims_supported=[
            *("sub", "tenantid", "role", "name", "given_name", "family_name", "email"),
            *("preferred_username", "locale", "auth_time", "acr", "amr", "sid"),
        ],
        ui_locales_supported=list(LANGUAGES),
        authorization_response_iss_parameter_supported=True,
        backchannel_logout_supported=True,
        backchannel_logout_session_supported=True,
        claims_parameter_supported=False,
        request_parameter_supported=False,
        request_uri_parameter_supported=False,
        require_pushed_authorization_requests=False,
    )
    response.headers["Cache-Control"] = "public, max-age=300"
    return response


@bp.get("/.well-known/jwks")
def jwks() -> Response:
    """The public keys (RFC 7517)."""
    response = jsonify(verification_keys(database.session()).as_dict(private=False))
    response.headers["Cache-Control"] = "public, max-age=300"
    return response
