"""Proofs of possession (DPoP, RFC 9449): which key a request proves, with this server's own nonces."""

from __future__ import annotations

import base64
import hashlib
import hmac
import threading
from collections import OrderedDict
from typing import Any, cast
from urllib.parse import unquote, urlsplit

from flask import Flask, Response, current_app, g, request
from joserfc import jws, jwt
from joserfc.errors import JoseError
from joserfc.jwk import JWKRegistry
from joserfc.jws import JWSRegistry
from sqlalchemy.orm import Session

from portal.careservice.clock import now
from portal.careservice.identity.keys import signing_key
from portal.careservice.settings import current_settings

ALGORITHMS = ["ES256", "ES384", "ES512", "Ed25519", "PS256", "RS256"]

_HEADER = "DPoP"
_NONCE_HEADER = "DPoP-Nonce"
_NONCE_SECONDS = 60
"""A nonce is good for its own minute and the next."""
_SKEW_SECONDS = 300
_MOST_USED = 100_000
_PRIVATE = frozenset({"d", "p", "q", "dp", "dq", "qi", "oth", "k"})


class _Registry(JWSRegistry):
    """The accepted algorithms; a header with an RSA key is longer than joserfc usually takes."""

    max_header_length = 4096


_REGISTRY = _Registry(algorithms=ALGORITHMS)


class ProofRefused(Exception):
    """The request's proof isn't accepted; `code` is OAuth's error (RFC 9449 §12.2), the description says why."""

    def __init__(self, description: str, code: str = "invalid_dpop_proof") -> None:
        super().__init__(description)
        self.code = code
        self.description = description

    @property
    def challenge(self) -> str:
        """The `WWW-Authenticate` of a resource (RFC 9449 §7.1)."""
        return challenge(self.code, self.description)


def challenge(code: str, description: str = "") -> str:
    """The `WWW-Authenticate` of a resource that refuses a bound token."""
    said = f', error_description="{description}"' if description else ""
    return f'DPoP error="{code}"{said}, algs="{" ".join(ALGORITHMS)}"'


def init_app(app: Flask) -> None:
    """Give the current nonce with each answer to a request that has a proof."""
    app.extensions[_HEADER] = _Used()
    app.after_request(_add_nonce)


def proven_key(session: Session, token: str | None = None) -> str | None:
    """The thumbprint (RFC 7638) of the key that the request proves, with its access token if it has one; None without a proof.

    Raises ProofRefused (RFC 9449 §4.3). Each proof counts once in a process; its nonce ends within two minutes.
    """
    if "dpop_key" in g:  # a transaction that is tried again
        return g.dpop_key
    g.dpop_key = _proven_key(session, token)
    return g.dpop_key


def _proven_key(session: Session, token: str | None) -> str | None:
    proofs = request.headers.getlist(_HEADER)
    if not proofs:
        return None
    nonces = g.dpop_nonces = _nonces(session)
    if len(proofs) > 1 or "," in proofs[0]:
        raise ProofRefused("There is more than one proof.")
    key, claims = _verified(proofs[0])
    if claims.get("htm") != request.method or not _is_this_address(claims.get("htu")):
        raise ProofRefused("The proof is for another request.")
    issued, jti = claims.get("iat"), claims.get("jti")
    if not isinstance(issued, int | float) or abs(issued - now().timestamp()) > _SKEW_SECONDS:
        raise ProofRefused("The proof isn't of now.")
    if not isinstance(jti, str) or not 1 <= len(jti) <= 200:
        raise ProofRefused("The proof has no jti.")
    if token is not None and claims.get("ath") != _base64url(hashlib.sha256(token.encode()).digest()):
        raise ProofRefused("The proof is for another token.")
    if claims.get("nonce") not in nonces:
        raise ProofRefused("The proof needs this server's nonce.", "use_dpop_nonce")
    thumbprint = cast("str", key.thumbprint())
    if not _used().add(f"{thumbprint} {jti}", now().timestamp()):
        raise ProofRefused("The proof was used before.")
    return thumbprint


def _verified(proof: str) -> tuple[Any, dict[str, Any]]:
    try:
        header = jws.extract_compact(proof.encode(), registry=_REGISTRY).headers()
        named = header.get("jwk")
        if (
            header.get("typ") != "dpop+jwt"
            or header.get("alg") not in ALGORITHMS
            or not isinstance(named, dict)
        ):
            raise ProofRefused("The proof's header isn't one of a proof.")
        if _PRIVATE & named.keys():
            raise ProofRefused("The proof names a private key.")
        key = JWKRegistry.import_key(cast("Any", named))
        return key, dict(jwt.decode(proof, key, registry=_REGISTRY).claims)
    except (JoseError, ValueError, TypeError, KeyError, RecursionError) as error:
        raise ProofRefused("The proof's signature isn't valid.") from error


def _is_this_address(named: object) -> bool:
    """Whether it is the request's address here, without query and fragment (RFC 9449 §4.3, RFC 3986 §6.2)."""
    try:
        parts = urlsplit(named) if isinstance(named, str) else None
        ours = urlsplit(current_settings().issuer)
        return parts is not None and (parts.scheme, parts.hostname, _port(parts), unquote(parts.path)) == (
            ours.scheme,
            ours.hostname,
            _port(ours),
            ours.path + request.path,
        )
    except ValueError:
        return False


def _port(parts: Any) -> int:
    return parts.port or (443 if parts.scheme == "https" else 80)


def _nonces(session: Session) -> tuple[str, str]:
    """The nonce of this minute and that of the last; all processes over one database give the same."""
    secret = hashlib.sha256(b"dpop nonce " + signing_key(session).as_pem(private=True)).digest()
    minute = int(now().timestamp()) // _NONCE_SECONDS
    this, last = (
        _base64url(hmac.digest(secret, str(one).encode(), "sha256"))[:32] for one in (minute, minute - 1)
    )
    return this, last


def _add_nonce(response: Response) -> Response:
    if nonces := g.get("dpop_nonces"):
        response.headers[_NONCE_HEADER] = nonces[0]
    return response


class _Used:
    """The proofs used in this process, until their nonce ends."""

    def __init__(self) -> None:
        self._until: OrderedDict[str, float] = OrderedDict()
        self._lock = threading.Lock()

    def add(self, name: str, moment: float) -> bool:
        """Take a proof down; return whether it is new."""
        with self._lock:
            while self._until and (
                len(self._until) >= _MOST_USED or next(iter(self._until.values())) <= moment
            ):
                self._until.popitem(last=False)
            if name in self._until:
                return False
            self._until[name] = moment + 2 * _NONCE_SECONDS
            return True


def _used() -> _Used:
    return current_app.extensions[_HEADER]


def _base64url(value: bytes) -> str:
    return base64.urlsafe_b64encode(value).rstrip(b"=").decode()
