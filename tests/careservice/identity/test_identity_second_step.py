"""A second step with a one-time code (RFC 6238), and what tokens tell of it (`acr`, `amr`)."""

from __future__ import annotations

from typing import Any

import pytest
from cryptography.hazmat.primitives.hashes import SHA1
from cryptography.hazmat.primitives.twofactor.totp import TOTP

from portal.careservice.identity.assurance import CLASSES, ONE_FACTOR, TWO_FACTORS
from portal.careservice.sample import people
from tests.careservice.identity.identity_server import Browser, IdentityServer, answer_in
from tests.support.elements import parsed

MFA = f"tenant:riverside {TWO_FACTORS}"


def code(server: IdentityServer, username: str = "amelia", ahead: int = 0) -> str:
    """What the person's authenticator shows, by an implementation of its own secret."""
    import base64

    (secret,) = (one.totp_secret for one in people.PEOPLE if one.username == username)
    assert secret
    moment = int(server.clock().timestamp()) + 30 * ahead
    return TOTP(base64.b32decode(secret), 6, SHA1(), 30).generate(moment).decode()  # noqa: S303


def to_code(browser: Browser, username: str = "amelia", **changes: Any) -> Any:
    """The page that asks for the code, after the password."""
    answer = browser.submit(browser.page(acr_values=MFA, **changes), username)
    assert answer.status_code == 303 and answer.location.startswith("/sign-in/code?"), answer.location
    return browser.http.get(answer.location)


def send(browser: Browser, page: Any, code: str) -> Any:
    form = parsed(page.text).select_one("form")
    assert form is not None
    fields = {str(field["name"]): str(field.get("value", "")) for field in form.select("input")}
    return browser.http.post(str(form["action"]), data={**fields, "code": code})


def told(server: IdentityServer, answer: Any) -> list[tuple[str, list[str]]]:
    """`acr` and `amr` of the ID token, the access token and a refreshed one."""
    tokens = server.exchange(answer_in(answer)["code"]).get_json()
    renewed = server.refresh(tokens["refresh_token"]).get_json()
    read = [
        server.read(one).claims
        for one in (tokens["id_token"], tokens["access_token"], renewed["access_token"])
    ]
    return [(claims["acr"], claims["amr"]) for claims in read]


def test_a_password_alone_says_so(server: IdentityServer) -> None:
    browser = server.browser()
    answer = browser.submit(browser.page(), "amelia")
    assert told(server, answer) == [(ONE_FACTOR, ["pwd"])] * 3


def test_a_client_that_asks_for_two_factors_gets_them_and_a_refresh_keeps_it(server: IdentityServer) -> None:
    browser = server.browser()
    page = to_code(browser)
    field = parsed(page.text).select_one("input[name=code]")
    assert field is not None and (field["autocomplete"], field["inputmode"]) == ("one-time-code", "numeric")
    assert "demo" not in page.text
    answer = send(browser, page, f" {code(server)[:3]} {code(server)[3:]}")
    assert told(server, answer) == [(TWO_FACTORS, ["pwd", "otp", "mfa"])] * 3


def test_who_has_no_second_way_is_let_in_and_the_token_says_so(server: IdentityServer) -> None:
    browser = server.browser()
    assert told(server, browser.submit(browser.page(acr_values=MFA), "grace"))[0] == (ONE_FACTOR, ["pwd"])


def test_a_sign_in_by_password_is_asked_for_the_code_alone(server: IdentityServer) -> None:
    browser = server.browser()
    browser.sign_in("amelia")
    answer = browser.authorize(acr_values=MFA)
    assert answer.location.startswith("/sign-in/code?")
    assert told(server, send(browser, browser.http.get(answer.location), code(server)))[0][0] == TWO_FACTORS
    assert "code" in answer_in(browser.authorize(acr_values=MFA)), "and then for nothing"
    assert "code" in answer_in(browser.authorize(acr_values=f"tenant:riverside {ONE_FACTOR}"))
    assert browser.authorize(acr_values=MFA, prompt="login").location.startswith("/sign-in?")


def test_at_a_partners_code_another_person_can_sign_in(server: IdentityServer) -> None:
    browser = server.browser()
    browser.sign_in("amelia")
    page = browser.http.get(browser.authorize(acr_values=MFA).location)
    (link,) = parsed(page.text).select("a[href*=another]")
    page = browser.http.get(str(link["href"]))
    assert 'value="amelia"' not in page.text
    assert "code" in answer_in(browser.submit(page, "grace"))
    hint = server.tokens("amelia")["id_token"]
    page = browser.http.get(browser.authorize(acr_values=MFA, id_token_hint=hint, prompt="login").location)
    page = browser.http.get(browser.submit(page, "amelia").location)
    assert "another" not in page.text, "the portal asks for her alone"


def test_a_class_of_another_server_asks_for_nothing(server: IdentityServer) -> None:
    browser = server.browser()
    browser.sign_in("amelia")
    assert "code" in answer_in(browser.authorize(acr_values="tenant:riverside urn:other"))


def test_without_a_page_the_second_step_cant_be_had(server: IdentityServer) -> None:
    browser = server.browser()
    browser.sign_in("amelia")
    assert answer_in(browser.authorize(acr_values=MFA, prompt="none"))["error"] == "login_required"


@pytest.mark.parametrize("wrong", ["000000", "", "12345", "１２３４５６", "1234567", "a" * 5000])
def test_a_wrong_code_is_refused_in_words(server: IdentityServer, wrong: str) -> None:
    browser = server.browser()
    answer = send(browser, to_code(browser), wrong)
    assert answer.status_code == 401
    assert "That code isn’t right, or was used already." in answer.text
    assert answer_in(send(browser, answer, code(server)))["code"], "the same page goes on"


@pytest.mark.parametrize("zero", ["٠", "۰", "０"])
def test_a_code_may_be_typed_in_the_digits_of_the_persons_keyboard(server: IdentityServer, zero: str) -> None:
    browser = server.browser()
    page, typed = to_code(browser), "".join(chr(ord(zero) + int(digit)) for digit in code(server))
    assert answer_in(send(browser, page, f"\u2068{typed}\u2069"))["code"]


def test_a_code_counts_once_and_for_a_minute_around_now(server: IdentityServer) -> None:
    first = server.browser()
    assert answer_in(send(first, to_code(first), code(server, ahead=1)))["code"], "a clock that is ahead"
    for ahead in (1, 0, -1):  # used, or older than what was used
        other = server.browser()
        assert send(other, to_code(other), code(server, ahead=ahead)).status_code == 401
    server.clock.advance(seconds=90)
    later = server.browser()
    assert send(later, to_code(later), code(server, ahead=-2)).status_code == 401
    assert answer_in(send(later, to_code(later), code(server)))["code"]


def test_guessing_codes_is_slowed_down_whoever_knows_the_password(server: IdentityServer) -> None:
    answers: list[int] = []
    for _ in range(12):
        browser = server.browser()
        page = browser.page(acr_values=MFA)
        answer = browser.submit(page, "amelia")
        if answer.status_code == 429:
            answers.append(429)
            continue
        answers.append(send(browser, browser.http.get(answer.location), "000000").status_code)
    assert 429 in answers, answers


def test_the_code_page_is_of_the_browser_that_typed_the_password(server: IdentityServer) -> None:
    browser, thief = server.browser(), server.browser()
    answer = browser.submit(browser.page(acr_values=MFA), "amelia")
    assert thief.http.get(answer.location).status_code == 400
    handle = answer.location.partition("request=")[2]
    data = {"request": handle, "code": code(server)}
    assert thief.http.post("/sign-in/code", data=data).status_code == 400


def test_the_password_cant_be_skipped(server: IdentityServer) -> None:
    """A parameter of the request is no proof that the password was checked."""
    amelia = next(one for one in people.PEOPLE if one.username == "amelia")
    browser = server.browser()
    answer = browser.authorize(acr_values=MFA, checked=amelia.id)
    handle = answer.location.partition("request=")[2]
    assert browser.http.get(f"/sign-in/code?request={handle}").status_code == 400
    assert (
        browser.http.post("/sign-in/code", data={"request": handle, "code": code(server)}).status_code == 400
    )


def test_the_demo_shows_the_code_of_its_sample_people(demo_server: IdentityServer) -> None:
    browser = demo_server.browser()
    assert f"would show {code(demo_server)} now" in to_code(browser).text


def test_the_metadata_name_the_classes(server: IdentityServer) -> None:
    metadata = server.app.test_client().get("/.well-known/openid-configuration").get_json()
    assert metadata["acr_values_supported"] == list(CLASSES)
    assert {"acr", "amr"} <= set(metadata["claims_supported"])
