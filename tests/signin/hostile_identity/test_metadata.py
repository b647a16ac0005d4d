"""Metadata from discovery: of another issuer, unreadable, out of date or not answered."""

from __future__ import annotations

import time
from typing import Any

import pytest

from tests.signin.hostile_identity.sign_ins import (
    DEEP,
    DISCOVERY,
    HOUR,
    admitted,
    person_of,
    refused,
    sign_in,
    signed_in,
)
from tests.support.hostile import Answer, HostileServer
from tests.support.stack import PortalThread


@pytest.mark.parametrize(
    "discovery",
    [
        pytest.param({"issuer": "https://elsewhere.example"}, id="issuer"),
        pytest.param({"issuer": None}, id="no issuer"),
        pytest.param({"issuer": 5}, id="issuer is a number"),
        pytest.param({"authorization_endpoint": "https://elsewhere.example/authorize"}, id="authorize"),
        pytest.param({"token_endpoint": "https://elsewhere.example/token"}, id="token"),
        pytest.param({"jwks_uri": "https://elsewhere.example/jwks"}, id="keys"),
        pytest.param({"userinfo_endpoint": "https://elsewhere.example/userinfo"}, id="userinfo"),
        pytest.param({"end_session_endpoint": "https://elsewhere.example/end"}, id="end of session"),
        pytest.param({"revocation_endpoint": "https://elsewhere.example/revoke"}, id="revocation"),
        pytest.param({"pushed_authorization_request_endpoint": "https://elsewhere.example/par"}, id="par"),
        pytest.param({"token_endpoint": "http://[::1"}, id="no address at all"),
        pytest.param({"authorization_endpoint": "javascript:alert(1)"}, id="script"),
        pytest.param({"token_endpoint": None}, id="no token endpoint"),
    ],
)
@pytest.mark.asvs("9.1.3", "10.2.2", "10.5.3", "13.2.4")
def test_metadata_of_another_issuer_is_refused(
    portal: PortalThread, identity: HostileServer, discovery: dict[str, Any]
) -> None:
    identity.discovery = discovery
    refused(portal, status=503)
    assert identity.asked == [DISCOVERY]


@pytest.mark.parametrize(
    "broken",
    [
        pytest.param(Answer("{}", 500), id="500"),
        pytest.param(Answer("<h1>Hello</h1>", content_type="text/html"), id="html"),
        pytest.param(Answer("[]"), id="list"),
        pytest.param(Answer(DEEP), id="deep"),
        pytest.param(Answer('{"x": ' + DEEP), id="deep member"),
        pytest.param(Answer(b"\xff\xfe"), id="bytes"),
        pytest.param(Answer(b"x" * 2_000_000), id="oversize"),
        pytest.param(Answer(wait=3), id="slow"),
        pytest.param(Answer(status=302, headers={"Location": "/elsewhere"}), id="redirect"),
    ],
)
@pytest.mark.parametrize("path", [DISCOVERY, "/jwks"])
def test_unreadable_metadata_or_keys_are_reported_as_a_server_fault(
    portal: PortalThread, identity: HostileServer, broken: Answer, path: str
) -> None:
    identity.answers[path] = broken
    with portal.impatient(when=broken.wait > 0):
        refused(portal, status=503)
    assert identity.count("/elsewhere") == 0


def test_metadata_of_more_than_half_a_megabyte_are_not_read(
    portal: PortalThread, identity: HostileServer
) -> None:
    identity.discovery = {"more": "x" * 500_000}
    admitted(portal)
    portal.context.providers._made.clear()
    identity.discovery = {"more": "x" * 530_000}
    refused(portal, status=503)


def test_unknown_metadata_does_not_become_a_client_setting(
    portal: PortalThread, identity: HostileServer
) -> None:
    identity.discovery = {
        "code_challenge_method": "plain",
        "scope": "everything",
        "response_mode": "fragment",
        "token_endpoint_auth_method": "none",
        "verify": False,
        "proxies": {"http": "http://elsewhere.example"},
        "leeway": 10**9,
    }
    visitor = portal.visitor()
    start = visitor.request("GET", "/sign-in", follow=False, status=303)
    location = start.headers["Location"]
    assert "code_challenge_method=S256" in location
    assert "everything" not in location
    assert "fragment" not in location
    assert signed_in(sign_in(visitor), visitor)


def test_the_last_good_metadata_is_used_for_a_day_while_the_server_fails(
    portal: PortalThread, identity: HostileServer
) -> None:
    admitted(portal)
    identity.answers = {DISCOVERY: Answer("{}", 500), "/jwks": Answer("{}", 500)}
    portal.clock.advance(23 * HOUR)
    identity.claims = {
        name: time.time() + 23 * HOUR + extra for name, extra in [("iat", 0), ("auth_time", 0), ("exp", 600)]
    }
    other = portal.visitor()
    assert signed_in(sign_in(other), other)
    portal.clock.advance(2 * HOUR)
    for _ in range(3):
        refused(portal, status=503)
    identity.answers = {}
    identity.claims = {
        name: time.time() + 25 * HOUR + extra for name, extra in [("iat", 0), ("auth_time", 0), ("exp", 600)]
    }
    portal.clock.advance(11)
    assert signed_in(sign_in(other), other)


def test_invalid_new_metadata_is_refused_despite_a_good_copy(
    portal: PortalThread, identity: HostileServer
) -> None:
    admitted(portal)
    identity.discovery = {"issuer": "https://elsewhere.example"}
    portal.clock.advance(HOUR + 1)
    for _ in range(3):
        refused(portal, status=503)


def test_metadata_that_becomes_invalid_during_a_sign_in_is_refused(
    portal: PortalThread, identity: HostileServer
) -> None:
    visitor = portal.visitor()
    there = visitor.request("GET", "/sign-in", follow=False, status=303).headers["Location"]
    back = visitor.request("GET", there, follow=False, status=303).headers["Location"]
    identity.discovery = {"issuer": "https://elsewhere.example"}
    portal.context.providers._made.clear()
    before = portal.audited()
    page = visitor.request("GET", back, status=503)
    assert page.link("Sign in again") == "/"
    assert len(portal.audited()) == len(before) + 1
    assert person_of(visitor) is None


def test_concurrent_sign_ins_ask_a_server_that_is_down_once(
    portal: PortalThread, identity: HostileServer
) -> None:
    from concurrent.futures import ThreadPoolExecutor

    identity.answers[DISCOVERY] = Answer(status=500, body="{}", wait=0.3)
    with ThreadPoolExecutor(8) as pool:
        pages = list(pool.map(lambda _: sign_in(portal.visitor()), range(8)))
    assert [page.status for page in pages] == [503] * 8
    assert identity.count(DISCOVERY) <= 2
