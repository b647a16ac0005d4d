"""The budget of an address: who has a whole network of them has one budget all the same."""

from __future__ import annotations

from collections import Counter

import pytest

from portal.careservice.identity.throttle import FREE_PER_ADDRESS
from tests.careservice.identity.identity_server import Browser, IdentityServer


def browser_at(server: IdentityServer, address: str) -> Browser:
    browser = server.browser()
    browser.http.environ_base["REMOTE_ADDR"] = address
    return browser


def guess(server: IdentityServer, address: str, name: str) -> int:
    browser = browser_at(server, address)
    return browser.submit(browser.page(), name, "a guess").status_code


@pytest.mark.parametrize(
    ("addresses", "elsewhere"),
    [("2001:db8:1:2::{:x}", "2001:db8:1:3::1"), ("::ffff:192.0.2.7", "192.0.2.8")],
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
