"""The token of one page: refreshed when due, and at most once."""

from __future__ import annotations

from typing import Any

import pytest
import requests

from portal.services.errors import NotSignedIn, Unavailable
from portal.signin.refresh import SessionBearer
from portal.state.sessions import Session
from tests.signin.refresh.refreshed_session import CLINIC, HOST, TENANT, RefreshedSession


def bearer(session: RefreshedSession) -> SessionBearer:
    provider: Any = session.identity
    return SessionBearer(session.here, session.refresher, TENANT, provider, session.clock)


def test_a_page_refreshes_its_token_when_due(session: RefreshedSession) -> None:
    page = bearer(session)
    assert page.token() == "a0"
    session.clock.advance(39.9)
    assert page.token() == "a0"
    session.clock.advance(0.1)
    assert page.token() == "a1"
    assert page.token() == "a1"
    assert len(session.identity.asked) == 1


def test_a_page_tries_to_refresh_once(session: RefreshedSession) -> None:
    session.identity.fault = requests.ConnectionError("down")
    session.clock.advance(50)
    page = bearer(session)
    assert page.token() == page.token() == "a0"
    session.clock.advance(10)
    assert page.token() == "a0"
    assert len(session.identity.asked) == 1


def test_a_page_refreshes_a_refused_token_and_gives_up_if_that_fails(session: RefreshedSession) -> None:
    page = bearer(session)
    assert page.renew("a-1") == "a0", "another call has refreshed it already"
    assert not session.identity.asked
    assert page.renew("a0") == "a1"
    session.identity.fault = requests.ConnectionError("down")
    with pytest.raises(Unavailable) as first:
        page.renew("a1")
    session.identity.fault = None
    session.clock.advance(10)
    for again in (page.token, lambda: page.renew("a1")):
        with pytest.raises(Unavailable) as then:
            again()
        assert then.value is first.value
    assert len(session.identity.asked) == 2


def test_a_page_without_a_session_has_no_token(session: RefreshedSession) -> None:
    provider: Any = session.identity
    nobody = Session(session.sessions, None, CLINIC, HOST)
    unknown = Session(session.sessions, "a" * 43, CLINIC, HOST)
    for here in (nobody, unknown):
        with pytest.raises(NotSignedIn):
            SessionBearer(here, session.refresher, TENANT, provider, session.clock)
