"""The token endpoint: unusable tokens, errors, broken answers and redirects."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.signin.hostile_identity.sign_ins import DEEP, admitted, refused, sign_in
from tests.support.hostile import Answer, HostileServer
from tests.support.stack import PortalThread


@pytest.mark.parametrize(
    "token",
    [
        {"token_type": "mac"},
        {"token_type": 5},
        {"access_token": None},
        {"access_token": 5},
        {"access_token": ""},
        {"access_token": "line\nfeed"},
    ],
)
def test_an_unusable_access_token_is_refused(
    portal: PortalThread, identity: HostileServer, token: dict[str, Any]
) -> None:
    identity.token = token
    refused(portal)


@pytest.mark.parametrize(
    "lifetime", [None, "soon", -5, pytest.param(10**400, id="huge"), "1e999", [], {}, "60", 60.5]
)
def test_an_invalid_token_lifetime_does_not_fail_the_sign_in(
    portal: PortalThread, identity: HostileServer, lifetime: object
) -> None:
    identity.token = {"expires_in": lifetime}
    admitted(portal)


@pytest.mark.parametrize("error", ["invalid_grant", "access_denied"])
def test_a_code_refused_by_the_server_fails_the_sign_in(
    portal: PortalThread, identity: HostileServer, error: object
) -> None:
    identity.answers["/token"] = Answer(json.dumps({"error": error}), 400)
    refused(portal)


@pytest.mark.parametrize(
    "broken",
    [
        pytest.param(Answer("{}", 500), id="500"),
        pytest.param(Answer("", 503), id="503"),
        pytest.param(Answer("<h1>Hello</h1>", content_type="text/html"), id="html"),
        pytest.param(Answer("[]"), id="list"),
        pytest.param(Answer("null"), id="null"),
        pytest.param(Answer('"text"'), id="text"),
        pytest.param(Answer("5", 400), id="number"),
        pytest.param(Answer('{"error": 5}', 400), id="number for a code"),
        pytest.param(Answer('{"error": null}', 400), id="null for a code"),
        pytest.param(Answer('{"error": {"a": 1}}', 400), id="object for a code"),
        pytest.param(Answer('{"access_token": "x", "expires_in": NaN}'), id="NaN"),
        pytest.param(Answer(DEEP), id="deep"),
        pytest.param(Answer(b"\xff\xfe"), id="bytes"),
        pytest.param(Answer(b'{"a": "' + b"x" * 2_000_000 + b'"}'), id="oversize"),
        pytest.param(Answer(wait=3), id="slow"),
    ],
)
def test_a_broken_token_endpoint_is_reported_as_a_server_fault(
    portal: PortalThread, identity: HostileServer, broken: Answer
) -> None:
    identity.answers["/token"] = broken
    with portal.impatient(when=broken.wait > 0):
        refused(portal, status=503)


@pytest.mark.asvs("15.3.2")
def test_a_redirect_of_the_token_endpoint_is_not_followed(
    portal: PortalThread, identity: HostileServer
) -> None:
    elsewhere = {"Location": f"{identity.origin}/elsewhere"}
    identity.answers["/token"] = Answer(status=307, headers=elsewhere)
    refused(portal, status=503)
    assert identity.count("/elsewhere") == 0


@pytest.mark.parametrize("where", ["/token", "/par"])
def test_a_refused_client_is_reported_as_a_configuration_fault(
    portal: PortalThread, identity: HostileServer, where: str, caplog: pytest.LogCaptureFixture
) -> None:
    if where == "/par":
        identity.discovery = {"pushed_authorization_request_endpoint": f"{identity.origin}/par"}
    identity.answers[where] = Answer('{"error": "invalid_client"}', 401)
    before = portal.audited()
    page = sign_in(portal.visitor())
    assert (page.status, page.heading) == (503, "Signing in isn’t possible right now")
    assert "Trying again won’t help" in page.words and "isn’t answering" not in page.words
    assert [line["outcome"] for line in portal.audited()[len(before) :]] == ["client-refused"]
    (told,) = [one for one in caplog.records if one.levelname == "ERROR"]
    assert told.__dict__["client"] == "riverside-portal"
