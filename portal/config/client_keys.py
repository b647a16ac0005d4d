"""The private key that authenticates the portal at an identity server instead of a client secret (RFC 7523 §2.2)."""

from __future__ import annotations

import secrets
import warnings
from dataclasses import dataclass, field

from joserfc import jwt
from joserfc.errors import JoseError
from joserfc.jwk import ECKey, RSAKey

_LIFETIME = 60
_SMALLEST_RSA = 2048


@dataclass(frozen=True, slots=True, eq=False)
class ClientKey:
    """A private key with its signature algorithm."""

    key: RSAKey | ECKey = field(repr=False)
    algorithm: str

    @property
    def kid(self) -> str:
        """The key's id: its thumbprint (RFC 7638)."""
        return self.key.thumbprint()

    def assertion(self, client_id: str, issuer: str, now: float) -> str:
        """Return a JWT that authenticates the client at this identity server: single use, valid for a minute.

        Its only audience is the issuer (RFC 7523bis §4), so that it is useless anywhere else.
        """
        header = {"alg": self.algorithm, "kid": self.kid}
        claims = {
            "iss": client_id,
            "sub": client_id,
            "aud": issuer,
            "jti": secrets.token_urlsafe(24),
            "iat": int(now),
            "exp": int(now) + _LIFETIME,
        }
        return jwt.encode(header, claims, self.key, algorithms=[self.algorithm])


def read_client_key(pem: str) -> ClientKey | None:
    """Return the private key in this PEM text: RSA of at least 2048 bits (RS256) or EC on P-256 (ES256); else None."""
    for kind, algorithm in ((RSAKey, "RS256"), (ECKey, "ES256")):
        try:
            with warnings.catch_warnings(action="ignore"):  # about a short key, which is refused below
                key = kind.import_key(pem)
        except (JoseError, ValueError, TypeError):
            continue
        if not key.is_private:
            return None
        if isinstance(key, RSAKey):
            return ClientKey(key, algorithm) if key.raw_value.key_size >= _SMALLEST_RSA else None
        return ClientKey(key, algorithm) if key.curve_name == "P-256" else None
    return None
