"""Signing out, and notifying the clients."""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs

import pytest
from sqlalchemy import update

from portal.careservice.identity.tables import Client
from tests.careservice.identity.identity_server import SIGNED_OUT, Browser, IdentityServer, answer_in
from tests.support.elements import parsed


def end_session(browser: Browser, **parameters: Any) -> Any:
    return browser.http.get("/connect/endsession", query_string=parameters)


def is_signed_in(browser: Browser) -> bool:
    return "code" in answer_in(browser.authorize(prompt="none"))


def test_an_id_token_hint_signs_out_and_redirects_back(server: IdentityServer) -> None:
    browser = server.browser()
    tokens = server.tokens("amelia", browser)
    server.clock.advance(hours=2)  # a hint may have expired
    answer = end_session(
        browser, id_token_hint=tokens["id_token"], post_logout_redirect_uri=SIGNED_OUT, state="a b&c"
    )
    assert (answer.status_code, answer.location) == (303, f"{SIGNED_OUT}?state=a+b%26c")
    assert not is_signed_in(browser)
    assert server.refresh(tokens["refresh_token"]).status_code == 400


def test_a_logout_hint_that_names_the_sign_in_is_enough(server: IdentityServer) -> None:
    browser = server.browser()
    claims = server.read(server.tokens("amelia", browser)["id_token"]).claims
    answer = end_session(
        browser, client_id="riverside-portal", post_logout_redirect_uri=SIGNED_OUT, logout_hint=claims["sid"]
    )
    assert answer.location == SIGNED_OUT
    assert not is_signed_in(browser)


def test_a_sign_out_link_without_a_valid_hint_asks_first(server: IdentityServer) -> None:
    browser = server.browser()
    elsewhere = server.tokens("amelia")["id_token"]
    daniels = server.tokens("daniel")["id_token"]
    claims = server.read(server.tokens("amelia", browser)["id_token"]).claims
    for hint in (
        {},
        {"logout_hint": "somebody"},
        {"logout_hint": "amelia"},
        {"logout_hint": claims["sub"]},
        {"id_token_hint": daniels},
        {"id_token_hint": elsewhere},
        {"id_token_hint": daniels, "logout_hint": claims["sid"]},
    ):
        page = end_session(
            browser,
            client_id="riverside-portal",
            post_logout_redirect_uri=SIGNED_OUT,
            state="s",
            ui_locales="es",
            **hint,
        )
        assert page.status_code == 200
        assert "¿Quieres cerrar la sesión?" in page.text
    assert is_signed_in(browser)
    form = parsed(page.text).select_one("form")
    assert form is not None
    fields = {str(field["name"]): str(field["value"]) for field in form.select("input")}
    asked_again = browser.http.post("/connect/endsession", data={**fields, "confirm": "guess"})
    assert asked_again.status_code == 200
    assert '<html lang="es"' in asked_again.text
    assert end_session(browser, **fields).status_code == 200, "a link signs nobody out"
    assert is_signed_in(browser)
    answer = browser.http.post("/connect/endsession", data=fields)
    assert answer.location == f"{SIGNED_OUT}?state=s"
    assert not is_signed_in(browser)


def test_a_browser_without_a_sign_in_is_still_redirected_back(server: IdentityServer) -> None:
    answer = end_session(server.browser(), client_id="riverside-portal", post_logout_redirect_uri=SIGNED_OUT)
    assert answer.location == SIGNED_OUT
    assert "You are signed out" in end_session(server.browser()).text


@pytest.mark.parametrize(
    "target",
    [
        "https://evil.example/",
        SIGNED_OUT + "/",
        SIGNED_OUT + "?x=1",
        "http://riverside.localhost:8000/sign-in/callback",
        "http://harbour.localhost:8000/signed-out",
        "javascript:alert(1)",
        "//evil.example",
    ],
)
def test_an_unregistered_address_after_sign_out_is_not_redirected_to(
    server: IdentityServer, target: str
) -> None:
    browser = server.browser()
    id_token = server.tokens("amelia", browser)["id_token"]
    answer = end_session(browser, id_token_hint=id_token, post_logout_redirect_uri=target)
    assert answer.status_code == 200
    assert "You are signed out" in answer.text
    assert "evil" not in answer.text
    answer = end_session(server.browser(), post_logout_redirect_uri=SIGNED_OUT)
    assert answer.status_code == 200


def test_a_foreign_id_token_hint_signs_nobody_out(server: IdentityServer) -> None:
    browser = server.browser()
    tokens = server.tokens("amelia", browser)
    for hint in ("nonsense", tokens["access_token"], tokens["id_token"][:-4] + "AAAA"):
        assert end_session(browser, id_token_hint=hint).status_code == 400
    assert (
        end_session(browser, id_token_hint=tokens["id_token"], client_id="harbour-portal").status_code == 400
    )
    assert is_signed_in(browser)


def test_other_browsers_stay_signed_in(server: IdentityServer) -> None:
    here, there = server.browser(), server.browser()
    id_token = server.tokens("amelia", here)["id_token"]
    tokens = server.tokens("amelia", there)
    end_session(here, id_token_hint=id_token)
    assert is_signed_in(there)
    assert server.refresh(tokens["refresh_token"]).status_code == 200


class Listener:
    """A client's back-channel address."""

    def __init__(self, status: int) -> None:
        self.received: queue.Queue[dict[str, list[str]]] = queue.Queue()
        received = self.received

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"])).decode()
                received.put({**parse_qs(body), "host": [self.headers["Host"]]})
                self.send_response(status)
                self.send_header("Location", "/elsewhere")
                self.end_headers()

            def log_message(self, format: str, *args: Any) -> None:
                """Tests are quiet."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True)
        self.thread.start()
        self.host = f"riverside.localhost:{self.server.server_address[1]}"

    def listen(self, server: IdentityServer) -> None:
        with server.engine.begin() as connection:
            connection.execute(
                update(Client)
                .where(Client.client_id == "riverside-portal")
                .values(backchannel_logout_uri=f"http://{self.host}/sign-out/back-channel")
            )

    def close(self) -> None:
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()


@pytest.fixture(params=[200, 302, 500])
def listener(request: pytest.FixtureRequest) -> Iterator[Listener]:
    listening = Listener(request.param)
    yield listening
    listening.close()


def test_all_clients_get_a_logout_token_whatever_they_respond(
    server: IdentityServer, listener: Listener
) -> None:
    listener.listen(server)
    browser = server.browser()
    tokens = server.tokens("amelia", browser)
    claims = server.read(tokens["id_token"]).claims
    server.post("/connect/revocation", token=tokens["refresh_token"])
    end_session(browser, id_token_hint=tokens["id_token"])
    told = listener.received.get(timeout=10)
    assert told["host"] == [listener.host]
    token = server.read(told["logout_token"][0])
    assert token.header["typ"] == "logout+jwt"
    assert token.claims["aud"] == "riverside-portal"
    assert (token.claims["sid"], token.claims["sub"]) == (claims["sid"], claims["sub"])
    assert token.claims["events"] == {"http://schemas.openid.net/event/backchannel-logout": {}}
    assert token.claims["jti"]
    assert "nonce" not in token.claims
    assert listener.received.empty()


def test_an_unreachable_client_does_not_block_a_sign_out(server: IdentityServer) -> None:
    browser = server.browser()
    tokens = server.tokens("amelia", browser)  # the registered portal isn't running
    assert end_session(browser, id_token_hint=tokens["id_token"]).status_code == 200
