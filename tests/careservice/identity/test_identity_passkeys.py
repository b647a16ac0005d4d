"""Passkeys (WebAuthn) and recovery codes: keeping them, signing in by them, and what tokens tell of it."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from portal.careservice import database
from portal.careservice.domain.notifications import Notification
from portal.careservice.identity.assurance import ONE_FACTOR, TWO_FACTORS, UNPHISHABLE, UNPHISHABLE_HARDWARE
from portal.careservice.identity.tables import Passkey as Stored
from portal.careservice.identity.tables import Person
from portal.careservice.sample import people
from tests.careservice.identity.identity_server import PASSWORD, Browser, IdentityServer, answer_in, is_good
from tests.careservice.identity.test_identity_second_step import MFA, code, send, to_code, told
from tests.support.authenticator import Passkey, encoded
from tests.support.elements import Element, parsed

HERE = "http://localhost:8001"
ACCOUNT = f"{HERE}/account/riverside"
UNPHISHED = f"tenant:riverside {UNPHISHABLE}"


def passkey(**about: Any) -> Passkey:
    return Passkey(HERE, "localhost", **about)


def form(page: Any, kind: str) -> tuple[Element, dict[str, Any]]:
    found = parsed(page.text).select_one(f"form[data-passkey={kind}]")
    assert found is not None, page.text
    return found, json.loads(str(found["data-options"]))


def post(browser: Browser, path: str, site: str = "same-origin", **fields: str) -> Any:
    return browser.http.post(f"{HERE}{path}", data=fields, headers={"Sec-Fetch-Site": site})


def open_account(browser: Browser, username: str = "grace", code: str = "") -> Any:
    """The account page, after its own sign-in."""
    answer = post(browser, "/account/riverside/sign-in", username=username, password=PASSWORD, code=code)
    assert answer.status_code == 303, answer.text
    return browser.http.get(ACCOUNT)


def keep(browser: Browser, page: Any, made: Passkey) -> Any:
    """The page after the passkey was added."""
    _, options = form(page, "create")
    return post(browser, "/account/riverside", act="add", credential=made.created(options))


def test_the_account_page_stays_in_the_language_of_the_portal(server: IdentityServer) -> None:
    browser = server.browser()
    page = browser.http.get(f"{ACCOUNT}?ui_locales=es")
    for password, status in (("wrong", 401), (PASSWORD, 303)):
        action = parsed(page.text).select("form")[0]["action"]
        page = post(browser, str(action), username="grace", password=password)
        assert page.status_code == status
    assert page.location == "/account/riverside?ui_locales=es"
    page = browser.http.get(f"{HERE}{page.location}")
    assert "Llaves de acceso" in page.text
    assert parsed(page.text).select("form")[0]["action"] == page.request.full_path


def kept(server: IdentityServer, **about: Any) -> Passkey:
    """A passkey that grace has had since yesterday."""
    made = passkey(**about)
    (grace,) = (one for one in people.PEOPLE if one.username == "grace")
    with database.new_session(server.engine) as session:
        session.add(
            Stored(
                credential_id=encoded(made.id),
                person_id=grace.id,
                public_key=encoded(made.public_key),
                sign_count=0,
                is_synced=made.is_synced,
                created_at=server.clock(),
            )
        )
        session.commit()
    return made


def test_a_passkey_that_was_added_signs_in(server: IdentityServer) -> None:
    browser, made = server.browser(), passkey()
    assert "Remove" in keep(browser, open_account(browser), made).text
    other = server.browser()
    assert answer_in(use(other, sign_in_page(other), made))["code"]


@pytest.mark.parametrize("hours", [0, 13])
def test_who_signed_in_with_a_passkey_is_signed_out_when_it_is_removed(
    server: IdentityServer, hours: int
) -> None:
    """Also when tokens alone are left of the sign-in."""
    used, thief, owner, at_work = kept(server), server.browser(), server.browser(), server.browser()
    stolen = server.exchange(answer_in(use(thief, sign_in_page(thief), used))["code"]).get_json()
    tokens = server.tokens("grace", at_work)
    server.clock.advance(hours=hours)
    use(owner, sign_in_page(owner), used)
    post(owner, "/account/riverside", act="remove", passkey=encoded(used.id))
    assert not is_good(server, stolen["access_token"])
    assert [server.refresh(each["refresh_token"]).status_code for each in (stolen, tokens)] == [400, 200]
    assert answer_in(thief.authorize(prompt="none"))["error"] == "login_required"
    assert "Passkeys and recovery codes" in owner.http.get(ACCOUNT).text


def test_an_accounts_owner_is_told_of_each_change(server: IdentityServer) -> None:
    browser, made = server.browser(), passkey()
    codes = codes_in(keep(browser, open_account(browser), made))
    open_account(browser, code=codes[0])
    for act in (
        {"act": "codes"},
        {"act": "remove", "passkey": "no such"},
        {"act": "remove", "passkey": encoded(made.id)},
    ):
        assert post(browser, "/account/riverside", **act).status_code == 200
    with database.new_session(server.engine, writes=False) as session:
        notices = session.query(Notification).order_by(Notification.creation_time).all()
    (grace,) = (one for one in people.PEOPLE if one.username == "grace")
    assert {(one.person_id, one.type) for one in notices} == {(grace.id, "AccountSecurity")}
    told = [one.body.partition(".")[0] for one in notices]
    assert told == [
        "A passkey was added that signs in to your account",
        "New recovery codes were made for your account",
        "A passkey was removed from your account",
    ]


def codes_in(page: Any) -> list[str]:
    return [found.words for found in parsed(page.text).select(".codes code")]


def sign_in_page(browser: Browser, **changes: Any) -> Any:
    """The sign-in page at the name that passkeys are made for."""
    return browser.page(**changes)


def use(browser: Browser, page: Any, used: Passkey, **changes: Any) -> Any:
    found, options = form(page, "get")
    handle = str(found.select("input[name=request]")[0]["value"])
    return post(browser, "/sign-in/passkey", request=handle, credential=used.asserted(options, **changes))


@pytest.mark.parametrize(
    ("is_synced", "acr", "amr"),
    [(True, UNPHISHABLE, ["swk", "user", "mfa"]), (False, UNPHISHABLE_HARDWARE, ["hwk", "user", "mfa"])],
)
def test_a_passkey_signs_in_without_a_password_and_the_tokens_say_so(
    server: IdentityServer, is_synced: bool, acr: str, amr: list[str]
) -> None:
    used, browser = kept(server, is_synced=is_synced), server.browser()
    answer = use(browser, sign_in_page(browser), used)
    assert told(server, answer) == [(acr, amr)] * 3


def test_a_client_is_told_the_class_that_it_asked_for(server: IdentityServer) -> None:
    used, browser = kept(server), server.browser()
    answer = use(browser, sign_in_page(browser, acr_values=MFA), used)
    assert told(server, answer)[0] == (TWO_FACTORS, ["hwk", "user", "mfa"])


def test_the_browser_is_asked_to_check_who_holds_it(server: IdentityServer) -> None:
    _, options = form(sign_in_page(server.browser()), "get")
    assert (options["rpId"], options["userVerification"]) == ("localhost", "required")
    assert not options.get("allowCredentials"), "no user name is asked for"
    _, options = form(open_account(server.browser()), "create")
    assert options["authenticatorSelection"]["residentKey"] == "required"
    assert options["authenticatorSelection"]["userVerification"] == "required"


def of_another_page(browser: Browser, page: Any, used: Passkey) -> Any:
    other = sign_in_page(browser)
    found, _ = form(page, "get")
    handle = str(found.select("input[name=request]")[0]["value"])
    return post(browser, "/sign-in/passkey", request=handle, credential=used.asserted(form(other, "get")[1]))


def tampered(browser: Browser, page: Any, used: Passkey) -> Any:
    found, options = form(page, "get")
    said = json.loads(used.asserted(options))
    signed = said["response"]["authenticatorData"]
    said["response"]["authenticatorData"] = ("A" if signed[0] != "A" else "B") + signed[1:]
    handle = str(found.select("input[name=request]")[0]["value"])
    return post(browser, "/sign-in/passkey", request=handle, credential=json.dumps(said))


def stale_count(browser: Browser, page: Any, used: Passkey) -> Any:
    first = server_of(browser).browser()
    assert answer_in(use(first, sign_in_page(first), used))["code"]
    used.count -= 1
    return use(browser, page, used)


def server_of(browser: Browser) -> IdentityServer:
    return browser.server


WRONG: dict[str, Callable[[Browser, Any, Passkey], Any]] = {
    "another page's challenge": of_another_page,
    "tampered": tampered,
    "a count that was seen": stale_count,
    "another origin": lambda b, p, k: use(b, p, k, origin="https://localhost.evil.example"),
    "another type": lambda b, p, k: use(b, p, k, type="webauthn.create"),
    "nobody checked": lambda b, p, k: use(b, p, replace(k, is_verified=False)),
    "another server": lambda b, p, k: use(b, p, replace(k, name="evil.example")),
    "another key": lambda b, p, k: use(b, p, replace(passkey(), id=k.id, count=9)),
    "an unknown key": lambda b, p, k: use(b, p, passkey()),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_a_wrong_assertion_is_refused_in_words(server: IdentityServer, wrong: str) -> None:
    used, browser = kept(server), server.browser()
    answer = WRONG[wrong](browser, sign_in_page(browser), used)
    assert answer.status_code == 401, answer.text
    assert "That passkey isn’t known here. Use another one, or your password." in answer.text


@pytest.mark.parametrize(
    "credential", ["", "null", "[]", "{}", '{"id": "a\\u0000"}', "x" * 100_000, "[" * 5000, '{"id": 1}']
)
def test_what_isnt_an_assertion_is_refused_in_words(server: IdentityServer, credential: str) -> None:
    browser = server.browser()
    found, _ = form(sign_in_page(browser), "get")
    handle = str(found.select("input[name=request]")[0]["value"])
    answer = post(browser, "/sign-in/passkey", request=handle, credential=credential)
    assert answer.status_code == 401
    page = open_account(browser)
    assert form(page, "create")
    refused = post(browser, "/account/riverside", act="add", credential=credential)
    assert refused.status_code == 400 and "couldn’t be added" in refused.text


def test_an_assertion_counts_once(server: IdentityServer) -> None:
    used, browser = kept(server), server.browser()
    page = sign_in_page(browser)
    found, options = form(page, "get")
    handle, said = str(found.select("input[name=request]")[0]["value"]), used.asserted(options)
    assert answer_in(post(browser, "/sign-in/passkey", request=handle, credential=said))["code"]
    assert post(browser, "/sign-in/passkey", request=handle, credential=said).status_code == 400


def test_a_passkey_is_of_its_own_clinic_and_of_an_active_account(server: IdentityServer) -> None:
    used, browser = kept(server), server.browser()
    page = sign_in_page(browser)
    with database.new_session(server.engine) as session:
        person = session.query(Person).filter_by(username="grace").one()
        person.is_active = False
        session.commit()
    assert use(browser, page, used).status_code == 401
    with database.new_session(server.engine) as session:
        other = session.query(Person).filter_by(username="maya").one()
        session.query(Stored).update({Stored.person_id: other.id})
        session.commit()
    assert use(browser, sign_in_page(browser), used).status_code == 401


def test_who_has_a_passkey_is_asked_for_it_where_a_client_wants_one(server: IdentityServer) -> None:
    used, browser = kept(server), server.browser()
    page = sign_in_page(browser, acr_values=UNPHISHED)
    found = parsed(page.text).select_one("form")
    assert found is not None
    fields = {str(field["name"]): str(field.get("value", "")) for field in found.select("input")}
    answer = post(browser, "/sign-in", **{**fields, "username": "grace", "password": PASSWORD})
    assert answer.location.startswith("/sign-in/code?")
    asked = browser.http.get(HERE + answer.location)
    assert told(server, use(browser, asked, used))[0] == (UNPHISHABLE, ["hwk", "user", "mfa"])


def test_a_class_that_nobody_can_reach_isnt_asked_for_again(server: IdentityServer) -> None:
    """Who has codes alone gets in by what they have, and the token says so."""
    browser = server.browser()
    browser.sign_in("amelia")
    assert "code" in answer_in(browser.authorize(acr_values=f"tenant:riverside {ONE_FACTOR}"))
    answer = browser.authorize(acr_values=UNPHISHED)
    page = browser.http.get(answer.location)
    assert told(server, send(browser, page, code(server)))[0] == (TWO_FACTORS, ["pwd", "otp", "mfa"])
    assert "code" in answer_in(browser.authorize(acr_values=UNPHISHED))


def test_recovery_codes_come_with_the_first_passkey_and_each_counts_once(server: IdentityServer) -> None:
    browser = server.browser()
    page = keep(browser, open_account(browser, "amelia", code(server)), passkey())
    codes = codes_in(page)
    assert len(set(codes)) == 10
    with database.new_session(server.engine, writes=False) as session:
        dump = str(session.connection().exec_driver_sql("select * from recovery_codes").all())
        assert not any(one in dump or one.replace("-", "") in dump for one in codes)
    assert not codes_in(browser.http.get(ACCOUNT)), "shown once"
    first = server.browser()
    answer = send(first, to_code(first), codes[3].replace("-", " - "))
    assert told(server, answer)[0] == (TWO_FACTORS, ["pwd", "recovery", "mfa"])
    again = server.browser()
    assert send(again, to_code(again), codes[3]).status_code == 401
    assert send(again, to_code(again), "0" * 20).status_code == 401
    other = server.browser()
    assert send(other, to_code(other, "daniel"), codes[4]).status_code == 401, "somebody else's"
    assert "Left: 9" in browser.http.get(ACCOUNT).text


def test_new_recovery_codes_end_the_old_ones(server: IdentityServer) -> None:
    browser = server.browser()
    open_account(browser, "amelia", code(server))
    old = codes_in(post(browser, "/account/riverside", act="codes"))
    new = codes_in(post(browser, "/account/riverside", act="codes"))
    assert len(new) == 10 and not set(old) & set(new)
    other = server.browser()
    assert send(other, to_code(other), old[0]).status_code == 401
    assert answer_in(send(other, to_code(other), new[0]))["code"]


def test_a_passkey_can_be_removed_by_its_owner_alone(server: IdentityServer) -> None:
    used, browser, thief = kept(server), server.browser(), server.browser()
    with database.new_session(server.engine, writes=False) as session:
        name = session.query(Stored).one().credential_id
    open_account(thief, "amelia", code(server))
    post(thief, "/account/riverside", act="remove", passkey=name)
    assert answer_in(use(browser, sign_in_page(browser), used))["code"]
    browser.http.get(HERE)
    page = browser.http.get(ACCOUNT)  # a sign-in by passkey is enough
    assert "Remove" in page.text
    assert "You have none." in post(browser, "/account/riverside", act="remove", passkey=name).text
    other = server.browser()
    assert use(other, sign_in_page(other), used).status_code == 401


def test_a_password_alone_doesnt_open_the_account_of_who_has_more(server: IdentityServer) -> None:
    browser = server.browser()
    browser.http.get(HERE)
    answer = post(browser, "/account/riverside/sign-in", username="amelia", password=PASSWORD, code="000000")
    assert answer.status_code == 401
    assert "User name, password and code don’t go together." in answer.text
    assert "Sign in to see and change them." in browser.http.get(ACCOUNT).text


def test_the_account_page_ends_after_ten_minutes(server: IdentityServer) -> None:
    browser = server.browser()
    page = open_account(browser)
    kept = browser.http.get(ACCOUNT).text
    server.clock.advance(minutes=11)
    over = browser.http.get(ACCOUNT).text
    assert "Sign in to see and change them." in over
    for one in (kept, over):
        assert 'href="http://riverside.localhost:8000/">Go to the portal' in one
    assert keep(browser, page, passkey()).status_code == 401


@pytest.mark.parametrize("site", ["cross-site", "same-site", "none", ""])
def test_another_sites_form_changes_nothing(server: IdentityServer, site: str) -> None:
    browser = server.browser()
    open_account(browser)
    assert post(browser, "/account/riverside", site, act="codes").status_code == 400
    assert post(browser, "/account/riverside/sign-in", site, username="grace").status_code == 400


def test_guessing_codes_at_the_account_page_is_slowed_down(server: IdentityServer) -> None:
    browser = server.browser()
    answers = [
        post(
            browser, "/account/riverside/sign-in", username="amelia", password=PASSWORD, code="000000"
        ).status_code
        for _ in range(12)
    ]
    assert 429 in answers


def test_at_an_address_without_a_name_there_are_no_passkeys(server: IdentityServer) -> None:
    server.app.extensions["careservice.settings"] = replace(
        server.app.extensions["careservice.settings"], issuer="http://192.0.2.7:8001"
    )
    browser = server.browser()
    assert "passkey" not in parsed(browser.page().text).text_content().lower()
    assert browser.http.get("/account/riverside").status_code == 404


def test_another_clinics_name_has_no_account_page(server: IdentityServer) -> None:
    assert server.browser().http.get(f"{HERE}/account/nowhere").status_code == 404
    browser = server.browser()
    open_account(browser)
    assert "Sign in to see" in browser.http.get(f"{HERE}/account/harbour").text


@pytest.mark.parametrize(("prompt", "is_named"), [("login", True), ("select_account", False)])
def test_a_page_at_the_loopback_address_leads_to_the_name_that_passkeys_are_made_for(
    server: IdentityServer, prompt: str, is_named: bool
) -> None:
    """Browsers take no passkeys at IP addresses (WebAuthn §5.1.3)."""
    used, browser = kept(server), server.browser()
    use(browser, sign_in_page(browser), used)
    numbered = server.browser()
    numbered.http.get = partial(numbered.http.get, base_url="http://127.0.0.1:8001")
    page = numbered.page(prompt=prompt)
    root = parsed(page.text)
    assert not root.select("form[data-passkey]")
    (link,) = root.select("a[href^='/sign-in/passkey']")
    there = numbered.http.get(str(link["href"])).location
    assert there.startswith(f"{HERE}/connect/authorize?"), there
    page = browser.http.get(HERE + browser.http.get(there).location)
    assert ('value="grace"' in page.text) == is_named
    answer = answer_in(use(browser, page, used))
    assert (answer["state"], answer["iss"]) == ("a state", "http://127.0.0.1:8001")
    assert browser.http.get(there).status_code == 400, "once"
    (link,) = root.select("a[href*='/account/']")
    assert str(link["href"]).startswith(ACCOUNT)
    assert numbered.http.get("/account/riverside").location == ACCOUNT
