"""Renewing tokens without a server: what is kept, what is believed, and when a session is over."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
import requests
from authlib.integrations.base_client import OAuthError

from portal.config.tenants import Side
from portal.services.errors import NotSignedIn, Unavailable
from portal.signin.discovery import ClientRefused, ProviderDown, ProviderRefused
from portal.signin.tokens import AnotherPerson, Expected, SignInFailed
from tests.signin.refresh.renewing import ISSUER, METADATA, NOW, OLD, OVER, Renewing

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
