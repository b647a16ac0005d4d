"""The private key that authenticates the portal at an identity server instead of a client secret (RFC 7523 §2.2)."""

from __future__ import annotations

import secrets
import warnings
from dataclasses import dataclass, field

from joserfc import jwt
from joserfc.errors import JoseError
from joserfc.jwk import ECKey, RSAKey

ALGORITHMS = {"RSA": ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512"), "EC": ("ES256",)}
"""What a key of each type can sign with (RFC 7518 §3.1)."""

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

    def by(self, algorithm: str) -> ClientKey | None:
        """Return the key with this algorithm, or None if it doesn't fit the key."""
        return ClientKey(self.key, algorithm) if algorithm in ALGORITHMS[self.key.key_type] else None

    def assertion(self, client_id: str, audience: str, now: float) -> str:
        """Return a JWT that authenticates the client at this identity server: single use, valid for a minute.

        It has one audience alone, so that it is useless anywhere else.
        """
        header = {"alg": self.algorithm, "kid": self.kid}
        claims = {
            "iss": client_id,
            "sub": client_id,
            "aud": audience,
            "jti": secrets.token_urlsafe(24),
            "iat": int(now),
            "exp": int(now) + _LIFETIME,
        }
        return jwt.encode(header, claims, self.key, algorithms=[self.algorithm])


def read_client_key(pem: str) -> ClientKey | None:
    """Return the private key in this PEM text: RSA of at least 2048 bits or EC on P-256; else None.

    Its algorithm is the first of its type's in `ALGORITHMS`.
    """
    for kind, (algorithm, *_others) in ((RSAKey, ALGORITHMS["RSA"]), (ECKey, ALGORITHMS["EC"])):
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
