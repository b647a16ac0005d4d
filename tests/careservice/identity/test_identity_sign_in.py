"""The sign-in page."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from portal.careservice.identity import passwords, translations
from tests.careservice.identity.identity_server import PASSWORD, IdentityServer, answer_in
from tests.support.elements import parsed
from tests.support.hashing import AS_DEPLOYED


def test_the_page_is_plain_and_accessible(server: IdentityServer) -> None:
    page = server.browser().page(login_hint="amelia")
    root = parsed(page.text)
    assert [heading.words for heading in root.select("h1")] == ["Sign in"]
    assert root.findtext(".//title") == "Sign in · Riverside Fertility"
    for name, hint in (("username", "username"), ("password", "current-password")):
        field = root.select_one(f"input[name={name}]")
        assert field is not None
        assert field["autocomplete"] == hint
        assert root.select_one(f"label[for={field['id']}]") is not None
    assert [button.words for button in root.select("form:not([hidden]) button")] == ["Sign in"]
    assert root.select_one("input[name=username][value=amelia]") is not None
    assert not root.select("style, [style], [onload]")
    assert [script["src"] for script in root.select("script")] == ["/static/passkeys.js"]


@pytest.mark.parametrize(
    ("locales", "language", "direction", "heading"),
    [
        ("es en", "es", "ltr", "Iniciar sesión"),
        ("ar", "ar", "rtl", "تسجيل الدخول"),
        ("xx-YY", "en", "ltr", "Sign in"),
    ],
)
def test_the_sign_in_page_uses_the_requested_language(
    server: IdentityServer, locales: str, language: str, direction: str, heading: str
) -> None:
    root = parsed(server.browser().page(ui_locales=locales).text)
    assert (root["lang"], root["dir"], root.select_one("h1").words) == (language, direction, heading)


def test_the_page_says_whom_to_call_who_cannot_sign_in(server: IdentityServer) -> None:
    root = parsed(server.browser().page(ui_locales="es").text)
    call = root.select_one("main a[href^='tel:']")
    assert call is not None
    assert (call["href"], call.words) == ("tel:02079460199", "020 7946 0199")


def test_every_text_of_the_pages_is_translated() -> None:
    folder = Path(translations.__file__).parents[1] / "templates" / "identity"
    said = {text for file in folder.glob("*.html") for text in re.findall(r'_\("([^"]+)"', file.read_text())}
    assert said and not said - translations.TRANSLATIONS.keys()


def test_the_sign_in_page_has_strict_security_headers(server: IdentityServer) -> None:
    headers = server.browser().page().headers
    policy = headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "form-action 'self' http://riverside.localhost:8000;" in policy
    assert "frame-ancestors 'none'" in policy
    assert "unsafe" not in policy
    assert headers["Cache-Control"] == "no-store"
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Referrer-Policy"] == "no-referrer"


def test_the_clinic_shows_its_name_and_colour(server: IdentityServer) -> None:
    browser = server.browser()
    page = browser.page()
    assert "Riverside Fertility" in page.text
    assert "/identity/riverside.css" in page.text
    assert "#0b6e4f" in browser.http.get("/identity/riverside.css").text
    assert browser.http.get("/identity/nowhere.css").status_code == 200
    with browser.http.get("/static/identity.css") as sheet:
        assert sheet.status_code == 200


def test_sample_people_are_listed_only_in_a_demo(server: IdentityServer, demo_server: IdentityServer) -> None:
    assert "Nora Lindqvist" not in server.browser().page().text
    listed = parsed(demo_server.browser().page().text).select(".samples dt")
    assert {entry.words for entry in listed} == {
        *("ada", "amelia", "colin", "daniel", "elif", "grace", "nora", "victor")
    }


def test_the_sign_in_cookie_is_http_only_and_new_at_each_sign_in(server: IdentityServer) -> None:
    browser = server.browser()
    first = browser.submit(browser.page(), "amelia").headers.getlist("Set-Cookie")[-2]
    assert first.startswith("idsrv=")
    for mark in ("HttpOnly", "SameSite=Lax", "Path=/"):
        assert mark in first
    assert "Expires" not in first
    second = browser.submit(browser.page(prompt="login"), "amelia").headers.getlist("Set-Cookie")[-2]
    assert first.split(";")[0] != second.split(";")[0]
    stolen = server.browser()
    stolen.http.set_cookie("idsrv", first.split(";")[0].removeprefix("idsrv="))
    assert answer_in(stolen.authorize(prompt="none"))["error"] == "login_required"


@pytest.mark.parametrize(
    ("username", "password"),
    [
        ("amelia", "wrong"),
        ("amelia", ""),
        ("nobody", "a password for tests only"),
        ("maya", "a password for tests only"),
        ("", ""),
        ("a\x00b", "\x00"),
        ("' OR 1=1 --", "x"),
        ("é" * 500, "é" * 5000),
    ],
)
def test_all_wrong_credentials_get_the_same_message(
    server: IdentityServer, username: str, password: str
) -> None:
    browser = server.browser()
    answer = browser.submit(browser.page(), username, password)
    assert answer.status_code == 401
    root = parsed(answer.text)
    alert = root.select_one("[role=alert]")
    assert alert is not None
    assert "That user name and password don’t go together. Check both." in alert.words
    assert root.findtext(".//title").startswith("Error: ")
    assert root.select_one("input[name=password][value]") is None
    assert all(not cookie.startswith("idsrv=") for cookie in answer.headers.getlist("Set-Cookie"))


def test_a_password_is_hashed_with_argon2id_at_the_cost_that_owasp_recommends(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(passwords, "_hasher", AS_DEPLOYED)
    deployed = passwords.hash_password(PASSWORD)
    assert deployed.startswith("$argon2id$v=19$m=19456,t=2,p=1$")
    assert passwords.matches(PASSWORD, deployed) and not passwords.matches(PASSWORD + "x", deployed)
    # For an unknown user a hash of the same cost is checked, and no password is right.
    passwords._dummy_hash.cache_clear()
    monkeypatch.setattr(
        AS_DEPLOYED.__class__, "verify", lambda _hasher, kept, _typed: asked.append(kept) or True
    )
    asked: list[str] = []
    assert not passwords.matches("dummy", None)
    assert asked[0].startswith("$argon2id$v=19$m=19456,t=2,p=1$")
    passwords._dummy_hash.cache_clear()


def test_a_user_name_matches_in_any_case_and_with_surrounding_spaces(server: IdentityServer) -> None:
    assert "code" in server.browser().sign_in(" Amelia ")


def test_a_typed_user_name_is_escaped(server: IdentityServer) -> None:
    browser = server.browser()
    answer = browser.submit(browser.page(), '"><script>alert(1)</script>')
    assert "<script>" not in answer.text


def test_signing_in_forgets_earlier_mistakes(server: IdentityServer) -> None:
    for _ in range(3):
        browser = server.browser()
        page = browser.page()
        for _ in range(4):
            browser.submit(page, "amelia", "guess")
        assert browser.submit(page, "amelia").status_code == 303


def test_a_form_without_its_browser_or_request_is_refused(server: IdentityServer) -> None:
    http = server.app.test_client()
    assert http.get("/sign-in").status_code == 400
    assert http.get("/sign-in?request=guess").status_code == 400
    answer = http.post("/sign-in", data={"username": "amelia", "password": "a password for tests only"})
    assert answer.status_code == 400
    assert "Set-Cookie" not in answer.headers


def test_signing_in_as_another_person_ends_the_first_ones_tokens(server: IdentityServer) -> None:
    browser = server.browser()
    first = server.tokens("amelia", browser)
    code = answer_in(browser.submit(browser.page(prompt="login"), "daniel"))["code"]
    second = server.exchange(code).get_json()
    assert server.userinfo(first["access_token"]).status_code == 401
    assert server.userinfo(second["access_token"]).get_json()["preferred_username"] == "daniel"
