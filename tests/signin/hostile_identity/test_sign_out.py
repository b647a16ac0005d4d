"""Signing out, and being signed out by the server's logout tokens."""

from __future__ import annotations

import time
from typing import Any

import pytest
from joserfc.jwk import RSAKey

from portal.store import StoreDown, StoreFull
from tests.signin.hostile_identity.sign_ins import (
    DEEP,
    HOUR,
    admitted,
    page_token,
    person_of,
    sign_in,
    signed_in,
)
from tests.support.hostile import Answer, HostileServer
from tests.support.stack import PortalThread


@pytest.mark.parametrize(
    "broken",
    [
        Answer(""),
        Answer("{}", 500),
        Answer(DEEP),
        Answer(status=302, headers={"Location": "/elsewhere"}),
        Answer(wait=3),
    ],
)
@pytest.mark.asvs("14.3.1")
def test_signing_out_works_whatever_the_server_does(
    portal: PortalThread, identity: HostileServer, broken: Answer
) -> None:
    identity.discovery = {
        "revocation_endpoint": f"{identity.origin}/revoke",
        "end_session_endpoint": f"{identity.origin}/end",
    }
    visitor = portal.visitor()
    page = sign_in(visitor)
    assert signed_in(page, visitor)
    identity.answers["/revoke"] = broken
    with portal.impatient(when=broken.wait > 0):
        answer = visitor.request(
            "POST", "/sign-out", data={"csrf_token": page_token(page)}, follow=False, status=303
        )
    assert answer.headers["Clear-Site-Data"] == '"cache", "storage"'
    to = "/signed-out" if broken.wait or broken.status == 302 else f"{identity.origin}/end?"
    assert answer.headers["Location"].startswith(to), "the server's own page, if it can be reached"
    assert person_of(visitor) is None
    assert identity.count("/elsewhere") == 0


def logout_token(identity: HostileServer, **claims: Any) -> str:
    now = time.time()
    return identity.jwt(
        {
            "iss": identity.origin,
            "aud": "riverside-portal",
            "iat": now,
            "exp": now + 120,
            "jti": str(time.monotonic_ns()),
            "events": {"http://schemas.openid.net/event/backchannel-logout": {}},
            "sid": "session-1",
            **claims,
        }
    )


def told_to_sign_out(portal: PortalThread, token: str, status: int) -> None:
    before = portal.audited()
    portal.visitor().request("POST", "/sign-out/back-channel", data={"logout_token": token}, status=status)
    (line,) = portal.audited()[len(before) :]
    assert (line["audit"], line["outcome"]) == (
        "sign-out.back-channel",
        "done" if status == 200 else "refused",
    )


@pytest.mark.parametrize("named", [{}, {"sid": None, "sub": "person-1"}, {"sub": "person-1"}])
@pytest.mark.asvs("7.4.2", "7.6.1", "10.5.5")
def test_a_logout_token_is_used_once(
    portal: PortalThread, identity: HostileServer, named: dict[str, Any]
) -> None:
    visitor, other = portal.visitor(), portal.visitor()
    assert signed_in(sign_in(visitor), visitor)
    identity.claims = {"sub": "person-12", "sid": "session-2"}
    sign_in(other)
    assert person_of(other) is not None
    identity.claims = {}
    token = logout_token(identity, **named)
    told_to_sign_out(portal, token, 200)
    assert person_of(visitor) is None
    assert person_of(other) is not None, "another person's session goes on"
    told_to_sign_out(portal, token, 400)


def test_a_logout_token_whose_sessions_couldnt_be_ended_may_be_sent_again(
    portal: PortalThread, identity: HostileServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    visitor = admitted(portal)
    token = logout_token(identity)

    def down(**_named: Any) -> int:
        raise StoreDown("down")

    with monkeypatch.context() as while_down:
        while_down.setattr(portal.context.sessions, "end_tagged", down)
        visitor.request("POST", "/sign-out/back-channel", data={"logout_token": token}, status=503)
    assert person_of(visitor) is not None
    told_to_sign_out(portal, token, 200)
    assert person_of(visitor) is None


@pytest.mark.parametrize(
    ("claim", "seconds", "is_taken"),
    [
        *(("iat", seconds, abs(seconds) <= 600) for seconds in (-601, -600, 600, 601)),
        *(("exp", seconds, seconds >= -30) for seconds in (-31, -30)),
    ],
)
def test_a_logout_token_is_taken_for_ten_minutes(
    portal: PortalThread, identity: HostileServer, claim: str, seconds: int, is_taken: bool
) -> None:
    visitor = admitted(portal)
    with portal.clock.stopped():
        token = logout_token(identity, **{claim: portal.clock.now + seconds})
        told_to_sign_out(portal, token, 200 if is_taken else 400)
        assert (person_of(visitor) is None) is is_taken


@pytest.mark.parametrize(
    "claims",
    [
        {"iss": "https://elsewhere.example"},
        {"aud": "harbour-portal"},
        {"aud": ["other"]},
        {"aud": 5},
        {"iat": time.time() - HOUR},
        {"iat": time.time() + HOUR},
        {"iat": float("nan")},
        {"iat": None},
        {"exp": time.time() - 60},
        {"exp": "x"},
        {"jti": None},
        {"jti": ""},
        {"jti": "x" * 1000},
        {"events": None},
        {"events": []},
        {"events": {"something else": {}}},
        {"nonce": "n"},
        {"sid": None},
        {"sid": 5},
        {"sid": "", "sub": ""},
    ],
)
@pytest.mark.asvs("9.2.2", "10.5.5")
def test_a_logout_token_with_a_wrong_claim_ends_nothing(
    portal: PortalThread, identity: HostileServer, claims: dict[str, Any]
) -> None:
    visitor = admitted(portal)
    told_to_sign_out(portal, logout_token(identity, **claims), 400)
    assert person_of(visitor) is not None


@pytest.mark.parametrize("how", ["unsigned", "public key", "another key", "nothing", "deep", "an ID token"])
@pytest.mark.asvs("9.1.1", "9.2.2", "10.5.5")
def test_a_logout_token_with_a_bad_signature_ends_nothing(
    portal: PortalThread, identity: HostileServer, how: str
) -> None:
    visitor = admitted(portal)
    if how == "unsigned":
        identity.sign = identity.unsigned
    if how == "public key":
        identity.sign = identity.by_public_key
    if how == "another key":
        identity.key = RSAKey.generate_key(2048, {"kid": identity.key.kid})
    id_token = {"iss": identity.origin, "aud": "riverside-portal", "sub": "person-1"}
    other = {"nothing": "", "deep": DEEP, "an ID token": identity.jwt(id_token)}
    token = other[how] if how in other else logout_token(identity)
    told_to_sign_out(portal, token, 400)
    assert person_of(visitor) is not None


def test_signing_out_with_a_store_that_takes_no_writes_takes_the_cookie_and_says_so(
    portal: PortalThread, identity: HostileServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    identity.discovery = {"revocation_endpoint": f"{identity.origin}/revoke"}
    visitor = portal.visitor()
    page = sign_in(visitor)
    assert signed_in(page, visitor)

    def full(*_names: str) -> int:
        raise StoreFull("full")

    with monkeypatch.context() as while_full:
        while_full.setattr(portal.context.vault.store, "delete", full)
        told = visitor.request("POST", "/sign-out", data={"csrf_token": page_token(page)}, status=503)
    assert told.heading == "You are signed out in this browser"
    assert ("sign-out", "cookie-only") in [(line["audit"], line["outcome"]) for line in portal.audited()]
    assert not any(one.name == "__Host-sid" and one.value for one in visitor.http.cookies)
    assert identity.count("/revoke") == 1
