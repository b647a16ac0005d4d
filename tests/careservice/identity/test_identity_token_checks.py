"""Which tokens the care API accepts: revoked, introspected and forged ones."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest
from joserfc import jwt
from joserfc.jwk import OctKey, RSAKey

from portal.careservice import database
from portal.careservice.identity import keys
from portal.careservice.ids import sample_id
from tests.careservice.identity.identity_server import IdentityServer, is_good


class TestRevocation:
    def test_a_revoked_access_token_is_invalid(self, server: IdentityServer) -> None:
        tokens = server.tokens()
        for _ in range(2):
            assert server.post("/connect/revocation", token=tokens["access_token"]).status_code == 200
        assert not is_good(server, tokens["access_token"])
        assert server.userinfo(tokens["access_token"]).status_code == 401
        assert server.refresh(tokens["refresh_token"]).status_code == 200

    def test_revoking_a_refresh_token_revokes_its_family(self, server: IdentityServer) -> None:
        tokens = server.tokens()
        server.post("/connect/revocation", token=tokens["refresh_token"], token_type_hint="whatever")
        assert server.refresh(tokens["refresh_token"]).status_code == 400
        assert not is_good(server, tokens["access_token"])

    def test_a_service_client_can_revoke_its_own_token(self, server: IdentityServer) -> None:
        token = server.token("riverside-service", grant_type="client_credentials").get_json()["access_token"]
        server.post("/connect/revocation", "riverside-service", token=token)
        assert not is_good(server, token)

    def test_a_client_cannot_revoke_another_clients_token(self, server: IdentityServer) -> None:
        tokens = server.tokens()
        for token in (tokens["access_token"], tokens["refresh_token"]):
            assert server.post("/connect/revocation", "harbour-portal", token=token).status_code == 400
        assert server.post("/connect/revocation", None, token=tokens["access_token"]).status_code == 401
        assert is_good(server, tokens["access_token"])

    def test_revoking_an_unknown_token_succeeds(self, server: IdentityServer) -> None:
        assert server.post("/connect/revocation", token="nonsense").status_code == 200
        assert server.post("/connect/revocation").get_json()["error"] == "invalid_request"


class TestIntrospection:
    def ask(self, server: IdentityServer, token: str, client: str | None = "riverside-service") -> Any:
        return server.post("/connect/introspect", client, token=token)

    def test_a_service_client_can_introspect_a_token(self, server: IdentityServer) -> None:
        tokens = server.tokens("amelia")
        answer = self.ask(server, tokens["access_token"]).get_json()
        assert answer["active"] is True
        assert answer["sub"] == sample_id("person", "amelia")
        assert self.ask(server, tokens["refresh_token"]).get_json()["active"] is True
        server.post("/connect/revocation", token=tokens["refresh_token"])
        assert self.ask(server, tokens["access_token"]).get_json() == {"active": False}
        assert self.ask(server, tokens["refresh_token"]).get_json() == {"active": False}

    def test_an_expired_token_is_not_active(self, server: IdentityServer) -> None:
        token = server.tokens()["access_token"]
        server.clock.advance(hours=1)
        assert self.ask(server, token).get_json() == {"active": False}

    def test_introspection_is_only_for_service_clients_of_the_same_clinic(
        self, server: IdentityServer
    ) -> None:
        token = server.tokens("amelia")["access_token"]
        for client in ("riverside-portal", "harbour-service"):
            assert self.ask(server, token, client).get_json() == {"active": False}
        assert self.ask(server, token, None).status_code == 401
        assert self.ask(server, "nonsense").get_json() == {"active": False}


class TestForgedTokens:
    def claims(self, server: IdentityServer) -> dict[str, Any]:
        return dict(server.read(server.tokens()["access_token"]).claims)

    def test_an_access_token_expires_after_ten_minutes(self, server: IdentityServer) -> None:
        token = server.tokens()["access_token"]
        server.clock.advance(minutes=9, seconds=59)
        assert is_good(server, token)
        server.clock.advance(seconds=1)
        assert not is_good(server, token)

    def test_tokens_with_other_keys_or_algorithms_are_refused(self, server: IdentityServer) -> None:
        claims = self.claims(server)
        published = server.app.test_client().get("/.well-known/jwks").get_json()["keys"][0]
        kid = published["kid"]
        strange = RSAKey.generate_key(2048)
        public_pem = RSAKey.import_key(published).as_pem(private=False)
        # PyJWT's old confusion: the public key, which everyone has, taken for an HMAC secret.
        shared = OctKey.import_key(base64.urlsafe_b64encode(public_pem).decode())
        for token in (
            jwt.encode({"alg": "RS256", "kid": kid, "typ": "at+jwt"}, claims, strange),
            jwt.encode({"alg": "RS256", "kid": "unknown", "typ": "at+jwt"}, claims, strange),
            jwt.encode({"alg": "HS256", "kid": kid, "typ": "at+jwt"}, claims, shared),
            unsigned(claims),
            "",
            "...",
            "a.b.c",
            "é" * 50,
        ):
            assert not is_good(server, token)

    @pytest.mark.parametrize(
        ("header", "changes"),
        [
            ({"typ": "JWT"}, {}),
            ({"typ": "logout+jwt"}, {}),
            ({"typ": "at+jwt"}, {"iss": "https://other.example"}),
            ({"typ": "at+jwt"}, {"aud": "other"}),
            ({"typ": "at+jwt"}, {"scope": "openid"}),
            ({"typ": "at+jwt"}, {"grant": "another"}),
        ],
    )
    def test_our_own_tokens_of_other_types_are_refused(
        self, server: IdentityServer, header: dict[str, str], changes: dict[str, str]
    ) -> None:
        claims = self.claims(server)
        with server.app.app_context(), database.new_session(server.engine) as session:
            key = keys.signing_key(session)
        good = jwt.encode({"alg": "RS256", "kid": key.kid, "typ": "at+jwt"}, claims, key)
        bad = jwt.encode({"alg": "RS256", "kid": key.kid, **header}, {**claims, **changes}, key)
        assert is_good(server, good)
        assert not is_good(server, bad)

    def test_an_id_token_is_no_access_token(self, server: IdentityServer) -> None:
        assert not is_good(server, server.tokens()["id_token"])


def unsigned(claims: dict[str, Any]) -> str:
    parts = ({"alg": "none", "typ": "at+jwt"}, claims)
    return (
        ".".join(base64.urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=").decode() for part in parts)
        + "."
    )
