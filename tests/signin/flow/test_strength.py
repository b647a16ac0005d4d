"""How strongly somebody has to sign in: what is asked of the identity server, and what is taken from it."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from portal.config.strong_sign_in import Strength, StrongSignIn
from portal.services.errors import Unavailable
from portal.signin.errors import NotStrong, SignInFailed
from portal.signin.flow import PasswordNeeded, SignIn, StrengthNeeded
from tests.signin.flow.clinic import ISSUER, METADATA, Identity, finish, query_of, start, tenant

PHR = Strength(acr=("phr",))
EITHER = Strength(acr=("mfa", "phr"), amr=("hwk",))
STRONG = StrongSignIn(acr=("mfa", "phr"), amr=("hwk",), roles=frozenset({"patient"}))


@pytest.mark.parametrize(
    ("strength", "own", "asked", "essential"),
    [
        (None, {}, None, ["auth_time"]),
        (PHR, {}, "phr", ["acr", "auth_time"]),
        (PHR, {"acr_values": "tenant:riverside"}, "tenant:riverside phr", ["acr", "auth_time"]),
        (EITHER, {}, "mfa phr", ["amr", "auth_time"]),
        (Strength(amr=("hwk",)), {"acr_values": "x"}, "x", ["amr", "auth_time"]),
    ],
)
def test_the_server_is_asked_for_what_counts(
    sign_in: SignIn,
    identity: Identity,
    strength: Strength | None,
    own: dict[str, str],
    asked: str | None,
    essential: list[str],
) -> None:
    identity.metadata_ = msgspec.structs.replace(METADATA, claims_parameter_supported=True)
    query = query_of(start(sign_in, of=tenant(authorize_params=own), strength=strength))
    assert query.get("acr_values") == asked
    claims = json.loads(query["claims"])["id_token"]
    assert sorted(claims) == essential
    assert all(claim["essential"] for claim in claims.values())
    if "acr" in claims:
        assert claims["acr"]["values"] == ["phr"]


@pytest.mark.parametrize(
    ("strength", "told", "is_met"),
    [
        (PHR, {"acr": "phr"}, True), (PHR, {"acr": "mfa"}, False), (PHR, {}, False), (PHR, {"acr": ["phr"]}, False),
        (PHR, {"acr": "PHR"}, False), (PHR, {"acr": "phr phr"}, False), (PHR, {"acr": None, "amr": ["phr"]}, False),
        (EITHER, {"acr": "mfa"}, True), (EITHER, {"acr": "0", "amr": ["pwd", "hwk"]}, True), (EITHER, {"amr": "hwk"}, True),
        (EITHER, {"amr": ["pwd", "otp"]}, False), (EITHER, {"amr": {"hwk": False}}, False), (EITHER, {"amr": [["hwk"]]}, False),
    ],
)  # fmt: skip
def test_what_was_asked_for_is_verified(
    sign_in: SignIn, identity: Identity, strength: Strength, told: dict[str, Any], is_met: bool
) -> None:
    identity.claims |= told
    started = start(sign_in, fresh=True, strength=strength)
    if is_met:
        assert finish(sign_in, started).fresh
        return
    with pytest.raises(NotStrong) as refused:
        finish(sign_in, started)
    assert (refused.value.next, refused.value.to_come_in) == ("/consents", False)
    assert refused.value.tokens is not None, "they are revoked"
    assert "too weak" in str(refused.value)


def test_a_server_that_refuses_what_it_cant_meet_is_understood(sign_in: SignIn) -> None:
    started = start(sign_in, fresh=True, strength=PHR)
    with pytest.raises(NotStrong):
        finish(sign_in, started, error="unmet_authentication_requirements")
    with pytest.raises(SignInFailed) as refused:  # nobody asked for it
        finish(sign_in, start(sign_in), error="unmet_authentication_requirements")
    assert not isinstance(refused.value, NotStrong)


def test_roles_that_need_it_are_asked_in_a_second_round_and_refused_after_that(
    sign_in: SignIn, identity: Identity
) -> None:
    clinic = tenant(strong=STRONG)
    with pytest.raises(StrengthNeeded) as needed:
        finish(sign_in, start(sign_in, of=clinic, whose=(ISSUER, "amelia")), of=clinic)
    assert (needed.value.next, needed.value.whose) == ("/consents", (ISSUER, "amelia"))
    assert (needed.value.tokens.access_token, needed.value.strength) == ("access", EITHER)
    second = start(sign_in, of=clinic, strength=needed.value.strength)
    assert query_of(second)["acr_values"] == "mfa phr"
    assert "prompt" not in query_of(second), "the password was typed just now"
    with pytest.raises(NotStrong) as refused:
        finish(sign_in, second, of=clinic)
    assert refused.value.to_come_in
    identity.claims["acr"] = "phr"
    assert finish(sign_in, start(sign_in, of=clinic), of=clinic).person.acr == "phr"


def test_a_role_that_needs_none_comes_in_with_a_password(sign_in: SignIn) -> None:
    clinic = tenant(strong=StrongSignIn(acr=("phr",), roles=frozenset({"nurse"})))
    assert finish(sign_in, start(sign_in, of=clinic), of=clinic).person.acr == ""


def test_the_api_may_ask_for_more_than_the_role_needs(sign_in: SignIn, identity: Identity) -> None:
    clinic, more = tenant(strong=STRONG), Strength(acr=("urn:more",))
    identity.claims |= {"acr": "urn:more"}
    with pytest.raises(StrengthNeeded):  # enough for the API, not for the role
        finish(sign_in, start(sign_in, of=clinic, fresh=True, strength=more), of=clinic)
    identity.claims |= {"amr": ["hwk"]}
    assert finish(sign_in, start(sign_in, of=clinic, fresh=True, strength=more), of=clinic)


def test_rounds_for_one_sign_in_count_as_one_return(sign_in: SignIn) -> None:
    clinic, cookie = tenant(strong=STRONG), None
    for _ in range(3):
        started = start(sign_in, cookie, of=clinic)
        cookie = started.cookie
        with pytest.raises(StrengthNeeded):
            finish(sign_in, started, of=clinic)
        with pytest.raises(NotStrong):
            finish(sign_in, start(sign_in, cookie, of=clinic, strength=EITHER), of=clinic)
        sign_in.forget(cookie)


def test_an_old_sign_in_is_asked_for_the_password_before_its_strength(
    sign_in: SignIn, identity: Identity
) -> None:
    identity.claims["auth_time"] = 1
    clinic = tenant(strong=STRONG)
    with pytest.raises(PasswordNeeded):
        finish(sign_in, start(sign_in, of=clinic), of=clinic)


def test_how_somebody_signed_in_is_told_by_the_id_token_alone(sign_in: SignIn, identity: Identity) -> None:
    """UserInfo is read later, maybe at another level: its acr proves nothing of this sign-in."""
    identity.metadata_ = msgspec.structs.replace(METADATA, userinfo_endpoint=f"{ISSUER}/u")
    identity.claims.pop("role")
    identity.userinfo = {"sub": "amelia", "role": "patient", "acr": "phr", "amr": ["hwk"], "auth_time": 5}
    clinic = tenant(strong=STRONG)
    with pytest.raises(StrengthNeeded):
        finish(sign_in, start(sign_in, of=clinic), of=clinic)
    finished = finish(sign_in, start(sign_in))
    assert (finished.person.acr, finished.person.amr, finished.person.auth_time) == ("", (), 1_000_000.0)


def test_values_that_no_server_should_send_are_left_out(sign_in: SignIn, identity: Identity) -> None:
    identity.claims |= {
        "acr": "two words",
        "amr": ["pwd", "", 1, "x" * 201, "a b", "é", *(f"m{n}" for n in range(30))],
    }
    person = finish(sign_in, start(sign_in)).person
    assert (person.acr, person.amr[:2], len(person.amr)) == ("", ("pwd", "m0"), 20)


def test_a_server_that_is_down_in_the_second_round_is_no_weak_sign_in(
    sign_in: SignIn, identity: Identity
) -> None:
    import requests

    started = start(sign_in, strength=PHR)
    identity.fault = requests.ConnectionError()
    with pytest.raises(Unavailable):
        finish(sign_in, started)
