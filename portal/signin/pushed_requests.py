"""Pushed authorization requests (RFC 9126): a sign-in's parameters don't pass through the browser."""

from __future__ import annotations

import time
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import msgspec
import requests

from portal.config.identity import Par
from portal.config.tenants import Tenant
from portal.signin.discovery import Metadata, Provider, ProviderDown, with_query
from portal.signin.dpop import USE_NONCE
from portal.signin.tokens import code_for_log


class _Answer(msgspec.Struct, frozen=True):
    request_uri: str | None = None
    error: object = None


def are_used(tenant: Tenant, metadata: Metadata) -> bool:
    """Whether the clinic's sign-ins are pushed; raise ProviderDown if they have to be and can't."""
    is_offered = metadata.pushed_authorization_request_endpoint is not None
    if tenant.par is Par.REQUIRED and not is_offered:
        raise ProviderDown("pushed requests aren't offered")
    return is_offered and tenant.par is not Par.OFF


def push(session: Any, tenant: Tenant, provider: Provider, location: str) -> str:
    """Push the parameters in this address and return the one that stands for it.

    Raises ClientRefused if the identity server rejects the portal's client, ProviderDown for any other failure.
    """
    metadata, started = provider.metadata(), time.perf_counter()

    def post() -> requests.Response:
        return session.post(
            metadata.pushed_authorization_request_endpoint,
            data=dict(parse_qsl(urlsplit(location).query)),
            auth=session.client_auth(metadata.auth_method(tenant.client)),
            headers={"Accept": "application/json"},
            withhold_token=True,
        )

    try:
        response = post()
        answer = _read(response)
        if answer.error == USE_NONCE:  # once more, with a new client assertion too
            response = post()
            answer = _read(response)
    except (requests.RequestException, msgspec.DecodeError, RecursionError) as error:
        raise ProviderDown(f"pushed request: {type(error).__name__}") from error
    if response.status_code == 401 or answer.error == "invalid_client":  # RFC 9126 §2.3, RFC 6749 §5.2
        raise provider.client_refused(tenant.client.client_id, time.perf_counter() - started)
    if response.status_code not in (200, 201) or answer.request_uri is None:
        code = code_for_log(answer.error) if answer.error else "no error code"
        raise ProviderDown(f"pushed request: status {response.status_code}, {code}")
    query = {"client_id": tenant.client.client_id, "request_uri": answer.request_uri}
    return with_query(metadata.authorization_endpoint, query)


def _read(response: requests.Response) -> _Answer:
    """Read the answer; that of a refusal may be anything, such as a proxy's page."""
    try:
        return msgspec.json.decode(response.content, type=_Answer)
    except (msgspec.DecodeError, RecursionError):
        if response.status_code in (200, 201):
            raise
        return _Answer()
