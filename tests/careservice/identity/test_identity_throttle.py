"""Wrong passwords: guessers have to wait, and can't lock anyone else out."""

from __future__ import annotations

import logging
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pytest

from portal.careservice import settings
from portal.careservice.identity import passwords, throttle
from tests.careservice.identity.identity_server import PASSWORD, Browser, IdentityServer


@pytest.fixture(autouse=True)
def cheap_passwords(monkeypatch: pytest.MonkeyPatch) -> None:
    """Look no longer at a password than it takes to count it."""
    monkeypatch.setattr(passwords, "matches", lambda given, kept: kept is not None and given == PASSWORD)


GUESS = "a guess"


class Guesser:
    """A browser at an address, which posts one page again and again."""

    def __init__(self, server: IdentityServer, address: str = "192.0.2.1") -> None:
        self.browser = server.browser()
        self.browser.http.environ_base["REMOTE_ADDR"] = address
        self.page = self.browser.page()

    def guess(self, username: str = "amelia", password: str = GUESS) -> Any:
        return self.browser.submit(self.page, username, password)

    def statuses(self, number: int, username: str = "amelia") -> set[int]:
        return {self.guess(username).status_code for _ in range(number)}


def known(server: IdentityServer, username: str = "amelia", address: str = "192.0.2.9") -> Browser:
    """A browser in which this person has signed in."""
    browser = server.browser()
    browser.http.environ_base["REMOTE_ADDR"] = address
    assert "code" in browser.sign_in(username)
    return browser


def test_after_ten_wrong_passwords_for_a_name_each_guess_must_wait(server: IdentityServer) -> None:
    guesser = Guesser(server)
    assert guesser.statuses(10) == {401}
    waits = []
    for _ in range(8):
        refused = guesser.guess()
        assert refused.status_code == 429
        waits.append(int(refused.headers["Retry-After"]))
        assert f"Wait {waits[-1]} seconds" in refused.text
        server.clock.advance(seconds=waits[-1])
        assert guesser.guess().status_code == 401
    assert waits == [1, 2, 4, 8, 16, 30, 30, 30]


def test_a_throttled_guess_is_refused_before_the_password_is_checked(
    server: IdentityServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    guesser = Guesser(server)
    guesser.statuses(10)
    looked: list[str] = []
    monkeypatch.setattr(passwords, "matches", lambda password, kept: looked.append(password) or True)
    assert guesser.guess(password=PASSWORD).status_code == 429
    assert looked == []


def test_guesses_from_many_addresses_share_a_names_budget(server: IdentityServer) -> None:
    for number in range(10):
        assert Guesser(server, f"192.0.2.{number + 1}").guess().status_code == 401
    assert Guesser(server, "192.0.2.99").guess().status_code == 429


def test_a_known_browser_signs_in_while_others_guess_even_from_its_own_address(
    server: IdentityServer,
) -> None:
    hers = known(server)
    guesser = Guesser(server, "192.0.2.9")
    guesser.statuses(10)
    assert guesser.guess().status_code == 429
    page = hers.page(prompt="login")
    assert [hers.submit(page, "amelia", "a slip").status_code for _ in range(3)] == [401] * 3
    assert hers.submit(page, "amelia").status_code == 303


def test_a_known_browser_has_its_own_budget_only_for_its_own_name(server: IdentityServer) -> None:
    stolen = Guesser(server, "192.0.2.1")
    stolen.browser = known(server, "daniel")
    stolen.page = stolen.browser.page(prompt="login")
    assert stolen.statuses(10, "daniel") == {401}
    assert stolen.guess("daniel").status_code == 429
    Guesser(server, "192.0.2.2").statuses(10, "amelia")
    assert stolen.guess("amelia").status_code == 429


def test_a_forged_cookie_does_not_make_a_browser_known(server: IdentityServer) -> None:
    guesser = Guesser(server)
    guesser.browser.http.set_cookie(throttle.COOKIE, "made-up")
    assert guesser.statuses(10) == {401}
    assert guesser.guess().status_code == 429


def test_the_known_browser_cookie_is_persistent_and_http_only(server: IdentityServer) -> None:
    browser = server.browser()
    answer = browser.submit(browser.page(), "amelia")
    cookie = next(one for one in answer.headers.getlist("Set-Cookie") if one.startswith("idsrv_known="))
    assert "HttpOnly" in cookie and "SameSite=Lax" in cookie and "Max-Age=15552000" in cookie


def test_guesses_at_many_names_from_one_address_are_throttled_after_a_hundred(server: IdentityServer) -> None:
    guesser = Guesser(server)
    names = [f"name-{number}" for number in range(100)]
    assert {guesser.guess(name).status_code for name in names} == {401}
    assert guesser.guess("name-100").status_code == 429
    assert Guesser(server, "192.0.2.2").guess("name-100").status_code == 401


def test_successful_sign_ins_are_not_throttled(server: IdentityServer) -> None:
    for _ in range(15):
        browser = server.browser()
        assert "code" in browser.sign_in("amelia")
        assert "code" in browser.sign_in("daniel", prompt="login")
    guesser = Guesser(server)
    assert guesser.statuses(10) == {401}


def test_a_names_budget_is_restored_after_15_minutes(server: IdentityServer) -> None:
    guesser = Guesser(server)
    guesser.statuses(10)
    server.clock.advance(minutes=14, seconds=59)
    assert Guesser(server).statuses(1) == {401}
    server.clock.advance(seconds=2)
    assert Guesser(server).statuses(9) == {401}


def test_a_clock_that_is_set_back_makes_nobody_wait(server: IdentityServer) -> None:
    guesser = Guesser(server)
    guesser.statuses(10)
    server.clock.advance(days=-1)
    assert Guesser(server).statuses(10) == {401}
    assert int(Guesser(server).guess().headers["Retry-After"]) <= 30


def test_the_same_name_at_another_clinic_has_its_own_budget(server: IdentityServer) -> None:
    Guesser(server).statuses(10)
    elsewhere = server.browser()
    page = elsewhere.page(
        client_id="harbour-portal",
        redirect_uri="http://harbour.localhost:8000/sign-in/callback",
        acr_values=None,
    )
    assert elsewhere.submit(page, "amelia", "a guess").status_code == 401


def test_failures_across_all_names_are_logged_and_lengthen_delays(
    server: IdentityServer, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(throttle, "FREE_OVERALL", 5)
    with caplog.at_level(logging.WARNING):
        for number in range(5):
            Guesser(server, f"192.0.2.{number + 1}").guess(f"name-{number}")
        assert Guesser(server, "198.51.100.1").guess().status_code == 401
    told = [record.getMessage() for record in caplog.records if "failed within" in record.getMessage()]
    assert told == ["5 sign-ins failed within 15 minutes"], "each fifth, not each"
    assert Guesser(server, "198.51.100.2").guess().status_code == 429
    server.clock.advance(seconds=2)
    assert Guesser(server, "198.51.100.2").guess(password=PASSWORD).status_code == 303


def test_concurrent_guesses_are_counted_one_by_one(
    server: IdentityServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    guessers = [Guesser(server, f"192.0.2.{number + 1}") for number in range(14)]
    together = threading.Barrier(10)
    monkeypatch.setattr(passwords, "matches", lambda password, kept: together.wait(timeout=10) and False)
    with ThreadPoolExecutor(14) as pool:
        statuses = list(pool.map(lambda one: one.guess().status_code, guessers))
    assert sorted(statuses) == [401] * 10 + [429] * 4


def test_failures_across_all_names_are_in_metrics_only_with_the_token(server: IdentityServer) -> None:
    client = server.app.test_client()
    assert client.get("/metrics").status_code == 404, "no token is set"
    with server.app.app_context():
        known = settings.current_settings()
    settings.init_app(server.app, replace(known, metrics_token="a token"))
    for given in ({}, {"Authorization": "Bearer wrong"}, {"Authorization": "Bearer \xe9"}):
        assert client.get("/metrics", headers=given).status_code == 401
    for name in ("amelia", "grace", "nobody"):
        Guesser(server).guess(name)

    def counted() -> float:
        text = client.get("/metrics", headers={"Authorization": "Bearer a token"}).text
        return float(text.splitlines()[-1].removeprefix("care_sign_in_failures "))

    assert counted() == 3
    server.clock.advance(minutes=16)
    assert counted() == 0
