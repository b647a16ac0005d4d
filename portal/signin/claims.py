"""The signed-in person, from the claims of the ID token, and of UserInfo if the ID token contains no roles."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, cast

import msgspec

from portal.config.tenants import Tenant
from portal.config.variables import Timeouts
from portal.http import transport
from portal.http.transfer import Answer, Call, TransportError
from portal.services.errors import Unavailable
from portal.signin.discovery import Provider
from portal.signin.dpop import Prover
from portal.signin.errors import AnotherPerson, SignInFailed
from portal.signin.signatures import accepted_algorithms, decode
from portal.signin.tokens import code_for_log
from portal.state.session_records import Person

ID_TOKEN, USERINFO = "id_token", "userinfo"
"""Where a person's roles can be read."""


_CLASS = re.compile(r"[\x21-\x7e]{1,200}")
_MOST_METHODS = 20
_REFUSAL = re.compile(r'(?:^|[\s,])error\s*=\s*"?([a-z_]{1,40})(?=["\s,]|$)')
"""The code in the challenge of a server that refuses an access token (RFC 6750 §3): a proxy's 401 or 403 has none."""
_OF_ID_TOKEN = frozenset({"acr", "amr", "auth_time"})


class NoRole(SignInFailed):
    """The person has no role at this clinic, or none any more, or belongs to another clinic."""


def person_of(tenant: Tenant, issuer: str, claims: dict[str, Any], *, roles_from: str = "") -> Person:
    """Return the person that the claims describe; raise NoRole if they have no role at this clinic.

    `roles_from` is where the claim of the roles was read.
    """
    roles = tenant.roles.named(words(claim_at(claims, tenant.roles.claim), tenant.roles.separator))
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
        acr=next(iter(_class_words([claims.get("acr")])), ""),
        amr=_class_words(words(claims.get("amr")))[:_MOST_METHODS],
        nonce=text("nonce"),
        record=_number(claim_at(claims, tenant.record_claim or ())),
    )


def _number(held: object) -> str:
    """The number that a claim holds, as text; empty if it holds none."""
    return str(held) if isinstance(held, str | int) and not isinstance(held, bool) else ""


def _class_words(held: Sequence[object]) -> tuple[str, ...]:
    """The words among these that can be values of `acr` or `amr`: short, printable ASCII without spaces."""
    return tuple(value for value in held if isinstance(value, str) and _CLASS.fullmatch(value))


def claim_at(claims: dict[str, Any], path: Sequence[str]) -> object:
    """Return the value of the claim at this path, such as `("realm_access", "roles")`; None if there is none."""
    held: object = claims
    for name in path:
        held = cast("dict[str, object]", held).get(name) if isinstance(held, dict) else None
    return held


def words(held: object, separator: str = "") -> list[str]:
    """Return the words that a claim holds: a text, separated ones, a list's texts, or the keys of an object."""
    match held:
        case str():
            return [word.strip() for word in held.split(separator)] if separator else [held]
        case list():
            return [value for value in cast("list[object]", held) if isinstance(value, str)]
        case dict():
            values = cast("dict[str, object]", held)
            return [name for name, value in values.items() if value not in (None, False)]
        case _:
            return []


def is_of_clinic(tenant: Tenant, claims: dict[str, Any]) -> bool:
    """Whether the tenant's claim, if one is configured, has its value, or holds it among others."""
    if not tenant.tenant_claim:
        return True
    held = claim_at(claims, tenant.tenant_claim)
    values: Sequence[object] = words(held)
    if not isinstance(held, str | dict):
        values = cast("list[object]", held) if isinstance(held, list) else [held]
    return str(tenant.tenant_id) in map(str, values)


def merged(told: dict[str, Any], claims: dict[str, Any], path: Sequence[str]) -> dict[str, Any]:
    """Return UserInfo's claims under those of the ID token; along the path, those of both.

    How and when somebody signed in is told by the ID token alone.
    """
    both, (name, *rest) = {**told, **claims}, path
    for own in _OF_ID_TOKEN - claims.keys():
        both.pop(own, None)
    if rest and isinstance(told.get(name), dict) and isinstance(claims.get(name), dict):
        both[name] = merged(told[name], claims[name], rest)
    return both


def userinfo(
    tenant: Tenant,
    provider: Provider,
    answer: Mapping[str, Any],
    sub: str,
    timeouts: Timeouts,
    prover: Prover | None = None,
) -> dict[str, Any]:
    """Return the claims from the UserInfo endpoint for the access token in a token response (Core §5.3.2).

    With a `prover` the token is bound to its key. The claims may be signed. Raises AnotherPerson if they belong to another
    person, SignInFailed if their signature isn't valid or the server refuses the token or its proof, Unavailable if they
    can't be read.
    """
    metadata = provider.metadata()
    url, token = metadata.userinfo_endpoint or "", str(answer.get("access_token"))

    def ask(nonce: str | None = None) -> Answer:
        bound = (
            prover.authorization(token, "GET", url, nonce)
            if prover
            else [("Authorization", f"Bearer {token}")]
        )
        headers = [*bound, ("Accept", "application/json, application/jwt")]
        call = Call("GET", url, headers, connect_timeout=timeouts.connect, timeout=timeouts.read)
        return transport.send(call, alone=True)

    try:
        told = ask()
        if prover and (nonce := prover.nonce_demanded(url, told.status, told.headers)):
            told = ask(nonce)
        if told.status in (401, 403) and (code := _REFUSAL.search(told.headers.get("www-authenticate", ""))):
            raise SignInFailed(f"userinfo refused: {code_for_log(code[1])}")
        if told.status != 200:
            raise Unavailable(f"userinfo: status {told.status}")
        is_signed = told.headers.get("content-type", "").lower().startswith("application/jwt")
        claims = _signed(told.body, tenant, provider) if is_signed else _plain(told.body)
    except (TransportError, msgspec.DecodeError, RecursionError) as error:
        raise Unavailable("userinfo") from error
    if "sub" not in claims:  # always there (Core §5.3.2), so this isn't about anybody
        raise Unavailable("userinfo: no sub")
    if claims["sub"] != sub:
        raise AnotherPerson("userinfo of another person")
    return claims


def _plain(body: bytes) -> dict[str, Any]:
    return msgspec.json.decode(body, type=dict[str, Any])


def _signed(body: bytes, tenant: Tenant, provider: Provider) -> dict[str, Any]:
    """Verify signed UserInfo; its issuer and audience have to be right where it names them (Core §5.3.2)."""
    claims = decode(body.decode("ascii", "replace"), provider, accepted_algorithms(tenant)).claims
    audience = claims.get("aud", tenant.client.client_id)
    if claims.get("iss", provider.metadata().issuer) != provider.metadata().issuer:
        raise SignInFailed("userinfo of another issuer")
    if tenant.client.client_id not in (audience if isinstance(audience, list) else [audience]):
        raise SignInFailed("userinfo for another client")
    return claims
