"""NUL and other bytes that a database can't store, in every form field and URL: never a server error."""

from __future__ import annotations

import base64
from urllib.parse import quote

import pytest

from tests.careservice.identity.identity_server import (
    CALLBACK,
    CHALLENGE,
    SCOPE,
    SECRETS,
    VERIFIER,
    IdentityServer,
)

CLIENT = "riverside-portal"
AUTHORIZE = {
    "client_id": CLIENT,
    "redirect_uri": CALLBACK,
    "response_type": "code",
    "scope": SCOPE,
    "state": "s",
    "nonce": "n",
    "code_challenge": CHALLENGE,
    "code_challenge_method": "S256",
    "prompt": "login",
    "max_age": "5",
    "login_hint": "amelia",
    "acr_values": "tenant:riverside",
    "ui_locales": "en",
}
SECRET = {"client_id": CLIENT, "client_secret": SECRETS[CLIENT]}
FORMS: list[tuple[str, str, dict[str, str]]] = [
    ("GET", "/connect/authorize", AUTHORIZE),
    ("POST", "/connect/authorize", AUTHORIZE),
    ("POST", "/connect/par", {**AUTHORIZE, **SECRET, "request_uri": "urn:x", "request": "x"}),
    (
        "POST",
        "/connect/token",
        {
            **SECRET,
            "grant_type": "authorization_code",
            "code": "c",
            "redirect_uri": CALLBACK,
            "code_verifier": VERIFIER,
        },
    ),
    ("POST", "/connect/token", {**SECRET, "grant_type": "refresh_token", "refresh_token": "r"}),
    ("POST", "/connect/token", {**SECRET, "grant_type": "client_credentials", "scope": "ClientelePortal"}),
    ("POST", "/connect/revocation", {**SECRET, "token": "t", "token_type_hint": "refresh_token"}),
    ("POST", "/connect/introspect", {**SECRET, "token": "t", "token_type_hint": "access_token"}),
    ("POST", "/connect/userinfo", {"access_token": "t"}),
    ("GET", "/sign-in", {"request": "r"}),
    ("POST", "/sign-in", {"request": "r", "username": "amelia", "password": "p"}),
    (
        "GET",
        "/connect/endsession",
        {
            "client_id": CLIENT,
            "logout_hint": "h",
            "id_token_hint": "i",
            "post_logout_redirect_uri": "http://riverside.localhost:8000/signed-out",
            "state": "s",
            "ui_locales": "en",
        },
    ),
]
BAD = ("\0", "a\0b", "\ud800", "\x7f", "\u202e", "x" * 9000)


@pytest.mark.parametrize(("method", "path", "form"), FORMS, ids=[f"{m} {p} {len(f)}" for m, p, f in FORMS])
def test_a_form_field_that_no_database_can_store_is_refused(
    server: IdentityServer, method: str, path: str, form: dict[str, str]
) -> None:
    client = server.app.test_client()
    for name in [*form, "unknown", "na\0me"]:
        for bad in BAD:
            sent = {**form, name: bad}
            text = "&".join(
                f"{quote(key, errors='surrogatepass')}={quote(value, errors='surrogatepass')}"
                for key, value in sent.items()
            )
            answer = (
                client.get(f"{path}?{text}")
                if method == "GET"
                else client.post(path, data=text, content_type="application/x-www-form-urlencoded")
            )
            assert answer.status_code < 500, (name, bad[:5], answer.status_code)


@pytest.mark.parametrize("bad", [bad for bad in BAD if bad != "\ud800"])
def test_the_sign_in_page_refuses_characters_that_no_database_can_store(
    server: IdentityServer, bad: str
) -> None:
    browser = server.browser()
    page = browser.page()
    for username, password in ((bad, "p"), ("amelia", bad), (f"ame{bad}lia", "p")):
        assert browser.submit(page, username, password).status_code in (400, 401, 413, 429)


@pytest.mark.parametrize("path", ["/identity/a%00b.css", "/identity/%00.css", "/identity/%ED%A0%80.css"])
def test_an_address_with_characters_that_no_database_can_store_is_not_found(
    server: IdentityServer, path: str
) -> None:
    assert server.app.test_client().get(path).status_code < 500


@pytest.mark.parametrize("bad", ["\0", "a\0b", "\udc80"])
def test_credentials_and_cookies_that_no_database_can_store_are_refused(
    server: IdentityServer, bad: str
) -> None:
    client = server.app.test_client()
    raw = bad.encode("utf-8", "surrogateescape")
    for user, password in ((raw, b"x"), (CLIENT.encode(), raw), (quote(raw).encode(), b"x")):
        basic = base64.b64encode(user + b":" + password).decode()
        answer = client.post(
            "/connect/token",
            data={"grant_type": "client_credentials"},
            headers={"Authorization": f"Basic {basic}"},
        )
        assert answer.status_code < 500
    for token in (bad.encode("utf-8", "surrogateescape").decode("latin-1"), "a.b.c"):
        answer = client.get("/connect/userinfo", environ_overrides={"HTTP_AUTHORIZATION": f"Bearer {token}"})
        assert answer.status_code < 500
    for name in ("idsrv", "idsrv_browser", "idsrv.session"):
        answer = client.get(
            "/connect/authorize", environ_overrides={"HTTP_COOKIE": f"{name}={bad!r}"}, query_string=AUTHORIZE
        )
        assert answer.status_code < 500
