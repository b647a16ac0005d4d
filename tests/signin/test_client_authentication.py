"""What each method of client authentication writes (RFC 6749 §2.3.1, RFC 7523 §2.2)."""

from __future__ import annotations

import base64
from typing import Any
from urllib.parse import parse_qsl

import msgspec
import pytest
from authlib.integrations.requests_client import OAuth2Session

from portal.config.identity import Client, ClientAuth, KeyAudience
from portal.signin import client_authentication
from portal.signin.discovery import Metadata

ISSUER = "https://id.example"
TOKEN = f"{ISSUER}/connect/token"
METADATA = Metadata(
    issuer=ISSUER, authorization_endpoint=f"{ISSUER}/a", token_endpoint=TOKEN, jwks_uri=f"{ISSUER}/k"
)


class Signing:
    """A client's key that says what it was asked to sign."""

    def assertion(self, client_id: str, audience: str, now: float) -> str:
        return f"{client_id} for {audience}"


def session_of(client: Client) -> Any:
    session = OAuth2Session(client.client_id, client.client_secret)
    client_authentication.register(session, client, METADATA)
    return session


def test_id_and_secret_are_form_urlencoded() -> None:
    headers: dict[str, str] = {}
    auth = session_of(Client("the portal", "1+1=2 ✓:%")).client_auth("client_secret_basic")
    assert auth.prepare("POST", TOKEN, headers, "code=c") == (TOKEN, headers, "code=c")
    kind, _, credentials = headers.pop("Authorization").partition(" ")
    assert (kind, base64.b64decode(credentials)) == ("Basic", b"the+portal:1%2B1%3D2+%E2%9C%93%3A%25")
    assert headers == {}


def test_a_client_without_key_cannot_sign() -> None:
    assert "private_key_jwt" not in session_of(Client("portal", "secret"))._auth_methods


@pytest.mark.parametrize(
    ("audience", "signed_for"), [(KeyAudience.ISSUER, ISSUER), (KeyAudience.TOKEN_ENDPOINT, TOKEN)]
)
def test_the_key_signs_for_one_audience(audience: KeyAudience, signed_for: str) -> None:
    key: Any = Signing()
    client = Client("portal", "", key, key_audience=audience)
    auth = session_of(client).client_auth("private_key_jwt")
    for body, before in (("code=c&empty=", {"code": "c", "empty": ""}), (None, {})):
        headers: dict[str, str] = {}
        uri, sent, form = auth.prepare("POST", TOKEN, headers, body)
        assert uri == TOKEN
        assert sent == {"Content-Length": str(len(form))}
        assert dict(parse_qsl(form, keep_blank_values=True)) == {
            **before,
            "client_id": "portal",
            "client_assertion_type": "urn:ietf:params:oauth:client-assertion-type:jwt-bearer",
            "client_assertion": f"portal for {signed_for}",
        }


@pytest.mark.parametrize(
    ("offered", "auth", "method"),
    [
        (("client_secret_basic", "client_secret_post"), None, "client_secret_basic"),
        (("client_secret_post",), None, "client_secret_post"),
        (("client_secret_basic",), ClientAuth.POST, "client_secret_post"),
        (("client_secret_post",), ClientAuth.BASIC, "client_secret_basic"),
    ],
)
def test_a_secret_is_sent_as_the_clinic_says_or_as_the_server_offers(
    offered: tuple[str, ...], auth: ClientAuth | None, method: str
) -> None:
    metadata = msgspec.structs.replace(METADATA, token_endpoint_auth_methods_supported=offered)
    assert metadata.auth_method(Client("portal", "secret", auth=auth)) == method
