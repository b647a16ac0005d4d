"""Refreshing tokens without a server: what is kept, what is checked, and when a session ends."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
import requests
from authlib.integrations.base_client import OAuthError

from portal.config.tenants import Side
from portal.services.errors import NotSetUp, NotSignedIn, Unavailable
from portal.signin.discovery import ClientRefused, ProviderDown, ProviderRefused
from portal.signin.errors import AnotherPerson, SignInFailed
from portal.signin.tokens import NO_CODE, Expected
from tests.signin.refresh.refreshed_session import ISSUER, METADATA, NOW, OLD, OVER, RefreshedSession
from tests.support.builders import person

# success


def test_a_refresh_stores_the_new_tokens_and_is_counted(
    session: RefreshedSession, counted: list[str]
) -> None:
    newer = session.renew()
    assert (newer.access_token, newer.refresh_token, newer.id_token) == ("a1", "r1", "i0")
    assert newer.expires_at == NOW + 600
    assert session.kept == newer
    assert session.identity.asked == [(f"{ISSUER}/t", "r0")]
    assert counted == ["renewed"]


def test_newer_tokens_are_returned_without_a_call(session: RefreshedSession) -> None:
    session.renew()
    assert session.renew(OLD, refused=True).access_token == "a1"
    assert len(session.identity.asked) == 1


def test_a_session_without_a_refresh_token_ends(session: RefreshedSession, counted: list[str]) -> None:
    session.signed_in(msgspec.structs.replace(OLD, refresh_token=None))
    with pytest.raises(NotSignedIn):
        session.renew()
    assert session.is_over
    assert (session.identity.asked, counted) == ([], ["ended"])


def test_an_ended_session_gets_no_token(session: RefreshedSession) -> None:
    session.sessions.end(session.name)
    with pytest.raises(NotSignedIn):
        session.renew()
    assert not session.identity.asked


def test_a_session_that_ends_during_a_refresh_gets_no_token(
    session: RefreshedSession, counted: list[str], revoked: list[str | None]
) -> None:
    session.identity.meanwhile = lambda: session.sessions.end(session.name)
    with pytest.raises(NotSignedIn):
        session.renew()
    assert (session.kept, counted) == (None, [])
    assert revoked == ["r1"], "nobody has the new refresh token"


# failure


@pytest.mark.parametrize(
    ("fault", "outcome"),
    [
        *(
            (OAuthError(code), "postponed")
            for code in ("server_error", "temporarily_unavailable", "slow_down")
        ),
        (requests.ConnectionError("down"), "postponed"),
        (ValueError("odd"), "postponed"),
        (ProviderDown("down"), "postponed"),
        (ProviderRefused("elsewhere"), "postponed"),
        (SignInFailed("no access token"), "postponed"),
        (ClientRefused("portal"), "client-refused"),
    ],
)
def test_a_failed_refresh_keeps_the_session_and_is_not_retried_for_five_seconds(
    session: RefreshedSession, counted: list[str], fault: Exception, outcome: str
) -> None:
    session.identity.fault = fault
    assert session.renew() == OLD, "which is still valid"
    assert counted == [outcome]
    session.identity.fault = None
    session.clock.advance(4.9)
    assert session.renew() == OLD
    assert (len(session.identity.asked), counted) == (1, [outcome, outcome])
    with pytest.raises(Unavailable, match="failed just now") as failure:
        session.renew(refused=True)
    assert isinstance(failure.value, NotSetUp) is (outcome == "client-refused")
    session.clock.advance(0.1)
    assert session.renew().access_token == "a1"
    assert not session.is_over


def test_a_failed_refresh_is_tried_again_after_the_clock_was_set_back(session: RefreshedSession) -> None:
    session.identity.fault = ProviderDown("down")
    with pytest.raises(Unavailable):
        session.renew(refused=True)
    session.identity.fault = None
    session.clock.advance(-3600)
    assert session.renew(refused=True).access_token == "a1"


def test_an_expired_or_refused_token_is_not_returned(session: RefreshedSession) -> None:
    session.identity.fault = requests.ConnectionError("down")
    with pytest.raises(Unavailable, match="ConnectionError"):
        session.renew(refused=True)
    session.signed_in(OVER)
    with pytest.raises(Unavailable, match="ConnectionError"):
        session.renew(OVER)


@pytest.mark.parametrize(
    "code",
    ["invalid_grant", "interaction_required", "access_denied", "invalid_request", "Token expired", NO_CODE],
)
def test_a_refused_refresh_ends_the_session_and_says_why_in_the_log(
    session: RefreshedSession, counted: list[str], caplog: pytest.LogCaptureFixture, code: str
) -> None:
    session.identity.fault = OAuthError(code)
    with pytest.raises(NotSignedIn):
        session.renew()
    assert session.is_over
    assert counted == ["ended"]
    told = [record.__dict__.get("reason") for record in caplog.records]
    assert told == [code if code.islower() else "another code"]


def test_a_client_refused_is_told_as_that_once_the_token_is_of_no_use(session: RefreshedSession) -> None:
    session.identity.fault = ClientRefused("portal")
    with pytest.raises(NotSetUp):
        session.renew(refused=True)
    assert not session.is_over


def test_tokens_that_must_not_be_accepted_end_the_session_once_the_old_one_is_of_no_use(
    session: RefreshedSession, revoked: list[str | None]
) -> None:
    session.signed_in(OVER)
    session.identity.answer["id_token"] = "i1"
    session.identity.keys_fault = SignInFailed("ID token: not issued for this refresh")
    with pytest.raises(NotSignedIn):
        session.renew(OVER)
    assert session.is_over
    assert revoked == ["r1"]


@pytest.mark.parametrize("fault", [OAuthError("invalid_grant"), None])
def test_a_refresh_token_used_by_another_process_does_not_end_the_session(
    session: RefreshedSession, revoked: list[str | None], fault: Exception | None
) -> None:
    newer = msgspec.structs.replace(OLD, access_token="a9", refresh_token="r9")
    session.identity.fault = fault
    session.identity.meanwhile = lambda: session.sessions.replace_tokens(session.name, OLD, newer)
    assert session.renew() == newer
    assert not session.is_over
    assert revoked == [], "it may be the other's too"


# person and roles


def test_an_id_token_is_checked_against_the_session(session: RefreshedSession) -> None:
    session.identity.answer["id_token"] = "i1"
    session.identity.claims = {"role": "patient"}
    assert session.renew().id_token == "i1"
    assert session.identity.verified == {
        "token": "i1", "expected": Expected("portal", None, "a1"), "now": NOW,
        "of": person("amelia", issuer=ISSUER, auth_time=7.0, roles=frozenset({"patient"})),
    }  # fmt: skip


def test_an_id_token_of_another_person_ends_the_session(
    session: RefreshedSession, counted: list[str]
) -> None:
    session.identity.answer["id_token"] = "i1"
    session.identity.keys_fault = AnotherPerson("ID token of another person")
    with pytest.raises(NotSignedIn):
        session.renew()
    assert session.is_over
    assert counted == ["ended"]


def test_with_an_invalid_id_token_only_the_new_refresh_token_is_kept(session: RefreshedSession) -> None:
    session.identity.answer["id_token"] = "i1"
    session.identity.keys_fault = SignInFailed("token signed with an unknown key")
    assert session.renew() == OLD
    assert session.kept == msgspec.structs.replace(OLD, refresh_token="r1"), "the old one is used up"


def test_without_keys_only_the_new_refresh_token_is_kept(session: RefreshedSession) -> None:
    session.identity.answer["id_token"] = "i1"
    session.identity.keys_fault = ProviderDown("keys unreadable")
    assert session.renew() == OLD
    assert session.kept == msgspec.structs.replace(OLD, refresh_token="r1")


GONE, UNREAD = {"sub": "amelia"}, Unavailable("userinfo")


@pytest.mark.parametrize(
    ("before", "id_token", "userinfo", "stay"),
    [
        ("id_token", None, UNREAD, True),
        ("id_token", None, GONE, True),
        ("id_token userinfo", None, GONE, False),
        ("id_token userinfo", None, UNREAD, True),
        ("id_token userinfo", GONE, UNREAD, False),
        ("id_token", GONE, UNREAD, False),
        ("id_token", GONE, GONE, False),
        ("userinfo", None, UNREAD, True),
        ("userinfo", None, GONE, False),
        ("userinfo", GONE, UNREAD, True),
        ("userinfo", GONE, GONE, False),
        ("", GONE, UNREAD, True),
        ("", None, GONE, True),
        ("", GONE, GONE, False),
    ],
)
def test_roles_gone_from_where_they_were_read_end_the_session_and_unread_ones_stay(
    session: RefreshedSession,
    counted: list[str],
    before: str,
    id_token: dict[str, Any] | None,
    userinfo: dict[str, Any] | Exception,
    stay: bool,
) -> None:
    session.signed_in(roles_from=before)
    session.identity.metadata_ = msgspec.structs.replace(METADATA, userinfo_endpoint=f"{ISSUER}/u")
    session.identity.userinfo = userinfo
    if id_token is not None:
        session.identity.answer["id_token"] = "i1"
        session.identity.claims = id_token
    if stay:
        assert session.renew().access_token == "a1"
        held = session.sessions.person_of(session.name)
        assert held is not None
        assert held.roles == {"patient"}
    else:
        with pytest.raises(NotSignedIn):
            session.renew()
        assert session.is_over
    assert counted == ["renewed" if stay else "ended"]


def test_without_userinfo_the_id_token_alone_tells_of_roles(session: RefreshedSession) -> None:
    session.signed_in(roles_from="id_token")
    session.identity.answer["id_token"] = "i1"
    session.identity.claims = {"sub": "amelia"}
    with pytest.raises(NotSignedIn):
        session.renew()


def test_a_refresh_remembers_where_the_roles_are_now(session: RefreshedSession) -> None:
    session.signed_in(roles_from="id_token")
    session.identity.metadata_ = msgspec.structs.replace(METADATA, userinfo_endpoint=f"{ISSUER}/u")
    session.identity.userinfo = {"sub": "amelia", "role": "patient"}
    session.renew()
    session.identity.answer = {"access_token": "a2", "refresh_token": "r2", "expires_in": 600}
    session.identity.userinfo = GONE
    assert session.kept is not None
    with pytest.raises(NotSignedIn):
        session.renew(session.kept)


def test_where_refreshed_id_tokens_lack_the_roles_userinfo_alone_tells_of_them(
    session: RefreshedSession,
) -> None:
    """A server may put fewer claims into them: its UserInfo, down for a while, then signs nobody out."""
    session.signed_in(roles_from="id_token userinfo")
    session.identity.metadata_ = msgspec.structs.replace(METADATA, userinfo_endpoint=f"{ISSUER}/u")
    session.identity.answer["id_token"], session.identity.claims = "i1", GONE
    session.identity.userinfo = {"sub": "amelia", "role": "patient"}
    seen = session.renew()
    session.identity.answer |= {"access_token": "a2", "refresh_token": "r2"}
    session.identity.userinfo = UNREAD
    assert session.renew(seen).access_token == "a2"


def test_roles_in_the_id_token_take_precedence_over_userinfo(session: RefreshedSession) -> None:
    session.identity.metadata_ = msgspec.structs.replace(METADATA, userinfo_endpoint=f"{ISSUER}/u")
    session.identity.userinfo = {"sub": "amelia", "role": "nurse"}
    session.identity.answer["id_token"] = "i1"
    session.identity.claims = {"sub": "amelia", "role": "patient"}
    assert session.renew().access_token == "a1"
    assert not session.is_over
    assert "userinfo" not in session.identity.asked, "which is asked only if the token has no roles"


@pytest.mark.parametrize("role", ["nurse", "visitor", []])
@pytest.mark.parametrize("by", ["userinfo", "claims"])
def test_someone_who_loses_their_role_on_this_side_is_signed_out(
    session: RefreshedSession, role: object, by: str, revoked: list[str | None]
) -> None:
    session.identity.metadata_ = msgspec.structs.replace(METADATA, userinfo_endpoint=f"{ISSUER}/u")
    setattr(session.identity, by, {"sub": "amelia", "role": role})
    if by == "claims":
        session.identity.answer["id_token"] = "i1"
    with pytest.raises(NotSignedIn):
        session.renew()
    assert session.is_over
    assert revoked == ["r1"]


def test_a_refresh_updates_the_roles(session: RefreshedSession) -> None:
    session.signed_in(side=Side.STAFF, roles=frozenset[str]())
    session.identity.answer["id_token"] = "i1"
    session.identity.claims = {"role": ["nurse"]}
    session.renew()
    held = session.sessions.person_of(session.name)
    assert held is not None
    assert held.roles == {"nurse"}
