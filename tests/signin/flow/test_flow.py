"""Signing in without a server: the request, the checks of the response, and pending sign-ins."""

from __future__ import annotations

import re
from typing import Any

import msgspec
import pytest
import requests
from authlib.integrations.base_client import OAuthError

from portal.config.profile import Profile
from portal.services.errors import Unavailable
from portal.signin import flow
from portal.signin.discovery import ClientRefused, ProviderDown, ProviderRefused
from portal.signin.errors import SignInFailed
from portal.signin.flow import Browser, PasswordNeeded, SignIn, SignInLoop, local_path
from portal.signin.tokens import Expected
from portal.store import open_store
from portal.store.names import hashed_name
from portal.store.vault import Vault
from tests.signin.flow.clinic import BACK, ISSUER, METADATA, Identity, finish, query_of, start, tenant
from tests.support.clock import Clock

# the request


def test_the_authorization_request_has_the_clinics_parameters(sign_in: SignIn) -> None:
    started = start(sign_in)
    asked = query_of(started)
    assert started.location.startswith(f"{ISSUER}/a?x=1&")
    assert re.fullmatch(r"[A-Za-z0-9_-]{43}", started.cookie)
    secret = {name: asked.pop(name) for name in ("state", "nonce", "code_challenge")}
    assert [len(secret[name]) for name in ("state", "nonce", "code_challenge")] == [43, 43, 43]
    assert asked == {
        "x": "1", "response_type": "code", "client_id": "portal", "redirect_uri": BACK, "scope": "openid",
        "code_challenge_method": "S256", "acr": "high", "ui_locales": "es", "max_age": "900",
    }  # fmt: skip


def test_a_fresh_sign_in_asks_for_the_password_and_sends_a_login_hint(sign_in: SignIn) -> None:
    asked = query_of(start(sign_in, fresh=True, login_hint="amelia"))
    assert (asked["prompt"], asked["max_age"], asked["login_hint"]) == ("login", "300", "amelia")
    assert not {"prompt", "login_hint"} & set(query_of(start(sign_in)))


def test_another_person_is_asked_for_a_name_where_that_can_be(sign_in: SignIn, identity: Identity) -> None:
    for supported, prompt in ((), "login"), (("login", "select_account"), "login select_account"):
        identity.metadata_ = msgspec.structs.replace(METADATA, prompt_values_supported=supported)
        assert query_of(start(sign_in, fresh=True, is_another=True))["prompt"] == prompt
        assert query_of(start(sign_in, fresh=True))["prompt"] == "login"


def test_the_time_of_the_sign_in_is_asked_for_where_claims_can_be(
    sign_in: SignIn, identity: Identity
) -> None:
    identity.metadata_ = msgspec.structs.replace(METADATA, claims_parameter_supported=True)
    assert query_of(start(sign_in))["claims"] == '{"id_token":{"auth_time":{"essential":true}}}'
    theirs = tenant(authorize_params={"claims": "{}"})
    assert query_of(start(sign_in, of=theirs))["claims"] == "{}", "what the clinic sets stays"


def test_a_well_formed_cookie_is_kept_and_any_other_replaced(sign_in: SignIn) -> None:
    cookie = "Az09_-" + "a" * 37
    assert start(sign_in, cookie).cookie == cookie
    for other in (None, "", "a" * 42, "a" * 44, "a" * 42 + "!", "a" * 42 + "\n"):
        assert start(sign_in, other).cookie != other


def test_a_cookie_whose_record_processes_with_newer_keys_sealed_is_replaced(
    sign_in: SignIn, sqlite: str, clock: Clock
) -> None:
    cookie = start(sign_in).cookie
    newer = Vault(open_store(sqlite, clock), ("n" * 40, "k" * 40), clock)
    assert newer.name("any"), "the naming key is sealed anew"
    assert newer.update(hashed_name("browser", cookie), Browser, lambda browser: browser)
    again = start(sign_in, cookie)
    assert again.cookie != cookie
    assert finish(sign_in, again) is not None


@pytest.mark.parametrize(
    "path", ["/", "/consents?page=2#last", "/é", f"/{'a' * 1998}", "/a//b", "/sign-in?next=//evil.example"]
)
def test_a_local_path_is_returned_to(path: str) -> None:
    assert local_path(path) == path


@pytest.mark.parametrize(
    "path",
    [None, "", "consents", "//evil.example", "/\\evil.example", "https://evil.example", "/a b", "/a\\b", "/a\x7f",
     "/a\n", f"/{'a' * 1999}"],
)  # fmt: skip
def test_any_other_address_becomes_the_home_page(path: str | None) -> None:
    assert local_path(path) == "/"


# the response


def test_a_sign_in_returns_the_person_the_tokens_and_the_requested_page(
    sign_in: SignIn, identity: Identity
) -> None:
    started = start(sign_in)
    finished = finish(sign_in, started)
    assert (finished.person.sub, finished.person.issuer) == ("amelia", ISSUER)
    assert (finished.next, finished.fresh) == ("/consents", False)
    assert (finished.tokens.access_token, finished.tokens.id_token) == ("access", "id")
    assert finished.tokens.expires_at == 1_000_100
    ((url, form),) = identity.asked
    assert (url, identity.called_as) == (f"{ISSUER}/t", "portal")
    assert len(form.pop("code_verifier")) == 64
    assert form == {"grant_type": "authorization_code", "code": "c", "redirect_uri": BACK}
    assert identity.expected == Expected("portal", query_of(started)["nonce"], "access", None)


def test_a_fresh_sign_in_requires_a_new_auth_time(sign_in: SignIn, identity: Identity) -> None:
    assert finish(sign_in, start(sign_in, fresh=True)).fresh is True
    assert identity.expected is not None
    assert identity.expected.auth_time_after == 1_000_000.0


# how old a sign-in at the identity server may be


def signed_out(sign_in: SignIn, of: str = "amelia", clinic: str = "riverside") -> None:
    sign_in._sign_outs.note(ISSUER, clinic, of)


@pytest.mark.parametrize(
    ("auth_time", "counts"), [(1_000_000, True), (999_070, True), (999_069, False), (1, False), (None, True)]
)
def test_a_sign_in_older_than_the_idle_limit_needs_the_password(
    sign_in: SignIn, identity: Identity, auth_time: int | None, counts: bool
) -> None:
    identity.claims["auth_time"] = auth_time
    if counts:
        assert finish(sign_in, start(sign_in))
        return
    with pytest.raises(PasswordNeeded) as needed:
        finish(sign_in, start(sign_in, whose=(ISSUER, "amelia")))
    assert (needed.value.next, needed.value.whose) == ("/consents", (ISSUER, "amelia"))
    assert needed.value.tokens.access_token == "access"


@pytest.mark.parametrize(("auth_time", "counts"), [(1_000_000, True), (999_999, False), (None, False)])
def test_a_sign_in_before_the_last_sign_out_needs_the_password(
    sign_in: SignIn, identity: Identity, clock: Clock, auth_time: int | None, counts: bool
) -> None:
    clock.now += 0.7
    signed_out(sign_in)
    signed_out(sign_in, of="daniel", clinic="harbour")
    clock.now -= 0.7
    identity.claims["auth_time"] = auth_time
    assert finish(sign_in, start(sign_in)), "a time to come was written by a clock that was wrong"
    signed_out(sign_in)
    if counts:
        assert finish(sign_in, start(sign_in))
    else:
        with pytest.raises(PasswordNeeded):
            finish(sign_in, start(sign_in))
    identity.claims["sub"] = "daniel"
    assert finish(sign_in, start(sign_in)), "another person, or another clinic's"


def test_a_second_sign_in_asks_for_the_password_and_counts_without_auth_time(
    sign_in: SignIn, identity: Identity
) -> None:
    signed_out(sign_in)
    second = start(sign_in, is_second=True)
    assert (query_of(second)["prompt"], query_of(second)["max_age"]) == ("login", "900")
    identity.claims["auth_time"] = None
    finished = finish(sign_in, second)
    assert (finished.person.auth_time, finished.fresh) == (0.0, False)


@pytest.mark.parametrize(("auth_time", "counts"), [(999_970, True), (999_969, False)])
def test_a_second_sign_in_without_the_password_is_refused(
    sign_in: SignIn, identity: Identity, auth_time: int, counts: bool
) -> None:
    identity.claims["auth_time"] = auth_time
    second = start(sign_in, is_second=True)
    if counts:
        assert finish(sign_in, second)
    else:
        with pytest.raises(SignInFailed, match="password"):
            finish(sign_in, second)


def test_restored_tabs_that_need_the_password_are_no_loop(sign_in: SignIn, identity: Identity) -> None:
    identity.claims["auth_time"] = 1
    cookie = start(sign_in).cookie
    for _tab in range(4):
        with pytest.raises(PasswordNeeded):
            finish(sign_in, start(sign_in, cookie))
        start(sign_in, cookie, is_second=True)
    assert start(sign_in, cookie)


def test_the_id_token_is_kept_only_if_the_clinic_uses_it_as_a_hint(sign_in: SignIn) -> None:
    assert finish(sign_in, start(sign_in), tenant(id_token_hint=False)).tokens.id_token is None


@pytest.mark.parametrize(
    ("whose", "next_"),
    [
        (None, "/consents"),
        ((ISSUER, "amelia"), "/consents"),
        ((ISSUER, "daniel"), "/"),
        (("x", "amelia"), "/"),
    ],
)
def test_only_the_same_person_returns_to_the_requested_page(
    sign_in: SignIn, whose: tuple[str, str] | None, next_: str
) -> None:
    assert finish(sign_in, start(sign_in, whose=whose)).next == next_


@pytest.mark.parametrize(
    "answer",
    [{"error": "access_denied"}, {"error": ""}, {"code": ""}, {"iss": "https://other.example"}, {"iss": ""}],
)
def test_an_invalid_authorization_response_requests_no_token(
    sign_in: SignIn, identity: Identity, answer: dict[str, str]
) -> None:
    with pytest.raises(SignInFailed):
        finish(sign_in, start(sign_in), **answer)
    assert not identity.asked


def test_the_response_must_name_its_issuer_if_that_is_advertised(sign_in: SignIn, identity: Identity) -> None:
    assert finish(sign_in, start(sign_in), iss=ISSUER)
    identity.metadata_ = msgspec.structs.replace(
        METADATA, authorization_response_iss_parameter_supported=True
    )
    assert finish(sign_in, start(sign_in), iss=ISSUER)
    with pytest.raises(SignInFailed):
        finish(sign_in, start(sign_in))


def test_a_profile_demands_the_issuer_and_its_algorithms_whatever_is_advertised(
    sign_in: SignIn, identity: Identity
) -> None:
    of = tenant(profile=Profile.FAPI2)
    assert finish(sign_in, start(sign_in, of=of), of, iss=ISSUER)
    assert identity.expected and set(identity.expected.algorithms) == {"PS256", "ES256", "EdDSA", "Ed25519"}
    with pytest.raises(SignInFailed):
        finish(sign_in, start(sign_in, of=of), of)


@pytest.mark.parametrize("of", ["other", None])
def test_a_person_of_another_clinic_is_refused(sign_in: SignIn, identity: Identity, of: str | None) -> None:
    identity.claims["tenantid"] = of
    with pytest.raises(SignInFailed):
        finish(sign_in, start(sign_in))
    assert finish(sign_in, start(sign_in), tenant(tenant_claim=())), "if the clinic checks no tenant claim"


def test_a_numeric_clinic_id_is_compared_as_text(sign_in: SignIn, identity: Identity) -> None:
    identity.claims["tenantid"] = 7
    assert finish(sign_in, start(sign_in), tenant(tenant_id="7"))


@pytest.mark.parametrize(
    ("userinfo", "roles_from", "calls"),
    [
        ({"sub": "amelia", "role": "patient"}, "id_token userinfo", 1),
        ({"sub": "amelia"}, "id_token", 1),
        (Unavailable("down"), "id_token", 2),
        (ProviderDown("no keys of signed UserInfo"), "id_token", 2),
    ],
)
def test_userinfo_is_asked_once_whether_it_tells_the_roles_too(
    sign_in: SignIn, identity: Identity, userinfo: Any, roles_from: str, calls: int
) -> None:
    identity.metadata_ = msgspec.structs.replace(METADATA, userinfo_endpoint=f"{ISSUER}/u")
    identity.userinfo = userinfo
    for _ in range(2):
        assert finish(sign_in, start(sign_in)).person.roles_from == roles_from
    assert [asked[0] for asked in identity.asked].count("userinfo") == calls


def test_userinfo_is_asked_for_roles_only_if_the_token_has_none(sign_in: SignIn, identity: Identity) -> None:
    identity.metadata_ = msgspec.structs.replace(METADATA, userinfo_endpoint=f"{ISSUER}/u")
    identity.roles_in_userinfo[("portal", ("role",))] = True
    identity.userinfo = {"sub": "amelia", "role": "nurse", "auth_time": 9}
    assert finish(sign_in, start(sign_in)).person.is_patient
    del identity.claims["role"]
    person = finish(sign_in, start(sign_in)).person
    assert (person.is_staff, person.auth_time) == (True, 1_000_000.0), (
        "userinfo overrides no claim of the token"
    )
    assert [asked[0] for asked in identity.asked].count("userinfo") == 1
    assert identity.asked[-1] == ("userinfo", "amelia")
    identity.metadata_ = METADATA
    sign_in.forget(None)
    with pytest.raises(SignInFailed):
        finish(sign_in, start(sign_in))


@pytest.mark.parametrize(
    ("fault", "raised"),
    [
        (OAuthError("invalid_grant"), SignInFailed),
        (requests.ConnectionError("down"), Unavailable),
        (ValueError("odd"), Unavailable),
        (ClientRefused("portal"), ClientRefused),
        (ProviderDown("down"), Unavailable),
        (ProviderRefused("elsewhere"), Unavailable),
    ],
)
def test_each_fault_of_the_server_raises_its_own_error(
    sign_in: SignIn, identity: Identity, fault: Exception, raised: type[Exception]
) -> None:
    started = start(sign_in)
    identity.fault = fault
    with pytest.raises(raised) as told:
        finish(sign_in, started)
    assert type(told.value) is raised


# pending sign-ins


def test_a_response_works_once_and_only_in_its_browser_and_clinic(sign_in: SignIn) -> None:
    started = start(sign_in)
    state = query_of(started)["state"]
    for cookie in (None, "", "b" * 43):
        assert sign_in.finish(tenant(), cookie=cookie, answer={"state": state, "code": "c"}) is None
    for other in ("", state[:-1], "é"):
        assert finish(sign_in, started, state=other) is None
    assert sign_in.finish(tenant(), cookie=started.cookie, answer={"code": "c"}) is None
    assert finish(sign_in, started)
    assert finish(sign_in, started) is None
    other = start(sign_in)
    assert finish(sign_in, other, tenant(key="harbour")) is None


def test_a_browser_has_at_most_five_pending_sign_ins(sign_in: SignIn) -> None:
    cookie = "a" * 43
    tabs = [start(sign_in, cookie) for _ in range(6)]
    assert finish(sign_in, tabs[0]) is None
    assert finish(sign_in, tabs[1])
    assert finish(sign_in, tabs[5]), "finishing one leaves the others pending"


def test_a_sign_in_expires_after_fifteen_minutes(sign_in: SignIn, clock: Clock) -> None:
    cookie = "a" * 43
    first = start(sign_in, cookie)
    clock.advance(1)
    start(sign_in, cookie)  # keeps the browser's record a second longer than the first sign-in is valid
    clock.advance(899)
    assert finish(sign_in, first) is None


def test_a_sign_in_can_be_finished_until_it_expires(
    sign_in: SignIn, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        flow, "verify_id_token", lambda *_: {"sub": "a", "role": "patient", "tenantid": "clinic"}
    )
    started = start(sign_in)
    clock.advance(899)
    assert finish(sign_in, started)


def test_a_fourth_sign_in_within_a_minute_is_refused_as_a_loop(
    sign_in: SignIn, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        flow, "verify_id_token", lambda *_: {"sub": "a", "role": "patient", "tenantid": "clinic"}
    )
    cookie = "a" * 43
    for _ in range(3):
        assert finish(sign_in, start(sign_in, cookie))
    with pytest.raises(SignInLoop):
        start(sign_in, cookie)
    for _ in range(3):  # the refusal clears the count, so that the person can try again
        assert finish(sign_in, start(sign_in, cookie))
        clock.advance(20)
    assert start(sign_in, cookie), "the first of them was a minute ago"
    other = "b" * 43
    for seconds in (20, 20, 19):
        assert finish(sign_in, start(sign_in, other))
        clock.advance(seconds)
    with pytest.raises(SignInLoop):
        start(sign_in, other)


def test_pending_sign_ins_are_forgotten_on_request(sign_in: SignIn) -> None:
    started = start(sign_in)
    sign_in.forget(started.cookie)
    assert finish(sign_in, started) is None


def test_the_number_of_the_own_record_may_come_in_a_claim(sign_in: SignIn, identity: Identity) -> None:
    here = tenant(record_claim=("patient", "number"))
    for told, number in ((50011, "50011"), ("P 7", "P 7"), (None, ""), (True, ""), ([50011], "")):
        identity.claims["patient"] = {"number": told}
        assert finish(sign_in, start(sign_in), here).person.record == number
    assert finish(sign_in, start(sign_in)).person.record == ""
