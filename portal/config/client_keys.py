"""The private key that authenticates the portal at an identity server instead of a client secret (RFC 7523 §2.2)."""

from __future__ import annotations

import re
import secrets
import warnings
from dataclasses import dataclass, field
from typing import Any

from joserfc import jwt
from joserfc.errors import JoseError
from joserfc.jwk import ECKey, OKPKey, RSAKey
from joserfc.jws import JWSRegistry

ALGORITHMS = {
    "RSA": ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512"),
    "EC": ("ES256",),
    "OKP": ("EdDSA", "Ed25519"),
}
"""What a key of each type can sign with (RFC 7518 §3.1, RFC 8037, RFC 9864)."""

_LIFETIME = 60
SMALLEST_RSA = 2048
"""How many bits an RSA key has to have (RFC 7518 §3.3)."""
_PEM = re.compile(r"-----BEGIN ([A-Z ]+)-----.*?-----END \1-----", re.DOTALL)


class _Registry(JWSRegistry):
    """The algorithms of keys. joserfc warns of the name EdDSA, which identity servers go on using."""

    def get_alg(self, name: str) -> Any:
        return self.algorithms[name]


_REGISTRY = _Registry()


@dataclass(frozen=True, slots=True, eq=False)
class ClientKey:
    """A private key with its signature algorithm, and other keys that are published beside it while keys are changed."""

    key: RSAKey | ECKey | OKPKey = field(repr=False)
    algorithm: str
    others: tuple[ClientKey, ...] = field(default=(), repr=False)

    @property
    def kid(self) -> str:
        """The key's id: its thumbprint (RFC 7638)."""
        return self.key.thumbprint()

    @property
    def public(self) -> list[dict[str, Any]]:
        """The public keys (RFC 7517 §4), the one that signs first."""
        return [
            {**held.key.as_dict(private=False), "kid": held.kid, "use": "sig", "alg": held.algorithm}
            for held in (self, *self.others)
        ]

    def by(self, algorithm: str) -> ClientKey | None:
        """Return the key with this algorithm, or None if it doesn't fit the key; the others have it if it fits them."""
        if algorithm not in ALGORITHMS[self.key.key_type]:
            return None
        return ClientKey(self.key, algorithm, tuple(other.by(algorithm) or other for other in self.others))

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
        return jwt.encode(header, claims, self.key, registry=_REGISTRY)


def read_client_key(pem: str) -> ClientKey | None:
    """Return the first private key in this PEM text, with the others; None unless each is RSA of at least 2048 bits, EC on
    P-256 or Ed25519.

    Its algorithm is the first of its type's in `ALGORITHMS`.
    """
    found = [_read(block[0]) for block in _PEM.finditer(pem)]
    keys = [key for key in found if key]
    if not keys or len(keys) < len(found):
        return None
    return ClientKey(keys[0].key, keys[0].algorithm, tuple(keys[1:]))


def _read(pem: str) -> ClientKey | None:
    for kind in (RSAKey, ECKey, OKPKey):
        try:
            with warnings.catch_warnings(action="ignore"):  # about a short key, which is refused below
                key = kind.import_key(pem)
        except (JoseError, ValueError, TypeError):
            continue
        return ClientKey(key, ALGORITHMS[key.key_type][0]) if key.is_private and _is_strong(key) else None
    return None


def _is_strong(key: RSAKey | ECKey | OKPKey) -> bool:
    if isinstance(key, RSAKey):
        return key.raw_value.key_size >= SMALLEST_RSA
    return key.curve_name == ("P-256" if isinstance(key, ECKey) else "Ed25519")
