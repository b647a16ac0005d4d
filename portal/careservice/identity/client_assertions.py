"""Client authentication by a JWT signed with the client's own key: `private_key_jwt` (RFC 7523 §2.2, §3)."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any, cast

from flask import request
from joserfc import jws, jwt
from joserfc.errors import JoseError
from joserfc.jwk import KeySet
from sqlalchemy import delete

from portal.careservice import database
from portal.careservice.clock import now
from portal.careservice.identity.authorization_request import OAuthRequest
from portal.careservice.identity.tables import Client, ClientAssertion, digest
from portal.careservice.settings import current_settings

METHOD = "private_key_jwt"
ALGORITHMS = ["RS256", "PS256", "ES256"]

_TYPE = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
_LONGEST = timedelta(minutes=10)
_LEEWAY = timedelta(seconds=30)


def authenticate(find: Callable[[str], Client | None], posted: OAuthRequest) -> Client | None:
    """The client that the form's assertion authenticates, or None; an assertion is accepted once (commits)."""
    form = posted.form
    assertion = form.get("client_assertion", "")
    if form.get("client_assertion_type") != _TYPE:
        return None
    try:
        unverified = json.loads(jws.extract_compact(assertion.encode()).payload)
        client = find(str(unverified["sub"]))
        if (
            client is None
            or client.jwks is None
            or form.get("client_id", client.client_id) != client.client_id
        ):
            return None
        claims = jwt.decode(assertion, KeySet.import_key_set(client.jwks), algorithms=ALGORITHMS).claims  # pyright: ignore[reportArgumentType]
    except (JoseError, ValueError, KeyError, TypeError):
        return None
    return client if _is_meant_for_us(claims, client) and _is_first_use(claims, client) else None


def _is_meant_for_us(claims: Mapping[str, Any], client: Client) -> bool:
    issuer = current_settings().issuer
    ours = {issuer, f"{issuer}/connect/token", issuer + request.path}  # the last by RFC 9126 §2
    audience = claims.get("aud")
    named = cast("list[Any]", audience) if isinstance(audience, list) else [audience]
    moment = now().timestamp()
    expires, not_before, issued = (claims.get(name) for name in ("exp", "nbf", "iat"))
    return (
        claims.get("iss") == claims.get("sub") == client.client_id
        and any(isinstance(name, str) and name in ours for name in named)
        and isinstance(expires, int | float)
        and moment < expires <= moment + _LONGEST.total_seconds()
        and all(
            one is None or (isinstance(one, int | float) and one <= moment + _LEEWAY.total_seconds())
            for one in (not_before, issued)
        )
    )


def _is_first_use(claims: Mapping[str, Any], client: Client) -> bool:
    jti = claims.get("jti")
    if not isinstance(jti, str) or not jti:
        return False
    session, name = database.session(), digest(f"{client.client_id} {jti}")
    session.execute(delete(ClientAssertion).where(ClientAssertion.expires_at < now()))
    if session.get(ClientAssertion, name) is not None:
        return False
    session.add(ClientAssertion(jti_hash=name, expires_at=now() + _LONGEST))
    session.commit()
    return True
