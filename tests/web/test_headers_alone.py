"""The headers on their own, around a bare application."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from flask import Flask, Response, g

from portal.web import headers
from portal.web.headers import FIXED, OVER_TLS

OWN = {"Content-Security-Policy": "sandbox", "Cache-Control": "max-age=60"}


@pytest.fixture
def site(app: Flask) -> Flask:
    app.add_url_rule("/page", "page", lambda: headers.nonce() + headers.nonce())
    app.add_url_rule("/bare", "bare", lambda: Response("x", mimetype="text/plain"))
    app.add_url_rule("/own", "own", lambda: Response("<p>x", headers=OWN))

    @app.before_request
    def begin() -> None:
        g.tenant = SimpleNamespace(auth_origin="https://id.test", passkey_signatures="off")

    headers.init_app(app)
    return app


@pytest.mark.parametrize("path", ["/page", "/bare", "/own", "/nowhere"])
@pytest.mark.parametrize("scheme", ["http", "https"])
def test_every_response_has_each_header_once(site: Flask, path: str, scheme: str) -> None:
    answer = site.test_client().get(path, base_url=f"{scheme}://clinic.test")
    for name, value in FIXED.items():
        (given,) = answer.headers.getlist(name)
        if path == "/own" and name in OWN:
            assert given == OWN[name]
        elif name != "Content-Security-Policy" or path == "/bare":
            assert given == value
    for name, value in OVER_TLS.items():
        assert answer.headers.getlist(name) == ([value] if scheme == "https" else [])
    assert answer.headers["X-Request-Id"] == "request"
    permissions = answer.headers.getlist("Permissions-Policy")
    assert len(permissions) == (path != "/bare")
    for one in permissions:
        features = one.split(", ")
        assert features[-1] == "clipboard-write=(self)"
        assert {"camera=()", "geolocation=()", "microphone=()", "payment=()"} <= set(features)
        assert all(feature.endswith("=()") for feature in features[:-1])


def test_what_htmx_fetches_has_the_nonce_and_allows_nothing_else(site: Flask) -> None:
    answer = site.test_client().get("/page", headers={"HX-Request": "true"})
    policy = f"default-src 'none'; script-src 'nonce-{answer.text[:24]}'; base-uri 'none'; form-action 'none'"
    assert answer.headers["Content-Security-Policy"] == f"{policy}; frame-ancestors 'none'"
    assert "Permissions-Policy" not in answer.headers


def test_a_pages_policy_has_the_responses_own_nonce(site: Flask) -> None:
    client, nonces = site.test_client(), set[str]()
    for _ in range(3):
        answer = client.get("/page")
        nonce = answer.text[:24]
        assert answer.text == nonce * 2, "one for the whole answer, of 18 random bytes"
        policy = answer.headers["Content-Security-Policy"]
        assert f"script-src 'nonce-{nonce}' 'strict-dynamic';" in policy
        assert "form-action 'self' https://id.test;" in policy
        nonces.add(nonce)
    assert len(nonces) == 3


def test_without_a_clinic_forms_may_only_post_to_the_same_origin(app: Flask) -> None:
    headers.init_app(app)
    answer = app.test_client().get("/nowhere")
    assert "form-action 'self';" in answer.headers["Content-Security-Policy"]


def test_without_a_request_id_the_header_is_left_out(app: Flask) -> None:
    headers.init_app(app)
    app.before_request(lambda: g.pop("request_id") and None)
    assert "X-Request-Id" not in app.test_client().get("/nowhere").headers
