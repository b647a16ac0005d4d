"""Errors as RFC 6749, 6750, 7617 and OpenID Connect Core say, where a stranger's client meets them."""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import Any
from urllib.parse import quote, quote_plus

import pytest

from portal.careservice import database
from portal.careservice.identity.tables import Client, digest
from tests.careservice.identity.identity_server import (
    CALLBACK,
    ISSUER,
    SECRETS,
    SIGNED_OUT,
    IdentityServer,
    answer_in,
)

ASSERTION = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"


def basic(client: str, secret: str | None = None) -> dict[str, str]:
    given = f"{quote(client)}:{quote(SECRETS[client] if secret is None else secret)}"
    return {"Authorization": "Basic " + base64.b64encode(given.encode()).decode()}


def ask(server: IdentityServer, path: str, headers: dict[str, str], **form: str) -> Any:
    return server.app.test_client().post(path, data=form, headers=headers)


@pytest.mark.parametrize("path", ["token", "par", "revocation", "introspect"])
def test_a_client_that_is_not_authenticated_is_told_how_to(server: IdentityServer, path: str) -> None:
    for headers in ({}, basic("riverside-portal", "wrong"), {"Authorization": "Basic !!!"}):
        answer = ask(server, f"/connect/{path}", headers, grant_type="refresh_token", token="t")
        assert (answer.status_code, answer.get_json()["error"]) == (401, "invalid_client")
        assert answer.headers["WWW-Authenticate"] == f'Basic realm="{ISSUER}"'


@pytest.mark.parametrize("path", ["token", "par", "revocation", "introspect"])
@pytest.mark.parametrize(
    ("headers", "form"),
    [
        (basic("riverside-portal"), {"client_id": "harbour-portal"}),
        (basic("riverside-portal"), {"client_secret": SECRETS["riverside-portal"]}),
        (basic("riverside-portal"), {"client_assertion": "a.b.c", "client_assertion_type": ASSERTION}),
        ({"Authorization": "Basic !!!"}, {"client_secret": SECRETS["riverside-portal"]}),
        ({}, {"client_secret": "s", "client_assertion": "a.b.c", "client_assertion_type": ASSERTION}),
    ],
)
def test_one_client_authenticates_in_one_way(
    server: IdentityServer, path: str, headers: dict[str, str], form: dict[str, str]
) -> None:
    sent = {
        "grant_type": "refresh_token",
        "refresh_token": "t",
        "token": "t",
        "client_id": "riverside-portal",
    }
    answer = ask(server, f"/connect/{path}", headers, **{**sent, **form})
    assert (answer.status_code, answer.get_json()["error"]) == (400, "invalid_request")


@pytest.mark.parametrize("encode", [quote, quote_plus])
@pytest.mark.parametrize("secret", ["two words", "one+one=two", "100%25 a:b&c", "Zürich ✓"])
def test_basic_credentials_are_form_urlencoded(
    server: IdentityServer, encode: Callable[[str], str], secret: str
) -> None:
    client = "riverside-service"
    with database.new_session(server.engine) as session:
        session.get_one(Client, client).secret_hash = digest(secret)
        session.commit()
    form = {"grant_type": "client_credentials", "scope": "ClientelePortal"}
    for shown in (secret, secret + " ", secret.swapcase()):
        given = base64.b64encode(f"{encode(client)}:{encode(shown)}".encode()).decode()
        answer = ask(server, "/connect/token", {"Authorization": f"Basic {given}"}, **form)
        assert answer.status_code == (200 if shown == secret else 401), answer.get_json()


def test_a_client_may_repeat_its_own_id_in_the_form(server: IdentityServer) -> None:
    form = {"grant_type": "refresh_token", "refresh_token": "t", "client_id": "riverside-portal"}
    answer = ask(server, "/connect/token", basic("riverside-portal"), **form, client_secret="")
    assert answer.get_json()["error"] == "invalid_grant", "an empty parameter counts as left out"


def test_a_token_request_needs_a_grant_type(server: IdentityServer) -> None:
    for form in ({}, {"grant_type": ""}):
        answer = ask(server, "/connect/token", basic("riverside-portal"), **form)
        assert (answer.status_code, answer.get_json()["error"]) == (400, "invalid_request")


def test_a_client_cannot_describe_itself(server: IdentityServer) -> None:
    answer = answer_in(server.browser().authorize(registration="{}"))
    assert (answer["error"], answer["state"]) == ("registration_not_supported", "a state")


@pytest.mark.parametrize(
    "empty", ["request", "request_uri", "registration", "id_token_hint", "max_age", "prompt", "response_mode"]
)
def test_a_parameter_without_a_value_counts_as_left_out(server: IdentityServer, empty: str) -> None:
    browser = server.browser()
    browser.sign_in("amelia")
    assert "code" in answer_in(browser.authorize(**{empty: ""}))


@pytest.mark.parametrize("name", ["state", "scope", "nonce", "unknown"])
def test_the_client_is_told_of_a_repeated_parameter(server: IdentityServer, name: str) -> None:
    answer = answer_in(server.browser().authorize(**{name: ["openid", "openid"]}))
    assert (answer["error"], answer["iss"]) == ("invalid_request", ISSUER)
    assert answer.get("state") == (None if name == "state" else "a state")


@pytest.mark.parametrize("name", ["client_id", "redirect_uri"])
def test_nobody_is_redirected_where_it_is_not_known_to_whom(server: IdentityServer, name: str) -> None:
    given = {"client_id": ["riverside-portal"] * 2, "redirect_uri": [CALLBACK, SIGNED_OUT]}[name]
    assert server.browser().authorize(**{name: given}).status_code == 400
    elsewhere = server.browser().authorize(state=["a", "b"], redirect_uri="https://evil.example/")
    assert elsewhere.status_code == 400


@pytest.mark.parametrize("given", [None, "Basic eDp5", "Bearer", "Bearer "])
def test_userinfo_names_no_error_where_no_token_came(server: IdentityServer, given: str | None) -> None:
    headers = {"Authorization": given} if given else {}
    answer = server.app.test_client().get("/connect/userinfo", headers=headers)
    assert (answer.status_code, answer.headers["WWW-Authenticate"]) == (401, "Bearer")
