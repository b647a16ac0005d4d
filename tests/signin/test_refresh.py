"""Renewing tokens without a server: who asks, who waits, what is believed, and when a session is over."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest
import requests
from authlib.integrations.base_client import OAuthError

from portal.config.settings import SessionLimits, Timeouts
from portal.config.tenants import Client, Roles, Side, Tenants
from portal.http import deadline
from portal.operate import metrics
from portal.services.errors import NotSignedIn, Unavailable
from portal.signin import refresh
from portal.signin.discovery import ClientRefused, Metadata, ProviderDown, ProviderRefused
from portal.signin.refresh import Refresher, SessionBearer
from portal.signin.tokens import AnotherPerson, Expected, SignInFailed
from portal.state.sessions import Session, Sessions, Tokens, record_name
from portal.store import Store, open_store
from portal.store.vault import Vault
from tests.support.builders import person
from tests.support.clock import Clock

ISSUER = "https://id.example"
HOST, CLINIC = "riverside.localhost", "riverside"
NOW = 1_000_000.0
METADATA = Metadata(
    issuer=ISSUER, authorization_endpoint=f"{ISSUER}/a", token_endpoint=f"{ISSUER}/t", jwks_uri=f"{ISSUER}/k"
)
OLD = Tokens(access_token="a0", refresh_token="r0", id_token="i0", expires_at=NOW + 100, refresh_at=NOW + 40)
OVER = msgspec.structs.replace(OLD, expires_at=NOW, refresh_at=NOW - 60)


@dataclass
class Identity:
    """The token endpoint: answers, fails, or lets a test do something meanwhile."""

    metadata_: Metadata = METADATA
    answer: dict[str, Any] = field(
        default_factory=lambda: {"access_token": "a1", "refresh_token": "r1", "expires_in": 600}
    )
    claims: dict[str, Any] = field(default_factory=dict)
    userinfo: dict[str, Any] | Exception = field(default_factory=dict)
    fault: Exception | None = None
    keys_fault: Exception | None = None
    meanwhile: Callable[[], object] = lambda: None
    asked: list[Any] = field(default_factory=list)
    verified: dict[str, Any] = field(default_factory=dict)

    def metadata(self) -> Metadata:
        return self.metadata_

    @contextmanager
    def token_call(self, client_id: str) -> Any:
        assert client_id == "portal"
        yield

    def refresh_token(self, url: str, *, refresh_token: str) -> dict[str, Any]:
        self.asked.append((url, refresh_token))
        self.meanwhile()
        if self.fault:
            raise self.fault
        return self.answer

    def verify(
        self, token: str, _provider: object, expected: Expected, now: float, **of: Any
    ) -> dict[str, Any]:
        self.verified = {"token": token, "expected": expected, "now": now, **of}
        if self.keys_fault:
            raise self.keys_fault
        return self.claims

    def told(self, _metadata: Metadata, answer: object, sub: str, _timeouts: Timeouts) -> dict[str, Any]:
        assert (answer, sub) == (self.answer, "amelia")
        self.asked.append("userinfo")
        if isinstance(self.userinfo, Exception):
            raise self.userinfo
        return self.userinfo


TENANT: Any = SimpleNamespace(
    client=Client("portal", "secret"), id_token_hint=True, roles=Roles(staff=frozenset({"nurse"}))
)


class Renewing:
    """A session of Amelia's with tokens, and what renews them."""

    def __init__(self, store: Store, clock: Clock, identity: Identity) -> None:
        limits = dict.fromkeys(Side, SessionLimits(1800, 43200))
        self.clock, self.store, self.identity = clock, store, identity
        self.sessions = Sessions(Vault(store, ("k" * 40,)), Tenants({}, {}), limits, clock)
        self.takes_at_most(5)
        self.here = Session(self.sessions, None, CLINIC, HOST)

    def takes_at_most(self, seconds: float) -> None:
        """Let calls of the identity server, and waiting for another's, end after so long."""
        self.refresher = Refresher(self.sessions, self.store, Timeouts(read=seconds), self.clock)

    def signed_in(self, tokens: Tokens = OLD, **more: Any) -> str:
        who = person(**{"roles": frozenset({"patient"}), "auth_time": 7.0, **more})
        self.here.sign_in(who, tokens, device="")
        assert self.here.fresh_cookie
        self.name = record_name(self.here.fresh_cookie)
        return self.name

    def renew(self, seen: Tokens = OLD, *, refused: bool = False) -> Tokens:
        provider: Any = self.identity
        return self.refresher.refresh(self.name, seen, TENANT, provider, refused=refused)

    @property
    def kept(self) -> Tokens | None:
        return self.sessions.tokens_of(self.name)

    @property
    def is_over(self) -> bool:
        assert self.here.fresh_cookie
        return Session(self.sessions, self.here.fresh_cookie, CLINIC, HOST).person is None


@pytest.fixture
def identity(monkeypatch: pytest.MonkeyPatch) -> Identity:
    server = Identity()
    monkeypatch.setattr(refresh, "oauth_session", lambda client, *_: server if client.client_id else None)
    monkeypatch.setattr(refresh, "verify_refreshed_id_token", server.verify)
    monkeypatch.setattr(refresh, "userinfo", server.told)
    return server


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What the metrics say became of each renewal."""
    found: list[str] = []
    monkeypatch.setattr(metrics, "refreshed", found.append)
    return found


@pytest.fixture
def it(identity: Identity, sqlite: str, clock: Clock) -> Renewing:
    made = Renewing(open_store(sqlite, clock), clock, identity)
    made.signed_in()
    return made


# a renewal that goes well


def test_a_renewal_keeps_what_came_and_counts(it: Renewing, counted: list[str]) -> None:
    newer = it.renew()
    assert (newer.access_token, newer.refresh_token, newer.id_token) == ("a1", "r1", "i0")
    assert newer.expires_at == NOW + 600
    assert it.kept == newer
    assert it.identity.asked == [(f"{ISSUER}/t", "r0")]
    assert counted == ["renewed"]


def test_tokens_that_are_newer_already_are_returned_without_a_call(it: Renewing) -> None:
    it.renew()
    assert it.renew(OLD, refused=True).access_token == "a1"
    assert len(it.identity.asked) == 1


def test_a_session_without_refresh_token_is_over(it: Renewing, counted: list[str]) -> None:
    it.signed_in(msgspec.structs.replace(OLD, refresh_token=None))
    with pytest.raises(NotSignedIn):
        it.renew()
    assert it.is_over
    assert (it.identity.asked, counted) == ([], ["ended"])


def test_a_session_that_is_gone_gets_no_token(it: Renewing) -> None:
    it.sessions.end(it.name)
    with pytest.raises(NotSignedIn):
        it.renew()
    assert not it.identity.asked


def test_a_session_that_ends_meanwhile_gets_no_token(it: Renewing, counted: list[str]) -> None:
    it.identity.meanwhile = lambda: it.sessions.end(it.name)
    with pytest.raises(NotSignedIn):
        it.renew()
    assert (it.kept, counted) == (None, [])


# a renewal that fails


@pytest.mark.parametrize(
    ("fault", "outcome"),
    [
        (OAuthError("server_error"), "postponed"),
        (requests.ConnectionError("down"), "postponed"),
        (ValueError("odd"), "postponed"),
        (ProviderDown("down"), "postponed"),
        (ProviderRefused("elsewhere"), "postponed"),
        (SignInFailed("no access token"), "postponed"),
        (ClientRefused("portal"), "client-refused"),
    ],
)
def test_a_bad_moment_of_the_server_leaves_the_session_and_is_known_for_five_seconds(
    it: Renewing, counted: list[str], fault: Exception, outcome: str
) -> None:
    it.identity.fault = fault
    assert it.renew() == OLD, "which is of use still"
    assert counted == [outcome]
    it.identity.fault = None
    it.clock.advance(4.9)
    assert it.renew() == OLD
    assert (len(it.identity.asked), counted) == (1, [outcome, "postponed"])
    with pytest.raises(Unavailable, match="failed just now"):
        it.renew(refused=True)
    it.clock.advance(0.1)
    assert it.renew().access_token == "a1"
    assert not it.is_over


def test_an_old_token_that_is_of_no_use_is_not_given_out(it: Renewing) -> None:
    it.identity.fault = requests.ConnectionError("down")
    with pytest.raises(Unavailable, match="ConnectionError"):
        it.renew(refused=True)
    it.signed_in(OVER)
    with pytest.raises(Unavailable, match="ConnectionError"):
        it.renew(OVER)


def test_a_refresh_token_that_is_over_ends_the_session(it: Renewing, counted: list[str]) -> None:
    it.identity.fault = OAuthError("invalid_grant")
    with pytest.raises(NotSignedIn):
        it.renew()
    assert it.is_over
    assert counted == ["ended"]


def test_a_refresh_token_that_another_process_used_is_not_over(it: Renewing) -> None:
    newer = msgspec.structs.replace(OLD, access_token="a9", refresh_token="r9")
    it.identity.fault = OAuthError("invalid_grant")
    it.identity.meanwhile = lambda: it.sessions.replace_tokens(it.name, OLD, newer)
    assert it.renew() == newer
    assert not it.is_over


# the person, and what they may do


def test_an_id_token_is_checked_against_the_session(it: Renewing) -> None:
    it.identity.answer["id_token"] = "i1"
    it.identity.claims = {"role": "patient"}
    assert it.renew().id_token == "i1"
    assert it.identity.verified == {
        "token": "i1", "expected": Expected("portal", None, "a1"), "now": NOW, "sub": "amelia", "auth_time": 7.0,
    }  # fmt: skip


def test_an_id_token_of_another_person_ends_the_session(it: Renewing, counted: list[str]) -> None:
    it.identity.answer["id_token"] = "i1"
    it.identity.keys_fault = AnotherPerson("ID token of another person")
    with pytest.raises(NotSignedIn):
        it.renew()
    assert it.is_over
    assert counted == ["ended"]


def test_an_id_token_that_does_not_hold_changes_nothing(it: Renewing) -> None:
    it.identity.answer["id_token"] = "i1"
    it.identity.keys_fault = SignInFailed("ID token: not issued for this refresh")
    assert it.renew() == OLD
    assert it.kept == OLD


def test_without_keys_only_the_new_refresh_token_is_kept(it: Renewing) -> None:
    it.identity.answer["id_token"] = "i1"
    it.identity.keys_fault = ProviderDown("keys unreadable")
    assert it.renew() == OLD
    assert it.kept == msgspec.structs.replace(OLD, refresh_token="r1")


@pytest.mark.parametrize("userinfo", [{}, {"sub": "amelia"}, Unavailable("userinfo")])
def test_roles_that_are_not_told_stay(it: Renewing, userinfo: dict[str, Any] | Exception) -> None:
    it.identity.metadata_ = msgspec.structs.replace(METADATA, userinfo_endpoint=f"{ISSUER}/u")
    it.identity.userinfo = userinfo
    assert it.renew().access_token == "a1"
    held = it.sessions.person_of(it.name)
    assert held is not None
    assert held.roles == {"patient"}


def test_roles_are_those_of_the_id_token_before_those_of_userinfo(it: Renewing) -> None:
    it.identity.metadata_ = msgspec.structs.replace(METADATA, userinfo_endpoint=f"{ISSUER}/u")
    it.identity.userinfo = {"sub": "amelia", "role": "nurse"}
    it.identity.answer["id_token"] = "i1"
    it.identity.claims = {"sub": "amelia", "role": "patient"}
    assert it.renew().access_token == "a1"
    assert not it.is_over
    assert "userinfo" not in it.identity.asked, "which is asked only where the token tells no roles"


@pytest.mark.parametrize("role", ["nurse", "visitor", []])
@pytest.mark.parametrize("by", ["userinfo", "claims"])
def test_who_has_no_role_on_this_side_any_more_is_signed_out(it: Renewing, role: object, by: str) -> None:
    it.identity.metadata_ = msgspec.structs.replace(METADATA, userinfo_endpoint=f"{ISSUER}/u")
    setattr(it.identity, by, {"sub": "amelia", "role": role})
    if by == "claims":
        it.identity.answer["id_token"] = "i1"
    with pytest.raises(NotSignedIn):
        it.renew()
    assert it.is_over


def test_roles_are_taken_anew(it: Renewing) -> None:
    it.signed_in(side=Side.STAFF, roles=frozenset[str]())
    it.identity.answer["id_token"] = "i1"
    it.identity.claims = {"role": ["nurse"]}
    it.renew()
    held = it.sessions.person_of(it.name)
    assert held is not None
    assert held.roles == {"nurse"}


# many at once


def test_one_of_many_asks_and_all_get_the_same(it: Renewing) -> None:
    it.identity.meanwhile = lambda: time.sleep(0.1)
    found: list[str] = []
    threads = [
        threading.Thread(target=lambda: found.append(it.renew(refused=True).access_token)) for _ in range(5)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == ["a1"] * 5
    assert len(it.identity.asked) == 1


@contextmanager
def another_process(it: Renewing) -> Any:
    """Holds the lock, as one does that renews the session's tokens now."""
    assert it.store.lock(f"refresh:{it.name}", "another", seconds=60)
    yield
    it.store.unlock(f"refresh:{it.name}", "another")


@contextmanager
def another_thread(it: Renewing) -> Any:
    stripe = it.refresher._stripes[hash(it.name) % len(it.refresher._stripes)]
    with stripe:
        yield


BUSY = pytest.mark.parametrize("busy", [another_process, another_thread])


@BUSY
def test_while_another_renews_an_old_token_that_is_of_use_serves_at_once(
    it: Renewing, counted: list[str], busy: Callable[[Renewing], Any]
) -> None:
    with busy(it):
        began = time.monotonic()
        assert it.renew() == OLD
        assert time.monotonic() - began < 2
    assert (it.identity.asked, counted) == ([], ["postponed"])


@BUSY
@pytest.mark.parametrize(("seen", "refused"), [(OLD, True), (OVER, False)])
def test_one_that_is_of_no_use_waits_for_as_long_as_a_call_may_take(
    it: Renewing, busy: Callable[[Renewing], Any], seen: Tokens, refused: bool
) -> None:
    it.signed_in(seen)
    it.takes_at_most(0.3)
    with busy(it):
        began = time.monotonic()
        with pytest.raises(Unavailable, match="under way"):
            it.renew(seen, refused=refused)
        assert 0.25 < time.monotonic() - began < 3
    assert it.renew(seen, refused=refused).access_token == "a1", "the lock is free again"


@BUSY
def test_nobody_waits_longer_than_the_page_may_take(it: Renewing, busy: Callable[[Renewing], Any]) -> None:
    deadline.set_to(time.monotonic())
    try:
        with busy(it), pytest.raises(Unavailable):
            began = time.monotonic()
            it.renew(refused=True)
        assert time.monotonic() - began < 2
    finally:
        deadline.set_to(None)


@BUSY
def test_what_another_brings_is_taken(it: Renewing, busy: Callable[[Renewing], Any]) -> None:
    newer = msgspec.structs.replace(OLD, access_token="a9")
    with busy(it):
        threading.Timer(0.05, lambda: it.sessions.replace_tokens(it.name, OLD, newer)).start()
        assert it.renew(refused=True) == newer
    assert not it.identity.asked


def test_a_lock_outlives_a_slow_call_and_not_by_much(it: Renewing, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[str, int, float]] = []
    lock = it.store.lock

    def noted(name: str, owner: str, *, seconds: float) -> bool:
        asked.append((name, len(owner), seconds))
        return lock(name, owner, seconds=seconds)

    monkeypatch.setattr(it.store, "lock", noted)
    it.renew()
    assert asked == [(f"refresh:{it.name}", 16, 15)]
    assert lock(f"refresh:{it.name}", "another", seconds=1), "it is given back"


# one page's token


def bearer(it: Renewing) -> SessionBearer:
    provider: Any = it.identity
    return SessionBearer(it.here, it.refresher, TENANT, provider, it.clock)


def test_a_page_renews_its_token_when_it_is_time(it: Renewing) -> None:
    page = bearer(it)
    assert page.token() == "a0"
    it.clock.advance(39.9)
    assert page.token() == "a0"
    it.clock.advance(0.1)
    assert page.token() == "a1"
    assert page.token() == "a1"
    assert len(it.identity.asked) == 1


def test_a_page_tries_to_renew_once(it: Renewing) -> None:
    it.identity.fault = requests.ConnectionError("down")
    it.clock.advance(50)
    page = bearer(it)
    assert page.token() == page.token() == "a0"
    it.clock.advance(10)
    assert page.token() == "a0"
    assert len(it.identity.asked) == 1


def test_a_page_whose_token_was_refused_renews_it_and_gives_up_when_that_fails(it: Renewing) -> None:
    page = bearer(it)
    assert page.renew("a-1") == "a0", "another call has renewed it already"
    assert not it.identity.asked
    assert page.renew("a0") == "a1"
    it.identity.fault = requests.ConnectionError("down")
    with pytest.raises(Unavailable) as first:
        page.renew("a1")
    it.identity.fault = None
    it.clock.advance(10)
    for again in (page.token, lambda: page.renew("a1")):
        with pytest.raises(Unavailable) as then:
            again()
        assert then.value is first.value
    assert len(it.identity.asked) == 2


def test_a_page_of_nobody_has_no_token(it: Renewing) -> None:
    provider: Any = it.identity
    nobody = Session(it.sessions, None, CLINIC, HOST)
    unknown = Session(it.sessions, "a" * 43, CLINIC, HOST)
    for here in (nobody, unknown):
        with pytest.raises(NotSignedIn):
            SessionBearer(here, it.refresher, TENANT, provider, it.clock)
