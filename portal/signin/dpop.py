"""Tokens bound to a key (DPoP, RFC 9449): a proof for each request to the identity server and to the care API.

A sign-in makes a key of its own, which is kept, encrypted, with the tokens. A stolen token is worth nothing without it.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
import secrets
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from threading import Lock
from typing import Any, TypeVar
from urllib.parse import urlsplit

from authlib.integrations.base_client import OAuthError
from joserfc import jwt
from joserfc.jwk import ECKey

T = TypeVar("T")

ALGORITHM = "ES256"
USE_NONCE = "use_dpop_nonce"
"""The error of a server that wants its nonce in the proof (RFC 9449 §8, §9)."""

_DEMANDS_NONCE = re.compile(r'(?:^|[\s,])error\s*=\s*"?use_dpop_nonce(?=["\s,]|$)', re.IGNORECASE)
_NONCE = re.compile(r"[\x21\x23-\x5b\x5d-\x7e]{1,500}")
_MOST_ORIGINS = 4096


class Nonces:
    """The last nonce that each server gave (RFC 9449 §8.2), in this process."""

    def __init__(self) -> None:
        self._by_origin: OrderedDict[str, str] = OrderedDict()
        self._lock = Lock()

    def of(self, url: str) -> str | None:
        return self._by_origin.get(_origin(url))

    def learn(self, url: str, headers: Mapping[str, str]) -> str | None:
        """Keep and return the nonce that an answer brings, if it brings one."""
        nonce, origin = headers.get("dpop-nonce", ""), _origin(url)
        if not _NONCE.fullmatch(nonce):
            return None
        if self._by_origin.get(origin) == nonce:
            return nonce
        with self._lock:
            self._by_origin[origin] = nonce
            self._by_origin.move_to_end(origin)
            if len(self._by_origin) > _MOST_ORIGINS:
                self._by_origin.popitem(last=False)
        return nonce


class Prover:
    """Makes proofs with one key (a `portal.services.interfaces.Prover`)."""

    def __init__(self, key: ECKey, nonces: Nonces) -> None:
        self._key = key
        self._nonces = nonces
        self._header = {"typ": "dpop+jwt", "alg": ALGORITHM, "jwk": key.as_dict(private=False)}

    @classmethod
    def new(cls, nonces: Nonces) -> Prover:
        """With a new key, on P-256."""
        return cls(ECKey.generate_key("P-256"), nonces)

    @classmethod
    def of(cls, kept: str | None, nonces: Nonces) -> Prover | None:
        """With a kept key, which the process keeps no longer than the prover; None if there is none."""
        return cls(ECKey.import_key(json.loads(kept)), nonces) if kept else None

    @property
    def kept(self) -> str:
        """The key as it is kept: a private JWK (RFC 7517). It is a secret."""
        return json.dumps(self._key.as_dict(private=True))

    @property
    def thumbprint(self) -> str:
        """What tokens are bound to (`jkt`, RFC 7638)."""
        return self._key.thumbprint()

    def proof(self, method: str, url: str, token: str | None = None, nonce: str | None = None) -> str:
        """Return a new proof for one request (RFC 9449 §4.2), with the access token if it is sent with one.

        `nonce` is what the server answered this very request with; else it is the last that it gave to any.
        """
        claims: dict[str, Any] = {
            "jti": secrets.token_urlsafe(16),
            "htm": method,
            "htu": url.partition("#")[0].partition("?")[0],
            "iat": int(time.time()),
        }
        if token is not None:
            claims["ath"] = _base64url(hashlib.sha256(token.encode()).digest())
        if nonce := nonce or self._nonces.of(url):
            claims["nonce"] = nonce
        return jwt.encode(self._header, claims, self._key, algorithms=[ALGORITHM])

    def authorization(
        self, token: str, method: str, url: str, nonce: str | None = None
    ) -> list[tuple[str, str]]:
        """Return the headers of a request with the access token; for each attempt new ones."""
        return [("Authorization", f"DPoP {token}"), ("DPoP", self.proof(method, url, token, nonce))]

    def nonce_demanded(self, url: str, status: int, headers: Mapping[str, str]) -> str | None:
        """Keep the nonce of an answer; return it if the request wasn't taken for want of it, so that it is sent anew."""
        nonce = self._nonces.learn(url, headers)
        demand = headers.get("www-authenticate", "") if status == 401 else ""
        return nonce if _DEMANDS_NONCE.search(demand) else None

    def learn(self, url: str, headers: Mapping[str, str]) -> str | None:
        """Keep and return the nonce that an answer of the identity server brings, if it brings one."""
        return self._nonces.learn(url, {name.lower(): value for name, value in headers.items()})


def with_nonce(send: Callable[[], T]) -> T:
    """Send to the identity server, and once more if it wants its nonce.

    Above the client's authentication, because an assertion counts once: Authlib makes a new one for each call.
    """
    try:
        return send()
    except OAuthError as error:
        if error.error != USE_NONCE:
            raise
        return send()


def _origin(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}"


def _base64url(value: bytes) -> str:
    return base64.urlsafe_b64encode(value).rstrip(b"=").decode()
