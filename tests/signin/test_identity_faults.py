"""Every endpoint of an identity server, every way to fail, at every moment: explained quickly, and nothing is lost.

OpenID Connect Core, RFC 7009 (revocation), RFC 9126 (pushed requests).
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import requests
from joserfc.jwk import RSAKey

from portal.config.tenants_file import load_tenants
from tests.support.hostile import Answer, HostileServer
from tests.support.stack import PortalThread, plan
from tests.support.visitor import Visitor

FAULTS = {
    "hanging": Answer(wait=1.5),
    "slow": Answer(drip=0.05),
    "lying": Answer(
        '{"issuer": "https://elsewhere.example", "keys": [], "access_token": 5, "request_uri": {}}'
    ),
    "half an answer": Answer(is_half=True),
}
DISCOVERY, TOKEN, KEYS, PUSHED, REVOCATION = (
    *("/.well-known/openid-configuration", "/token", "/jwks"),
    *("/par", "/revoke"),
)
SOON = 6.0
"""Seconds: a portal that gives each call half a one waits for two or three; the rest is for a busy machine."""


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[HostileServer, PortalThread]]:
    where = plan(tmp_path_factory.mktemp("faults"))
    portal = PortalThread(where)
    tenants = load_tenants(where.data / f"tenants-{portal.port}.toml", where.secrets)
    server = HostileServer(where, tenants.by_key["riverside"].tenant_id or "")
    yield server, portal
    portal.stop()
    server.stop()


@pytest.fixture(scope="module")
def keys() -> list[RSAKey]:
    return [RSAKey.generate_key(2048, {"use": "sig"}, auto_kid=True) for _ in range(2)]


@pytest.fixture
def portal(both: tuple[HostileServer, PortalThread]) -> Iterator[PortalThread]:
    """The portal, which knows nothing of its identity server yet."""
    _, portal = both
    portal.context.providers._made.clear()
    yield portal
    portal.clock.ahead = 0


@pytest.fixture
def identity(both: tuple[HostileServer, PortalThread], keys: list[RSAKey]) -> HostileServer:
    """Honest, with every endpoint."""
    server, _ = both
    server.answers.clear()
    server.asked.clear()
    server.key, server.token = keys[0], {"expires_in": 60}
    server.discovery = {
        "pushed_authorization_request_endpoint": f"{server.origin}{PUSHED}",
        "revocation_endpoint": f"{server.origin}{REVOCATION}",
        "end_session_endpoint": f"{server.origin}/end",
        "scopes_supported": ["openid"] * 60,  # long enough to be slow
    }
    server.answers[PUSHED] = Answer('{"request_uri": "urn:pushed", "expires_in": 60}', 201)
    return server


@pytest.fixture(params=FAULTS)
def fault(request: pytest.FixtureRequest) -> Answer:
    return FAULTS[request.param]


def sign_in(visitor: Visitor, identity: HostileServer, *, fresh: bool = False) -> Any:
    """There and back; where parameters were pushed, the browser's part of it with what was pushed."""
    address = f"/sign-in?next=/signed-out{'&fresh=1' if fresh else ''}"
    left = visitor.request("GET", address, status=None, follow=False)
    if left.status != 303:
        return left
    pushed = identity.posted(PUSHED)[-1][0]
    back = identity._authorize(pushed).headers["Location"]
    return visitor.get(back.removeprefix(visitor.origin), status=None)


def signed_in(portal: PortalThread, visitor: Visitor, identity: HostileServer) -> Any:
    """Sign in before anything fails."""
    page = sign_in(visitor, identity)
    assert person_of(portal, visitor), page.words[:300]
    return page


def person_of(portal: PortalThread, visitor: Visitor) -> Any:
    cookie = next((str(one.value) for one in visitor.http.cookies if one.name == "__Host-sid"), "none")
    record, _ = portal.context.sessions.load(cookie, "riverside", visitor.origin.removeprefix("http://"))
    return record.person if record else None


def hangs(fault: Answer) -> bool:
    return fault.wait > 0 or fault.drip > 0


def forget(portal: PortalThread, identity: HostileServer, keys: list[RSAKey], endpoint: str) -> None:
    """Let the portal need this document anew: it has been kept for an hour, or the keys have changed."""
    if endpoint == KEYS:
        identity.key = keys[1]
        portal.clock.advance(11)
    if endpoint == DISCOVERY:
        portal.context.providers._made.clear()


@pytest.mark.parametrize("endpoint", [DISCOVERY, PUSHED, TOKEN, KEYS])
def test_a_sign_in_with_a_failing_endpoint_is_explained_and_can_be_retried(
    portal: PortalThread, identity: HostileServer, fault: Answer, endpoint: str
) -> None:
    identity.answers[endpoint] = fault
    visitor, began = portal.visitor(), time.monotonic()
    with portal.impatient(when=hangs(fault)):
        page = sign_in(visitor, identity)
    assert time.monotonic() - began < SOON
    assert page.status in (400, 503)
    assert page.heading in ("You couldn’t be signed in", "Signing in isn’t possible right now")
    assert person_of(portal, visitor) is None
    identity.answers.pop(endpoint)
    identity.answers[PUSHED] = Answer('{"request_uri": "urn:pushed", "expires_in": 60}', 201)
    portal.clock.advance(2)
    assert signed_in(portal, visitor, identity).path == "/signed-out", "the next try goes well"


@pytest.mark.parametrize("endpoint", [DISCOVERY, PUSHED, TOKEN, KEYS])
def test_a_step_up_with_a_failing_endpoint_keeps_the_session(
    portal: PortalThread, identity: HostileServer, keys: list[RSAKey], fault: Answer, endpoint: str
) -> None:
    visitor = portal.visitor()
    signed_in(portal, visitor, identity)
    forget(portal, identity, keys, endpoint)
    identity.answers[endpoint] = fault
    began = time.monotonic()
    with portal.impatient(when=hangs(fault)):
        page = sign_in(visitor, identity, fresh=True)
    assert time.monotonic() - began < SOON
    assert page.status in (400, 503)
    assert person_of(portal, visitor).sub == "person-1", "who was signed in still is"


@pytest.mark.parametrize("endpoint", [DISCOVERY, TOKEN, KEYS])
def test_five_concurrent_calls_with_a_failing_refresh_ask_once_and_keep_the_session(
    portal: PortalThread, identity: HostileServer, keys: list[RSAKey], fault: Answer, endpoint: str
) -> None:
    visitor = portal.visitor()
    signed_in(portal, visitor, identity)
    before = identity.count(TOKEN)
    portal.clock.advance(61)
    forget(portal, identity, keys, endpoint)
    identity.answers[endpoint] = fault

    def call(_number: int) -> requests.Response:
        cookies = "; ".join(f"{one.name}={one.value}" for one in visitor.http.cookies)
        headers = {"Host": visitor.origin.removeprefix("http://"), "Cookie": cookies}
        return requests.get(
            f"http://127.0.0.1:{portal.port}/conversations",
            headers=headers,
            timeout=10,
            allow_redirects=False,
        )

    began = time.monotonic()
    with portal.impatient(when=hangs(fault)), ThreadPoolExecutor(5) as pool:
        answers = list(pool.map(call, range(5)))
    assert time.monotonic() - began < SOON
    assert identity.count(TOKEN) <= before + 1, "what is known to fail is not asked for again"
    if (
        fault is FAULTS["lying"] and endpoint == TOKEN
    ):  # no token that may be used: only signing in anew helps
        assert {answer.status_code for answer in answers} == {303}
        return
    assert {answer.status_code for answer in answers} == {503}
    assert all("can’t be shown right now" in answer.text for answer in answers)
    assert person_of(portal, visitor).sub == "person-1"


@pytest.mark.parametrize("endpoint", [DISCOVERY, REVOCATION])
def test_a_sign_out_with_a_failing_endpoint_still_signs_out(
    portal: PortalThread, identity: HostileServer, keys: list[RSAKey], fault: Answer, endpoint: str
) -> None:
    visitor = portal.visitor()
    page = signed_in(portal, visitor, identity)
    forget(portal, identity, keys, endpoint)
    identity.answers[endpoint] = fault
    token = str(page.tree.select_one("input[name=csrf_token]")["value"])
    began = time.monotonic()
    with portal.impatient(when=hangs(fault)):
        answer = visitor.request("POST", "/sign-out", data={"csrf_token": token}, follow=False, status=303)
    assert time.monotonic() - began < SOON
    assert answer.headers["Location"].startswith((f"{identity.origin}/end", "/signed-out"))
    assert person_of(portal, visitor) is None


def test_an_unverifiable_refresh_uses_up_no_refresh_token(
    portal: PortalThread, identity: HostileServer, keys: list[RSAKey]
) -> None:
    visitor = portal.visitor()
    signed_in(portal, visitor, identity)
    portal.clock.advance(61)
    forget(portal, identity, keys, KEYS)
    identity.answers[KEYS] = Answer(status=503)
    visitor.get("/conversations", status=503)
    used = identity.posted(TOKEN)[-1][0]["refresh_token"]
    identity.answers.pop(KEYS)
    portal.clock.advance(11)
    visitor.get("/conversations", status=None)
    assert identity.posted(TOKEN)[-1][0]["refresh_token"] != used
    assert person_of(portal, visitor).sub == "person-1"
