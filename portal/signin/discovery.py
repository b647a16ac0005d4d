"""A clinic's identity server: its metadata and signing keys.

Both are found by discovery (OpenID Connect Discovery 1.0). The documents are cached for an hour; keys are fetched again
for an unknown key id (at most every ten seconds). While the server is down, the last good copy is used for up to a day.
Authlib would cache both for the life of the process.
"""

from __future__ import annotations

import logging
import threading
import time
import warnings
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from typing import Any, Generic, TypeVar
from urllib.parse import urlencode, urlsplit

import msgspec
import requests
from authlib.integrations.base_client import OAuthError
from joserfc.errors import JoseError
from joserfc.jwk import JWKRegistry, Key, KeySet, RSAKey

from portal import metrics
from portal.clock import Clock
from portal.config.client_keys import SMALLEST_RSA
from portal.config.identity import Client
from portal.config.tenants import Tenants
from portal.config.variables import Timeouts
from portal.http import transport
from portal.http.circuit_breaker import Breaker, Open
from portal.http.transfer import Call, TransportError
from portal.signin.dpop import Nonces

T = TypeVar("T")

log = logging.getLogger("portal")

PRIVATE_KEY_JWT = "private_key_jwt"
_FRESH_SECONDS = 3600.0
_STALE_SECONDS = 24 * 3600.0
_AGAIN_SECONDS = 10.0
_AGAIN_SECONDS_WITHOUT = 1.0
"""How soon a document is requested again, with and without a cached copy."""

_GROUP = "identity"
"""The group of its calls in metrics."""

_CLIENT_FAULTS = ("invalid_client", "unauthorized_client")
_NEVER = float("-inf")
_MAX_BYTES = 512 * 1024


class ProviderDown(Exception):
    """The identity server doesn't respond, or its response is unusable; `args[0]` says why, for logs."""


class ClientRefused(ProviderDown):
    """The identity server rejects the portal's client: wrong secret or key, or not registered."""


class ProviderRefused(Exception):
    """A response of the identity server must not be trusted; `args[0]` says why, for logs."""


class Metadata(msgspec.Struct, frozen=True, kw_only=True):
    """The members of the discovery document that the portal uses."""

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
    claims_parameter_supported: bool = False
    prompt_values_supported: tuple[str, ...] | None = None

    @property
    def addresses(self) -> tuple[str, ...]:
        """Every address that the portal or the browser may be sent to."""
        addresses = (
            self.authorization_endpoint,
            self.token_endpoint,
            self.jwks_uri,
            self.userinfo_endpoint,
            self.end_session_endpoint,
            self.revocation_endpoint,
            self.pushed_authorization_request_endpoint,
        )
        return tuple(address for address in addresses if address)

    @property
    def client_auth(self) -> str:
        """How to send a client secret unless the client says so: with HTTP Basic if supported, else in the form."""
        offered = self.token_endpoint_auth_methods_supported
        if "client_secret_basic" in offered or "client_secret_post" not in offered:
            return "client_secret_basic"
        return "client_secret_post"

    def auth_method(self, client: Client) -> str:
        """The client's authentication method: its key, unless it also has a secret and the server doesn't support keys."""
        takes_keys = PRIVATE_KEY_JWT in self.token_endpoint_auth_methods_supported
        if client.key and (takes_keys or not client.client_secret):
            return PRIVATE_KEY_JWT
        return client.auth or self.client_auth


class _Document(Generic[T]):
    """A cached document of the identity server, fetched by one thread while the others wait."""

    def __init__(self, read: Callable[[], T], clock: Clock) -> None:
        self._read = read
        self._clock = clock
        self._lock = threading.RLock()
        self._value: T | None = None
        self._read_at = _NEVER
        self._tried_at = _NEVER
        self._fault: ProviderDown | ProviderRefused | None = None

    def get(self, *, again: bool = False) -> T:
        """Return the document; with `again`, fetch it anew unless that was done just now."""
        value = self._value
        if value is not None and not again and self._age() < _FRESH_SECONDS:
            return value
        with self._lock:
            if self._may_try():
                self._try()
            if self._value is not None and self._age() < _STALE_SECONDS:
                return self._value
            raise self._fault or ProviderDown("last read a day ago")

    @property
    def is_failing(self) -> bool:
        """Whether the last attempt to fetch it failed."""
        return self._fault is not None

    def _try(self) -> None:
        self._tried_at = self._clock()
        try:
            self._value, self._read_at, self._fault = self._read(), self._tried_at, None
        except ProviderDown as fault:
            self._fault = fault
        except ProviderRefused as fault:
            # A server that gives untrustworthy responses loses trust in its earlier ones too.
            self._value, self._fault = None, fault

    def _age(self) -> float:
        return self._clock() - self._read_at

    def _may_try(self) -> bool:
        pause = _AGAIN_SECONDS if self._value is not None else _AGAIN_SECONDS_WITHOUT
        return abs(self._clock() - self._tried_at) >= pause


class Provider:
    """One identity server, as configured for a clinic."""

    def __init__(
        self,
        auth_url: str,
        extra_origins: tuple[str, ...],
        timeouts: Timeouts,
        clock: Clock,
        failures: int,
        nonces: Nonces | None = None,
    ) -> None:
        self.auth_url = auth_url
        self._discovery_url = f"{auth_url}/.well-known/openid-configuration"
        self._breaker = Breaker(auth_url, _GROUP, failures, clock)
        self._origins = {_origin(auth_url), *extra_origins}
        self._timeouts = timeouts
        self._metadata = _Document(self._read_metadata, clock)
        self._keys = _Document(self._read_keys, clock)
        self.nonces = nonces or Nonces()
        self.roles_in_userinfo: dict[tuple[str, tuple[str, ...]], bool] = {}
        """Whether UserInfo tells a client the roles, by its id and their claim, as far as that was seen."""

    def metadata(self) -> Metadata:
        """Return the validated discovery document; raise ProviderDown or ProviderRefused."""
        return self._metadata.get()

    def keys(self, *, unknown_key: bool = False) -> KeySet:
        """Return the signing keys; with `unknown_key`, fetch them anew unless that was done just now."""
        return self._keys.get(again=unknown_key)

    @property
    def has_old_keys(self) -> bool:
        """Whether the keys may be outdated because newer ones couldn't be fetched."""
        return self._keys.is_failing

    def client_refused(self, client_id: str, seconds: float) -> ClientRefused:
        """Record and log that the server rejects this client, which only an operator can fix."""
        log.error("the identity server refuses the portal's client", extra={"client": client_id})
        metrics.upstream(_GROUP, "client-refused", seconds)
        self._breaker.record_success()
        return ClientRefused("client refused")

    @contextmanager
    def token_call(self, client_id: str = "") -> Generator[None]:
        """Context for a call to the token endpoint: raise ProviderDown if it is known to fail, and record the outcome.

        Raises ClientRefused if it rejects the client (RFC 6749 §5.2).

        The call is never the circuit breaker's probe, because it may use up a one-time code or refresh token. After a
        pause the metadata are fetched first, and the call is made only if that succeeds.
        """
        try:
            if not self._breaker.is_closed:
                self._breaker.admit(is_read=True)
                self._get(self._discovery_url)
            self._breaker.admit(is_read=False)
        except Open as error:
            raise ProviderDown(str(error)) from error
        started = time.perf_counter()
        try:
            yield
        except requests.RequestException as error:
            if not isinstance(error, requests.exceptions.InvalidJSONError):
                self._breaker.record_failure()
            metrics.upstream(_GROUP, "failed", time.perf_counter() - started)
            raise
        except OAuthError as error:
            if error.error in _CLIENT_FAULTS:
                raise self.client_refused(client_id, time.perf_counter() - started) from error
            self._answered(400, started)
            raise
        self._answered(200, started)

    def _answered(self, status: int, started: float) -> None:
        metrics.answered(_GROUP, status, time.perf_counter() - started)
        if status in (500, 502, 503, 504):
            self._breaker.record_failure()
        else:
            self._breaker.record_success()

    def _read_metadata(self) -> Metadata:
        body = self._get(self._discovery_url)
        try:
            metadata = msgspec.json.decode(body, type=Metadata)
        except (msgspec.DecodeError, RecursionError) as error:
            raise ProviderDown("metadata unreadable") from error
        if metadata.issuer.rstrip("/") != self.auth_url:
            raise ProviderRefused("metadata of another issuer")
        if any(_origin(address) not in self._origins for address in metadata.addresses):
            raise ProviderRefused("metadata names an address elsewhere")
        return metadata

    def _read_keys(self) -> KeySet:
        body = self._get(self.metadata().jwks_uri)
        try:
            named = msgspec.json.decode(body, type=_KeysNamed).keys
        except (msgspec.DecodeError, RecursionError) as error:
            raise ProviderDown("keys unreadable") from error
        keys = [key for given in named if (key := _signing_key(given))]
        if not keys:
            raise ProviderDown("no signing key")
        return KeySet(keys)

    def _get(self, url: str) -> bytes:
        call = Call(
            "GET",
            url,
            [("Accept", "application/json")],
            connect_timeout=self._timeouts.connect,
            timeout=self._timeouts.read,
            max_bytes=_MAX_BYTES,
        )
        started = time.perf_counter()
        try:
            answer = transport.send(call, alone=True)
        except TransportError as error:
            metrics.upstream(_GROUP, error.reason, time.perf_counter() - started)
            self._breaker.record_failure()
            raise ProviderDown(error.reason) from error
        self._answered(answer.status, started)
        if answer.status != 200:
            raise ProviderDown(f"status {answer.status}")
        return answer.body


class Providers:
    """The identity servers of all clinics, one for each distinct address."""

    def __init__(self, timeouts: Timeouts, clock: Clock, failures: int = 5) -> None:
        self._timeouts = timeouts
        self._clock = clock
        self._failures = failures
        self._nonces = Nonces()
        self._made: dict[tuple[str, tuple[str, ...]], Provider] = {}

    def of(self, auth_url: str, extra_origins: tuple[str, ...] = ()) -> Provider:
        """Return the provider at this address, with its cached metadata and keys."""
        key = (auth_url, extra_origins)
        provider = self._made.get(key)
        if provider is None:
            provider = self._made.setdefault(
                key,
                Provider(auth_url, extra_origins, self._timeouts, self._clock, self._failures, self._nonces),
            )
        return provider

    def of_all(self, tenants: Tenants) -> list[Provider]:
        """Return the identity servers of these clinics, without duplicates."""
        return list(
            {self.of(tenant.auth_url, tenant.identity_origins): None for tenant in tenants.by_key.values()}
        )


def with_query(address: str, query: Mapping[str, str]) -> str:
    """Add a query to an endpoint's address, which may already have one (RFC 6749 §3.1)."""
    return f"{address}{'&' if '?' in address else '?'}{urlencode(query)}"


class _KeysNamed(msgspec.Struct):
    keys: list[dict[str, Any]]


def _signing_key(named: dict[str, Any]) -> Key | None:
    """Return the key if it may sign ID tokens; None for symmetric and short keys, other curves than Ed25519, and unreadable ones."""
    if named.get("kty") not in ("RSA", "EC", "OKP") or named.get("use", "sig") != "sig":
        return None
    if named["kty"] == "OKP" and named.get("crv") != "Ed25519":
        return None
    try:
        with warnings.catch_warnings(action="ignore"):  # about a short key, which is left out
            key = JWKRegistry.import_key(named)
    except (ValueError, TypeError, KeyError, JoseError):
        return None
    return None if isinstance(key, RSAKey) and key.raw_value.key_size < SMALLEST_RSA else key


def _origin(address: str) -> str:
    try:
        parts = urlsplit(address)
    except ValueError:
        return ""
    return f"{parts.scheme}://{parts.netloc}"
