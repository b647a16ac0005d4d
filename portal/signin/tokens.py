"""Token responses, and validation of ID tokens.

Authlib implements the protocol (RFC 6749, RFC 7636, RFC 7009); the checks that it skips by default are made here.
"""

from __future__ import annotations

import io
import math
import random
import re
import secrets
from collections.abc import Collection, Mapping
from typing import Annotated, Any, cast

import msgspec
import requests
from authlib.integrations.base_client import OAuthError
from authlib.integrations.requests_client import OAuth2Session
from authlib.oidc.core import CodeIDToken
from joserfc.errors import JoseError

from portal import parse
from portal.config.identity import Client
from portal.config.variables import Timeouts
from portal.http import requests_adapter
from portal.signin import client_authentication
from portal.signin.discovery import Metadata, Provider
from portal.signin.dpop import Prover
from portal.signin.errors import AnotherPerson, NotFresh, SignInFailed
from portal.signin.signatures import SOUND, decode, half_hash
from portal.state.session_records import Person, Tokens
from portal.values import Value

LEEWAY = 30
"""Allowed clock skew, in seconds."""

_LONGEST_ISSUED_AGO = 600
"""The maximum age of an ID token that comes with tokens, in seconds."""

_EARLY = 60.0
_JITTER = 15.0
_UNKNOWN_LIFETIME = 300
_LONGEST_LIFETIME = 24 * 3600
_B64TOKEN = re.compile(r"[\x21-\x7e]+")

NO_CODE = "no_error_code"
"""Stands for the error code of a refusal without a body."""

_CODE = re.compile(r"[a-z_]{1,40}")
_CLAIM = re.compile(r"[`.]([a-z_]{1,40})(?:\[|`$)")
_NO_REFUSAL = frozenset({404, 408, 425, 429})
"""What a proxy answers, or a server that is busy: it says nothing about the token, whatever the body."""

Time = Annotated[float, msgspec.Meta(ge=0, le=253402300799)]
"""Seconds since 1970 in a JWT; the bounds exclude infinity and NaN."""


def oauth_session(
    client: Client,
    metadata: Metadata,
    timeouts: Timeouts,
    *,
    auth_method: str = "",
    prover: Prover | None = None,
    **settings: Any,
) -> OAuth2Session:
    """Return Authlib's client for this registration, using the portal's own HTTP client.

    Without `auth_method`, the client authenticates as the server's metadata allow. With a `prover`, each request has a proof
    of its key, and tokens are bound to that.
    """
    method = auth_method or metadata.auth_method(client)
    session = OAuth2Session(
        client.client_id,
        client.client_secret,
        token_endpoint_auth_method=method,
        revocation_endpoint_auth_method=method,
        code_challenge_method="S256",
        **settings,
    )
    client_authentication.register(session, client, metadata)
    requests_adapter.mount(session, timeouts, prover)
    for answer in ("access_token_response", "refresh_token_response"):
        cast("Any", session).register_compliance_hook(answer, readable)
    return session


def readable(response: requests.Response) -> requests.Response:
    """Pass a response of the token endpoint to Authlib only if it is one (RFC 6749 §5.1, §5.2).

    Raises OAuthError for a 400 or 401 without a body, which is a refusal without a code; and InvalidJSONError for
    anything that is neither tokens nor an OAuth error, such as a proxy's page. `expires_in` is optional and Authlib
    doesn't validate it, so it is kept only if it is a sane number.
    """
    status = response.status_code
    if status >= 500:
        return response
    if status in (400, 401) and not response.content.strip():
        raise OAuthError(NO_CODE)
    try:
        answer = msgspec.json.decode(response.content, type=dict[str, Any])
    except (msgspec.DecodeError, RecursionError) as error:
        raise requests.exceptions.InvalidJSONError("token answer") from error
    if (status >= 400 or "error" in answer) and not _is_oauth_error(status, answer.get("error")):
        raise requests.exceptions.InvalidJSONError("token answer")
    lifetime = _whole_seconds(answer.pop("expires_in", None))
    if lifetime is not None:
        answer["expires_in"] = lifetime
    checked = requests.Response()
    checked.status_code, checked.headers = response.status_code, response.headers
    checked.request, checked.encoding = response.request, "utf-8"
    checked.raw = io.BytesIO(msgspec.json.encode(answer))
    return checked


def _is_oauth_error(status: int, code: object) -> bool:
    """Whether the identity server itself refused: its statuses (RFC 6749 §5.2), or another with a code of OAuth's form."""
    if not isinstance(code, str) or not code or status in _NO_REFUSAL:
        return False
    return status in (400, 401) or _CODE.fullmatch(code) is not None


def code_for_log(code: object) -> str:
    """Return an error code if it has the form of the registered ones (RFC 6749 §11.4): nothing else is logged."""
    return code if isinstance(code, str) and _CODE.fullmatch(code) else "another code"


def read_tokens(
    answer: Mapping[str, Any],
    now: float,
    *,
    keep_id_token: bool,
    before: Tokens | None = None,
    prover: Prover | None = None,
) -> Tokens:
    """Turn a token response (RFC 6749 §5.1) into a record; members it lacks are kept from `before`.

    With a `prover` the access token has to be bound to its key (RFC 9449 §5); nothing else is taken in its place.
    """
    access_token = answer.get("access_token")
    if not isinstance(access_token, str) or not _B64TOKEN.fullmatch(access_token):
        raise SignInFailed("no access token")
    kind = "DPoP" if prover else "Bearer"
    if str(answer.get("token_type", "Bearer")).lower() != kind.lower():
        raise SignInFailed(f"token type is not {kind}")
    lifetime = _whole_seconds(answer.get("expires_in"))
    lifetime = _UNKNOWN_LIFETIME if lifetime is None else lifetime
    refresh_token = answer.get("refresh_token")
    id_token = answer.get("id_token")
    return Tokens(
        access_token=access_token,
        refresh_token=refresh_token
        if isinstance(refresh_token, str)
        else before.refresh_token
        if before
        else None,
        id_token=id_token
        if keep_id_token and isinstance(id_token, str)
        else before.id_token
        if before
        else None,
        expires_at=now + lifetime,
        refresh_at=now + lifetime - min(_EARLY + random.uniform(0, _JITTER), lifetime / 4),  # noqa: S311
        dpop_key=prover.kept if prover else None,
    )


def _whole_seconds(lifetime: object) -> int | None:
    """Return a number of seconds, which some servers send as a string; None if it isn't one."""
    if isinstance(lifetime, str):
        lifetime = parse.whole_number(lifetime, most=parse.LARGEST)
    if not isinstance(lifetime, int | float) or (isinstance(lifetime, float) and math.isnan(lifetime)):
        return None
    return int(min(max(0, lifetime), _LONGEST_LIFETIME))


class Expected(Value, frozen=True):
    """What the ID token of this sign-in must contain."""

    client_id: str
    nonce: str | None
    access_token: object
    auth_time_after: float | None = None
    algorithms: Collection[str] = SOUND


def verify_id_token(token: object, provider: Provider, expected: Expected, now: float) -> dict[str, Any]:
    """Validate an ID token (OpenID Connect Core §3.1.3.7) and return its claims; raise SignInFailed."""
    if not isinstance(token, str) or not token:
        raise SignInFailed("no ID token")
    signed = decode(token, provider, expected.algorithms)
    claims = _with_number(signed.claims, "auth_time")
    held = _checked_claims(claims)
    issuer = provider.metadata().issuer
    options: Any = {"iss": {"value": issuer}, "aud": {"value": expected.client_id}}
    params = {"client_id": expected.client_id, "nonce": expected.nonce}
    try:
        cast("Any", CodeIDToken)(claims, {}, options, params).validate(now=int(now), leeway=LEEWAY)
    except JoseError as error:
        raise SignInFailed(f"ID token: {error.description or error.error}") from error
    if held.iat < now - _LONGEST_ISSUED_AGO - LEEWAY:
        raise SignInFailed("ID token: not issued just now")
    if held.auth_time is not None and held.auth_time > now + LEEWAY:
        raise SignInFailed("ID token: auth_time is ahead")
    if held.at_hash is not None and not secrets.compare_digest(
        held.at_hash.encode(), half_hash(signed.header["alg"], str(expected.access_token))
    ):
        raise SignInFailed("ID token: at_hash of another access token")
    if expected.auth_time_after is not None:
        _check_fresh(held, expected.auth_time_after)
    return claims


def _check_fresh(held: _IdClaims, after: float) -> None:
    if not held.auth_time:  # some servers send 0
        raise NotFresh("ID token: no auth_time", is_dated=False)
    if held.auth_time < after - LEEWAY:
        raise NotFresh("ID token: the password wasn't asked for", is_dated=True)


def verify_refreshed_id_token(
    token: object, provider: Provider, expected: Expected, now: float, *, of: Person
) -> dict[str, Any]:
    """Validate an ID token that came with a refresh (OpenID Connect Core §12.2) and return its claims.

    Raises AnotherPerson if it isn't for the person `of`, and SignInFailed if it is invalid, replayed, or from another
    sign-in than theirs.
    """
    claims = verify_id_token(token, provider, expected, now)
    held = _checked_claims(claims)
    if held.sub != of.sub:
        raise AnotherPerson("ID token of another person")
    is_later = held.auth_time is not None and of.auth_time and abs(held.auth_time - of.auth_time) > LEEWAY
    if is_later or (held.nonce and of.nonce and held.nonce != of.nonce):
        raise SignInFailed("ID token: of another sign-in")
    return claims


def _with_number(claims: dict[str, Any], name: str) -> dict[str, Any]:
    """Turn a number of seconds that a server sends as text into a number."""
    value = claims.get(name)
    number = parse.whole_number(value, most=parse.LARGEST) if isinstance(value, str) else None
    return claims if number is None else {**claims, name: number}


class _IdClaims(msgspec.Struct, frozen=True):
    """The claims that are validated, typed as in Core §2; `sub` has at most 255 characters.

    Authlib requires `azp` for several audiences and compares it with the client, but takes an empty one for none.
    """

    iss: str
    sub: Annotated[str, msgspec.Meta(min_length=1, max_length=255)]
    aud: str | Annotated[list[str], msgspec.Meta(min_length=1)]
    exp: Time
    iat: Time
    nonce: str | None = None
    azp: Annotated[str, msgspec.Meta(min_length=1)] | None = None
    at_hash: str | None = None
    auth_time: Time | None = None
    nbf: Time | None = None


def _checked_claims(claims: Mapping[str, Any]) -> _IdClaims:
    try:
        return msgspec.convert(claims, _IdClaims)
    except msgspec.ValidationError as error:
        found = _CLAIM.search(str(error))
        raise SignInFailed(
            f"ID token: {found[1] if found else 'a claim'} of another type or missing"
        ) from error
