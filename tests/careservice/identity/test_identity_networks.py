"""What a stranger's network may use up: who has many addresses in one has one budget all the same."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from portal.careservice.app import create_app
from portal.careservice.identity import authorize
from portal.careservice.identity.throttle import FREE_PER_ADDRESS
from portal.careservice.settings import Settings
from tests.careservice.identity.identity_server import CALLBACK, CHALLENGE, ISSUER, Browser, IdentityServer


def browser_at(server: IdentityServer, address: str) -> Browser:
    browser = server.browser()
    browser.http.environ_base["REMOTE_ADDR"] = address
    return browser


def guess(server: IdentityServer, address: str, name: str) -> int:
    browser = browser_at(server, address)
    return browser.submit(browser.page(), name, "a guess").status_code


@pytest.mark.parametrize(
    ("addresses", "elsewhere"), [("2001:db8:1:2::{:x}", "2001:db8:1:3::1"), ("::ffff:192.0.2.7", "192.0.2.8")]
)
def test_guesses_at_many_names_from_one_network_are_throttled(
    server: IdentityServer, monkeypatch: pytest.MonkeyPatch, addresses: str, elsewhere: str
) -> None:
    monkeypatch.setattr("portal.careservice.identity.passwords.matches", lambda *_: False)
    answers = Counter(
        guess(server, addresses.format(number), f"name-{number}") for number in range(FREE_PER_ADDRESS + 5)
    )
    assert answers == {401: FREE_PER_ADDRESS, 429: 5}
    assert guess(server, elsewhere, "another") == 401
    if "ffff" in addresses:
        assert guess(server, "192.0.2.7", "another") == 429, "the same address, written in IPv6"


def test_sign_ins_that_wait_are_limited_by_network_and_forgotten(
    server: IdentityServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(authorize, "_MOST_PER_PLACE", 5)
    here = [f"2001:db8:1:2::{number:x}" for number in range(8)]
    assert [browser_at(server, one).authorize().status_code for one in here] == [303] * 5 + [429] * 3
    refused = browser_at(server, here[0]).authorize()
    assert refused.headers["Retry-After"] == "60"
    assert "Please try again" in refused.text
    assert "tel:" in refused.text, "it may not be able to wait"
    assert 'href="http://riverside.localhost:8000/"' in refused.text, (
        "a pushed request is over after a minute"
    )
    assert browser_at(server, "2001:db8:1:3::1").authorize().status_code == 303
    server.clock.advance(minutes=16)
    assert browser_at(server, here[0]).authorize().status_code == 303
    server.clock.advance(hours=13)
    assert browser_at(server, here[0]).authorize().status_code == 303
    assert rows(server, "authorization_requests") == 1


def test_strangers_of_a_clinics_network_keep_no_known_browser_out(
    server: IdentityServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A ward, its patients and whoever else is in its network have one address."""
    monkeypatch.setattr(authorize, "_MOST_PER_PLACE", 2)
    wards = browser_at(server, "192.0.2.7")
    wards.sign_in("amelia")
    strangers = [browser_at(server, "192.0.2.7").authorize().status_code for _ in range(3)]
    assert strangers == [303, 303, 429]
    assert [wards.authorize(prompt="login").status_code for _ in range(3)] == [303, 303, 429]


def test_a_browser_behind_a_proxy_has_its_own_network(
    server: IdentityServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(authorize, "_MOST_PER_PLACE", 1)
    settings = Settings(database_url=server.url, issuer=ISSUER, proxy_hops=1)
    server.app = create_app(settings, engine=server.engine, time=server.clock)
    for address, status in (("192.0.2.1", 303), ("192.0.2.1", 429), ("192.0.2.2", 303)):
        browser = browser_at(server, "10.0.0.1")
        browser.http.environ_base["HTTP_X_FORWARDED_FOR"] = f"203.0.113.9, {address}"
        assert browser.authorize().status_code == status


def test_a_finished_sign_in_makes_room_for_another(
    server: IdentityServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(authorize, "_MOST_PER_PLACE", 2)
    for _ in range(4):
        assert "code" in browser_at(server, "192.0.2.7").sign_in("amelia")


def test_pushed_requests_are_forgotten_without_a_sign_in(server: IdentityServer) -> None:
    for _ in range(3):
        assert push(server).status_code == 201
        server.clock.advance(minutes=2)
    assert rows(server, "authorization_requests") == 1


def test_failures_are_forgotten_without_a_sign_in(
    server: IdentityServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("portal.careservice.identity.passwords.matches", lambda *_: False)
    for number in range(3):
        assert guess(server, "192.0.2.7", f"name-{number}") == 401
        server.clock.advance(minutes=20)
    assert rows(server, "failed_sign_ins") == 1


def push(server: IdentityServer) -> Any:
    return server.post(
        "/connect/par",
        response_type="code",
        redirect_uri=CALLBACK,
        scope="openid",
        code_challenge=CHALLENGE,
        code_challenge_method="S256",
    )


def rows(server: IdentityServer, table: str) -> int:
    with server.engine.connect() as connection:
        return connection.exec_driver_sql(f"SELECT count(*) FROM {table}").scalar_one()  # noqa: S608
