"""Profiles of OpenID Connect that a clinic's sign-in keeps to: FAPI 2.0 Security Profile."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator
from dataclasses import replace
from enum import StrEnum
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from portal.config.identity import Client, KeyAudience, Par

if TYPE_CHECKING:
    from portal.config.tenants import Tenant


class Profile(StrEnum):
    """What a sign-in keeps to besides OpenID Connect Core."""

    FAPI2 = "fapi2"


FAPI2_ALGORITHMS = ("PS256", "ES256", "EdDSA", "Ed25519")
"""What may be signed with (FAPI 2.0 Security Profile §5.4.1)."""


def applied(tenant: Tenant) -> Tenant:
    """Return the tenant with all that its profile demands; raise ValueError with every setting that contradicts it.

    FAPI 2.0 (§5.3.3): sign-ins are pushed, tokens are bound to keys by DPoP, clients have keys instead of secrets and
    sign for the issuer, and everything goes by https.
    """
    if tenant.profile is None:
        return tenant
    faults = list(_faults(tenant))
    if faults:
        raise ValueError(*faults)
    service = tenant.service_client and _with_algorithm(tenant.service_client)
    return replace(
        tenant, par=Par.REQUIRED, dpop=True, client=_with_algorithm(tenant.client), service_client=service
    )


def is_protected(address: str) -> bool:
    """Whether nobody can read what is sent there: by https, or to this machine itself."""
    parts = urlsplit(address)
    host = parts.hostname or ""
    try:
        is_here = ipaddress.ip_address(host).is_loopback
    except ValueError:
        is_here = host == "localhost" or host.endswith(".localhost")
    return parts.scheme == "https" or is_here


def _faults(tenant: Tenant) -> Iterator[str]:
    addresses = {"auth_url": (tenant.auth_url,), "base_url": (tenant.base_url,)}
    for name, given in {**addresses, "identity_origins": tenant.identity_origins}.items():
        if not all(is_protected(address) for address in given):
            yield f".{name}: {tenant.profile} needs https"
    if tenant.par is Par.OFF:
        yield f".par: {tenant.profile} needs pushed requests"
    yield from (f".{fault}" for fault in _client_faults(tenant.client, tenant.profile))
    if tenant.service_client:
        yield from (
            f".service_client.{fault}" for fault in _client_faults(tenant.service_client, tenant.profile)
        )


def _client_faults(client: Client, profile: Profile | None) -> Iterator[str]:
    if client.client_secret:
        yield f"client_secret_env: {profile} takes no secrets; write client_key_env instead"
    if client.key_audience is not KeyAudience.ISSUER:
        yield f"client_key_audience: {profile} needs the issuer"
    if client.key_algorithm not in (None, *FAPI2_ALGORITHMS):
        yield f"client_key_alg: {profile} takes {', '.join(FAPI2_ALGORITHMS)}"


def _with_algorithm(client: Client) -> Client:
    """The client whose RSA key signs with PS256."""
    is_rsa = client.key is not None and client.key.key.key_type == "RSA"
    return replace(client, key_algorithm="PS256") if is_rsa else client
