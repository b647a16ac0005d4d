"""What becomes of a token answer, and what an ID token must hold: to the second, and without a server."""

from __future__ import annotations

import base64
import hashlib
import io
import json
import random
from typing import Any

import msgspec
import pytest
import requests
from authlib.integrations.base_client import OAuthError
from joserfc import jwt
from joserfc.jwk import KeySet, RSAKey

from portal.config.identity import Client
from portal.config.profile import FAPI2_ALGORITHMS
from portal.config.variables import Timeouts
from portal.signin import tokens
from portal.signin.discovery import Metadata
from portal.signin.errors import AnotherPerson, NotFresh, SignInFailed
from portal.signin.tokens import Expected
from portal.state.session_records import Tokens
from tests.support.builders import person

NOW = 1_800_000_000
ISSUER = "https://id.example"
KEY = RSAKey.generate_key(2048, {"use": "sig"}, auto_kid=True)
METADATA = Metadata(
    issuer=ISSUER, authorization_endpoint=f"{ISSUER}/a", token_endpoint=f"{ISSUER}/t", jwks_uri=f"{ISSUER}/k"
)
EXPECTED = Expected("portal", "nonce", "access")


class Provider:
    """An identity server with one key."""

    def metadata(self) -> Metadata:
        return METADATA

    def keys(self, *, unknown_key: bool = False) -> KeySet:
        return KeySet([KEY])


def id_token(key: RSAKey = KEY, alg: str = "RS256", **changes: Any) -> str:
    """An ID token that holds; a change to None leaves the claim out."""
    claims = {
        "iss": ISSUER, "aud": "portal", "sub": "amelia", "exp": NOW + 60, "iat": NOW, "nonce": "nonce", **changes,
    }  # fmt: skip
    held = {name: value for name, value in claims.items() if value is not None}
    return jwt.encode({"alg": alg, "kid": key.kid}, held, key, algorithms=[alg])


def verified(expected: Expected = EXPECTED, **changes: Any) -> dict[str, Any]:
    provider: Any = Provider()
    return tokens.verify_id_token(id_token(**changes), provider, expected, NOW + 0.9)


def is_believed(expected: Expected = EXPECTED, **changes: Any) -> bool:
    try:
        return bool(verified(expected, **changes))
    except SignInFailed:
        return False


# token answers


def answered(body: bytes | str, status: int = 200) -> requests.Response:
    response = requests.Response()
    response.status_code = status
    response.headers["X-Seen"] = "yes"
    response.request = requests.Request("POST", f"{ISSUER}/t").prepare()
    response.raw = io.BytesIO(body.encode() if isinstance(body, str) else body)
    return response


def test_an_object_is_passed_on_with_its_status_and_head() -> None:
    given = answered('{"access_token": "é", "expires_in": "300"}')
    read = tokens.readable(given)
    assert read.json() == {"access_token": "é", "expires_in": 300}
    assert (read.status_code, read.headers["X-Seen"], read.request) == (200, "yes", given.request)
    assert read.encoding == "utf-8"


@pytest.mark.parametrize(
    ("status", "code"),
    [(400, "invalid_grant"), (401, "Invalid Token"), (403, "invalid_grant"), (200, "bad_refresh_token")],
)
def test_an_oauth_error_is_passed_on(status: int, code: str) -> None:
    assert tokens.readable(answered(json.dumps({"error": code}), status)).json() == {"error": code}


@pytest.mark.parametrize("status", [400, 401])
def test_a_refusal_without_a_body_is_an_oauth_error_without_a_code(status: int) -> None:
    with pytest.raises(OAuthError) as raised:
        tokens.readable(answered("", status))
    assert raised.value.error == tokens.NO_CODE


@pytest.mark.parametrize(
    ("status", "body"),
    [
        *((status, '{"error": "not_found"}') for status in (404, 408, 425, 429)),
        *((status, "") for status in (403, 404, 408, 429)),
        *((status, "<h1>Blocked</h1>") for status in (400, 401, 403)),
        *((400, body) for body in ('{"error": {"a": 1}}', '{"error": ""}', '{"title": "Bad Request"}')),
        (403, '{"error": "Forbidden by policy"}'),
        (404, '{"access_token": "a"}'),
    ],
)
def test_what_comes_from_something_in_between_is_no_refusal(status: int, body: str) -> None:
    with pytest.raises(requests.exceptions.InvalidJSONError):
        tokens.readable(answered(body, status))


def test_a_log_names_error_codes_of_oauths_form_alone() -> None:
    assert tokens.code_for_log("interaction_required") == "interaction_required"
    for other in ("Amelia Hart", "a" * 41, "", None, {"a": 1}):
        assert tokens.code_for_log(other) == "another code"


@pytest.mark.parametrize(
    ("claim", "value"), [("auth_time", "soon"), ("iat", None), ("aud", [7]), ("nonce", {})]
)
def test_a_refused_id_token_says_which_claim_has_another_type(claim: str, value: object) -> None:
    with pytest.raises(SignInFailed, match=f"^ID token: {claim} of another type or missing$"):
        verified(EXPECTED, **{claim: value})


@pytest.mark.parametrize("status", [500, 503])
def test_a_failure_of_the_server_is_passed_on_as_it_came(status: int) -> None:
    given = answered("<html>", status)
    assert tokens.readable(given) is given


@pytest.mark.parametrize("body", ["", "<html>", "[]", '"text"', "null", b"\xff", '{"a":' * 100_000])
def test_what_is_no_object_is_not_read(body: bytes | str) -> None:
    with pytest.raises(requests.exceptions.InvalidJSONError):
        tokens.readable(answered(body))


LIFETIMES = [
    *((300, 300), ("300", 300), (299.9, 299), (0, 0), ("0", 0), (-5, 0), (86_400, 86_400), (86_401, 86_400)),
    *((1e30, 86_400), ("86400", 86_400), ("9" * 18, 86_400), ("9" * 19, None)),
    *((None, None), ("", None), ("soon", None), ("-5", None), ([], None), ({}, None)),
]


@pytest.mark.parametrize(("given", "seconds"), LIFETIMES)
def test_a_lifetime_is_a_sensible_number_of_seconds_or_left_out(given: object, seconds: int | None) -> None:
    answer = tokens.readable(answered(json.dumps({"expires_in": given}))).json()
    assert answer == ({} if seconds is None else {"expires_in": seconds})
    read = tokens.read_tokens({"access_token": "a", "expires_in": given}, NOW, keep_id_token=False)
    assert read.expires_at == NOW + (300 if seconds is None else seconds)


@pytest.mark.parametrize(("given", "seconds"), [(float("nan"), 300), (float("inf"), 86_400)])
def test_a_lifetime_that_is_no_number_or_endless(given: float, seconds: int) -> None:
    read = tokens.read_tokens({"access_token": "a", "expires_in": given}, NOW, keep_id_token=False)
    assert read.expires_at == NOW + seconds


@pytest.mark.parametrize(
    ("lifetime", "earliest", "latest"),
    [(3600, 3525, 3540), (300, 225, 240), (260, 195, 200), (100, 75, 75), (0, 0, 0)],
)
def test_tokens_are_renewed_a_minute_early_and_not_all_at_once(
    monkeypatch: pytest.MonkeyPatch, lifetime: int, earliest: int, latest: int
) -> None:
    found = []
    for pick in (max, min):
        monkeypatch.setattr(random, "uniform", lambda low, high, pick=pick: pick(low, high))
        answer = {"access_token": "a", "expires_in": lifetime}
        found.append(tokens.read_tokens(answer, NOW, keep_id_token=False).refresh_at - NOW)
    assert found == [earliest, latest]


@pytest.mark.parametrize(("alg", "holds"), [("RS256", False), ("PS512", False), ("PS256", True)])
def test_a_profile_takes_its_own_algorithms_alone(alg: str, holds: bool) -> None:
    expected = Expected("portal", "nonce", "access", algorithms=FAPI2_ALGORITHMS)
    assert is_believed(expected, alg=alg) is holds
    assert is_believed(alg=alg)


@pytest.mark.parametrize("token", [None, "", 7, "a b", "a\n", "é", "\x7f", ["a"]])
def test_without_an_access_token_nobody_is_signed_in(token: object) -> None:
    with pytest.raises(SignInFailed):
        tokens.read_tokens({"access_token": token}, NOW, keep_id_token=False)


@pytest.mark.parametrize("kind", ["bearer", "Bearer", "BEARER"])
def test_a_bearer_token_is_one_in_any_case(kind: str) -> None:
    answer = {"access_token": "!~", "token_type": kind}
    assert tokens.read_tokens(answer, NOW, keep_id_token=False).access_token == "!~"


@pytest.mark.parametrize("kind", ["DPoP", "mac", "", None])
def test_another_kind_of_token_is_refused(kind: object) -> None:
    with pytest.raises(SignInFailed):
        tokens.read_tokens({"access_token": "a", "token_type": kind}, NOW, keep_id_token=False)


BEFORE = Tokens(access_token="0", refresh_token="r0", id_token="i0", expires_at=1, refresh_at=0)


@pytest.mark.parametrize("keep", [True, False])
@pytest.mark.parametrize("before", [None, BEFORE])
@pytest.mark.parametrize("odd", [None, 7])
def test_what_an_answer_does_not_name_stays_as_it_was(keep: bool, before: Tokens | None, odd: object) -> None:
    answer = {"access_token": "a", "refresh_token": "r", "id_token": "i"}
    read = tokens.read_tokens(answer, NOW, keep_id_token=keep, before=before)
    kept = before.id_token if before else None
    assert (read.refresh_token, read.id_token) == ("r", "i" if keep else kept)
    answer = {"access_token": "a", "refresh_token": odd, "id_token": odd}
    read = tokens.read_tokens(answer, NOW, keep_id_token=keep, before=before)
    assert (read.refresh_token, read.id_token) == (before.refresh_token if before else None, kept)


# ID tokens


def test_the_claims_of_a_token_that_holds_are_returned() -> None:
    assert verified(role=["patient"])["role"] == ["patient"]
    assert verified(aud=["portal"], azp="portal")["sub"] == "amelia"
    assert verified(aud=["portal", "other"], azp="portal")["sub"] == "amelia"


@pytest.mark.parametrize("token", [None, "", 7, b"a.b.c", "a.b.c", "{}"])
def test_what_is_no_token_is_refused(token: object) -> None:
    provider: Any = Provider()
    with pytest.raises(SignInFailed):
        tokens.verify_id_token(token, provider, EXPECTED, NOW)


@pytest.mark.parametrize(
    "changes",
    [
        *({name: None} for name in ("iss", "aud", "sub", "exp", "iat", "nonce")),
        *({name: "other"} for name in ("iss", "aud", "nonce", "azp")),
        *({name: "1"} for name in ("exp", "iat", "nbf")),
        *({name: -1} for name in ("exp", "iat", "nbf", "auth_time")),
        *({"exp": 253402300800}, {"exp": 1e300}),
        *({"sub": ""}, {"sub": "x" * 256}, {"sub": 7}),
        *({"aud": []}, {"aud": ["portal", "other"]}, {"aud": ["other"]}, {"aud": [7]}),
        *({"azp": ""}, {"azp": 7}, {"aud": ["portal", "other"], "azp": "other"}),
        *({"aud": ["portal", "other"], "azp": ""}, {"aud": ["portal", "portal"]}),
        *({"at_hash": "other"}, {"at_hash": 7}, {"at_hash": ""}),
    ],
)
def test_a_claim_that_is_missing_or_wrong_is_refused(changes: dict[str, Any]) -> None:
    assert not is_believed(**changes)


@pytest.mark.parametrize(
    "changes",
    [
        *({"sub": "x"}, {"sub": "x" * 255}, {"exp": 253402300799}, {"auth_time": 0}, {"nbf": 0}),
        *({"auth_time": "0"}, {"exp": NOW - 29}, {"iat": NOW + 30}, {"nbf": NOW + 30}),
    ],
)
def test_a_claim_at_its_limit_is_believed(changes: dict[str, Any]) -> None:
    assert is_believed(**changes)


def test_a_client_id_may_have_one_character() -> None:
    assert is_believed(Expected("p", "nonce", "access"), aud=["p"], azp="p")


@pytest.mark.parametrize("token", [None, "", 7, b"a.b.c", {}])
def test_what_is_no_text_is_no_id_token(token: object) -> None:
    provider: Any = Provider()
    with pytest.raises(SignInFailed, match=r"^no ID token$"):
        tokens.verify_id_token(token, provider, EXPECTED, NOW)


def test_the_log_says_which_claim_is_wrong() -> None:
    with pytest.raises(SignInFailed, match=r"^ID token: .*iss"):
        verified(iss="https://other.example")


@pytest.mark.parametrize("changes", [{"exp": NOW - 30}, {"iat": NOW + 31}, {"nbf": NOW + 31}])
def test_clocks_differ_by_thirty_seconds_at_most(changes: dict[str, Any]) -> None:
    assert not is_believed(**changes)


def test_the_hash_is_of_the_left_half_of_the_access_token_s() -> None:
    digest = hashlib.sha256(b"access").digest()
    assert is_believed(at_hash=base64.urlsafe_b64encode(digest[:16]).rstrip(b"=").decode())
    for other in (digest[:15], digest[:17], digest, digest[16:]):
        assert not is_believed(at_hash=base64.urlsafe_b64encode(other).rstrip(b"=").decode())


@pytest.mark.parametrize(
    ("auth_time", "believed"), [(NOW, True), (NOW - 30, True), (NOW - 31, False), (0, False), (None, False)]
)
def test_a_fresh_sign_in_is_one_that_began_since(auth_time: int | None, believed: bool) -> None:
    fresh = Expected("portal", "nonce", "access", auth_time_after=NOW)
    assert is_believed(fresh, auth_time=auth_time) is believed
    assert is_believed(auth_time=auth_time), "unless it needn't be"


@pytest.mark.parametrize(("auth_time", "is_dated"), [(NOW - 31, True), (0, False), (None, False)])
def test_a_refusal_says_whether_the_time_of_the_sign_in_was_told(
    auth_time: int | None, is_dated: bool
) -> None:
    with pytest.raises(NotFresh) as refused:
        verified(Expected("portal", "nonce", "access", auth_time_after=NOW), auth_time=auth_time)
    assert refused.value.is_dated is is_dated


def test_a_time_of_sign_in_may_be_text() -> None:
    assert verified(auth_time=str(NOW))["auth_time"] == NOW


# with a refresh

REFRESHED = Expected("portal", None, "access")


def refreshed(signed_in: float = 0.0, asked_with: str = "", **changes: Any) -> dict[str, Any]:
    provider: Any = Provider()
    token = id_token(**{"nonce": None, **changes})
    whose = msgspec.structs.replace(person("amelia", auth_time=signed_in), nonce=asked_with)
    return tokens.verify_refreshed_id_token(token, provider, REFRESHED, NOW, of=whose)


def test_a_token_of_a_refresh_names_the_same_person() -> None:
    assert refreshed()["sub"] == "amelia"
    with pytest.raises(AnotherPerson):
        refreshed(sub="daniel")


def test_a_token_of_a_refresh_was_made_for_it() -> None:
    assert refreshed(iat=NOW - 630)
    with pytest.raises(SignInFailed):
        refreshed(iat=NOW - 631)


def test_a_token_of_a_sign_in_was_made_for_it() -> None:
    assert verified(iat=NOW - 629)
    with pytest.raises(SignInFailed, match="not issued just now"):
        verified(iat=NOW - 631)


@pytest.mark.parametrize("apart", [-31, 31])
def test_a_token_of_a_refresh_tells_of_the_same_sign_in(apart: int) -> None:
    one_less = apart + (1 if apart < 0 else -1)
    assert refreshed(NOW - 900.0, auth_time=NOW - 900 + one_less)
    with pytest.raises(SignInFailed):
        refreshed(NOW - 900.0, auth_time=NOW - 900 + apart)


def test_a_token_of_a_refresh_has_the_nonce_of_its_sign_in_or_none() -> None:
    assert refreshed(asked_with="n-1", nonce="n-1")
    assert refreshed(asked_with="n-1", nonce=None)
    assert refreshed(asked_with="", nonce="n-2"), "a session from before it was kept"
    with pytest.raises(SignInFailed, match="of another sign-in"):
        refreshed(asked_with="n-1", nonce="n-2")


def test_nobody_signed_in_at_a_time_to_come() -> None:
    assert verified(auth_time=NOW + 30)
    with pytest.raises(SignInFailed, match="auth_time is ahead"):
        verified(auth_time=NOW + 31)


def test_a_sign_in_of_unknown_time_is_not_compared() -> None:
    assert refreshed(0.0, auth_time=NOW - 900)
    assert refreshed(NOW - 900.0, auth_time=None)


# the client


@pytest.mark.parametrize(
    ("secret", "key", "method"),
    [("secret", None, "client_secret_basic"), ("", object(), "private_key_jwt")],
    ids=["secret", "key"],
)
def test_a_session_knows_its_client(secret: str, key: Any, method: str) -> None:
    session: Any = tokens.oauth_session(Client("portal", secret, key), METADATA, Timeouts(), scope="openid")
    assert (session.client_id, session.client_secret, session.scope) == ("portal", secret, "openid")
    assert session.token_endpoint_auth_method == session.revocation_endpoint_auth_method == method
    assert session.client_auth(method).auth_method is not method, "the portal's own method"
    assert session.code_challenge_method == "S256"
    for answer in ("access_token_response", "refresh_token_response"):
        assert session.compliance_hook[answer] == {tokens.readable}
