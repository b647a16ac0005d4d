"""The authorization endpoint: what it accepts, and where each refusal leads."""

from __future__ import annotations

import hashlib
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import select

from portal.careservice import database
from portal.careservice.identity.tables import digest
from tests.careservice.identity.identity_server import (
    CALLBACK,
    CHALLENGE,
    ISSUER,
    SECRETS,
    IdentityServer,
    answer_in,
)


def test_a_person_who_signs_in_is_sent_back_with_code_state_and_issuer(server: IdentityServer) -> None:
    answer = server.browser().sign_in("amelia")
    assert answer["state"] == "a state"
    assert answer["iss"] == ISSUER
    assert len(answer["code"]) >= 32


def test_a_signed_in_person_is_sent_back_without_a_password(server: IdentityServer) -> None:
    browser = server.browser()
    browser.sign_in("amelia")
    assert "code" in answer_in(browser.authorize())
    assert "code" in answer_in(browser.authorize(prompt="none"))


def test_an_authorization_request_may_be_posted(server: IdentityServer) -> None:
    browser = server.browser()
    browser.sign_in("amelia")
    answer = browser.http.post(
        "/connect/authorize",
        data={
            "response_type": "code",
            "client_id": "riverside-portal",
            "redirect_uri": CALLBACK,
            "scope": "openid",
            "code_challenge": CHALLENGE,
            "code_challenge_method": "S256",
        },
    )
    assert set(answer_in(answer)) == {"code", "iss"}


@pytest.mark.parametrize(
    "changes",
    [
        {"client_id": None},
        {"client_id": "nobody"},
        {"client_id": "riverside-service"},
        {"redirect_uri": None},
        {"redirect_uri": CALLBACK + "/"},
        {"redirect_uri": CALLBACK + "?next=/"},
        {"redirect_uri": "http://riverside.localhost:8001/sign-in/callback"},
        {"redirect_uri": "https://evil.example/sign-in/callback"},
        {"redirect_uri": 'javascript:"alert(1)"'},
        {"redirect_uri": "http://[::1"},
        {"redirect_uri": "http://harbour.localhost:8000/sign-in/callback"},
        {"state": "a\x00b"},
        {"state": "x" * 9000},
        {"client_id": ["riverside-portal", "harbour-portal"]},
        {"redirect_uri": [CALLBACK, "https://evil.example/"]},
    ],
)
def test_an_untrusted_request_is_not_redirected(server: IdentityServer, changes: dict[str, Any]) -> None:
    answer = server.browser().authorize(**changes)
    assert answer.status_code == 400
    assert "You can’t sign in from there" in answer.text
    assert "evil.example" not in answer.text


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"response_type": None}, "invalid_request"),
        ({"response_type": "token"}, "unsupported_response_type"),
        ({"response_type": 'co"de\\é'}, "unsupported_response_type"),
        ({"response_mode": "fragment"}, "invalid_request"),
        ({"code_challenge": None}, "invalid_request"),
        ({"code_challenge": "short"}, "invalid_request"),
        ({"code_challenge_method": None}, "invalid_request"),
        ({"code_challenge_method": "plain"}, "invalid_request"),
        ({"scope": "openid everything"}, "invalid_scope"),
        ({"scope": 'openid "é'}, "invalid_scope"),
        ({"prompt": "none login"}, "invalid_request"),
        ({"prompt": "dance"}, "invalid_request"),
        ({"max_age": "soon"}, "invalid_request"),
        ({"max_age": "-1"}, "invalid_request"),
        ({"max_age": "9" * 30}, "invalid_request"),
        ({"acr_values": "tenant:harbour"}, "invalid_request"),
        ({"acr_values": "tenant:nowhere"}, "invalid_request"),
        ({"request": "eyJhbGciOiJub25lIn0.e30."}, "request_not_supported"),
        ({"request_uri": "https://evil.example/request"}, "request_uri_not_supported"),
        ({"id_token_hint": "nonsense"}, "invalid_request"),
        ({"prompt": "none"}, "login_required"),
    ],
)
def test_an_invalid_request_of_a_known_client_is_redirected_with_an_error(
    server: IdentityServer, changes: dict[str, Any], error: str
) -> None:
    answer = answer_in(server.browser().authorize(**changes))
    assert answer["error"] == error
    assert answer["state"] == "a state"
    assert answer["iss"] == ISSUER
    assert "code" not in answer


@pytest.mark.parametrize("prompt", ["login", "select_account"])
def test_a_client_can_require_the_password_again(server: IdentityServer, prompt: str) -> None:
    browser = server.browser()
    first = server.read(server.tokens("amelia", browser)["id_token"]).claims
    server.clock.advance(minutes=10)
    page = browser.page(prompt=prompt)
    is_same = prompt == "login"
    assert ("so that we know it’s you" in page.text, 'value="amelia"' in page.text) == (is_same, is_same)
    code = answer_in(browser.submit(page, "amelia"))["code"]
    again = server.read(server.exchange(code).get_json()["id_token"]).claims
    assert again["auth_time"] == first["auth_time"] + 600
    assert again["sid"] == first["sid"]


def test_max_age_asks_again_only_when_the_sign_in_is_older(server: IdentityServer) -> None:
    browser = server.browser()
    browser.sign_in("amelia")
    server.clock.advance(seconds=300)
    assert "code" in answer_in(browser.authorize(max_age="300"))
    server.clock.advance(seconds=1)
    assert browser.authorize(max_age="300").location.startswith("/sign-in?")
    assert answer_in(browser.authorize(max_age="300", prompt="none"))["error"] == "login_required"


@pytest.mark.parametrize(("seconds", "is_asked"), [(-30, False), (-31, True), (-3600, True)])
def test_a_sign_in_dated_ahead_of_now_is_not_recent(
    server: IdentityServer, seconds: int, is_asked: bool
) -> None:
    browser = server.browser()
    browser.sign_in("amelia")
    server.clock.advance(seconds=seconds)
    assert browser.authorize(max_age="300").location.startswith("/sign-in?") == is_asked


def test_a_sign_in_expires_at_the_end_of_its_lifetime(server: IdentityServer) -> None:
    browser = server.browser()
    browser.sign_in("amelia")
    server.clock.advance(hours=12, seconds=1)
    assert answer_in(browser.authorize(prompt="none"))["error"] == "login_required"


def test_a_person_of_one_clinic_cannot_sign_in_at_another(server: IdentityServer) -> None:
    browser = server.browser()
    browser.sign_in("amelia")
    elsewhere = {
        "client_id": "harbour-portal",
        "redirect_uri": "http://harbour.localhost:8000/sign-in/callback",
        "acr_values": "tenant:harbour",
    }
    assert answer_in(browser.authorize(**elsewhere, prompt="none"))["error"] == "login_required"
    page = browser.page(**elsewhere)
    assert "Harbour Fertility" in page.text
    answer = browser.submit(page, "amelia")
    assert answer.status_code == 401
    assert "don’t go together" in answer.text


class TestPushedRequests:
    def push(self, server: IdentityServer, client: str | None = "riverside-portal", **changes: Any) -> Any:
        form = {
            "response_type": "code",
            "redirect_uri": CALLBACK,
            "scope": "openid",
            "state": "pushed",
            "code_challenge": CHALLENGE,
            "code_challenge_method": "S256",
            **changes,
        }
        return server.post("/connect/par", client, **form)

    def use(self, browser: Any, request_uri: str, client_id: str = "riverside-portal") -> Any:
        return browser.http.get(
            "/connect/authorize", query_string={"client_id": client_id, "request_uri": request_uri}
        )

    def test_a_pushed_request_is_used_once(self, server: IdentityServer) -> None:
        pushed = self.push(server)
        assert pushed.status_code == 201
        assert pushed.get_json()["expires_in"] == 60
        request_uri = pushed.get_json()["request_uri"]
        assert request_uri.startswith("urn:ietf:params:oauth:request_uri:")
        browser = server.browser()
        page = browser.http.get(self.use(browser, request_uri).location)
        assert answer_in(browser.submit(page, "amelia"))["state"] == "pushed"
        over = self.use(browser, request_uri)
        assert (over.status_code, "This sign-in is over" in over.text) == (400, True)
        assert f'href="{CALLBACK.removesuffix("sign-in/callback")}"' in over.text

    def test_a_pushed_request_expires_after_a_minute(self, server: IdentityServer) -> None:
        request_uri = self.push(server).get_json()["request_uri"]
        server.clock.advance(seconds=60)
        over = self.use(server.browser(), request_uri)
        assert (over.status_code, "Go to the portal" in over.text) == (400, True)
        unknown = self.use(server.browser(), request_uri, "nobody\0")
        assert (unknown.status_code, "Go to the portal" in unknown.text) == (400, False)

    def test_a_pushed_request_of_another_client_is_refused(self, server: IdentityServer) -> None:
        request_uri = self.push(server).get_json()["request_uri"]
        assert self.use(server.browser(), request_uri, "harbour-portal").status_code == 400

    def test_parameters_in_the_url_do_not_override_a_pushed_request(self, server: IdentityServer) -> None:
        browser = server.browser()
        browser.sign_in("amelia")
        answer = browser.http.get(
            "/connect/authorize",
            query_string={
                "client_id": "riverside-portal",
                "request_uri": self.push(server).get_json()["request_uri"],
                "state": "changed",
                "redirect_uri": "http://localhost:8000/sign-in/callback",
            },
        )
        assert answer.location.startswith(CALLBACK)
        assert answer_in(answer)["state"] == "pushed"

    @pytest.mark.parametrize(
        ("changes", "status", "error"),
        [
            ({"client": None}, 401, "invalid_client"),
            ({"redirect_uri": "https://evil.example/"}, 400, "invalid_request"),
            ({"client_id": "harbour-portal"}, 400, "invalid_request"),
            ({"request_uri": "urn:ietf:params:oauth:request_uri:x"}, 400, "invalid_request"),
            ({"request": "e30.e30."}, 400, "request_not_supported"),
            ({"code_challenge_method": "plain"}, 400, "invalid_request"),
            ({"scope": "everything"}, 400, "invalid_scope"),
            ({"client": "riverside-service"}, 400, "invalid_client"),
        ],
    )
    def test_an_invalid_pushed_request_is_refused_when_pushed(
        self, server: IdentityServer, changes: dict[str, Any], status: int, error: str
    ) -> None:
        answer = self.push(server, **changes)
        assert (answer.status_code, answer.get_json()["error"]) == (status, error)


def test_a_pending_request_is_bound_to_its_browser(server: IdentityServer) -> None:
    victim, thief = server.browser(), server.browser()
    address = victim.authorize().location
    assert thief.http.get(address).status_code == 400
    handle = address.partition("request=")[2]
    answer = thief.http.post("/sign-in", data={"request": handle, "username": "amelia", "password": "x"})
    assert answer.status_code == 400
    assert "This sign-in is over" in answer.text
    assert leads_back(answer), "the same person's browser may have been started anew"


def leads_back(answer: Any) -> bool:
    """Whether the page has a link to the portal and the clinic's telephone number."""
    return 'href="http://riverside.localhost:8000/"' in answer.text and "tel:" in answer.text


def test_a_used_sign_in_page_links_back_to_the_portal(server: IdentityServer) -> None:
    browser = server.browser()
    page = browser.page()
    browser.submit(page, "amelia")
    again = browser.submit(page, "amelia")
    assert again.status_code == 400
    assert leads_back(again)


@pytest.mark.parametrize("hours", [0.25, 8])
def test_a_sign_in_page_expires_after_15_minutes_and_leads_back_to_the_portal(
    server: IdentityServer, hours: float
) -> None:
    browser = server.browser()
    page = browser.page()
    server.clock.advance(hours=hours)
    server.browser().sign_in("daniel")
    over = browser.submit(page, "amelia")
    assert over.status_code == 400
    assert leads_back(over)


def test_expired_records_are_deleted(server: IdentityServer) -> None:
    server.tokens("amelia")
    server.clock.moment += timedelta(days=30)
    server.browser().sign_in("daniel")
    with server.engine.connect() as connection:
        for table in (
            "grants",
            "refresh_tokens",
            "sign_ins",
            "authorization_requests",
            "authorization_codes",
        ):
            rows = connection.exec_driver_sql(f"SELECT count(*) FROM {table}").scalar_one()  # noqa: S608
            assert rows <= 1, table


def test_secrets_are_not_stored_in_plain_text(server: IdentityServer) -> None:
    assert digest("Aé") == hashlib.sha256("Aé".encode()).hexdigest(), "no other secret has the same"
    tokens = server.tokens("amelia")
    with server.engine.connect() as connection:
        kept = [
            str(row)
            for table in database.Base.metadata.sorted_tables
            for row in connection.execute(select(table))
        ]
    assert kept
    for secret in (tokens["refresh_token"], tokens["access_token"], SECRETS["riverside-portal"]):
        assert not any(secret in row for row in kept)
