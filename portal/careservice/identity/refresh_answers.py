"""The answer to a refresh, kept for the grace period in which the same request gets the same answer again.

It is sealed with a key that only the presented refresh token gives (JWE, RFC 7516), and the database holds nothing but
that token's hash: so nobody can read tokens in the database.
"""

from __future__ import annotations

import hashlib
from typing import Any

import msgspec
from authlib.oauth2.rfc6749.errors import InvalidGrantError, InvalidScopeError
from joserfc import jwe
from joserfc.jwk import OctKey
from sqlalchemy import update
from sqlalchemy.orm import Session

from portal.careservice.clock import now
from portal.careservice.identity.tables import RefreshToken
from portal.careservice.settings import current_settings

_HEADER = {"alg": "dir", "enc": "A256GCM"}


def keep(session: Session, token: RefreshToken, presented: str, answer: dict[str, Any]) -> None:
    """Keep the token response to `presented`, and forget those of its family whose grace period is over."""
    over = now() - current_settings().lifetimes.refresh_grace
    session.execute(
        update(RefreshToken)
        .where(RefreshToken.grant_id == token.grant_id, RefreshToken.replaced_at < over)
        .values(sealed_answer=None)
    )
    token.sealed_answer = jwe.encrypt_compact(_HEADER, msgspec.json.encode(answer), _key(presented))


def repeated(token: RefreshToken, presented: str, scope: str) -> dict[str, Any]:
    """The token response that `presented` got before; raises OAuth2Error if another scope is asked for now."""
    if token.sealed_answer is None:  # its grace period is over
        raise InvalidGrantError
    plain = jwe.decrypt_compact(token.sealed_answer, _key(presented)).plaintext
    answer = msgspec.json.decode(plain or b"", type=dict[str, Any])
    if answer["scope"] != scope:
        raise InvalidScopeError
    return answer


def _key(refresh_token: str) -> OctKey:
    return OctKey.import_key(hashlib.sha256(b"answer to " + refresh_token.encode()).digest())
