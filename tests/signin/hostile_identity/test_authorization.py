"""The request at the authorization endpoint and the response through the browser."""

from __future__ import annotations

from typing import Any

import pytest

from tests.signin.hostile_identity.sign_ins import DEEP, admitted, refused, sign_in
from tests.support.hostile import Answer, HostileServer
from tests.support.stack import PortalThread


@pytest.mark.parametrize(
    "callback",
    [
        pytest.param({"iss": "https://elsewhere.example"}, id="another issuer"),
        pytest.param({"iss": None}, id="no issuer though promised"),
        pytest.param({"iss": ""}, id="empty issuer"),
        pytest.param({"code": None}, id="no code"),
        pytest.param({"code": None, "error": "access_denied"}, id="denied"),
        pytest.param({"error": "access_denied"}, id="denied with a code"),
        pytest.param({"code": ["one", "two"]}, id="two codes"),
        pytest.param({"state": ["one", "two"]}, id="two states"),
        pytest.param({"state": "é"}, id="state beyond ASCII"),
        pytest.param({"state": None}, id="no state"),
    ],
)
@pytest.mark.asvs("10.2.2")
def test_an_unexpected_authorization_response_is_refused(
    portal: PortalThread, identity: HostileServer, callback: dict[str, Any]
) -> None:
    identity.callback = callback
    refused(portal)


@pytest.mark.parametrize(
    ("callback", "claims", "header", "reason"),
    [
        ({"error": "access_denied"}, {}, {}, "identity server said no: access_denied"),
        ({"error": "Amelia Hart"}, {}, {}, "identity server said no: another code"),
        (
            {"code": None, "state": None, "iss": None, "response": "a.b.c"},
            {},
            {},
            "answered with a JWT (JARM)",
        ),
        ({"state": "other"}, {}, {}, "unknown state"),
        ({}, {"auth_time": "soon"}, {}, "ID token: auth_time of another type or missing"),
        ({}, {}, {"alg": "HS256"}, "token signed with HS256, which isn't accepted"),
    ],
)
@pytest.mark.asvs("16.3.1")
def test_the_audit_says_why_a_sign_in_failed(
    portal: PortalThread,
    identity: HostileServer,
    callback: dict[str, Any],
    claims: dict[str, Any],
    header: dict[str, Any],
    reason: str,
) -> None:
    identity.callback, identity.claims, identity.header = callback, claims, header
    if header:
        identity.sign = identity.by_public_key
    refused(portal)
    assert portal.audited()[-1]["reason"] == reason


def test_a_response_without_issuer_is_accepted_if_none_is_advertised(
    portal: PortalThread, identity: HostileServer
) -> None:
    identity.discovery = {"authorization_response_iss_parameter_supported": None}
    identity.callback = {"iss": None}
    admitted(portal)


def test_endpoints_may_have_a_query_string(portal: PortalThread, identity: HostileServer) -> None:
    identity.discovery = {
        "authorization_endpoint": f"{identity.origin}/authorize?realm=a",
        "pushed_authorization_request_endpoint": f"{identity.origin}/par?realm=a",
    }
    identity.answers["/par"] = Answer('{"request_uri": "urn:x"}', 201)
    page = portal.visitor().request("GET", "/sign-in", follow=False, status=303)
    assert page.headers["Location"].startswith(f"{identity.origin}/authorize?realm=a&client_id=")


def test_repeated_immediate_sign_ins_end_on_an_error_page(
    portal: PortalThread, identity: HostileServer
) -> None:
    identity.claims = {"role": None}
    identity.userinfo = {"sub": "person-1"}
    visitor = portal.visitor()
    statuses = [sign_in(visitor).status for _ in range(5)]
    assert set(statuses) == {403, 400}, "without access, and at last that it is of no use"
    assert identity.count("/authorize") <= 4


@pytest.mark.parametrize(
    "broken",
    [
        pytest.param(Answer("{}", 500), id="500"),
        pytest.param(Answer('{"error": "invalid_request"}', 400), id="refused"),
        pytest.param(Answer("<h1>Hello</h1>", 201, content_type="text/html"), id="html"),
        pytest.param(Answer("[]", 201), id="list"),
        pytest.param(Answer(DEEP, 201), id="deep"),
        pytest.param(Answer('{"request_uri": 5}', 201), id="number"),
        pytest.param(Answer(status=307, headers={"Location": "/elsewhere"}), id="redirect"),
        pytest.param(Answer(wait=3), id="slow"),
    ],
)
def test_a_failed_pushed_request_is_reported_as_a_server_fault(
    portal: PortalThread, identity: HostileServer, broken: Answer
) -> None:
    identity.discovery = {"pushed_authorization_request_endpoint": f"{identity.origin}/par"}
    identity.answers["/par"] = broken
    with portal.impatient(when=broken.wait > 0):
        refused(portal, status=503)
    assert identity.count("/elsewhere") == 0
