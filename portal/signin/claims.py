"""The signed-in person, from the claims of the ID token, and of UserInfo if the ID token contains no roles."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

import msgspec

from portal.config.tenants import Tenant
from portal.config.variables import Timeouts
from portal.http import transport
from portal.http.transfer import Call, TransportError
from portal.services.errors import Unavailable
from portal.signin.discovery import Metadata
from portal.signin.errors import AnotherPerson, SignInFailed
from portal.state.session_records import Person

ID_TOKEN, USERINFO = "id_token", "userinfo"
"""Where a person's roles can be read."""


class NoRole(SignInFailed):
    """The person has no role at this clinic, or none any more."""


def person_of(tenant: Tenant, issuer: str, claims: Mapping[str, Any], *, roles_from: str = "") -> Person:
    """Return the person that the claims describe; raise NoRole if they have no role at this clinic.

    `roles_from` is where the claim of the roles was read.
    """
    held = claims.get(tenant.roles.claim)
    values = cast("list[object]", held) if isinstance(held, list) else [held]
    roles = frozenset(value for value in values if isinstance(value, str))
    side = tenant.roles.side(roles)
    if side is None:
        raise NoRole("no role at this clinic")

    def text(*names: str) -> str:
        return next((value for name in names if isinstance(value := claims.get(name), str) and value), "")

    auth_time = claims.get("auth_time")
    return Person(
        sub=claims["sub"],
        issuer=issuer,
        name=text("name", "preferred_username", "email") or "–",
        given_name=text("given_name", "name", "preferred_username"),
        side=side,
        roles=roles & (tenant.roles.staff | tenant.roles.patient),
        roles_from=roles_from,
        # Without auth_time it isn't known when the password was entered; signing then always asks for it.
        auth_time=float(auth_time) if isinstance(auth_time, int | float) else 0.0,
        sid=text("sid") or None,
        locale=text("locale") or None,
    )


def userinfo(metadata: Metadata, answer: Mapping[str, Any], sub: str, timeouts: Timeouts) -> dict[str, Any]:
    """Return the claims from the UserInfo endpoint for the access token in a token response (Core §5.3.2).

    Raises AnotherPerson if they belong to another person, Unavailable if they can't be read.
    """
    headers = [("Authorization", f"Bearer {answer.get('access_token')}"), ("Accept", "application/json")]
    call = Call(
        "GET",
        metadata.userinfo_endpoint or "",
        headers,
        connect_timeout=timeouts.connect,
        timeout=timeouts.read,
    )
    try:
        told = transport.send(call, alone=True)
        if told.status != 200:
            raise Unavailable(f"userinfo: status {told.status}")
        claims = msgspec.json.decode(told.body, type=dict[str, Any])
    except (TransportError, msgspec.DecodeError, RecursionError) as error:
        raise Unavailable("userinfo") from error
    if "sub" not in claims:  # always there (Core §5.3.2), so this isn't about anybody
        raise Unavailable("userinfo: no sub")
    if claims["sub"] != sub:
        raise AnotherPerson("userinfo of another person")
    return claims
