"""Checks a clinic's identity server, and the portal's clients there: what people would otherwise find out."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from dataclasses import replace
from difflib import get_close_matches
from functools import partial
from typing import Any, cast

import msgspec
import requests
from authlib.common.security import generate_token
from authlib.integrations.base_client import OAuthError

from portal.config.client_keys import ALGORITHMS, SMALLEST_RSA
from portal.config.identity import Client, ClientAuth, KeyAudience
from portal.config.profile import FAPI2_ALGORITHMS, is_protected
from portal.config.tenants import Tenant
from portal.config.variables import Timeouts
from portal.operate.findings import Finding, clock_of, get
from portal.services.consents.forms import ConsentKind
from portal.signin import dpop, signatures
from portal.signin.discovery import (
    PRIVATE_KEY_JWT,
    ClientRefused,
    Metadata,
    Provider,
    ProviderDown,
    ProviderRefused,
)
from portal.signin.dpop import Prover, with_nonce
from portal.signin.errors import SignInFailed
from portal.signin.pushed_requests import are_used, push
from portal.signin.service_client import SCOPE, request_token
from portal.signin.tokens import code_for_log, oauth_session, read_tokens

_ACCEPTED, _REFUSED = "invalid_grant", "invalid_client"
"""What an invalid code is answered with if the client is accepted, and if it isn't (RFC 6749 §5.2)."""

_CLIENT_ADVICE = "Compare client_id and its secret or key with what is registered there"
_PLAIN = re.compile(r"[A-Za-z0-9_-]*")
_PUSH_ADVICE = {
    "invalid_scope": "Write only scopes that this client has there: scope = …",
    "invalid_redirect_uri": "Register {redirect_uri} there as a redirect URI",
    "invalid_request": 'Register {redirect_uri} there as a redirect URI; if it is, write par = "off"',
}


def check_identity(tenants: list[Tenant], provider: Provider, timeouts: Timeouts) -> Iterator[Finding]:
    """Check a server that these clinics share."""
    what = f"identity server {provider.auth_url}"
    answer = get(f"{provider.auth_url}/.well-known/openid-configuration", timeouts)
    if isinstance(answer, str):
        yield Finding(
            what, answer, "Check auth_url and the connection to it (DNS, firewall, TLS)", is_fault=True
        )
        return
    try:
        metadata = provider.metadata()
    except ProviderDown as error:
        advice = "auth_url must be the issuer; its discovery document is found below it"
        yield Finding(what, f"no usable discovery ({error})", advice, is_fault=True)
        return
    except ProviderRefused as error:
        advice = "auth_url must equal the issuer in the metadata, and identity_origins list the other origins it uses"
        yield Finding(what, f"not to be trusted ({error})", advice, is_fault=True)
        return
    try:
        provider.keys()
    except (ProviderDown, ProviderRefused) as error:
        advice = f"Have it publish a key to sign with (RSA of {SMALLEST_RSA} bits or more, EC, Ed25519) at {metadata.jwks_uri}"
        yield Finding(what, f"its keys can't be used ({error})", advice, is_fault=True)
        return
    yield Finding(what, "its issuer, endpoints and keys are valid")
    yield from clock_of(what, answer)
    more = _discovered(answer.body)
    yield from _server(what, metadata, more)
    for tenant in tenants:
        yield from _told(f"tenants.{tenant.key}", tenant, more)
        yield from _key_algorithm(tenant.client, more)
        prover = Prover.new(provider.nonces) if tenant.dpop else None
        yield from _proofs(f"tenants.{tenant.key}.dpop", tenant, more)
        yield from _profile(f"tenants.{tenant.key}.profile", tenant, metadata, more)
        client = _client(tenant.client, metadata, timeouts, prover)
        yield client
        if not client.is_fault:
            for host in tenant.hosts:
                yield from _pushed(tenant, host, provider, timeouts, prover)
        if tenant.service_client:
            yield _service_client(tenant.service_client, metadata, timeouts, prover)


class _Discovered(msgspec.Struct):
    """The members of the discovery document that only this check reads; None if the server doesn't list them."""

    code_challenge_methods_supported: tuple[str, ...] = ()
    id_token_signing_alg_values_supported: tuple[str, ...] | None = None
    token_endpoint_auth_signing_alg_values_supported: tuple[str, ...] | None = None
    claims_supported: tuple[str, ...] | None = None
    scopes_supported: tuple[str, ...] | None = None
    acr_values_supported: tuple[str, ...] | None = None
    dpop_signing_alg_values_supported: tuple[str, ...] | None = None
    require_pushed_authorization_requests: bool = False


def _discovered(body: bytes) -> _Discovered:
    try:
        return msgspec.json.decode(body, type=_Discovered)
    except (msgspec.DecodeError, RecursionError):
        return _Discovered()


def _server(what: str, metadata: Metadata, more: _Discovered) -> Iterator[Finding]:
    signs = more.id_token_signing_alg_values_supported
    if signs is not None and not set(signs) & signatures.HASHES.keys():
        advice = f"Have it sign this portal's ID tokens with one of {', '.join(signatures.HASHES)}"
        yield Finding(what, f"signs ID tokens with {', '.join(signs)} alone", advice, is_fault=True)
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


def _told(where: str, tenant: Tenant, more: _Discovered) -> Iterator[Finding]:
    """What the server says that it can't tell: notes, because many lists aren't complete."""
    claims = more.claims_supported
    if claims is not None:
        if "auth_time" not in claims:
            advice = "Have it send auth_time: without it nothing can be signed or withdrawn"
            yield Finding(where, "the identity server doesn't list the claim auth_time", advice)
        for key, path in (("roles.claim", tenant.roles.claim), ("tenant_claim", tenant.tenant_claim)):
            if path and path[0] not in claims:
                advice = f"Write the claim's own name in {key}, or have the server send it"
                yield Finding(f"{where}.{key}", f"the identity server doesn't list {path[0]}", advice)
    yield from _strong(where, tenant, more)
    if more.scopes_supported is not None:
        scopes = tenant.scope.split()
        offered = [scope for scope in scopes if scope in more.scopes_supported]
        if offered != scopes:
            unknown = ", ".join(scope for scope in scopes if scope not in offered)
            advice = f'If sign-ins end with invalid_scope, write scope = "{" ".join(offered)}"'
            yield Finding(f"{where}.scope", f"the identity server doesn't list {unknown}", advice)


def _strong(where: str, tenant: Tenant, more: _Discovered) -> Iterator[Finding]:
    strong, classes = tenant.strong, more.acr_values_supported
    if strong is None:
        return
    if classes is not None and strong.acr and not set(strong.acr) & set(classes):
        found = f"the identity server doesn't list {', '.join(strong.acr)}"
        advice = f"Write what it calls a strong sign-in; it lists {', '.join(classes[:8]) or 'nothing'}"
        yield Finding(f"{where}.strong.acr", found, advice)
    told = [name for name in ("acr", "amr") if getattr(strong, name)]
    if more.claims_supported is not None and not set(told) & set(more.claims_supported):
        found = f"the identity server doesn't list the claim {' or '.join(told)}"
        advice = "Have it send the claim in ID tokens: without it no sign-in counts as strong"
        yield Finding(f"{where}.strong", found, advice)
    for kind in sorted(strong.kinds):
        if not ConsentKind(kind).known:
            meant = get_close_matches(kind, list(ConsentKind), 1, 0.6)
            advice = f"Is {meant[0]} meant?" if meant else "Compare it with the kinds of the clinic's forms"
            yield Finding(f"{where}.strong.kinds", f"the portal knows no forms of the kind {kind}", advice)


def _proofs(where: str, tenant: Tenant, more: _Discovered) -> Iterator[Finding]:
    """Whether the server binds tokens to keys as the tenant wants; who asks in vain is refused (RFC 9449 §5.1)."""
    takes = more.dpop_signing_alg_values_supported
    if not tenant.dpop or (takes is not None and dpop.ALGORITHM in takes):
        return
    if takes is None:
        found = "the identity server doesn't offer DPoP"
        yield Finding(where, found, "Switch it on there, or write dpop = false", is_fault=True)
    else:
        found = f"the identity server takes proofs with {', '.join(takes)} alone"
        yield Finding(
            where, found, f"Have it take {dpop.ALGORITHM} too, or write dpop = false", is_fault=True
        )


def _profile(where: str, tenant: Tenant, metadata: Metadata, more: _Discovered) -> Iterator[Finding]:
    """Each rule of FAPI 2.0 (Security Profile §5.3.2) that the server breaks; DPoP and the client's key are checked anyway."""
    if tenant.profile is None:
        return
    signs = more.id_token_signing_alg_values_supported or ()
    rules = {
        "takes no pushed requests (RFC 9126)": metadata.pushed_authorization_request_endpoint,
        "doesn't name itself in its answers (iss, RFC 9207)": metadata.authorization_response_iss_parameter_supported,
        "doesn't advertise PKCE with S256 (RFC 7636)": "S256" in more.code_challenge_methods_supported,
        "takes no client keys (private_key_jwt)": PRIVATE_KEY_JWT
        in metadata.token_endpoint_auth_methods_supported,
        f"doesn't sign ID tokens with {', '.join(FAPI2_ALGORITHMS)}": set(signs) & set(FAPI2_ALGORITHMS),
        "has addresses without https": all(is_protected(address) for address in metadata.addresses),
    }
    for broken, is_kept in rules.items():
        if not is_kept:
            advice = f'Switch it on there, or don\'t write profile = "{tenant.profile}"'
            yield Finding(where, f"the identity server {broken}", advice, is_fault=True)
    if not more.require_pushed_authorization_requests:
        found = "the identity server doesn't say that it demands pushed requests"
        yield Finding(where, found, "Have it demand them of this client")


def _key_algorithm(client: Client, more: _Discovered) -> Iterator[Finding]:
    takes = more.token_endpoint_auth_signing_alg_values_supported
    if client.signing_key is None or takes is None or client.signing_key.algorithm in takes:
        return
    fits = next((alg for alg in ALGORITHMS[client.signing_key.key.key_type] if alg in takes), None)
    advice = f'Write client_key_alg = "{fits}"' if fits else "Use a key of another type, or a secret"
    found = f"its key signs with {client.signing_key.algorithm}, which the identity server doesn't list"
    yield Finding(f"client {client.client_id}", found, advice, is_fault=True)


def _client(client: Client, metadata: Metadata, timeouts: Timeouts, prover: Prover | None) -> Finding:
    """Authenticate the client with an invalid code.

    Where the answer's code says neither yes nor no, the client is accepted if a wrong secret is answered otherwise, here or
    where tokens are revoked.
    """
    what = f"client {client.client_id}"
    try:
        code = _code(client, metadata, timeouts, prover)
        if code == _REFUSED:
            return _not_accepted(what, client, metadata, timeouts, prover)
        if code == _ACCEPTED or (
            not client.key and _code(_wrong(client), metadata, timeouts, prover) == _REFUSED
        ):
            return Finding(what, "is accepted by the identity server")
        may_revoke = _may_revoke(client, metadata, timeouts)
        if may_revoke is False:
            return _not_accepted(what, client, metadata, timeouts, prover)
        if may_revoke and not client.key and _may_revoke(_wrong(client), metadata, timeouts) is False:
            return Finding(what, "is accepted by the identity server")
    except (requests.RequestException, ValueError) as error:
        return _failing(what, error)
    told = f"can't be checked: a wrong code is answered with {code_for_log(code)}"
    return Finding(what, told, "Sign in once to see that its secret or key is right")


def _code(client: Client, metadata: Metadata, timeouts: Timeouts, prover: Prover | None) -> str:
    """The error code that an invalid authorization code is answered with."""
    session = cast("Any", oauth_session(client, metadata, timeouts, prover=prover))
    exchange = partial(
        session.fetch_token,
        metadata.token_endpoint,
        grant_type="authorization_code",
        code="check",
        redirect_uri="https://check.invalid/",
        code_verifier="check" * 10,
    )
    try:
        with_nonce(exchange)
    except OAuthError as error:
        return str(error.error)
    return _ACCEPTED


def _may_revoke(client: Client, metadata: Metadata, timeouts: Timeouts) -> bool | None:
    """Whether the client is let revoke a token that nobody has (RFC 7009 §2.2); None if that can't be told."""
    if metadata.revocation_endpoint is None:
        return None
    session = cast("Any", oauth_session(client, metadata, timeouts))
    answer = session.revoke_token(metadata.revocation_endpoint, token="check")  # noqa: S106
    return {200: True, 401: False}.get(answer.status_code)


def _wrong(client: Client) -> Client:
    return replace(client, client_secret="not-the-secret")  # noqa: S106


def _not_accepted(
    what: str, client: Client, metadata: Metadata, timeouts: Timeouts, prover: Prover | None
) -> Finding:
    """Say what to write if the server accepts the client in another form."""
    advice = _CLIENT_ADVICE
    for other, line in _other_forms(client, metadata):
        if _code(other, metadata, timeouts, prover) == _ACCEPTED:
            advice = f"Write {line}: that is accepted"
    return Finding(what, "isn't accepted by the identity server", advice, is_fault=True)


def _other_forms(client: Client, metadata: Metadata) -> Iterator[tuple[Client, str]]:
    if metadata.auth_method(client) == PRIVATE_KEY_JWT:
        if client.key_audience is KeyAudience.ISSUER:
            other = replace(client, key_audience=KeyAudience.TOKEN_ENDPOINT)
            yield other, f'client_key_audience = "{KeyAudience.TOKEN_ENDPOINT}"'
    elif client.auth is None and not _PLAIN.fullmatch(client.client_secret):
        yield replace(client, auth=ClientAuth.POST), f'client_auth = "{ClientAuth.POST}"'


def _pushed(
    tenant: Tenant, host: str, provider: Provider, timeouts: Timeouts, prover: Prover | None
) -> Iterator[Finding]:
    """Push one request of this host, which nobody follows: it shows a wrong scope or redirect URI too."""
    client, metadata = tenant.client, provider.metadata()
    what = f"pushed request of {client.client_id} from {host}"
    scheme = "http" if host.partition(":")[0].endswith("localhost") else "https"
    redirect_uri = f"{scheme}://{host}/sign-in/callback"
    try:
        if not are_used(tenant, metadata):
            return
        session = cast(
            "Any",
            oauth_session(
                client, metadata, timeouts, prover=prover, scope=tenant.scope, redirect_uri=redirect_uri
            ),
        )
        location, _state = session.create_authorization_url(
            metadata.authorization_endpoint,
            code_verifier=generate_token(64),
            nonce=generate_token(43),
            **tenant.authorize_params,
        )
        push(session, tenant, provider, location)
    except ClientRefused:
        yield Finding(what, "the client isn't accepted", _CLIENT_ADVICE, is_fault=True)
    except ProviderDown as error:
        code = str(error).rpartition(" ")[2]
        usual = 'Write par = "auto"' if tenant.par == "required" else 'Write par = "off"'
        advice = _PUSH_ADVICE.get(code, usual).format(redirect_uri=redirect_uri)
        yield Finding(what, str(error), advice, is_fault=True)
    else:
        yield Finding(what, "is accepted by the identity server")


def _service_client(client: Client, metadata: Metadata, timeouts: Timeouts, prover: Prover | None) -> Finding:
    """Get a token as the booking page does; it isn't used."""
    what = f"service client {client.client_id}"
    try:
        answer = request_token(client, metadata, timeouts, prover)
        if not answer.get("access_token"):
            raise ValueError("no access_token")
        read_tokens(answer, time.time(), keep_id_token=False, prover=prover)
    except OAuthError as error:
        if error.error == _REFUSED:
            return Finding(what, "isn't accepted by the identity server", _CLIENT_ADVICE, is_fault=True)
        advice = f"Allow it the client_credentials grant and the scope {SCOPE} there"
        return Finding(what, f"gets no token ({code_for_log(error.error)})", advice, is_fault=True)
    except SignInFailed as error:
        advice = "Have it bind this client's tokens as dpop says, true or false"
        return Finding(what, f"gets a token that can't be used ({error})", advice, is_fault=True)
    except (requests.RequestException, ValueError) as error:
        return _failing(what, error)
    return Finding(what, "gets a token")


def _failing(what: str, error: Exception) -> Finding:
    advice = "See the identity server's log"
    return Finding(what, f"the token endpoint fails ({type(error).__name__})", advice, is_fault=True)
