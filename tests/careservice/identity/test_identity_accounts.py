"""A disabled account gets nothing more for what it holds, and the client is told so in OAuth's own words."""

from __future__ import annotations

import pytest

from tests.careservice.identity.identity_server import IdentityServer


def disable(server: IdentityServer) -> None:
    with server.engine.begin() as connection:
        connection.exec_driver_sql("UPDATE people SET is_active = false WHERE username = 'amelia'")


@pytest.mark.asvs("7.4.2")
def test_a_disabled_accounts_code_and_refresh_token_are_invalid_grants(server: IdentityServer) -> None:
    refresh_token = server.tokens()["refresh_token"]
    code = server.browser().sign_in("amelia")["code"]
    disable(server)
    for answer in (server.refresh(refresh_token), server.exchange(code)):
        assert (answer.status_code, answer.get_json()["error"]) == (400, "invalid_grant"), answer.text


def test_a_disabled_accounts_tokens_are_inactive(server: IdentityServer) -> None:
    tokens = server.tokens()
    disable(server)
    for name in ("access_token", "refresh_token"):
        told = server.post("/connect/introspect", "riverside-service", token=tokens[name]).get_json()
        assert told == {"active": False}, name
    assert server.userinfo(tokens["access_token"]).status_code == 401


def test_a_disabled_accounts_browser_is_asked_to_sign_in(server: IdentityServer) -> None:
    browser = server.browser()
    browser.sign_in("amelia")
    disable(server)
    silent = browser.authorize(prompt="none")
    assert "error=login_required" in silent.headers["Location"]
    assert browser.authorize().headers["Location"].startswith("/sign-in?")
