"""Tokens: what they hold, codes, refreshing, and what the token endpoint accepts."""

from __future__ import annotations

import base64
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from portal.careservice.ids import sample_id
from tests.careservice.identity.identity_server import (
    ISSUER,
    PASSWORD,
    SECRETS,
    VERIFIER,
    IdentityServer,
    answer_in,
    is_good,
)


def test_an_access_token_names_person_roles_and_clinic(server: IdentityServer) -> None:
    answer = server.tokens("nora")
    assert answer["token_type"] == "Bearer"
    assert answer["expires_in"] == 600
    token = server.read(answer["access_token"])
    assert token.header["typ"] == "at+jwt"
    assert token.header["alg"] == "RS256"
    now = int(server.clock.moment.timestamp())
    expected = {
        "iss": ISSUER,
        "aud": "ClientelePortal",
        "sub": sample_id("person", "nora"),
        "client_id": "riverside-portal",
        "tenantid": sample_id("tenant", "riverside"),
        "role": "nurse",
        "iat": now,
        "exp": now + 600,
    }
    assert token.claims.items() >= expected.items()
    assert token.claims["scope"].split() == answer["scope"].split()
    assert token.claims["jti"] != server.read(server.tokens("nora")["access_token"]).claims["jti"]


def test_an_id_token_names_person_clinic_and_sign_in(server: IdentityServer) -> None:
    token = server.read(server.tokens("amelia")["id_token"])
    now = int(server.clock.moment.timestamp())
    assert token.header["alg"] == "RS256"
    expected = {
        "iss": ISSUER,
        "aud": "riverside-portal",
        "sub": sample_id("person", "amelia"),
        "nonce": "a nonce",
        "auth_time": now,
        "iat": now,
        "exp": now + 1200,
        "tenantid": sample_id("tenant", "riverside"),
        "role": "patient",
        "name": "Amelia Hart",
        "given_name": "Amelia",
        "family_name": "Hart",
        "email": "amelia@riverside.example",
        "preferred_username": "amelia",
        "locale": "en",
    }
    assert token.claims.items() >= expected.items()
    assert token.claims["sid"]


def test_each_scope_returns_its_own_claims(server: IdentityServer) -> None:
    plain = server.tokens("amelia", scope="openid")
    assert "refresh_token" not in plain
    claims = server.read(plain["id_token"]).claims
    assert not {"name", "email", "role"} & set(claims)
    assert server.userinfo(plain["access_token"]).get_json() == {
        "sub": sample_id("person", "amelia"),
        "tenantid": sample_id("tenant", "riverside"),
    }
    assert not is_good(server, plain["access_token"])
    bearer = {"Authorization": f"Bearer {plain['access_token']}"}
    called = server.app.test_client().get("/api/care/consent-forms", headers=bearer)
    assert (called.status_code, called.data) == (403, b"")
    assert called.headers["WWW-Authenticate"] == 'Bearer error="insufficient_scope", scope="ClientelePortal"'
    without = server.tokens("amelia", scope="ClientelePortal")
    assert "id_token" not in without
    assert is_good(server, without["access_token"])
    refused = server.userinfo(without["access_token"])
    assert refused.status_code == 403
    assert refused.headers["WWW-Authenticate"] == 'Bearer error="insufficient_scope", scope="openid"'


def test_userinfo_returns_only_claims_of_the_granted_scopes(server: IdentityServer) -> None:
    answer = server.userinfo(server.tokens("grace")["access_token"])
    assert answer.get_json().items() >= {"name": "Grace Okafor", "role": "patient"}.items()
    assert server.userinfo("nonsense").status_code == 401
    assert 'error="invalid_token"' in server.userinfo("é").headers["WWW-Authenticate"]
    assert server.app.test_client().get("/connect/userinfo").headers["WWW-Authenticate"] == "Bearer"


class TestCodes:
    def test_a_code_is_valid_for_a_minute(self, server: IdentityServer) -> None:
        code = server.browser().sign_in()["code"]
        server.clock.advance(seconds=60)
        assert server.exchange(code).get_json()["error"] == "invalid_grant"

    def test_a_second_use_of_a_code_revokes_its_tokens(self, server: IdentityServer) -> None:
        code = server.browser().sign_in()["code"]
        tokens = server.exchange(code).get_json()
        assert is_good(server, tokens["access_token"])
        assert server.exchange(code).get_json()["error"] == "invalid_grant"
        assert not is_good(server, tokens["access_token"])
        assert server.refresh(tokens["refresh_token"]).get_json()["error"] == "invalid_grant"

    @pytest.mark.parametrize(
        ("changes", "error"),
        [
            ({"code_verifier": VERIFIER[::-1]}, "invalid_grant"),
            ({"code_verifier": "short"}, "invalid_request"),
            ({"code_verifier": ""}, "invalid_request"),
            ({"redirect_uri": "http://localhost:8000/sign-in/callback"}, "invalid_grant"),
            ({"redirect_uri": ""}, "invalid_grant"),
            ({"client": "harbour-portal"}, "invalid_grant"),
            ({"code": "guess"}, "invalid_grant"),
            ({"client": "riverside-service"}, "unauthorized_client"),
        ],
    )
    def test_a_code_is_bound_to_client_redirect_uri_and_verifier(
        self, server: IdentityServer, changes: dict[str, Any], error: str
    ) -> None:
        code = server.browser().sign_in()["code"]
        answer = server.exchange(**{"code": code, **changes})
        assert (answer.status_code, answer.get_json()["error"]) == (400, error)

    def test_signing_out_invalidates_an_unused_code(self, server: IdentityServer) -> None:
        browser = server.browser()
        tokens = server.tokens("amelia", browser)
        code = browser.authorize().location.partition("code=")[2].partition("&")[0]
        browser.http.get("/connect/endsession", query_string={"id_token_hint": tokens["id_token"]})
        assert server.exchange(code).get_json()["error"] == "invalid_grant"


class TestRefreshing:
    def test_each_refresh_returns_a_new_refresh_token(self, server: IdentityServer) -> None:
        first = server.tokens()["refresh_token"]
        second = server.refresh(first).get_json()
        assert is_good(server, second["access_token"])
        assert second["refresh_token"] != first
        assert server.refresh(second["refresh_token"]).status_code == 200

    def test_a_refresh_repeated_within_30_seconds_gets_the_same_answer(self, server: IdentityServer) -> None:
        first = server.tokens()["refresh_token"]
        answer = server.refresh(first).get_json()
        server.clock.advance(seconds=30)
        assert server.refresh(first).get_json() == answer
        third = server.refresh(answer["refresh_token"])
        assert third.status_code == 200
        server.clock.advance(seconds=31)
        server.refresh(third.get_json()["refresh_token"])
        with server.engine.begin() as connection:
            used = (
                "SELECT sealed_answer FROM refresh_tokens WHERE replaced_at IS NOT NULL ORDER BY replaced_at"
            )
            sealed = list(connection.exec_driver_sql(used).scalars())
        assert sealed[:2] == [None, None], "answers are forgotten after their time"
        assert sealed[2] not in (None, ""), "the latest is kept"

    def test_eight_refreshes_with_one_token_at_once_get_one_answer(self, server: IdentityServer) -> None:
        first = server.tokens()["refresh_token"]
        with ThreadPoolExecutor(8) as pool:
            answers = [answer.get_json() for answer in pool.map(server.refresh, [first] * 8)]
        assert answers == [answers[0]] * 8
        assert is_good(server, answers[0]["access_token"])
        with server.engine.begin() as connection:
            issued = connection.exec_driver_sql("SELECT count(*) FROM refresh_tokens").scalar()
        assert issued == 2, "the first one and its only successor"

    def test_a_repeated_refresh_is_answered_in_the_same_scope_and_to_the_same_client_alone(
        self, server: IdentityServer
    ) -> None:
        first = server.tokens()["refresh_token"]
        server.refresh(first)
        assert server.refresh(first, scope="ClientelePortal").get_json()["error"] == "invalid_scope"
        assert server.refresh(first, client="harbour-portal").get_json()["error"] == "invalid_grant"

    def test_a_repeated_refresh_of_a_disabled_account_is_refused(self, server: IdentityServer) -> None:
        first = server.tokens()["refresh_token"]
        server.refresh(first)
        with server.engine.begin() as connection:
            connection.exec_driver_sql("UPDATE people SET is_active = false WHERE username = 'amelia'")
        assert server.refresh(first).get_json()["error"] == "invalid_grant"

    def test_later_reuse_of_a_refresh_token_revokes_the_family(self, server: IdentityServer) -> None:
        first = server.tokens()["refresh_token"]
        second = server.refresh(first).get_json()
        server.clock.advance(seconds=31)
        assert server.refresh(first).get_json()["error"] == "invalid_grant"
        assert server.refresh(second["refresh_token"]).get_json()["error"] == "invalid_grant"
        assert not is_good(server, second["access_token"])

    def test_refresh_token_reuse_does_not_end_other_sign_ins(self, server: IdentityServer) -> None:
        first, other = server.tokens(), server.tokens()
        server.refresh(first["refresh_token"])
        server.clock.advance(seconds=31)
        server.refresh(first["refresh_token"])
        assert server.refresh(other["refresh_token"]).status_code == 200

    def test_a_refresh_token_expires_after_14_days(self, server: IdentityServer) -> None:
        token = server.tokens()["refresh_token"]
        server.clock.advance(days=14)
        assert server.refresh(token).get_json()["error"] == "invalid_grant"

    def test_a_refresh_with_a_narrower_scope_keeps_the_original_grant(self, server: IdentityServer) -> None:
        answer = server.refresh(server.tokens()["refresh_token"], scope="ClientelePortal").get_json()
        assert answer["scope"] == "ClientelePortal"
        again = server.refresh(answer["refresh_token"]).get_json()
        assert "offline_access" in again["scope"]

    def test_a_refresh_with_a_wider_scope_is_refused(self, server: IdentityServer) -> None:
        token = server.tokens(scope="openid offline_access")["refresh_token"]
        assert server.refresh(token, scope="ClientelePortal").get_json()["error"] == "invalid_scope"

    def test_a_refresh_token_of_another_client_is_refused(self, server: IdentityServer) -> None:
        token = server.tokens()["refresh_token"]
        assert server.refresh(token, client="harbour-portal").get_json()["error"] == "invalid_grant"

    def test_a_refreshed_token_keeps_its_auth_time(self, server: IdentityServer) -> None:
        signed_in = int(server.clock.moment.timestamp())
        first = server.tokens()
        server.clock.advance(minutes=7)
        renewed = server.refresh(first["refresh_token"]).get_json()
        for token in (first["access_token"], renewed["access_token"], renewed["id_token"]):
            assert server.read(token).claims["auth_time"] == signed_in

    def test_a_refresh_tells_the_roles_of_now(self, server: IdentityServer) -> None:
        first = server.tokens("nora")
        with server.engine.begin() as connection:
            connection.exec_driver_sql("UPDATE people SET roles = '[]' WHERE username = 'nora'")
        renewed = server.refresh(first["refresh_token"]).get_json()
        before, now = (server.read(answer["id_token"]).claims for answer in (first, renewed))
        assert (before["role"], now["role"]) == ("nurse", [])
        assert (now["sub"], now["sid"], now.get("nonce")) == (before["sub"], before["sid"], None)

    def test_a_code_of_an_older_sign_in_keeps_its_auth_time(self, server: IdentityServer) -> None:
        browser = server.browser()
        signed_in = int(server.clock.moment.timestamp())
        server.tokens(browser=browser)
        server.clock.advance(minutes=7)
        code = answer_in(browser.authorize())["code"]
        second = server.exchange(code).get_json()["access_token"]
        assert server.read(second).claims["auth_time"] == signed_in

    def test_a_disabled_account_gets_no_more_tokens(self, server: IdentityServer) -> None:
        token = server.tokens()["refresh_token"]
        with server.engine.begin() as connection:
            connection.exec_driver_sql("UPDATE people SET is_active = false WHERE username = 'amelia'")
        assert server.refresh(token).get_json()["error"] == "invalid_grant"
        answer = server.browser()
        assert answer.submit(answer.page(), "amelia").status_code == 401


class TestClientCredentials:
    def test_a_service_client_gets_a_token_by_client_credentials(self, server: IdentityServer) -> None:
        answer = server.token(
            None,
            grant_type="client_credentials",
            client_id="riverside-service",
            client_secret=SECRETS["riverside-service"],
            scope="ClientelePortal",
        )
        assert answer.status_code == 200
        assert answer.headers["Cache-Control"] == "no-store"
        assert "refresh_token" not in answer.get_json()
        claims = server.read(answer.get_json()["access_token"]).claims
        assert claims["client_id"] == claims["sub"] == "riverside-service"
        assert not {"tenantid", "role", "sid"} & set(claims)
        assert is_good(server, answer.get_json()["access_token"])

    def test_a_service_clients_scope_defaults_to_the_api(self, server: IdentityServer) -> None:
        answer = server.token("riverside-service", grant_type="client_credentials")
        assert answer.get_json()["scope"] == "ClientelePortal"

    @pytest.mark.parametrize(
        ("client", "form", "error"),
        [
            ("riverside-service", {"scope": "openid"}, "invalid_scope"),
            ("riverside-portal", {}, "unauthorized_client"),
            ("riverside-service", {"grant_type": "password"}, "unsupported_grant_type"),
            (
                "riverside-service",
                {"grant_type": ["client_credentials", "client_credentials"]},
                "invalid_request",
            ),
            ("riverside-service", {"scope": "a\x00b"}, "invalid_request"),
        ],
    )
    def test_a_service_client_is_refused_other_scopes_and_grants(
        self, server: IdentityServer, client: str, form: dict[str, Any], error: str
    ) -> None:
        answer = server.token(client, **{"grant_type": "client_credentials", **form})
        assert (answer.status_code, answer.get_json()["error"]) == (400, error)

    @pytest.mark.parametrize(
        "header",
        [
            "",
            "Basic",
            "Basic !!!",
            "Basic é",
            "Basic " + base64.b64encode(b"riverside-service").decode(),
            "Basic " + base64.b64encode(b"\xff\xfe:\xff").decode(),
            "Basic " + base64.b64encode(b"riverside-service:wrong").decode(),
            "Basic " + base64.b64encode(b"nobody:wrong").decode(),
            "Basic " + base64.b64encode(b"%00:%00").decode(),
            "Bearer x",
        ],
    )
    def test_wrong_credentials_are_refused(self, server: IdentityServer, header: str) -> None:
        answer = server.app.test_client().post(
            "/connect/token", data={"grant_type": "client_credentials"}, headers={"Authorization": header}
        )
        assert (answer.status_code, answer.get_json()["error"]) == (401, "invalid_client")
        assert answer.headers["WWW-Authenticate"].startswith("Basic")

    def test_a_foreign_host_header_does_not_change_the_issuer(self, server: IdentityServer) -> None:
        answer = server.app.test_client().post(
            "/connect/token",
            data={"grant_type": "client_credentials"},
            auth=("riverside-service", SECRETS["riverside-service"]),
            headers={"Host": "evil.example"},
        )
        assert server.read(answer.get_json()["access_token"]).claims["iss"] == ISSUER


def test_the_token_endpoint_accepts_only_forms(server: IdentityServer) -> None:
    client = server.app.test_client()
    assert client.get("/connect/token").status_code == 405
    assert client.post("/connect/token", json={"grant_type": "client_credentials"}).status_code == 400
    assert client.post("/connect/token", data={"x": "y" * 200_000}).status_code == 413


def test_the_password_grant_is_unsupported(server: IdentityServer) -> None:
    answer = server.token(grant_type="password", username="amelia", password=PASSWORD)
    assert answer.get_json()["error"] == "unsupported_grant_type"
