"""Checks a clinic's identity server, and the portal's clients there."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any, cast

import msgspec
import requests
from authlib.integrations.base_client import OAuthError

from portal.config.identity import Client
from portal.config.tenants import Tenant
from portal.config.variables import Timeouts
from portal.operate.findings import Finding, clock_of, get
from portal.signin.discovery import Metadata, Provider, ProviderDown, ProviderRefused
from portal.signin.errors import SignInFailed
from portal.signin.service_client import SCOPE, request_token
from portal.signin.tokens import code_for_log, oauth_session, read_tokens


def check_identity(tenants: list[Tenant], provider: Provider, timeouts: Timeouts) -> Iterator[Finding]:
    what = f"identity server {provider.auth_url}"
    answer = get(f"{provider.auth_url}/.well-known/openid-configuration", timeouts)
    if isinstance(answer, str):
        yield Finding(
            what, answer, "Check auth_url and the connection to it (DNS, firewall, TLS)", is_fault=True
        )
        return
    try:
        metadata = provider.metadata()
        provider.keys()
    except ProviderDown as error:
        advice = "auth_url must be the issuer; its discovery document is found below it"
        yield Finding(what, f"no usable discovery ({error})", advice, is_fault=True)
        return
    except ProviderRefused as error:
        advice = "auth_url must equal the issuer in the metadata, and identity_origins list the other origins it uses"
        yield Finding(what, f"not to be trusted ({error})", advice, is_fault=True)
        return
    yield Finding(what, "its issuer, endpoints and keys are valid")
    yield from clock_of(what, answer)
    more = msgspec.json.decode(answer.body, type=_Discovered)
    if "S256" not in more.code_challenge_methods_supported:
        yield Finding(what, "doesn't advertise PKCE with S256", "Enable PKCE for this portal's clients")
    if metadata.pushed_authorization_request_endpoint is None:
        yield Finding(
            what, "doesn't support PAR", "Pushed requests keep a sign-in's parameters out of the browser"
        )
    if metadata.end_session_endpoint is None:
        yield Finding(
            what, "has no end_session_endpoint", "People stay signed in there after signing out here"
        )
    for tenant in tenants:
        yield _client(tenant.client, metadata, timeouts)
        if tenant.service_client:
            yield _service_client(tenant.service_client, metadata, timeouts)


class _Discovered(msgspec.Struct):
    """The members of the discovery document that only this check reads."""

    code_challenge_methods_supported: tuple[str, ...] = ()
    response_types_supported: tuple[str, ...] = ()


def _client(client: Client, metadata: Metadata, timeouts: Timeouts) -> Finding:
    """Authenticate the client with an invalid code: invalid_grant means that the client was accepted (RFC 6749 §5.2)."""
    what = f"client {client.client_id}"
    session = cast("Any", oauth_session(client, metadata, timeouts))
    try:
        session.fetch_token(
            metadata.token_endpoint,
            grant_type="authorization_code",
            code="check",
            redirect_uri="https://check.invalid/",
            code_verifier="check" * 10,
        )
    except OAuthError as error:
        if error.error == "invalid_client":
            return _not_accepted(what)
        if error.error != "invalid_grant":
            told = f"can't be checked: a wrong code is answered with {code_for_log(error.error)}"
            return Finding(what, told, "Sign in once to see that its secret or key is right")
    except (requests.RequestException, ValueError) as error:
        return _failing(what, error)
    return Finding(what, "is accepted by the identity server")


def _service_client(client: Client, metadata: Metadata, timeouts: Timeouts) -> Finding:
    """Get a token as the booking page does; it isn't used."""
    what = f"service client {client.client_id}"
    try:
        read_tokens(request_token(client, metadata, timeouts), time.time(), keep_id_token=False)
    except OAuthError as error:
        if error.error == "invalid_client":
            return _not_accepted(what)
        advice = f"Allow it the client_credentials grant and the scope {SCOPE} there"
        return Finding(what, f"gets no token ({error.error})", advice, is_fault=True)
    except (requests.RequestException, ValueError, SignInFailed) as error:
        return _failing(what, error)
    return Finding(what, "gets a token")


def _not_accepted(what: str) -> Finding:
    advice = "Compare client_id and its secret or key with what is registered there"
    return Finding(what, "isn't accepted by the identity server", advice, is_fault=True)


def _failing(what: str, error: Exception) -> Finding:
    advice = "See the identity server's log"
    return Finding(what, f"the token endpoint fails ({type(error).__name__})", advice, is_fault=True)
