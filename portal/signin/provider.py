"""The identity server of a clinic: its metadata and its keys.

Found by discovery alone (OpenID Connect Discovery 1.0). Both documents are kept for an hour, read again at an
unknown key id (at most every ten seconds), and the last good copy serves for a day when the server is down.
Authlib would keep both for the life of the process.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar
from urllib.parse import urlsplit

import msgspec
from joserfc.errors import JoseError
from joserfc.jwk import KeySet

from portal import outbound
from portal.clock import Clock
from portal.outbound import Call, OutboundError
from portal.settings import Timeouts

T = TypeVar("T")

ALGORITHMS = ("RS256", "PS256", "ES256")
_FRESH_SECONDS = 3600.0
_STALE_SECONDS = 24 * 3600.0
_AGAIN_SECONDS = 10.0
_MAX_BYTES = 512 * 1024


class ProviderDown(Exception):
    """The identity server doesn't answer, or not in a usable way; `args[0]` is a word for logs."""


class ProviderRefused(Exception):
    """What the identity server says must not be trusted; `args[0]` says what, for logs."""


class Metadata(msgspec.Struct, frozen=True, kw_only=True):
    """The members of the discovery document that the portal knows; others are dropped here."""

    issuer: str
    authorization_endpoint: str
    token_endpoint: str
    jwks_uri: str
    userinfo_endpoint: str | None = None
    end_session_endpoint: str | None = None
    revocation_endpoint: str | None = None
    pushed_authorization_request_endpoint: str | None = None
    token_endpoint_auth_methods_supported: tuple[str, ...] = ("client_secret_basic",)
    authorization_response_iss_parameter_supported: bool = False

    @property
    def addresses(self) -> tuple[str, ...]:
        """Every address that the portal or the browser may be sent to."""
        named = (
            *(self.authorization_endpoint, self.token_endpoint, self.jwks_uri, self.userinfo_endpoint),
            *(self.end_session_endpoint, self.revocation_endpoint),
            self.pushed_authorization_request_endpoint,
        )
        return tuple(address for address in named if address)

    @property
    def client_auth(self) -> str:
        """How the portal shows its client secret: Basic where offered, else in the form."""
        offered = self.token_endpoint_auth_methods_supported
        if "client_secret_basic" in offered or "client_secret_post" not in offered:
            return "client_secret_basic"
        return "client_secret_post"


@dataclass(slots=True)
class _Kept(Generic[T]):
    value: T
    read_at: float


class Provider:
    """One identity server, as one clinic's tenants entry names it."""

    def __init__(
        self, auth_url: str, extra_origins: tuple[str, ...], timeouts: Timeouts, clock: Clock
    ) -> None:
        self.auth_url = auth_url
        self._origins = {_origin(auth_url), *extra_origins}
        self._timeouts = timeouts
        self._clock = clock
        self._lock = threading.RLock()
        self._metadata: _Kept[Metadata] | None = None
        self._keys: _Kept[KeySet] | None = None
        self._tried_at: dict[str, float] = {}

    def metadata(self) -> Metadata:
        """Return the checked discovery document; raise ProviderDown or ProviderRefused."""
        kept = self._fresh("metadata", self._metadata, self._read_metadata)
        self._metadata = kept
        return kept.value

    def keys(self, *, unknown_key: bool = False) -> KeySet:
        """Return the signing keys; with `unknown_key` read them again, unless that was done just now."""
        kept = self._fresh("keys", self._keys, self._read_keys, again=unknown_key)
        self._keys = kept
        return kept.value

    def _fresh(
        self, what: str, kept: _Kept[T] | None, read: Callable[[], T], *, again: bool = False
    ) -> _Kept[T]:
        now = self._clock()
        if kept and not again and now - kept.read_at < _FRESH_SECONDS:
            return kept
        if kept and not self._may_try(what):
            return kept
        with self._lock:
            self._tried_at[what] = now
            try:
                return _Kept(read(), now)
            except ProviderDown:
                if kept and now - kept.read_at < _STALE_SECONDS:
                    return kept
                raise

    def _may_try(self, what: str) -> bool:
        return abs(self._clock() - self._tried_at.get(what, float("-inf"))) >= _AGAIN_SECONDS

    def _read_metadata(self) -> Metadata:
        body = self._get(f"{self.auth_url}/.well-known/openid-configuration")
        try:
            metadata = msgspec.json.decode(body, type=Metadata)
        except msgspec.DecodeError as error:
            raise ProviderDown("metadata unreadable") from error
        if metadata.issuer.rstrip("/") != self.auth_url:
            raise ProviderRefused("metadata of another issuer")
        if any(_origin(address) not in self._origins for address in metadata.addresses):
            raise ProviderRefused("metadata names an address elsewhere")
        return metadata

    def _read_keys(self) -> KeySet:
        body = self._get(self.metadata().jwks_uri)
        try:
            keys = msgspec.json.decode(body, type=dict[str, list[dict[str, object]]])["keys"]
            # Symmetric keys never sign an ID token here: a public key must not become an HMAC secret.
            signing = [
                key for key in keys if key.get("kty") in ("RSA", "EC") and key.get("use", "sig") == "sig"
            ]
            return KeySet.import_key_set({"keys": signing})  # pyright: ignore[reportArgumentType]
        except (msgspec.DecodeError, KeyError, ValueError, TypeError, JoseError) as error:
            raise ProviderDown("keys unreadable") from error

    def _get(self, url: str) -> bytes:
        call = Call(
            "GET",
            url,
            [("Accept", "application/json")],
            connect_timeout=self._timeouts.connect,
            timeout=self._timeouts.read,
            max_bytes=_MAX_BYTES,
        )
        try:
            answer = outbound.send(call, alone=True)
        except OutboundError as error:
            raise ProviderDown(error.reason) from error
        if answer.status != 200:
            raise ProviderDown(f"status {answer.status}")
        return answer.body


class Providers:
    """The identity servers of all clinics, one for each distinct address."""

    def __init__(self, timeouts: Timeouts, clock: Clock) -> None:
        self._timeouts = timeouts
        self._clock = clock
        self._made: dict[tuple[str, tuple[str, ...]], Provider] = {}

    def of(self, auth_url: str, extra_origins: tuple[str, ...] = ()) -> Provider:
        """Return the provider at this address, with its kept metadata and keys."""
        key = (auth_url, extra_origins)
        provider = self._made.get(key)
        if provider is None:
            provider = self._made.setdefault(
                key, Provider(auth_url, extra_origins, self._timeouts, self._clock)
            )
        return provider


def _origin(address: str) -> str:
    parts = urlsplit(address)
    return f"{parts.scheme}://{parts.netloc}"
