"""Signing in, step by step, without a server: what is asked, what of the answer is believed, and what is remembered."""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any
from urllib.parse import parse_qs, urlsplit

import msgspec
import pytest
import requests
from authlib.integrations.base_client import OAuthError

from portal.config.settings import Timeouts
from portal.config.tenants import Client, Roles
from portal.services.errors import Unavailable
from portal.signin import flow
from portal.signin.discovery import ClientRefused, Metadata, ProviderDown, ProviderRefused
from portal.signin.flow import Loop, SignIn, Started, local_path
from portal.signin.tokens import Expected, SignInFailed
from portal.signin.tokens import oauth_session as real_session
from portal.store import open_store
from portal.store.vault import Vault
from tests.support.clock import Clock

ISSUER = "https://id.example"
BACK = "https://portal.example/sign-in/callback"
METADATA = Metadata(
    issuer=ISSUER,
    authorization_endpoint=f"{ISSUER}/a?x=1",
    token_endpoint=f"{ISSUER}/t",
    jwks_uri=f"{ISSUER}/k",
)


@dataclass
class Identity:
    """An identity server, as the flow meets it: a test sets what it says, and reads what it was asked."""

    metadata_: Metadata = METADATA
    answer: dict[str, Any] = field(
        default_factory=lambda: {"access_token": "access", "id_token": "id", "expires_in": 100}
    )
    claims: dict[str, Any] = field(
        default_factory=lambda: {"sub": "amelia", "role": "patient", "tenantid": "clinic", "auth_time": 5}
    )
    userinfo: dict[str, Any] = field(default_factory=dict)
    fault: Exception | None = None
    pushed: requests.Response = field(default_factory=requests.Response)
    asked: list[Any] = field(default_factory=list)
    expected: Expected | None = None
    called_as: str = ""

    def metadata(self) -> Metadata:
        if isinstance(self.fault, (ProviderDown, ProviderRefused)):
            raise self.fault
        return self.metadata_

    @contextmanager
    def token_call(self, client_id: str) -> Any:
        self.called_as = client_id
        yield

    def client_refused(self, client_id: str, seconds: float) -> ClientRefused:
        assert 0 <= seconds < 60
        return ClientRefused(client_id)


def tenant(**changes: Any) -> Any:
    members = {
        "key": "riverside", "auth_url": ISSUER, "identity_origins": ("https://login.example",),
        "client": Client("portal", "secret"), "scope": "openid", "authorize_params": {"acr": "high"},
        "tenant_claim": "tenantid", "tenant_id": "clinic", "id_token_hint": True,
        "roles": Roles(staff=frozenset({"nurse"})),
    }  # fmt: skip
    return SimpleNamespace(**(members | changes))


@pytest.fixture
def identity(monkeypatch: pytest.MonkeyPatch) -> Identity:
    """Takes the place of the network below Authlib's client, and of the signature's check."""
    server = Identity()

    def session(*given: Any, **settings: Any) -> Any:
        client: Any = real_session(*given, **settings)

        def fetch_token(url: str, **form: Any) -> Mapping[str, Any]:
            server.asked.append((url, form))
            if server.fault:
                raise server.fault
            return server.answer

        def post(url: str, **sent: Any) -> requests.Response:
            server.asked.append((url, sent))
            if server.fault:
                raise server.fault
            return server.pushed

        client.fetch_token, client.post = fetch_token, post
        return client

    def verify(token: object, _provider: object, expected: Expected, now: float) -> dict[str, Any]:
        assert (token, now) == ("id", 1_000_000.0)
        server.expected = expected
        return server.claims

    def userinfo(_metadata: Metadata, answer: object, sub: str, _timeouts: Timeouts) -> dict[str, Any]:
        assert answer is server.answer
        server.asked.append(("userinfo", sub))
        return server.userinfo

    monkeypatch.setattr(flow, "oauth_session", session)
    monkeypatch.setattr(flow, "verify_id_token", verify)
    monkeypatch.setattr(flow, "userinfo", userinfo)
    return server


@pytest.fixture
def sign_in(identity: Identity, sqlite: str, clock: Clock) -> SignIn:
    def of(auth_url: str, origins: tuple[str, ...]) -> Identity:
        assert (auth_url, origins) == (ISSUER, ("https://login.example",))
        return identity

    providers: Any = SimpleNamespace(of=of)
    return SignIn(Vault(open_store(sqlite, clock), ("k" * 40,), clock), providers, Timeouts(), clock)


def start(sign_in: SignIn, cookie: str | None = None, of: Any = None, **changes: Any) -> Started:
    given: dict[str, Any] = {"redirect_uri": BACK, "next_path": "/consents", "language": "es", **changes}
    return sign_in.start(of or tenant(), cookie=cookie, **given)


def query_of(started: Started) -> dict[str, str]:
    return {name: value for name, (value,) in parse_qs(urlsplit(started.location).query).items()}


def finish(sign_in: SignIn, started: Started, of: Any = None, **answer: str) -> Any:
    given = {"state": query_of(started)["state"], "code": "c", **answer}
    return sign_in.finish(of or tenant(), cookie=started.cookie, answer=given)


# what is asked


def test_the_browser_is_sent_to_the_identity_server_with_what_the_clinic_asks(sign_in: SignIn) -> None:
    started = start(sign_in)
    asked = query_of(started)
    assert started.location.startswith(f"{ISSUER}/a?x=1&")
    assert re.fullmatch(r"[A-Za-z0-9_-]{43}", started.cookie)
    secret = {name: asked.pop(name) for name in ("state", "nonce", "code_challenge")}
    assert [len(secret[name]) for name in ("state", "nonce", "code_challenge")] == [43, 43, 43]
    assert asked == {
        "x": "1", "response_type": "code", "client_id": "portal", "redirect_uri": BACK, "scope": "openid",
        "code_challenge_method": "S256", "acr": "high", "ui_locales": "es",
    }  # fmt: skip


def test_a_fresh_sign_in_asks_for_the_password_and_names_who_is_meant(sign_in: SignIn) -> None:
    asked = query_of(start(sign_in, fresh=True, login_hint="amelia"))
    assert (asked["prompt"], asked["max_age"], asked["login_hint"]) == ("login", "300", "amelia")
    assert not {"prompt", "max_age", "login_hint"} & set(query_of(start(sign_in)))


def test_a_browser_keeps_its_cookie_if_it_may_be_one_of_ours(sign_in: SignIn) -> None:
    cookie = "Az09_-" + "a" * 37
    assert start(sign_in, cookie).cookie == cookie
    for other in (None, "", "a" * 42, "a" * 44, "a" * 42 + "!", "a" * 42 + "\n"):
        assert start(sign_in, other).cookie != other


@pytest.mark.parametrize(
    "path", ["/", "/consents?page=2#last", "/é", f"/{'a' * 1998}", "/a//b", "/sign-in?next=//evil.example"]
)
def test_a_path_of_the_portal_is_gone_back_to(path: str) -> None:
    assert local_path(path) == path


@pytest.mark.parametrize(
    "path",
    [None, "", "consents", "//evil.example", "/\\evil.example", "https://evil.example", "/a b", "/a\\b", "/a\x7f",
     "/a\n", f"/{'a' * 1999}"],
)  # fmt: skip
def test_another_address_is_not(path: str | None) -> None:
    assert local_path(path) == "/"


# what is believed


def test_a_sign_in_ends_with_the_person_and_the_page_that_was_left(
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


def test_a_fresh_sign_in_must_be_of_now(sign_in: SignIn, identity: Identity) -> None:
    assert finish(sign_in, start(sign_in, fresh=True)).fresh is True
    assert identity.expected is not None
    assert identity.expected.auth_time_after == 1_000_000.0


def test_the_id_token_is_kept_only_where_the_clinic_wants_it_back(sign_in: SignIn) -> None:
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
def test_a_page_is_gone_back_to_by_its_own_person_alone(
    sign_in: SignIn, whose: tuple[str, str] | None, next_: str
) -> None:
    assert finish(sign_in, start(sign_in, whose=whose)).next == next_


@pytest.mark.parametrize(
    "answer",
    [{"error": "access_denied"}, {"error": ""}, {"code": ""}, {"iss": "https://other.example"}, {"iss": ""}],
)
def test_an_answer_that_is_none_asks_for_no_token(
    sign_in: SignIn, identity: Identity, answer: dict[str, str]
) -> None:
    with pytest.raises(SignInFailed):
        finish(sign_in, start(sign_in), **answer)
    assert not identity.asked


def test_an_answer_names_its_issuer_where_that_was_promised(sign_in: SignIn, identity: Identity) -> None:
    assert finish(sign_in, start(sign_in), iss=ISSUER)
    identity.metadata_ = msgspec.structs.replace(
        METADATA, authorization_response_iss_parameter_supported=True
    )
    assert finish(sign_in, start(sign_in), iss=ISSUER)
    with pytest.raises(SignInFailed):
        finish(sign_in, start(sign_in))


@pytest.mark.parametrize("of", ["other", None])
def test_a_person_of_another_clinic_is_refused(sign_in: SignIn, identity: Identity, of: str | None) -> None:
    identity.claims["tenantid"] = of
    with pytest.raises(SignInFailed):
        finish(sign_in, start(sign_in))
    assert finish(sign_in, start(sign_in), tenant(tenant_claim=None)), "where clinics aren't told apart"


def test_a_clinic_s_number_is_compared_as_text(sign_in: SignIn, identity: Identity) -> None:
    identity.claims["tenantid"] = 7
    assert finish(sign_in, start(sign_in), tenant(tenant_id="7"))


def test_roles_are_asked_of_userinfo_only_where_the_token_has_none(
    sign_in: SignIn, identity: Identity
) -> None:
    identity.metadata_ = msgspec.structs.replace(METADATA, userinfo_endpoint=f"{ISSUER}/u")
    identity.userinfo = {"sub": "amelia", "role": "nurse", "auth_time": 9}
    assert finish(sign_in, start(sign_in)).person.is_patient
    del identity.claims["role"]
    person = finish(sign_in, start(sign_in)).person
    assert (person.is_staff, person.auth_time) == (True, 5.0), "what the token says is not changed"
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
def test_each_fault_of_the_server_is_told_for_what_it_is(
    sign_in: SignIn, identity: Identity, fault: Exception, raised: type[Exception]
) -> None:
    started = start(sign_in)
    identity.fault = fault
    with pytest.raises(raised) as told:
        finish(sign_in, started)
    assert type(told.value) is raised


# what is remembered


def test_an_answer_is_taken_once_from_its_own_browser_and_clinic(sign_in: SignIn) -> None:
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


def test_five_sign_ins_are_under_way_in_a_browser_at_most(sign_in: SignIn) -> None:
    cookie = "a" * 43
    tabs = [start(sign_in, cookie) for _ in range(6)]
    assert finish(sign_in, tabs[0]) is None
    assert finish(sign_in, tabs[1])
    assert finish(sign_in, tabs[5]), "one answer leaves the others"


def test_a_sign_in_waits_for_a_quarter_of_an_hour(sign_in: SignIn, clock: Clock) -> None:
    cookie = "a" * 43
    first = start(sign_in, cookie)
    clock.advance(1)
    start(sign_in, cookie)  # keeps the browser's record a second longer than the first may wait
    clock.advance(899)
    assert finish(sign_in, first) is None


def test_a_sign_in_is_finished_until_then(
    sign_in: SignIn, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        flow, "verify_id_token", lambda *_: {"sub": "a", "role": "patient", "tenantid": "clinic"}
    )
    started = start(sign_in)
    clock.advance(899)
    assert finish(sign_in, started)


def test_a_browser_that_comes_back_three_times_in_a_minute_goes_round_no_more(
    sign_in: SignIn, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        flow, "verify_id_token", lambda *_: {"sub": "a", "role": "patient", "tenantid": "clinic"}
    )
    cookie = "a" * 43
    for _ in range(3):
        assert finish(sign_in, start(sign_in, cookie))
    with pytest.raises(Loop):
        start(sign_in, cookie)
    for _ in range(3):  # forgotten with that, so that trying again by hand may work
        assert finish(sign_in, start(sign_in, cookie))
        clock.advance(20)
    assert start(sign_in, cookie), "the first of them is a minute ago"


def test_what_is_under_way_is_forgotten_when_asked(sign_in: SignIn) -> None:
    started = start(sign_in)
    sign_in.forget(started.cookie)
    assert finish(sign_in, started) is None


# pushed requests


def pushed(
    status: int = 201, body: bytes = b'{"request_uri": "urn:1", "expires_in": 60}'
) -> requests.Response:
    response = requests.Response()
    response.status_code, response._content = status, body
    return response


@pytest.fixture
def par(identity: Identity) -> Identity:
    identity.metadata_ = msgspec.structs.replace(
        METADATA, pushed_authorization_request_endpoint=f"{ISSUER}/par"
    )
    return identity


@pytest.mark.parametrize("status", [200, 201])
def test_a_pushed_request_leaves_nothing_but_its_name_to_the_browser(
    sign_in: SignIn, par: Identity, status: int
) -> None:
    par.pushed = pushed(status)
    assert query_of(start(sign_in)) == {"x": "1", "client_id": "portal", "request_uri": "urn:1"}
    ((url, sent),) = par.asked
    assert url == f"{ISSUER}/par"
    assert (sent["data"]["redirect_uri"], sent["data"]["ui_locales"]) == (BACK, "es")
    assert (sent["headers"], sent["withhold_token"]) == ({"Accept": "application/json"}, True)
    assert sent["auth"] is not None


@pytest.mark.parametrize(
    "response",
    [*(pushed(status) for status in (199, 202, 204, 400, 403, 500)), pushed(body=b"{}"), pushed(body=b"<")],
)
def test_a_pushed_request_that_is_not_taken_is_a_fault_of_the_server(
    sign_in: SignIn, par: Identity, response: requests.Response
) -> None:
    par.pushed = response
    with pytest.raises(ProviderDown) as told:
        start(sign_in)
    assert type(told.value) is ProviderDown


def test_a_pushed_request_of_a_client_that_is_not_known_is_an_operators_fault(
    sign_in: SignIn, par: Identity
) -> None:
    par.pushed = pushed(401)
    with pytest.raises(ClientRefused, match="portal"):
        start(sign_in)
    par.fault = requests.ConnectionError("down")
    with pytest.raises(ProviderDown, match="ConnectionError"):
        start(sign_in)
