"""Signing out: here at once, then at the identity server (OpenID Connect RP-Initiated and Back-Channel Logout 1.0)."""

from __future__ import annotations

import logging
import secrets
import threading
from dataclasses import replace
from typing import Annotated, Any, cast

import msgspec
import requests

from portal.clock import Clock
from portal.config.tenants import Tenant
from portal.config.variables import Timeouts
from portal.signin.discovery import Provider, ProviderDown, ProviderRefused, Providers, with_query
from portal.signin.errors import SignInFailed
from portal.signin.signatures import accepted_algorithms, decode
from portal.signin.tokens import LEEWAY, Time, oauth_session
from portal.state.session_records import Person, Tokens
from portal.state.sessions import Sessions
from portal.store.vault import Vault
from portal.values import Value

log = logging.getLogger("portal")

_EVENT = "http://schemas.openid.net/event/backchannel-logout"
_HURRY = 2.0
_RECENT = 10 * 60


def revoke(tenant: Tenant, provider: Provider, tokens: Tokens | None, timeouts: Timeouts) -> bool:
    """Revoke the refresh token at the identity server (RFC 7009); return whether the server can be reached.

    The person is already signed out here: a server that is down must not prevent that.
    """
    if tokens is None or tokens.refresh_token is None:
        return True
    quick = replace(timeouts, connect=min(timeouts.connect, _HURRY), read=min(timeouts.read, _HURRY))
    try:
        metadata = provider.metadata()
        if metadata.revocation_endpoint:
            client = cast("Any", oauth_session(tenant.client, metadata, quick))
            client.revoke_token(
                metadata.revocation_endpoint,
                token=tokens.refresh_token,
                token_type_hint="refresh_token",  # noqa: S106
            )
    except (requests.RequestException, ProviderDown, ProviderRefused) as error:
        log.warning("refresh token not revoked: %s", type(error).__name__)
        return False
    return True


def revoke_soon(tenant: Tenant, provider: Provider, tokens: Tokens | None, timeouts: Timeouts) -> None:
    """Revoke replaced tokens in the background; nothing depends on the outcome."""
    if tokens is not None and tokens.refresh_token is not None:
        threading.Thread(target=revoke, args=(tenant, provider, tokens, timeouts), daemon=True).start()


def end_session_address(
    tenant: Tenant, provider: Provider, person: Person, tokens: Tokens | None, *, origin: str, language: str
) -> str | None:
    """Return the address where the browser also signs out of the identity server, or None if there is none.

    A page there that asks for confirmation is to be in this language.
    """
    try:
        endpoint = provider.metadata().end_session_endpoint
    except (ProviderDown, ProviderRefused):
        return None
    if endpoint is None:
        return None
    signed_out = f"{origin}/signed-out"
    query = {
        name: value.format(client_id=tenant.client.client_id, signed_out=signed_out)
        for name, value in tenant.logout_params.items()
    } or {
        "client_id": tenant.client.client_id,
        "post_logout_redirect_uri": signed_out,
        "state": secrets.token_urlsafe(12),
        "logout_hint": person.sid or person.sub,
        "ui_locales": language,
    }
    if tenant.id_token_hint and tokens and tokens.id_token:
        query["id_token_hint"] = tokens.id_token
    return with_query(endpoint, query)


class _LogoutClaims(msgspec.Struct, frozen=True):
    """The claims of a logout token (Back-Channel Logout §2.4)."""

    iss: str
    aud: str | list[str]
    iat: Time
    jti: Annotated[str, msgspec.Meta(min_length=1, max_length=500)]
    events: dict[str, Any]
    exp: Time | None = None
    sub: str | None = None
    sid: str | None = None
    nonce: Any = None


def _checked_claims(claims: dict[str, Any]) -> _LogoutClaims:
    try:
        return msgspec.convert(claims, _LogoutClaims)
    except msgspec.ValidationError as error:
        raise SignInFailed("logout token: a claim is missing or of another type") from error


class BackChannel(Value, frozen=True):
    """Ends sessions on request of the identity server."""

    vault: Vault
    sessions: Sessions
    providers: Providers
    clock: Clock

    def end(self, tenant: Tenant, logout_token: str) -> int:
        """Validate the logout token (Back-Channel Logout §2.6) and end its sessions; return how many.

        Raises SignInFailed if the token is invalid.
        """
        provider = self.providers.of(tenant.auth_url, tenant.identity_origins)
        claims = _checked_claims(decode(logout_token, provider, accepted_algorithms(tenant)).claims)
        now = self.clock()
        issuer = provider.metadata().issuer
        audiences = [claims.aud] if isinstance(claims.aud, str) else claims.aud
        if claims.iss != issuer or tenant.client.client_id not in audiences:
            raise SignInFailed("logout token: not for this portal")
        if abs(now - claims.iat) > _RECENT:
            raise SignInFailed("logout token: not of now")
        if claims.exp is not None and claims.exp < now - LEEWAY:
            raise SignInFailed("logout token: expired")
        if _EVENT not in claims.events or claims.nonce is not None:
            raise SignInFailed("logout token: not a logout token")
        if not (claims.sub or claims.sid):
            raise SignInFailed("logout token: names no session")
        used = self.vault.name("jti", tenant.key, claims.jti)
        if self.vault.get(used, bool):
            raise SignInFailed("logout token: used before")
        ended = self.sessions.end_tagged(issuer=issuer, tenant=tenant.key, sub=claims.sub, sid=claims.sid)
        # Only now: a token whose sessions couldn't be ended may be sent again.
        self.vault.insert(used, True, expires_at=now + 2 * _RECENT)
        return ended
