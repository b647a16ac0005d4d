"""The token of one page: renewed when it is time, and tried once."""

from __future__ import annotations

from typing import Any

import pytest
import requests

from portal.services.errors import NotSignedIn, Unavailable
from portal.signin.refresh import SessionBearer
from portal.state.sessions import Session
from tests.signin.refresh.renewing import CLINIC, HOST, TENANT, Renewing


def bearer(it: Renewing) -> SessionBearer:
    provider: Any = it.identity
    return SessionBearer(it.here, it.refresher, TENANT, provider, it.clock)


def test_a_page_renews_its_token_when_it_is_time(it: Renewing) -> None:
    page = bearer(it)
    assert page.token() == "a0"
    it.clock.advance(39.9)
    assert page.token() == "a0"
    it.clock.advance(0.1)
    assert page.token() == "a1"
    assert page.token() == "a1"
    assert len(it.identity.asked) == 1


def test_a_page_tries_to_renew_once(it: Renewing) -> None:
    it.identity.fault = requests.ConnectionError("down")
    it.clock.advance(50)
    page = bearer(it)
    assert page.token() == page.token() == "a0"
    it.clock.advance(10)
    assert page.token() == "a0"
    assert len(it.identity.asked) == 1


def test_a_page_whose_token_was_refused_renews_it_and_gives_up_when_that_fails(it: Renewing) -> None:
    page = bearer(it)
    assert page.renew("a-1") == "a0", "another call has renewed it already"
    assert not it.identity.asked
    assert page.renew("a0") == "a1"
    it.identity.fault = requests.ConnectionError("down")
    with pytest.raises(Unavailable) as first:
        page.renew("a1")
    it.identity.fault = None
    it.clock.advance(10)
    for again in (page.token, lambda: page.renew("a1")):
        with pytest.raises(Unavailable) as then:
            again()
        assert then.value is first.value
    assert len(it.identity.asked) == 2


def test_a_page_of_nobody_has_no_token(it: Renewing) -> None:
    provider: Any = it.identity
    nobody = Session(it.sessions, None, CLINIC, HOST)
    unknown = Session(it.sessions, "a" * 43, CLINIC, HOST)
    for here in (nobody, unknown):
        with pytest.raises(NotSignedIn):
            SessionBearer(here, it.refresher, TENANT, provider, it.clock)
