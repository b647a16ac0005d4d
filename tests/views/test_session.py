"""A session over HTTP: its cookie, what ends it, and pages that need one."""

from __future__ import annotations

import re
from typing import Any

import pytest
from flask import Flask

from portal.signin import tokens
from portal.state.sessions import COOKIE
from portal.web.guard import PUBLIC, access_of
from tests.support.stack import PortalThread
from tests.support.together import at_once
from tests.support.visitor import Page, Visitor


@pytest.mark.asvs("3.3.1", "3.3.2", "3.3.3", "3.3.4")
def test_the_session_cookie_is_host_bound_and_http_only(portal: PortalThread) -> None:
    visitor = portal.visitor()
    page = visitor.get("/", status=None)
    form = page.tree.select_one("form:has(input[name=password])")
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
    sid = visitor.session_id
    from portal.state.session_records import record_name

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
    assert visitor.get("/", status=None).tree.select_one("input[name=password]")


@pytest.mark.asvs("7.4.1")
def test_an_old_cookie_is_invalid_after_signing_out(portal: PortalThread) -> None:
    visitor = portal.sign_in("amelia")
    old = visitor.session_id
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
    sid = visitor.session_id
    for origin in (portal.origin("harbour"), f"http://localhost:{portal.port}"):
        other = Visitor(origin)
        page = other.request("GET", "/", headers={"Cookie": f"__Host-sid={sid}"}, status=303, follow=False)
        assert page.headers["Location"].startswith("/sign-in")


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


def test_a_form_without_its_token_is_refused_in_words(portal: PortalThread) -> None:
    visitor = portal.sign_in("amelia")
    page = visitor.post("/sign-out", {"csrf_token": "forged"}, status=400)
    assert "Nothing was changed" in page.words
    assert visitor.get("/").status == 200


def test_a_page_from_before_a_fresh_sign_in_is_of_the_same_session(portal: PortalThread) -> None:
    visitor = portal.sign_in("nora")
    older = token_on(visitor.get("/help"))
    fill_sign_in_again(visitor, "nora")
    visitor.post("/notifications/read", {"csrf_token": older})
    visitor.post("/sign-out", {"csrf_token": older}, status=None)
    assert visitor.request("GET", "/help", follow=False, status=303)
    fill_sign_in_again(visitor, "nora")
    visitor.post("/notifications/read", {"csrf_token": older}, status=400)
    visitor.post("/sign-out", {"csrf_token": older}, status=None)
    assert visitor.request("GET", "/help", follow=False, status=303), "also a page of an earlier session can"
    page = visitor.post("/sign-out", {"csrf_token": older}, status=None)
    assert page.path == "/signed-out", "and a page in another tab, where nobody is signed in any more"


def test_who_has_signed_in_again_is_not_told_to_be_signed_out(portal: PortalThread) -> None:
    visitor = portal.sign_in("nora")
    visitor.sign_out()
    assert visitor.get("/signed-out").heading == "You are signed out"
    visitor.sign_in("nora")
    assert visitor.get("/signed-out").heading == "You are signed in"


def test_nobody_is_signed_out_by_the_page_of_somebody_else(portal: PortalThread) -> None:
    visitor = portal.sign_in("nora")
    for page in (portal.sign_in("victor").get("/help"), portal.visitor().get("/signed-out")):
        visitor.post("/sign-out", {"csrf_token": token_on(page)}, status=400)
    assert visitor.request("GET", "/help", follow=False, status=200)


def token_on(page: Page) -> str:
    return page.select("input[name=csrf_token]")[0]["value"]


def fill_sign_in_again(visitor: Visitor, name: str) -> None:
    cookie = visitor.http.cookies.get(COOKIE)
    visitor.fill_sign_in(visitor.get("/sign-in?fresh=1&next=/help", status=None), name)
    assert visitor.http.cookies.get(COOKIE) != cookie


@pytest.mark.asvs("7.3.1")
@pytest.mark.parametrize(("name", "minutes"), [("nora", 15), ("amelia", 30)])
def test_an_idle_session_ends(
    portal: PortalThread, monkeypatch: pytest.MonkeyPatch, name: str, minutes: int
) -> None:
    monkeypatch.setattr(tokens, "LEEWAY", 24 * 3600)  # the identity server's clock stays where it is
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
    sid = visitor.session_id
    from portal.state.session_records import record_name

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

        def look() -> int:
            other = portal.visitor()
            page = other.request(
                "GET", "/notifications", headers={"Cookie": f"__Host-sid={sid}"}, follow=False, status=None
            )
            return page.status

        statuses = at_once(*[look] * 20)
    finally:
        refresher._fetch = original
        portal.clock.ahead = 0
    assert statuses == [200] * 20
    assert len(fetched) == 1
    assert portal.context.sessions.tokens_of(record_name(sid)).access_token != before.access_token


@pytest.mark.asvs("7.4.1")
def test_signing_out_wins_over_a_request_in_flight(portal: PortalThread) -> None:
    """A slow request that began earlier must neither restore the session nor write tokens."""
    from portal.state.sessions import Session

    visitor = portal.sign_in("grace")
    sid = visitor.session_id
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
