"""Client authentication: by a secret or by the client's own key (RFC 7523), never both."""

from __future__ import annotations

import base64
import json
from datetime import timedelta
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from joserfc import jwt
from joserfc.jwk import ECKey, KeySet, RSAKey

from portal.careservice import database
from portal.careservice.__main__ import main
from portal.careservice.identity.tables import Client
from portal.careservice.ids import new_id
from tests.careservice.identity.identity_server import ISSUER, SECRETS, IdentityServer, answer_in

TYPE = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
CLIENT = "riverside-service"
ASK = {"grant_type": "client_credentials", "scope": "ClientelePortal"}


@cache
def keys() -> tuple[RSAKey, ECKey, RSAKey]:
    """Two keys of the client's, and one of somebody else's."""
    return (
        RSAKey.generate_key(2048, auto_kid=True),
        ECKey.generate_key("P-256", auto_kid=True),
        RSAKey.generate_key(2048, auto_kid=True),
    )


@pytest.fixture
def keyed(server: IdentityServer) -> IdentityServer:
    """The server, which knows the service client by two keys."""
    with database.new_session(server.engine) as session:
        session.get_one(Client, CLIENT).jwks = KeySet([*keys()[:2]]).as_dict(private=False)
        session.commit()
    return server


def assertion(server: IdentityServer, *, key: Any = None, alg: str = "RS256", **changes: Any) -> str:
    moment = server.clock()
    claims = {
        "iss": CLIENT,
        "sub": CLIENT,
        "aud": f"{ISSUER}/connect/token",
        "jti": new_id(),
        "iat": int(moment.timestamp()),
        "exp": int((moment + timedelta(minutes=1)).timestamp()),
        **changes,
    }
    signer = key or keys()[0]
    claims = {name: value for name, value in claims.items() if value is not None}
    return jwt.encode({"alg": alg, "kid": signer.kid}, claims, signer, algorithms=["RS256", "ES256", "HS256"])


def ask(server: IdentityServer, given: str, **more: str) -> Any:
    form = {**ASK, "client_assertion_type": TYPE, "client_assertion": given, **more}
    return server.app.test_client().post("/connect/token", data=form)


def test_a_signed_assertion_replaces_the_secret_and_is_used_once(keyed: IdentityServer) -> None:
    given = assertion(keyed)
    answer = ask(keyed, given)
    assert answer.status_code == 200, answer.text
    assert keyed.read(answer.get_json()["access_token"]).claims["client_id"] == CLIENT
    again = ask(keyed, given)
    assert (again.status_code, again.get_json()["error"]) == (401, "invalid_client")


@pytest.mark.parametrize("audience", [ISSUER, [ISSUER], ["https://other.example", f"{ISSUER}/connect/token"]])
def test_an_assertion_for_another_audience_is_refused(keyed: IdentityServer, audience: Any) -> None:
    assert ask(keyed, assertion(keyed, key=keys()[1], alg="ES256", aud=audience)).status_code == 200


def test_an_assertion_is_used_up_even_if_the_request_is_refused(keyed: IdentityServer) -> None:
    given = assertion(keyed)
    assert ask(keyed, given, scope="everything").status_code == 400
    assert ask(keyed, given).status_code == 401


@pytest.mark.parametrize(
    "changes",
    [
        {"iss": "riverside-portal"},
        {"sub": "riverside-portal"},
        {"sub": "nobody", "iss": "nobody"},
        {"aud": "https://other.example"},
        {"aud": None},
        {"aud": [1]},
        {"jti": None},
        {"jti": 7},
        {"exp": None},
        {"exp": "soon"},
        {"exp": 1},
        {"exp": 99999999999},
        {"nbf": 99999999999},
        {"iat": 99999999999},
        {"key": 2},
    ],
)
def test_an_assertion_with_a_wrong_claim_is_refused(keyed: IdentityServer, changes: dict[str, Any]) -> None:
    if "key" in changes:
        changes = {"key": keys()[changes["key"]]}
    answer = ask(keyed, assertion(keyed, **changes))
    assert (answer.status_code, answer.get_json()["error"]) == (401, "invalid_client")


@pytest.mark.parametrize("given", ["", "x", "e30.e30.", "a.b.c", "é.é.é", "e30.W10.AAAA"])
def test_an_unreadable_assertion_is_refused(keyed: IdentityServer, given: str) -> None:
    assert ask(keyed, given).status_code == 401


def test_an_assertion_unsigned_or_signed_with_the_public_key_is_refused(keyed: IdentityServer) -> None:
    head, payload, _ = assertion(keyed).split(".")
    none = base64.urlsafe_b64encode(b'{"alg":"none"}').rstrip(b"=").decode()
    assert ask(keyed, f"{none}.{payload}.").status_code == 401
    assert ask(keyed, f"{head}.{payload}.").status_code == 401


def test_a_client_with_keys_cannot_use_its_secret(keyed: IdentityServer) -> None:
    assert keyed.token(CLIENT, **ASK).status_code == 401
    assert ask(keyed, assertion(keyed), client_id="riverside-portal").status_code == 401
    assert keyed.token("harbour-service", **ASK).status_code == 200


@pytest.mark.parametrize("path", ["token", "par", "revocation", "introspect"])
def test_a_request_with_two_kinds_of_client_authentication_is_refused(
    server: IdentityServer, path: str
) -> None:
    secret = SECRETS["riverside-portal"]
    both = server.post(f"/connect/{path}", client_secret=secret, client_id="riverside-portal")
    assert (both.status_code, both.get_json()["error"]) == (400, "invalid_request")
    form = {"client_id": "riverside-portal", "client_secret": secret, "client_assertion": "x"}
    assert server.app.test_client().post(f"/connect/{path}", data=form).status_code == 400


def test_discovery_names_private_key_jwt(server: IdentityServer) -> None:
    told = server.app.test_client().get("/.well-known/openid-configuration").get_json()
    for endpoint in ("token", "revocation", "introspection"):
        assert "private_key_jwt" in told[f"{endpoint}_endpoint_auth_methods_supported"]
        assert "RS256" in told[f"{endpoint}_endpoint_auth_signing_alg_values_supported"]


def test_a_key_file_without_keys_is_reported_at_start(tmp_path: Path) -> None:
    file = tmp_path / "keys.json"
    for content in ("", "[]", json.dumps({"keys": [{"kty": "RSA"}]})):
        file.write_text(content)
        with pytest.raises(SystemExit, match="no JWK Set"):
            main(["--database", "sqlite://", "--port", "0", "--client-keys", f"{CLIENT}={file}"])


class TestIdTokenHint:
    """The person whom a client asks for (OpenID Connect Core §3.1.2.1)."""

    def test_an_id_token_hint_for_the_signed_in_person_is_accepted(self, server: IdentityServer) -> None:
        browser = server.browser()
        hint = server.tokens("amelia", browser)["id_token"]
        server.clock.advance(hours=1)
        assert "code" in answer_in(browser.authorize(prompt="none", id_token_hint=hint))

    def test_an_id_token_hint_for_another_person_requires_signing_in(self, server: IdentityServer) -> None:
        browser = server.browser()
        hint = server.tokens("daniel")["id_token"]
        browser.sign_in("amelia")
        assert answer_in(browser.authorize(prompt="none", id_token_hint=hint))["error"] == "login_required"
        page = browser.page(id_token_hint=hint)
        assert answer_in(browser.submit(page, "amelia"))["error"] == "login_required"
        assert "code" in answer_in(browser.submit(browser.page(id_token_hint=hint), "daniel"))

    def test_an_id_token_hint_of_another_client_is_refused(self, server: IdentityServer) -> None:
        browser = server.browser()
        access = server.tokens("amelia", browser)["access_token"]
        assert answer_in(browser.authorize(id_token_hint=access))["error"] == "invalid_request"
