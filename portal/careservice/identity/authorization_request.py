"""Authorization requests: parses their parameters and validates them against the client's registration."""

# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false
# (Authlib has no types.)

from __future__ import annotations

import base64
import re
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import unquote, urlencode

from authlib.oauth2 import OAuth2Error
from authlib.oauth2.rfc6749 import OAuth2Request
from authlib.oauth2.rfc6749.errors import InvalidRequestError
from authlib.oauth2.rfc6749.requests import BasicOAuth2Payload
from flask import request
from sqlalchemy.orm import Session
from werkzeug.datastructures import MultiDict

from portal.careservice.identity.tables import Client, Tenant
from portal.careservice.identity.tokens import InvalidToken, id_token_claims
from portal.careservice.settings import current_settings

SUPPORTED = frozenset(
    [
        "client_id",
        "redirect_uri",
        "response_type",
        "response_mode",
        "scope",
        "state",
        "nonce",
        "code_challenge",
        "code_challenge_method",
        "dpop_jkt",
        "prompt",
        "max_age",
        "login_hint",
        "id_token_hint",
        "acr_values",
        "ui_locales",
        "request",
        "request_uri",
        "registration",
    ]
)
"""The supported parameters of an authorization request; others are ignored (RFC 6749 §3.1)."""

_LONGEST = 8192
_THUMBPRINT = re.compile(r"[A-Za-z0-9_-]{43}")
_PROMPTS = frozenset({"none", "login", "consent", "select_account"})


class RepeatedParameter(InvalidRequestError):
    """A parameter that occurs more than once."""


class RefusedRequest(Exception):
    """A refused authorization request; `location` is the redirect URI with the error, None if it isn't trusted."""

    def __init__(self, code: str, description: str = "", asked: Mapping[str, str] | None = None) -> None:
        super().__init__(code)
        self.code = code
        self.description = description
        self.location = _error_address(code, description, asked) if asked else None


@dataclass(frozen=True)
class ValidatedRequest:
    """A valid authorization request; `max_age` is in seconds, `sub` is the person that the client wants, if any."""

    client: Client
    tenant: Tenant
    parameters: Mapping[str, str]
    prompts: frozenset[str]
    max_age: int | None
    sub: str | None

    @property
    def acr_values(self) -> list[str]:
        """The classes of sign-in that the client wants, besides the clinic that they may name."""
        return self.parameters.get("acr_values", "").split()

    @property
    def redirect_uri(self) -> str:
        """Where the response goes: exactly as registered."""
        return self.parameters["redirect_uri"]


class OAuthRequest(OAuth2Request):
    """A request in Authlib's form, made of parameters that `single_values` accepted.

    Authlib would take the URI from the `Host` header, reject one that it considers insecure, and fail on
    credentials that aren't UTF-8. The URI is unused here, and transport security is up to the operator.
    """

    def __init__(self, parameters: Mapping[str, str], headers: Mapping[str, str] | None = None) -> None:
        super().__init__("POST", "https://issuer.invalid", headers=dict(headers or {}))
        self._parameters = dict(parameters)
        self.payload = BasicOAuth2Payload(self._parameters)

    @property
    def form(self) -> dict[str, str]:
        """The parameters, as the token endpoint's grants read them."""
        return self._parameters


def single_values(given: MultiDict[str, str]) -> dict[str, str]:
    """The parameters by name, without empty ones, which count as omitted (RFC 6749 §3.1, §3.2).

    Raises RepeatedParameter, and InvalidRequestError for an overlong or binary one.
    """
    for name, values in given.lists():
        if any(len(value) > _LONGEST or not (name + value).isprintable() for value in values):
            raise InvalidRequestError("A parameter is too long or holds control characters.")
    for _, values in given.lists():
        if len(values) > 1:
            raise RepeatedParameter("A parameter is repeated.")
    return {name: value for name, value in given.items() if value}


def posted_request() -> OAuthRequest:
    """The posted form with the client's credentials, one kind only (RFC 6749 §2.3); raises InvalidRequestError."""
    form, header = single_values(request.form), request.headers.get("Authorization", "")
    is_basic = header.partition(" ")[0].lower() == "basic"
    if sum((is_basic, "client_secret" in form, "client_assertion" in form)) > 1:
        raise InvalidRequestError("The client uses more than one authentication method.")
    credentials = _basic_credentials(header) if is_basic else None
    if not credentials:
        return OAuthRequest(form)
    client_id = unquote(credentials.partition(":")[0])
    if form.get("client_id", client_id) != client_id:
        raise InvalidRequestError("The client_id is another client's.")
    return OAuthRequest(form, {"Authorization": f"Basic {base64.b64encode(credentials.encode()).decode()}"})


def repeated(session: Session, given: MultiDict[str, str]) -> RefusedRequest:
    """The refusal of a request that repeats a parameter; it goes back to the client if that and its address are known."""
    once = {name: values[0] for name, values in given.lists() if len(values) == 1}
    client = session.get(Client, once.get("client_id", ""))
    is_trusted = client is not None and client.check_redirect_uri(once.get("redirect_uri", ""))
    return RefusedRequest("invalid_request", "A parameter is repeated.", once if is_trusted else None)


def validate(session: Session, parameters: Mapping[str, str]) -> ValidatedRequest:
    """The authorization request in `parameters` (OpenID Connect Core §3.1.2.2); raises RefusedRequest.

    An error goes back to the client only once client and redirect URI are known to be valid.
    """
    client = session.get(Client, parameters.get("client_id", ""))
    if client is None or not client.check_grant_type("authorization_code"):
        raise RefusedRequest("invalid_client", "The client is unknown.")
    if not client.check_redirect_uri(parameters.get("redirect_uri", "")):
        raise RefusedRequest("invalid_request", "The redirect_uri is not one of the client's.")

    def refused(code: str, description: str) -> RefusedRequest:
        return RefusedRequest(code, description, parameters)

    if "request" in parameters:
        raise refused("request_not_supported", "Request objects are not supported.")
    if "registration" in parameters:
        raise refused("registration_not_supported", "Clients can't describe themselves in a request.")
    if "request_uri" in parameters:
        raise refused("request_uri_not_supported", "Only a pushed request has a request_uri.")
    response_type = parameters.get("response_type")
    if response_type is None:
        raise refused("invalid_request", "Missing response_type.")
    if response_type != "code":
        raise refused("unsupported_response_type", "Only response_type=code is supported.")
    if parameters.get("response_mode", "query") != "query":
        raise refused("invalid_request", "Only response_mode=query is supported.")
    if not parameters.get("code_challenge") or parameters.get("code_challenge_method") != "S256":
        raise refused("invalid_request", "PKCE with code_challenge_method=S256 is required.")
    prompts = frozenset(parameters.get("prompt", "").split())
    if not prompts <= _PROMPTS or ("none" in prompts and len(prompts) > 1):
        raise refused("invalid_request", "Unknown or contradictory prompt.")
    max_age = parameters.get("max_age") or None
    if max_age is not None and not (max_age.isascii() and max_age.isdecimal() and len(max_age) < 10):
        raise refused("invalid_request", "max_age has to be a number of seconds.")
    if not _THUMBPRINT.fullmatch(parameters.get("dpop_jkt", "0" * 43)):
        raise refused("invalid_request", "dpop_jkt has to be a SHA-256 thumbprint.")
    tenant = session.get_one(Tenant, client.tenant_id)
    if _tenant_names(parameters) - {tenant.name}:
        raise refused("invalid_request", "The client does not belong to that tenant.")
    try:
        sub = _hinted(session, parameters, client)
    except InvalidToken:
        raise refused("invalid_request", "The id_token_hint is not one of the client's.") from None
    return ValidatedRequest(
        client, tenant, parameters, prompts, int(max_age) if max_age is not None else None, sub
    )


def _hinted(session: Session, parameters: Mapping[str, str], client: Client) -> str | None:
    """The `sub` of the `id_token_hint` (OpenID Connect Core §3.1.2.1), even of an expired one."""
    if "id_token_hint" not in parameters:
        return None
    claims = id_token_claims(session, parameters["id_token_hint"])
    if claims["aud"] != client.client_id:
        raise InvalidToken
    return str(claims["sub"])


def refusal(error: OAuth2Error, asked: ValidatedRequest) -> RefusedRequest:
    """Authlib's error as a refusal of `asked`."""
    return RefusedRequest(str(error.error), str(error.description or ""), asked.parameters)


def answer_address(redirect_uri: str, parameters: Mapping[str, str]) -> str:
    """The redirect URI with the response's parameters, including the issuer (RFC 9207 §2)."""
    return with_parameters(redirect_uri, {**parameters, "iss": current_settings().issuer})


def with_parameters(address: str, parameters: Mapping[str, str]) -> str:
    """The address with `parameters` appended to its query."""
    return f"{address}{'&' if '?' in address else '?'}{urlencode(parameters)}"


def _error_address(code: str, description: str, asked: Mapping[str, str]) -> str:
    parameters = {"error": code, "error_description": description, "state": asked.get("state", "")}
    return answer_address(asked["redirect_uri"], {name: value for name, value in parameters.items() if value})


def _tenant_names(parameters: Mapping[str, str]) -> set[str]:
    values = parameters.get("acr_values", "").split()
    return {value.removeprefix("tenant:") for value in values if value.startswith("tenant:")}


def _basic_credentials(header: str) -> str | None:
    """The credentials in a Basic header; None if they can't be read, empty if there are none.

    Both parts are form-urlencoded (RFC 6749 §2.3.1). Authlib decodes them but for the plus sign, which becomes `%20` here.
    """
    try:
        credentials = base64.b64decode(header.partition(" ")[2].strip(), validate=True).decode()
    except ValueError:
        return None
    return credentials.replace("+", "%20")
