"""Pushed authorization requests: what they leave to the browser, and their faults."""

from __future__ import annotations

import msgspec
import pytest
import requests

from portal.config.identity import Par
from portal.signin.discovery import ClientRefused, ProviderDown
from portal.signin.flow import SignIn
from tests.signin.flow.clinic import BACK, ISSUER, METADATA, Identity, query_of, start, tenant


def pushed(
    status: int = 201, body: bytes = b'{"request_uri": "urn:1", "expires_in": 60}'
) -> requests.Response:
    response = requests.Response()
    response.status_code, response._content = status, body
    return response


@pytest.fixture
def par(identity: Identity) -> Identity:
    identity.metadata_ = msgspec.structs.replace(
        METADATA, pushed_authorization_request_endpoint=f"{ISSUER}/par"
    )
    return identity


@pytest.mark.parametrize("status", [200, 201])
def test_the_browser_carries_only_the_request_uri_of_a_pushed_request(
    sign_in: SignIn, par: Identity, status: int
) -> None:
    par.pushed = pushed(status)
    assert query_of(start(sign_in)) == {"x": "1", "client_id": "portal", "request_uri": "urn:1"}
    ((url, sent),) = par.asked
    assert url == f"{ISSUER}/par"
    assert (sent["data"]["redirect_uri"], sent["data"]["ui_locales"]) == (BACK, "es")
    assert (sent["headers"], sent["withhold_token"]) == ({"Accept": "application/json"}, True)
    assert sent["auth"] is not None


@pytest.mark.parametrize(
    "response",
    [*(pushed(status) for status in (199, 202, 204, 400, 403, 500)), pushed(body=b"{}"), pushed(body=b"<")],
)
def test_a_refused_pushed_request_is_a_server_fault(
    sign_in: SignIn, par: Identity, response: requests.Response
) -> None:
    par.pushed = response
    with pytest.raises(ProviderDown) as told:
        start(sign_in)
    assert type(told.value) is ProviderDown


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b'{"error": "invalid_scope"}', "invalid_scope"),
        (b'{"error": "Amelia Hart"}', "another code"),
        (b"<h1>Bad request</h1>", "no error code"),
    ],
)
def test_a_refused_pushed_request_names_the_error_code(
    sign_in: SignIn, par: Identity, body: bytes, code: str
) -> None:
    par.pushed = pushed(400, body)
    with pytest.raises(ProviderDown, match=f"^pushed request: status 400, {code}$"):
        start(sign_in)


def test_a_clinic_may_push_nothing_or_everything(sign_in: SignIn, par: Identity) -> None:
    assert "code_challenge" in query_of(start(sign_in, of=tenant(par=Par.OFF)))
    assert not par.asked
    par.pushed = pushed()
    assert "request_uri" in query_of(start(sign_in, of=tenant(par=Par.REQUIRED)))
    par.metadata_ = METADATA
    with pytest.raises(ProviderDown, match="aren't offered"):
        start(sign_in, of=tenant(par=Par.REQUIRED))


def test_a_pushed_request_of_an_unknown_client_is_a_configuration_fault(
    sign_in: SignIn, par: Identity
) -> None:
    for refusal in (pushed(401), pushed(400, b'{"error": "invalid_client"}')):
        par.pushed = refusal
        with pytest.raises(ClientRefused, match="portal"):
            start(sign_in)
    par.fault = requests.ConnectionError("down")
    with pytest.raises(ProviderDown, match="ConnectionError"):
        start(sign_in)
