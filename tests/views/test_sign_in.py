"""Signing in and out, and the contents of a session."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlencode, urlsplit

import pytest
from flask import Flask

from portal.signin.discovery import ProviderDown
from portal.signin.flow import local_path
from portal.web.guard import PUBLIC, access_of
from tests.support.stack import CareService, PortalThread, plan
from tests.support.visitor import Visitor


def test_signing_in_returns_to_the_requested_page(portal: PortalThread) -> None:
    visitor = portal.visitor()
    page = visitor.sign_in("amelia", "/consents?status=Signed")
    assert page.url.endswith("/consents?status=Signed")


@pytest.mark.asvs("10.4.6")
def test_the_authorization_request_is_pushed_with_pkce_state_and_nonce(
    portal: PortalThread, service: CareService
) -> None:
    """The parameters are pushed; what the browser carries is a handle. The pushed ones hold PKCE with S256."""
    pushed: list[dict[str, str]] = []
    sign_in = portal.context.sign_in
    original = type(sign_in)._push

    def spy(self: Any, client: Any, tenant: Any, metadata: Any, location: str) -> str:
        pushed.append({name: values[0] for name, values in parse_qs(urlsplit(location).query).items()})
        return original(self, client, tenant, metadata, location)

    type(sign_in)._push = spy
    try:
        page = portal.visitor().request("GET", "/sign-in", follow=False, status=303)
    finally:
        type(sign_in)._push = original
    query = parse_qs(urlsplit(page.headers["Location"]).query)
    assert set(query) == {"client_id", "request_uri"}
    assert pushed[0]["code_challenge_method"] == "S256"
    assert len(pushed[0]["code_challenge"]) == 43
    assert pushed[0]["scope"].split()[0] == "openid"
    assert len(pushed[0]["state"]) >= 40
    assert len(pushed[0]["nonce"]) >= 40
    assert pushed[0]["acr_values"] == "tenant:riverside"


@pytest.mark.asvs("3.3.1", "3.3.2", "3.3.3", "3.3.4")
def test_the_session_cookie_is_host_bound_and_http_only(portal: PortalThread) -> None:
    visitor = portal.visitor()
    page = visitor.get("/", status=None)
    form = page.soup.select_one("form:has(input[name=password])")
    assert form is not None
    fields = {
        "request": form.select_one("[name=request]")["value"],
        "username": "amelia",
        "password": visitor.password,
    }  # type: ignore[index]
    back = visitor.request("POST", f"{portal.plan.service}/sign-in", data=fields, status=303, follow=False)
    answer = visitor.request("GET", back.headers["Location"], status=303, follow=False)
    cookie = next(c for c in answer.response.raw.headers.getlist("Set-Cookie") if c.startswith("__Host-sid="))
    for part in ("Path=/", "Secure", "HttpOnly", "SameSite=Lax"):
        assert part in cookie.split("; ")
    assert "Domain" not in cookie
    assert len(cookie.partition("=")[2].partition(";")[0]) >= 43


@pytest.mark.asvs("10.1.1")
def test_no_token_reaches_the_browser(portal: PortalThread) -> None:
    visitor = portal.sign_in("amelia")
    name = portal.context.sessions.of_person
    sid = next(cookie.value for cookie in visitor.http.cookies if cookie.name == "__Host-sid")
    from portal.state.sessions import record_name

    tokens = portal.context.sessions.tokens_of(record_name(sid))
    for path in ("/", "/consents", "/notifications", "/signed-out", "/no/such/page"):
        page = visitor.get(path, status=None)
        received = page.response.text + str(page.headers)
        for secret in (tokens.access_token, tokens.refresh_token, tokens.access_token.split(".")[2]):
            assert secret not in received, path
    assert name


def test_signing_out_ends_the_sessions_of_portal_and_identity_server(portal: PortalThread) -> None:
    visitor = portal.sign_in("amelia")
    page = visitor.sign_out()
    assert page.path == "/signed-out"
    assert "You are signed out" in page.words
    assert visitor.get("/", status=None).url.startswith(portal.plan.service), (
        "must ask for the password again"
    )
    assert visitor.get("/", status=None).soup.select_one("input[name=password]")


@pytest.mark.asvs("7.4.1")
def test_an_old_cookie_is_invalid_after_signing_out(portal: PortalThread) -> None:
    visitor = portal.sign_in("amelia")
    old = next(cookie.value for cookie in visitor.http.cookies if cookie.name == "__Host-sid")
    visitor.sign_out()
    thief = portal.visitor()
    page = thief.request("GET", "/", headers={"Cookie": f"__Host-sid={old}"}, status=303, follow=False)
    assert page.headers["Location"].startswith("/sign-in")


@pytest.mark.parametrize("cookie", ["", "x", "a" * 43, "a" * 5000, "é", "'; DROP TABLE records; --", "\x7f"])
@pytest.mark.asvs("7.2.1")
def test_a_forged_cookie_leads_to_sign_in(portal: PortalThread, cookie: str) -> None:
    headers = {"Cookie": f"__Host-sid={cookie}".encode("latin-1").decode("latin-1")}
    page = portal.visitor().request("GET", "/", headers=headers, status=303, follow=False)
    assert page.headers["Location"] == "/sign-in?next=%2F"


@pytest.mark.asvs("7.2.1", "8.4.1")
def test_a_session_is_invalid_at_another_clinic_or_host(portal: PortalThread) -> None:
    visitor = portal.sign_in("amelia")
    sid = next(cookie.value for cookie in visitor.http.cookies if cookie.name == "__Host-sid")
    for origin in (portal.origin("harbour"), f"http://localhost:{portal.port}"):
        other = Visitor(origin)
        page = other.request("GET", "/", headers={"Cookie": f"__Host-sid={sid}"}, status=303, follow=False)
        assert page.headers["Location"].startswith("/sign-in")


def test_a_person_of_another_clinic_is_not_let_in(portal: PortalThread) -> None:
    visitor = portal.visitor("harbour")
    page = visitor.fill_sign_in(visitor.get("/", status=None), "amelia")
    assert page.url.startswith(portal.plan.service)
    assert page.status == 401
    assert "don’t go together" in page.text


def test_an_unknown_host_is_misdirected(portal: PortalThread) -> None:
    page = Visitor(f"http://127.0.0.1:{portal.port}").request("GET", "/", status=421)
    assert "Something went wrong" in page.words
    assert Visitor(f"http://127.0.0.1:{portal.port}").request("GET", "/healthz").text == "ok\n"


@pytest.mark.parametrize(
    "answer",
    [
        "",
        "?state=nonsense&code=nonsense",
        "?error=access_denied&state=x",
        "?code=" + "c" * 3000,
        "?state=%00&code=%ff",
    ],
)
@pytest.mark.asvs("10.2.1")
def test_a_forged_authorization_response_offers_to_sign_in_again(portal: PortalThread, answer: str) -> None:
    page = portal.visitor().request("GET", f"/sign-in/callback{answer}", status=400)
    assert page.link("Sign in again") == "/"


@pytest.mark.parametrize("name", [None, "amelia"])
def test_an_error_page_repeats_nothing_from_the_authorization_response(
    portal: PortalThread, name: str | None
) -> None:
    """The language links, "Try again", and what refreshes itself: none of them holds a code, or words of others."""
    visitor = portal.sign_in(name) if name else portal.visitor()
    given = {key: f"secret-{key}" for key in ("iss", "error", "error_description", "code", "state", "mine")}
    address = f"/sign-in/callback?{urlencode(given)}"
    with_fault = portal.app.view_functions["sign_in.callback"]
    answers = [visitor.request("GET", address, status=None, follow=False)]

    def fail() -> None:
        raise ProviderDown("down")

    portal.app.view_functions["sign_in.callback"] = fail
    try:
        answers.append(visitor.request("GET", address, status=503))
        answers.append(visitor.fragment(address, "main", status=503, at=address))
    finally:
        portal.app.view_functions["sign_in.callback"] = with_fault
    answers.append(visitor.fragment(f"{address}&again=1", "main", status=None, at=address))
    for page in answers:
        assert "secret" not in page.text + page.headers.get("Location", "")


def test_a_browser_without_cookies_gets_an_explanation(portal: PortalThread) -> None:
    """Signing in again would only lead here again."""
    without = portal.visitor().request("GET", "/sign-in/callback?state=x&code=y", status=400)
    assert "Allow cookies for this address" in without.text
    visitor = portal.visitor()
    visitor.get("/", status=None)
    interrupted = visitor.request("GET", "/sign-in/callback?state=x&code=y", status=400)
    assert "The sign-in was interrupted" in interrupted.text


@pytest.mark.asvs("10.1.2", "10.2.1")
def test_an_authorization_response_works_once_and_only_in_its_browser(portal: PortalThread) -> None:
    visitor = portal.visitor()
    form = visitor.get("/", status=None).soup.select_one("form:has(input[name=password])")
    assert form is not None
    fields = {
        "request": form.select_one("[name=request]")["value"],
        "username": "amelia",
        "password": visitor.password,
    }  # type: ignore[index]
    back = visitor.request("POST", f"{portal.plan.service}/sign-in", data=fields, status=303, follow=False)
    address = back.headers["Location"]
    portal.visitor().request("GET", address, status=400)
    assert visitor.request("GET", address).path == "/"
    assert visitor.request("GET", address).path == "/", "again, signed in: simply goes on"
    portal.visitor().request("GET", address, status=400)


def test_a_browser_without_cookies_does_not_loop(portal: PortalThread) -> None:
    visitor = portal.visitor()
    visitor.sign_in("amelia")
    page = None
    for _ in range(8):
        for cookie in list(visitor.http.cookies):
            if cookie.name == "__Host-sid":
                visitor.http.cookies.clear(cookie.domain, cookie.path, cookie.name)
        page = visitor.get("/", status=None)
        if page.status != 200:
            break
    assert page is not None
    assert page.status == 400
    assert "cookies" in page.words


def test_several_restored_tabs_are_not_taken_for_a_loop(portal: PortalThread) -> None:
    visitor = portal.sign_in("amelia")
    for path in ("/", "/consents", "/notifications", "/conversations"):
        visitor.get(path)
    visitor.sign_out()
    starts = [
        visitor.request("GET", f"/sign-in?next=/consents%3Ftab%3D{tab}", follow=False, status=303)
        for tab in range(5)
    ]
    first = visitor.fill_sign_in(visitor.request("GET", starts[0].headers["Location"], status=None), "amelia")
    assert first.url.endswith("tab=0")
    for number, start in enumerate(starts[1:], 1):
        page = visitor.request("GET", start.headers["Location"], status=None)
        assert page.url.endswith(f"tab={number}")


@pytest.mark.parametrize(
    "address",
    [
        "//evil.example",
        "https://evil.example",
        "/\\evil.example",
        "\\evil",
        "javascript:alert(1)",
        "/a\nb",
        "",
        None,
        "/" + "a" * 3000,
    ],
)
@pytest.mark.asvs("1.2.2", "3.7.2")
def test_next_cannot_lead_to_another_site(address: str | None) -> None:
    assert local_path(address) == "/"


def test_next_keeps_a_portal_path() -> None:
    assert local_path("/consents/1?a=b#c") == "/consents/1?a=b#c"


@pytest.mark.asvs("8.2.1")
def test_every_endpoint_declares_its_access(portal: PortalThread) -> None:
    app: Flask = portal.app
    unmarked = [
        rule.endpoint
        for rule in app.url_map.iter_rules()
        if rule.endpoint not in PUBLIC and access_of(app.view_functions[rule.endpoint]) is None
    ]
    assert not unmarked, (
        f"add @signed_in(...) to these handlers, or the endpoint to PUBLIC in web/guard.py: {unmarked}"
    )


@pytest.mark.asvs("6.3.4", "8.2.1")
def test_every_page_requires_a_sign_in(portal: PortalThread) -> None:
    for rule in portal.app.url_map.iter_rules():
        if rule.endpoint in PUBLIC or "GET" not in (rule.methods or ()):
            continue
        path = re.sub(r"<any\(['\"]?(\w+)[^>]*>", r"\1", rule.rule)
        path = re.sub(r"<[^>]+>", "some-id", path)
        access = access_of(portal.app.view_functions[rule.endpoint])
        assert access is not None
        page = portal.visitor().request("GET", path, status=204 if access.background else 303, follow=False)
        if not access.background:
            assert page.headers["Location"].startswith("/sign-in?next="), path


def test_htmx_is_told_to_leave_the_page_when_the_session_is_over(portal: PortalThread) -> None:
    page = portal.visitor().fragment("/consents", "results", at="/consents?status=Signed")
    assert page.headers["HX-Redirect"] == "/sign-in?next=%2Fconsents%3Fstatus%3DSigned"
    assert not page.text


@pytest.mark.parametrize(
    "path", ["/%E2%80%AE", "/conversations?q=%D8%B5%D8%A8%D8%A7%D8%AD", "/me?name=Zo%C3%AB"]
)
def test_a_redirect_to_an_address_in_any_script_is_percent_encoded(portal: PortalThread, path: str) -> None:
    visitor = portal.sign_in("amelia")
    asked = f"/sign-in?{urlencode({'next': unquote(path)})}"
    assert visitor.request("GET", asked, follow=False, status=303).headers["Location"] == path
    assert visitor.fragment(asked, "main").headers["HX-Redirect"] == path


def test_a_form_without_its_token_is_refused_in_words(portal: PortalThread) -> None:
    visitor = portal.sign_in("amelia")
    page = visitor.post("/sign-out", {"csrf_token": "forged"}, status=400)
    assert "Nothing was changed" in page.words
    assert visitor.get("/").status == 200


@pytest.mark.asvs("7.3.1")
@pytest.mark.parametrize(("name", "minutes"), [("nora", 15), ("amelia", 30)])
def test_an_idle_session_ends(portal: PortalThread, name: str, minutes: int) -> None:
    visitor = portal.sign_in(name)
    try:
        portal.clock.advance((minutes - 1) * 60)
        assert visitor.get("/").status == 200
        portal.clock.advance((minutes - 1) * 60)
        assert visitor.get("/").status == 200, "use keeps it"
        portal.clock.advance((minutes + 1) * 60)
        assert visitor.request("GET", "/", follow=False, status=303)
    finally:
        portal.clock.ahead = 0


def test_the_token_is_renewed_before_it_expires_by_a_single_request(portal: PortalThread) -> None:
    visitor = portal.sign_in("grace")
    sid = next(cookie.value for cookie in visitor.http.cookies if cookie.name == "__Host-sid")
    from portal.state.sessions import record_name

    before = portal.context.sessions.tokens_of(record_name(sid))
    fetched: list[str] = []
    refresher = type(portal.context.refresher)
    original = refresher._fetch

    def spy(self: Any, session: str, *args: Any, **kwargs: Any) -> Any:
        fetched.append(session)
        return original(self, session, *args, **kwargs)

    refresher._fetch = spy
    try:
        portal.clock.advance(9 * 60 + 20)
        statuses: list[int] = []

        def look() -> None:
            other = portal.visitor()
            page = other.request(
                "GET", "/notifications", headers={"Cookie": f"__Host-sid={sid}"}, follow=False, status=None
            )
            statuses.append(page.status)

        threads = [threading.Thread(target=look) for _ in range(20)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        refresher._fetch = original
        portal.clock.ahead = 0
    assert statuses == [200] * 20
    assert len(fetched) == 1
    assert portal.context.sessions.tokens_of(record_name(sid)).access_token != before.access_token


@pytest.mark.asvs("7.4.1")
def test_signing_out_wins_over_a_request_in_flight(portal: PortalThread) -> None:
    """A slow request that began before must neither bring the session back nor write tokens."""
    from portal.state.sessions import Session

    visitor = portal.sign_in("grace")
    sid = next(cookie.value for cookie in visitor.http.cookies if cookie.name == "__Host-sid")
    slow = Session(portal.context.sessions, sid, "riverside", f"riverside.localhost:{portal.port}")
    assert slow.person is not None
    visitor.sign_out()
    slow["csrf_token"] = "late"
    slow.remember_episodes(["late"])
    slow.save()
    assert (
        Session(portal.context.sessions, sid, "riverside", f"riverside.localhost:{portal.port}").record
        is None
    )


@pytest.fixture
def doomed(tmp_path: Path) -> Iterator[tuple[CareService, PortalThread]]:
    """A care service that a test may stop, with a portal in front of it."""
    service = CareService(plan(tmp_path))
    running = PortalThread(
        service.plan, PORTAL_TIMEOUT_CONNECT="0.5", PORTAL_TIMEOUT_READ="1", PORTAL_TIMEOUT_PAGE="3"
    )
    yield service, running
    running.stop()
    service.stop()


@pytest.mark.asvs("16.5.2")
def test_with_the_care_service_down_pages_say_so_and_signing_out_works(
    doomed: tuple[CareService, PortalThread],
) -> None:
    service, portal = doomed
    visitor = portal.sign_in("amelia")
    service.stop()
    for path in ("/", "/consents", "/conversations", "/notifications", "/episodes"):
        page = visitor.get(path, status=None)
        assert page.status in (200, 503), path
        assert "right now" in page.words, (path, page.words[:300])
    page = visitor.get("/")
    page = page.form("/sign-out").submit()
    assert page.path == "/signed-out"
    page = visitor.get("/", status=None)
    assert page.status == 503
    assert "Signing in isn’t possible right now" in page.words


@pytest.mark.parametrize(
    "path", ["/%00", "/consents/%00", "/consents/" + "x" * 500, "/episodes/..%2f..", "/files/%ff%fe"]
)
def test_an_unknown_address_is_a_404_page(portal: PortalThread, path: str) -> None:
    page = portal.sign_in("amelia").get(path, status=404)
    assert page.heading == "We can’t find that"
