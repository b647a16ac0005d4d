"""Signing in: what the identity server is asked, which answers are taken, and where it ends."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlencode, urlsplit

import pytest

from portal.signin import flow
from portal.signin.discovery import ProviderDown
from portal.signin.flow import local_path
from portal.signin.pushed_requests import push
from tests.support.stack import CareService, PortalThread, plan
from tests.support.visitor import Visitor


def test_signing_in_returns_to_the_requested_page(portal: PortalThread) -> None:
    visitor = portal.visitor()
    page = visitor.sign_in("amelia", "/consents?status=Signed")
    assert page.url.endswith("/consents?status=Signed")


@pytest.mark.asvs("10.4.6")
def test_the_authorization_request_is_pushed_with_pkce_state_and_nonce(
    portal: PortalThread, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The parameters are pushed; what the browser carries is a handle. The pushed ones hold PKCE with S256."""
    pushed: list[dict[str, str]] = []

    def spy(session: Any, tenant: Any, provider: Any, location: str) -> str:
        pushed.append({name: values[0] for name, values in parse_qs(urlsplit(location).query).items()})
        return push(session, tenant, provider, location)

    monkeypatch.setattr(flow, "push", spy)
    page = portal.visitor().request("GET", "/sign-in", follow=False, status=303)
    query = parse_qs(urlsplit(page.headers["Location"]).query)
    assert set(query) == {"client_id", "request_uri"}
    assert pushed[0]["code_challenge_method"] == "S256"
    assert len(pushed[0]["code_challenge"]) == 43
    assert pushed[0]["scope"].split()[0] == "openid"
    assert len(pushed[0]["state"]) >= 40
    assert len(pushed[0]["nonce"]) >= 40
    assert pushed[0]["acr_values"] == "tenant:riverside"
    assert pushed[0]["max_age"] == "900", "the shortest idle limit"


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
    form = visitor.get("/", status=None).tree.select_one("form:has(input[name=password])")
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


def test_who_is_signed_in_may_sign_in_for_one_form_after_the_other(portal: PortalThread) -> None:
    visitor = portal.sign_in("nora")
    for form in range(5):
        page = visitor.get(f"/sign-in?fresh=1&next=/help%3Fform%3D{form}", status=None)
        assert visitor.fill_sign_in(page, "nora").url.endswith(f"/help?form={form}")


def test_who_is_signed_in_isnt_sent_to_sign_in_for_ever(portal: PortalThread) -> None:
    visitor, returns = portal.sign_in("nora"), 1
    while (page := visitor.get("/sign-in?fresh=1&next=/help", status=None)).status != 400:
        visitor.fill_sign_in(page, "nora")
        returns += 1
    assert returns == 10


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


@pytest.mark.parametrize(
    "path", ["/%E2%80%AE", "/conversations?q=%D8%B5%D8%A8%D8%A7%D8%AD", "/me?name=Zo%C3%AB"]
)
def test_a_redirect_to_an_address_in_any_script_is_percent_encoded(portal: PortalThread, path: str) -> None:
    visitor = portal.sign_in("amelia")
    asked = f"/sign-in?{urlencode({'next': unquote(path)})}"
    assert visitor.request("GET", asked, follow=False, status=303).headers["Location"] == path
    assert visitor.fragment(asked, "main").headers["HX-Redirect"] == path


@pytest.fixture
def doomed(tmp_path: Path) -> Iterator[tuple[CareService, PortalThread]]:
    """A care service that a test may stop, with a portal in front of it."""
    service = CareService(plan(tmp_path))
    running = PortalThread(
        service.plan, PORTAL_TIMEOUT_CONNECT="2", PORTAL_TIMEOUT_READ="4", PORTAL_TIMEOUT_PAGE="6"
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
