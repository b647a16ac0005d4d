"""Refreshing tokens at a server that fails or lies: which sessions end, and which continue."""

from __future__ import annotations

import threading
import time
from dataclasses import replace
from typing import Any

import msgspec
import pytest

from tests.signin.hostile_identity.sign_ins import DEEP, admitted, person_of, sign_in, signed_in, tokens_of
from tests.support.hostile import Answer, HostileServer
from tests.support.stack import PortalThread
from tests.support.visitor import Visitor


def with_an_old_token(portal: PortalThread, identity: HostileServer) -> Visitor:
    """Somebody signed in, whose token has to be renewed."""
    identity.token = {"expires_in": 60}
    visitor = admitted(portal)
    portal.clock.advance(61)
    return visitor


@pytest.mark.parametrize(
    "broken",
    [
        pytest.param(Answer("{}", 500), id="500"),
        pytest.param(Answer("<h1>Hello</h1>", content_type="text/html"), id="html"),
        pytest.param(Answer("[]"), id="list"),
        pytest.param(Answer(DEEP), id="deep"),
        pytest.param(Answer("<h1>Not found</h1>", 404, "text/html"), id="404"),
        pytest.param(Answer('{"error": "too_many_requests"}', 429), id="429"),
        pytest.param(Answer("<h1>Bad request</h1>", 400, "text/html"), id="a proxy's 400"),
        pytest.param(Answer('{"error": "slow_down"}', 400), id="slow down"),
        pytest.param(Answer(status=307, headers={"Location": "/elsewhere"}), id="redirect"),
        pytest.param(Answer(wait=3), id="slow"),
    ],
)
def test_a_temporary_refresh_failure_ends_no_session(
    portal: PortalThread, identity: HostileServer, broken: Answer
) -> None:
    visitor = with_an_old_token(portal, identity)
    identity.answers["/token"] = broken
    with portal.impatient(when=broken.wait > 0):
        visitor.get("/conversations", status=503)
    assert person_of(visitor) is not None
    assert identity.count("/elsewhere") == 0
    del identity.answers["/token"]
    before = identity.count("/token")
    visitor.get("/conversations", status=503)
    assert identity.count("/token") == before, "a failure is remembered for a few seconds"
    portal.clock.advance(6)
    visitor.get("/conversations", status=None)
    assert person_of(visitor) is not None
    assert identity.count("/token") == before + 1


def test_a_page_of_many_calls_waits_for_a_hanging_server_once(
    portal: PortalThread, identity: HostileServer
) -> None:
    visitor = with_an_old_token(portal, identity)
    before, began = identity.count("/token"), time.monotonic()
    identity.answers["/token"] = Answer(wait=4)
    with portal.impatient():
        page = visitor.get("/", status=None)
    assert time.monotonic() - began < 3.5, "a call waits for half a second, not for four"
    assert identity.count("/token") == before + 1
    assert "Your consent forms can’t be shown right now" in page.words


def test_a_refresh_ends_at_the_pages_deadline(
    portal: PortalThread, identity: HostileServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    visitor = with_an_old_token(portal, identity)
    identity.answers["/token"] = Answer(wait=4)
    slow = replace(portal.context.settings.timeouts, read=30.0, page=0.4)
    monkeypatch.setattr(portal.context.refresher, "_timeouts", slow)
    settings = replace(portal.context.settings, timeouts=slow)
    monkeypatch.setitem(portal.app.extensions, "portal", replace(portal.context, settings=settings))
    began = time.monotonic()
    visitor.get("/conversations", status=503)
    assert time.monotonic() - began < 3


@pytest.mark.parametrize(
    "refusal",
    [
        pytest.param(Answer(status=400), id="400 without a body"),
        pytest.param(Answer(status=401), id="401 without a body"),
        pytest.param(Answer('{"error": "interaction_required"}', 400), id="interaction required"),
        pytest.param(Answer('{"error": "access_denied"}', 403), id="access denied"),
        pytest.param(Answer('{"error": "invalid_token"}', 401), id="invalid token"),
        pytest.param(Answer('{"token_type": "mac", "access_token": "x"}'), id="no bearer token"),
    ],
)
def test_a_refused_refresh_leads_to_sign_in(
    portal: PortalThread, identity: HostileServer, refusal: Answer
) -> None:
    visitor = with_an_old_token(portal, identity)
    identity.answers["/token"] = refusal
    page = visitor.request("GET", "/conversations", follow=False, status=303)
    assert page.headers["Location"] == "/sign-in?next=%2Fconversations"
    assert person_of(visitor) is None
    del identity.answers["/token"]
    assert signed_in(sign_in(visitor), visitor)


@pytest.mark.parametrize("code", ["invalid_client", "unauthorized_client"])
def test_a_client_refused_at_a_refresh_is_said_to_be_no_fault_of_the_persons(
    portal: PortalThread, identity: HostileServer, code: str
) -> None:
    visitor = with_an_old_token(portal, identity)
    identity.answers["/token"] = Answer(f'{{"error": "{code}"}}', 401)
    for _ in range(2):
        page = visitor.get("/conversations", status=503)
        assert "The portal isn’t set up correctly at the sign-in service." in page.words
        assert person_of(visitor) is not None
    del identity.answers["/token"]
    portal.clock.advance(6)
    visitor.get("/conversations", status=None)
    assert person_of(visitor) is not None


def test_roles_that_an_identity_server_leaves_out_are_withdrawn(
    portal: PortalThread, identity: HostileServer
) -> None:
    """Some leave out a claim that would be empty, in the ID token and in UserInfo."""
    identity.token, identity.claims = {"expires_in": 60}, {"role": None}
    identity.userinfo = {"sub": "person-1", "role": "nurse"}
    visitor = admitted(portal)
    portal.clock.advance(61)
    identity.userinfo = {"sub": "person-1"}
    visitor.request("GET", "/conversations", follow=False, status=303)
    assert person_of(visitor) is None


@pytest.mark.parametrize(
    "claims",
    [
        pytest.param({"iss": "https://elsewhere.example"}, id="issuer"),
        pytest.param({"aud": "harbour-portal"}, id="audience"),
        pytest.param({"iat": None}, id="no time of issue"),
        pytest.param({"iat": time.time() - 3600}, id="replayed"),
        pytest.param({"exp": time.time() - 60}, id="expired"),
        pytest.param({"auth_time": time.time() + 86400}, id="a later sign-in"),
        pytest.param({"at_hash": "bm90IG9mIHRoaXMgdG9rZW4"}, id="hash of another access token"),
    ],
)
def test_an_invalid_id_token_of_a_refresh_is_never_accepted(
    portal: PortalThread, identity: HostileServer, claims: dict[str, Any]
) -> None:
    """OpenID Connect Core §12.2: the session goes on with the old token, and ends with it."""
    identity.token = {"expires_in": 100}
    visitor = admitted(portal)
    before = tokens_of(visitor)
    portal.clock.advance(90)
    identity.claims = claims
    visitor.get("/conversations", status=None)
    after = tokens_of(visitor)
    assert after == msgspec.structs.replace(before, refresh_token=after.refresh_token)
    portal.clock.advance(11)
    visitor.request("GET", "/conversations", follow=False, status=303)
    assert person_of(visitor) is None


@pytest.mark.parametrize(
    "claims",
    [
        pytest.param({"sub": "person-2"}, id="another person"),
        pytest.param({"role": "burglar"}, id="no known role"),
        pytest.param({"role": "nurse"}, id="a role of the other side"),
    ],
)
def test_a_refresh_for_another_person_ends_the_session(
    portal: PortalThread, identity: HostileServer, claims: dict[str, Any]
) -> None:
    """Another person's ID token, or one whose roles no longer allow this person in."""
    visitor = with_an_old_token(portal, identity)
    identity.claims = claims
    page = visitor.request("GET", "/conversations", follow=False, status=303)
    assert page.headers["Location"] == "/sign-in?next=%2Fconversations"
    assert person_of(visitor) is None


def test_each_refresh_updates_the_roles(portal: PortalThread, identity: HostileServer) -> None:
    identity.token, identity.claims = {"expires_in": 60}, {"role": ["nurse", "admin"]}
    visitor = admitted(portal)
    assert person_of(visitor).roles == {"nurse", "admin"}
    portal.clock.advance(61)
    identity.claims = {"role": "nurse"}
    visitor.get("/conversations", status=None)
    assert person_of(visitor).roles == {"nurse"}


def test_a_refresh_is_kept_even_if_roles_cannot_be_read(
    portal: PortalThread, identity: HostileServer
) -> None:
    """The old refresh token is used up: without the new one, the session would end at the next refresh."""
    identity.token, identity.claims = {"expires_in": 60}, {"role": None}
    identity.userinfo = {"sub": "person-1", "role": "patient"}
    visitor = admitted(portal)
    before = tokens_of(visitor)
    portal.clock.advance(61)
    identity.answers["/userinfo"] = Answer(wait=3)
    with portal.impatient():
        visitor.get("/conversations", status=None)
    assert tokens_of(visitor).refresh_token != before.refresh_token
    assert person_of(visitor).roles == {"patient"}


def test_a_renewed_token_that_the_api_refuses_is_an_error_page_without_a_loop(
    portal: PortalThread, identity: HostileServer
) -> None:
    """No care API runs here; the identity server answers for it, with 401."""
    visitor = admitted(portal)
    identity.answers["/api/messaging/getconversations"] = Answer("{}", 401)
    page = visitor.request("GET", "/conversations", follow=False, status=502)
    assert page.heading == "The clinic’s system doesn’t accept your sign-in"
    assert person_of(visitor) is not None


def test_a_replaced_refresh_token_is_revoked(portal: PortalThread, identity: HostileServer) -> None:
    """A step-up issues new tokens; nobody waits until the old one is revoked."""
    identity.discovery = {"revocation_endpoint": f"{identity.origin}/revoke"}
    identity.answers["/revoke"] = Answer(wait=0.4)
    visitor = portal.visitor()
    sign_in(visitor)
    before = tokens_of(visitor)
    began = time.monotonic()
    assert signed_in(sign_in(visitor, fresh=True), visitor)
    assert time.monotonic() - began < 10
    after = tokens_of(visitor)
    assert after.refresh_token != before.refresh_token
    until = time.monotonic() + 10
    while not identity.posted("/revoke"):
        assert time.monotonic() < until
        threading.Event().wait(0.01)
    ((form, _authorization),) = identity.posted("/revoke")
    assert form["token"] == before.refresh_token


@pytest.mark.asvs("7.4.2")
def test_an_expired_refresh_token_leads_to_sign_in(portal: PortalThread, identity: HostileServer) -> None:
    visitor = with_an_old_token(portal, identity)
    identity.answers["/token"] = Answer('{"error": "invalid_grant"}', 400)
    page = visitor.request("GET", "/conversations", follow=False, status=303)
    assert page.headers["Location"] == "/sign-in?next=%2Fconversations"
    assert person_of(visitor) is None
