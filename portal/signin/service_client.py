"""Calls to the care API with client credentials, for the one page without a signed-in person: the booking page.

The Client Credentials grant is used as in the care API specification §5 (RFC 6749 §4.4): four form fields (or a signed
assertion in place of the secret, if the client has a key), and an `access_token` in the response. Each process keeps one
token per clinic's client. One request fetches it while the others wait; it is renewed before it expires and once after
a 401.
"""

from __future__ import annotations

import threading
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar, cast

import requests
from authlib.integrations.base_client import OAuthError

from portal.clock import Clock
from portal.config.identity import Client, ClientAuth
from portal.config.tenants import Tenant
from portal.config.variables import Timeouts
from portal.http.transfer import Answer
from portal.services.api import AnyEndpoint, Query
from portal.services.client import Care
from portal.services.errors import CareError, StepUpNeeded, TokenRefused, Unavailable
from portal.signin.discovery import Metadata, Provider, ProviderDown, ProviderRefused
from portal.signin.dpop import Prover, with_nonce
from portal.signin.errors import SignInFailed
from portal.signin.tokens import oauth_session, read_tokens
from portal.state.session_records import Tokens

T = TypeVar("T")

SCOPE = "ClientelePortal"
"""The scope that the service client asks for (care API specification §5)."""


def request_token(
    client: Client, metadata: Metadata, timeouts: Timeouts, prover: Prover | None = None
) -> dict[str, Any]:
    """Ask for a token by the Client Credentials grant, bound to the prover's key if there is one; return the response's members.

    Raises Authlib's OAuthError if it is refused, requests' RequestException if there is no usable response.
    """
    method = "" if client.key else client.auth or ClientAuth.POST
    session = cast(
        "Any", oauth_session(client, metadata, timeouts, auth_method=method, prover=prover, scope=SCOPE)
    )
    return with_nonce(lambda: session.fetch_token(metadata.token_endpoint, grant_type="client_credentials"))


class ServiceBearer:
    """The access token of a clinic's service client (a `portal.services.client.Bearer`)."""

    def __init__(
        self,
        client: Client,
        provider: Provider,
        timeouts: Timeouts,
        clock: Clock,
        prover: Prover | None = None,
    ) -> None:
        self.prover = prover
        self._client = client
        self._provider = provider
        self._timeouts = timeouts
        self._clock = clock
        self._lock = threading.Lock()
        self._tokens: Tokens | None = None

    def token(self) -> str:
        """Return the token, fetched or renewed if necessary; raise Unavailable if there is none."""
        kept = self._tokens
        if kept is None or kept.refresh_at <= self._clock():
            kept = self._renewed(kept)
        return kept.access_token

    def renew(self, refused: str) -> str:
        """Return a token other than the refused one; raise Unavailable if there is none."""
        kept = self._tokens
        if kept is None or kept.access_token == refused:
            kept = self._renewed(kept, is_refused=True)
        return kept.access_token

    def _renewed(self, seen: Tokens | None, *, is_refused: bool = False) -> Tokens:
        """Fetch one token newer than `seen` for all waiting requests; if that fails, return the old one while valid."""
        with self._alone():
            if self._tokens is not None and self._tokens is not seen:
                return self._tokens
            try:
                self._tokens = self._fetched()
            except Unavailable:
                if seen is None or is_refused or seen.expires_at <= self._clock():
                    raise
                return seen
            return self._tokens

    @contextmanager
    def _alone(self) -> Generator[None]:
        if not self._lock.acquire(timeout=self._timeouts.read):
            raise Unavailable("service token under way")
        try:
            yield
        finally:
            self._lock.release()

    def _fetched(self) -> Tokens:
        try:
            metadata = self._provider.metadata()
            with self._provider.token_call(self._client.client_id):
                answer = request_token(self._client, metadata, self._timeouts, self.prover)
            return read_tokens(answer, self._clock(), keep_id_token=False, prover=self.prover)
        except OAuthError as error:
            raise Unavailable(f"service token: {error.error or 'oauth error'}") from error
        except (requests.RequestException, ValueError, ProviderDown, ProviderRefused, SignInFailed) as error:
            raise Unavailable(f"service token: {type(error).__name__}") from error


class ServiceBearers:
    """The bearers of this process, one for each clinic with a service client."""

    def __init__(self, timeouts: Timeouts, clock: Clock) -> None:
        self._timeouts = timeouts
        self._clock = clock
        self._made: dict[str, ServiceBearer] = {}

    def of(self, tenant: Tenant, client: Client, provider: Provider) -> ServiceBearer:
        """Return the clinic's bearer, with its cached token."""
        bearer = self._made.get(tenant.key)
        if bearer is None:
            prover = Prover.new(provider.nonces) if tenant.dpop else None
            made = ServiceBearer(client, provider, self._timeouts, self._clock, prover)
            bearer = self._made.setdefault(tenant.key, made)
        return bearer


@dataclass(frozen=True, kw_only=True)
class ServiceCare(Care):
    """The care API called as a clinic's service client. Every call names the clinic, because such a token doesn't.

    A token refused twice, or a stronger sign-in that is demanded, is a problem between the servers, not the visitor's: it
    raises `Unavailable`.
    """

    clinic: str

    def send(self, endpoint: AnyEndpoint, *, query: Query | None = None, **more: Any) -> Answer:
        return super().send(endpoint, query=self._at_clinic(query), **more)

    def parameters(self, query: object) -> Query:
        return self._at_clinic(super().parameters(query))

    def error(self, answer: Answer, endpoint: AnyEndpoint) -> CareError:
        return _between_servers(super().error(answer, endpoint))

    def _error_sent_as_success(self, answer: Answer, endpoint: AnyEndpoint) -> CareError:
        return _between_servers(super()._error_sent_as_success(answer, endpoint))

    def _at_clinic(self, query: Query | None) -> Query:
        return {**(query or {}), "__tenant": self.clinic}


def _between_servers(error: CareError) -> CareError:
    if isinstance(error, TokenRefused | StepUpNeeded):
        return Unavailable("service client refused")
    return error
