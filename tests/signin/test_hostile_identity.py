"""Signing in at an identity server that lies, breaks or is down: refused on one clear page, without a loop.

OpenID Connect Core §3.1.3.7 and §5.3.2, Discovery §4.3, RFC 9207, RFC 9700, RFC 8725.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from joserfc.jwk import ECKey, RSAKey

from portal.config.tenants_file import load_tenants
from tests.support.builders import person
from tests.support.hostile import Answer, HostileServer
from tests.support.signing import end_session
from tests.support.stack import PortalThread, plan
from tests.support.visitor import Page, Visitor

DISCOVERY = "/.well-known/openid-configuration"
HOUR = 3600
DEEP = "[" * 200_000
PORTALS: dict[str, PortalThread] = {}


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[HostileServer, PortalThread]]:
    where = plan(tmp_path_factory.mktemp("hostile"))
    portal = PortalThread(where, PORTAL_TIMEOUT_CONNECT="0.5", PORTAL_TIMEOUT_READ="0.5")
    tenants = load_tenants(where.data / f"tenants-{portal.port}.toml", where.secrets)
    server = HostileServer(where, tenants.by_key["riverside"].tenant_id or "")
    PORTALS[portal.origin().removeprefix("http://")] = portal
    yield server, portal
    portal.stop()
    server.stop()


@pytest.fixture
def portal(running: tuple[HostileServer, PortalThread]) -> Iterator[PortalThread]:
    """The portal, which knows nothing of its identity server yet."""
    _, portal = running
    portal.context.providers._made.clear()
    portal.clock.ahead = 0
    yield portal
    portal.clock.ahead = 0


@pytest.fixture
def identity(running: tuple[HostileServer, PortalThread]) -> HostileServer:
    server, _ = running
    server.behave()
    return server


def test_at_hash_is_verified(portal: PortalThread, identity: HostileServer) -> None:
    """The example of OpenID Connect Core, appendix A.3."""
    identity.token = {"access_token": "jHkWEdUXMU1BwAsC4vtUsZwnNvTIxEl0z9K3vx5KF0Y"}
    identity.claims = {"at_hash": "77QmUPtjPfzWtF2AnpK9RQ"}
    visitor = portal.visitor()
    assert signed_in(sign_in(visitor), visitor)


def test_an_honest_server_signs_in(portal: PortalThread, identity: HostileServer) -> None:
    visitor = portal.visitor()
    assert signed_in(sign_in(visitor), visitor)
    assert identity.count("/token") == 1


# ── the ID token ────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "claims",
    [
        pytest.param({"iss": "https://elsewhere.example"}, id="issuer"),
        pytest.param({"iss": None}, id="no issuer"),
        pytest.param({"iss": ["x"]}, id="issuer is a list"),
        pytest.param({"aud": "harbour-portal"}, id="audience"),
        pytest.param({"aud": None}, id="no audience"),
        pytest.param({"aud": []}, id="empty audience"),
        pytest.param({"aud": 5}, id="audience is a number"),
        pytest.param({"aud": {"riverside-portal": 1}}, id="audience is an object"),
        pytest.param({"aud": ["riverside-portal", "other"]}, id="several audiences, no azp"),
        pytest.param(
            {"aud": ["riverside-portal", "riverside-portal"]}, id="one audience twice counts as several"
        ),
        pytest.param({"aud": ["riverside-portal", "other"], "azp": "other"}, id="azp is another client"),
        pytest.param({"azp": "harbour-portal"}, id="azp"),
        pytest.param({"nonce": "another"}, id="nonce"),
        pytest.param({"nonce": None}, id="no nonce"),
        pytest.param({"nonce": 5}, id="nonce is a number"),
        pytest.param({"exp": time.time() - 60}, id="expired"),
        pytest.param({"exp": None}, id="no expiry"),
        pytest.param({"exp": "tomorrow"}, id="expiry is text"),
        pytest.param({"exp": True}, id="expiry is true"),
        pytest.param({"exp": float("nan")}, id="expiry isn't a number"),
        pytest.param({"iat": time.time() + 86400}, id="issued in the future"),
        pytest.param({"iat": None}, id="no time of issue"),
        pytest.param({"iat": float("nan")}, id="time of issue isn't a number"),
        pytest.param({"nbf": time.time() + 86400}, id="not yet"),
        pytest.param({"sub": None}, id="no person"),
        pytest.param({"sub": ""}, id="empty person"),
        pytest.param({"sub": 7}, id="person is a number"),
        pytest.param({"sub": "x" * 300}, id="person is longer than 255"),
        pytest.param({"role": "burglar"}, id="unknown role"),
        pytest.param({"role": {"patient": True}}, id="role is an object"),
        pytest.param({"tenantid": "another"}, id="another clinic"),
        pytest.param({"tenantid": None}, id="no clinic"),
        pytest.param({"auth_time": "now"}, id="time of sign-in is text"),
        pytest.param({"at_hash": "bm90IG9mIHRoaXMgdG9rZW4"}, id="hash of another access token"),
        pytest.param({"at_hash": ""}, id="empty hash of the access token"),
        pytest.param({"at_hash": 5}, id="hash of the access token is a number"),
    ],
)
@pytest.mark.asvs("6.8.1", "8.4.1", "9.2.1", "9.2.3", "10.5.1", "10.5.4", "16.3.1")
def test_an_id_token_with_a_wrong_claim_is_refused(
    portal: PortalThread, identity: HostileServer, claims: dict[str, Any]
) -> None:
    identity.claims = claims
    refused(portal)


@pytest.mark.parametrize(
    "how",
    [
        *("alg none", "HS256 with the public key", "another key, same id", "no key id", "a wrong type"),
        *("a key that it brings itself", "a key at an address that it brings itself"),
        *("RS512", "a critical extension", "broken header", "deep header", "deep payload", "not three parts"),
        *("empty", "a number", "missing", "five parts", "text beyond ASCII"),
    ],
)
@pytest.mark.asvs("6.8.2", "9.1.1", "9.1.2", "9.1.3")
def test_an_id_token_with_a_bad_signature_is_refused(
    portal: PortalThread, identity: HostileServer, how: str
) -> None:
    match how:
        case "alg none":
            identity.sign = identity.unsigned
            identity.discovery = {"id_token_signing_alg_values_supported": ["none", "RS256"]}
        case "HS256 with the public key":
            identity.sign = identity.by_public_key
            identity.discovery = {"id_token_signing_alg_values_supported": ["HS256", "RS256"]}
        case "another key, same id":
            published = identity.key
            identity.published = [published]
            identity.key = RSAKey.generate_key(2048, {"kid": published.kid})
        case "a key that it brings itself":
            identity.published = [identity.key]
            identity.key = RSAKey.generate_key(2048, {"kid": identity.key.kid})
            identity.header = {"jwk": identity.key.as_dict(private=False)}
        case "a key at an address that it brings itself":
            identity.published = [identity.key]
            identity.key = RSAKey.generate_key(2048, {"kid": identity.key.kid})
            identity.answers["/other-keys"] = Answer(
                json.dumps({"keys": [identity.key.as_dict(private=False)]})
            )
            identity.header = {"jku": f"{identity.origin}/other-keys", "x5u": f"{identity.origin}/other-keys"}
        case "no key id":
            identity.published = [identity.key, RSAKey.generate_key(2048, auto_kid=True)]
            identity.header = {"kid": None}
        case "a wrong type":
            identity.header = {"kid": ["x"]}
            identity.sign = lambda header, _: identity.with_raw_header(json.dumps(header).encode())({}, b"{}")
        case "RS512":
            identity.header = {"alg": "RS512"}
        case "a critical extension":
            identity.sign = identity.with_raw_header(
                json.dumps({"alg": "RS256", "kid": identity.key.kid, "crit": ["x"], "x": 1}).encode()
            )
        case "broken header":
            identity.sign = identity.with_raw_header(b"\xff{")
        case "deep header":
            identity.sign = identity.with_raw_header(DEEP.encode())
        case "deep payload":
            identity.sign = lambda header, _: identity.signed(header, DEEP.encode())
        case "not three parts":
            identity.token = {"id_token": "a.b"}
        case "empty":
            identity.token = {"id_token": ""}
        case "a number":
            identity.token = {"id_token": 5}
        case "missing":
            identity.token = {"id_token": None}
        case "five parts":
            identity.token = {"id_token": "e30.e30.e30.e30.e30"}
        case _:
            identity.token = {"id_token": "é.é.é"}
    refused(portal)
    assert identity.count("/other-keys") == 0


def test_several_audiences_with_the_portal_as_authorized_party_are_accepted(
    portal: PortalThread, identity: HostileServer
) -> None:
    identity.claims = {"aud": ["riverside-portal", "api"], "azp": "riverside-portal"}
    visitor = portal.visitor()
    assert signed_in(sign_in(visitor), visitor)


@pytest.mark.parametrize("alg", ["PS256", "ES256"])
def test_other_secure_algorithms_are_accepted(
    portal: PortalThread, identity: HostileServer, alg: str
) -> None:
    if alg == "ES256":
        identity.key = ECKey.generate_key("P-256", auto_kid=True)
    identity.header = {"alg": alg}
    visitor = portal.visitor()
    assert signed_in(sign_in(visitor), visitor)


@pytest.mark.parametrize("seconds", [-20, 20])
def test_a_small_clock_difference_is_tolerated(
    portal: PortalThread, identity: HostileServer, seconds: int
) -> None:
    identity.claims = {"iat": time.time() + seconds, "exp": time.time() + min(seconds, 0)}
    visitor = portal.visitor()
    assert signed_in(sign_in(visitor), visitor)


@pytest.mark.parametrize(
    "auth_time",
    [None, 0, time.time() - HOUR, True, float("nan")],
    ids=["absent", "zero", "an hour old", "no number", "nan"],
)
@pytest.mark.asvs("6.8.4")
def test_a_step_up_without_a_new_authentication_is_refused(
    portal: PortalThread, identity: HostileServer, auth_time: float | None
) -> None:
    visitor = portal.visitor()
    assert signed_in(sign_in(visitor), visitor)
    identity.claims = {"auth_time": auth_time}
    before = audited(portal)
    page = sign_in(visitor, fresh=True)
    assert page.status == 400
    assert len(audited(portal)) == len(before) + 1
    assert signed_in(visitor.get("/signed-out"), visitor), "who was signed in before still is"


# ── roles ───────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("role", ["nurse", ["nurse"], ["unknown", "nurse"], ["nurse", 5, None]])
def test_roles_may_be_a_string_or_a_list(portal: PortalThread, identity: HostileServer, role: object) -> None:
    identity.claims = {"role": role}
    visitor = portal.visitor()
    assert signed_in(sign_in(visitor), visitor)
    (_, record), *_ = sessions_of(portal)
    assert record.person.roles == {"nurse"}


def test_roles_missing_from_the_id_token_are_read_from_userinfo(
    portal: PortalThread, identity: HostileServer
) -> None:
    identity.claims = {"role": None}
    identity.userinfo = {"sub": "person-1", "role": ["nurse"], "name": "Not The Token's"}
    visitor = portal.visitor()
    assert signed_in(sign_in(visitor), visitor)
    (_, record), *_ = sessions_of(portal)
    assert record.person.roles == {"nurse"}
    assert record.person.name == "Amelia Hart"


@pytest.mark.parametrize(
    "userinfo",
    [
        {"sub": "another", "role": "nurse"},
        {"role": "nurse"},
        {"sub": "person-1"},
    ],
)
@pytest.mark.asvs("10.5.2")
def test_userinfo_of_another_person_or_without_role_is_refused(
    portal: PortalThread, identity: HostileServer, userinfo: dict[str, Any]
) -> None:
    identity.claims = {"role": None}
    identity.userinfo = userinfo
    refused(portal)


@pytest.mark.parametrize("broken", ["[]", "{", "<html>", DEEP])
def test_unreadable_userinfo_is_reported_as_a_server_fault(
    portal: PortalThread, identity: HostileServer, broken: str
) -> None:
    identity.claims = {"role": None}
    identity.answers["/userinfo"] = Answer(broken)
    refused(portal, status=503)


# ── the answer through the browser ──────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "callback",
    [
        pytest.param({"iss": "https://elsewhere.example"}, id="another issuer"),
        pytest.param({"iss": None}, id="no issuer though promised"),
        pytest.param({"iss": ""}, id="empty issuer"),
        pytest.param({"code": None}, id="no code"),
        pytest.param({"code": None, "error": "access_denied"}, id="denied"),
        pytest.param({"error": "access_denied"}, id="denied with a code"),
        pytest.param({"code": ["one", "two"]}, id="two codes"),
        pytest.param({"state": ["one", "two"]}, id="two states"),
        pytest.param({"state": "é"}, id="state beyond ASCII"),
        pytest.param({"state": None}, id="no state"),
    ],
)
@pytest.mark.asvs("10.2.2")
def test_an_unexpected_authorization_response_is_refused(
    portal: PortalThread, identity: HostileServer, callback: dict[str, Any]
) -> None:
    identity.callback = callback
    refused(portal)


def test_a_response_without_issuer_is_accepted_if_none_is_advertised(
    portal: PortalThread, identity: HostileServer
) -> None:
    identity.discovery = {"authorization_response_iss_parameter_supported": None}
    identity.callback = {"iss": None}
    visitor = portal.visitor()
    assert signed_in(sign_in(visitor), visitor)


# ── the token endpoint ──────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "token",
    [
        {"token_type": "mac"},
        {"token_type": 5},
        {"access_token": None},
        {"access_token": 5},
        {"access_token": ""},
        {"access_token": "line\nfeed"},
    ],
)
def test_a_token_of_another_type_than_bearer_is_refused(
    portal: PortalThread, identity: HostileServer, token: dict[str, Any]
) -> None:
    identity.token = token
    refused(portal)


@pytest.mark.parametrize(
    "lifetime",
    [None, "soon", -5, pytest.param(10**400, id="huge"), "1e999", [], {}, "60", 60.5],
)
def test_an_invalid_token_lifetime_does_not_fail_the_sign_in(
    portal: PortalThread, identity: HostileServer, lifetime: object
) -> None:
    identity.token = {"expires_in": lifetime}
    visitor = portal.visitor()
    assert signed_in(sign_in(visitor), visitor)


@pytest.mark.parametrize("error", ["invalid_grant", 5, None, {"a": 1}])
def test_a_code_refused_by_the_server_fails_the_sign_in(
    portal: PortalThread, identity: HostileServer, error: object
) -> None:
    identity.answers["/token"] = Answer(json.dumps({"error": error}), 400)
    refused(portal)


@pytest.mark.parametrize(
    "broken",
    [
        pytest.param(Answer("{}", 500), id="500"),
        pytest.param(Answer("", 503), id="503"),
        pytest.param(Answer("<h1>Hello</h1>", content_type="text/html"), id="html"),
        pytest.param(Answer("[]"), id="list"),
        pytest.param(Answer("null"), id="null"),
        pytest.param(Answer('"text"'), id="text"),
        pytest.param(Answer("5", 400), id="number"),
        pytest.param(Answer('{"access_token": "x", "expires_in": NaN}'), id="no number of JSON"),
        pytest.param(Answer(DEEP), id="deep"),
        pytest.param(Answer(b"\xff\xfe"), id="bytes"),
        pytest.param(Answer(b'{"a": "' + b"x" * 2_000_000 + b'"}'), id="oversize"),
        pytest.param(Answer(wait=1.5), id="slow"),
    ],
)
def test_a_broken_token_endpoint_is_reported_as_a_server_fault(
    portal: PortalThread, identity: HostileServer, broken: Answer
) -> None:
    identity.answers["/token"] = broken
    refused(portal, status=503)


@pytest.mark.asvs("15.3.2")
def test_a_redirect_of_the_token_endpoint_is_not_followed(
    portal: PortalThread, identity: HostileServer
) -> None:
    elsewhere = {"Location": f"{identity.origin}/elsewhere"}
    identity.answers["/token"] = Answer(status=307, headers=elsewhere)
    refused(portal, status=503)
    assert identity.count("/elsewhere") == 0


@pytest.mark.parametrize("is_over", [False, True], ids=["signed in", "session over meanwhile"])
def test_a_step_up_by_another_person_leads_to_their_home_and_not_to_the_form(
    portal: PortalThread, identity: HostileServer, is_over: bool
) -> None:
    visitor = portal.visitor()
    assert signed_in(sign_in(visitor), visitor)
    if is_over:
        end_session(portal, visitor)
    asked = visitor.request("GET", "/sign-in?next=/signed-out&fresh=1", status=303, follow=False)
    if not is_over:
        end_session(portal, visitor)  # while the password is typed
    identity.claims = {"sub": "person-2"}
    page = visitor.get(asked.headers["Location"], status=None)
    assert page.path == "/"
    assert person_of(visitor).sub == "person-2"


@pytest.mark.parametrize("where", ["/token", "/par"])
def test_a_refused_client_is_reported_as_a_configuration_fault(
    portal: PortalThread, identity: HostileServer, where: str, caplog: pytest.LogCaptureFixture
) -> None:
    if where == "/par":
        identity.discovery = {"pushed_authorization_request_endpoint": f"{identity.origin}/par"}
    identity.answers[where] = Answer('{"error": "invalid_client"}', 401)
    before = audited(portal)
    page = sign_in(portal.visitor())
    assert (page.status, page.heading) == (503, "Signing in isn’t possible right now")
    assert "Trying again won’t help" in page.words and "isn’t answering" not in page.words
    assert [line["outcome"] for line in audited(portal)[len(before) :]] == ["client-refused"]
    (told,) = [one for one in caplog.records if one.levelname == "ERROR"]
    assert told.__dict__["client"] == "riverside-portal"


# ── discovery and keys ──────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "discovery",
    [
        pytest.param({"issuer": "https://elsewhere.example"}, id="issuer"),
        pytest.param({"issuer": None}, id="no issuer"),
        pytest.param({"issuer": 5}, id="issuer is a number"),
        pytest.param({"authorization_endpoint": "https://elsewhere.example/authorize"}, id="authorize"),
        pytest.param({"token_endpoint": "https://elsewhere.example/token"}, id="token"),
        pytest.param({"jwks_uri": "https://elsewhere.example/jwks"}, id="keys"),
        pytest.param({"userinfo_endpoint": "https://elsewhere.example/userinfo"}, id="userinfo"),
        pytest.param({"end_session_endpoint": "https://elsewhere.example/end"}, id="end of session"),
        pytest.param({"revocation_endpoint": "https://elsewhere.example/revoke"}, id="revocation"),
        pytest.param({"pushed_authorization_request_endpoint": "https://elsewhere.example/par"}, id="par"),
        pytest.param({"token_endpoint": "http://[::1"}, id="no address at all"),
        pytest.param({"authorization_endpoint": "javascript:alert(1)"}, id="script"),
        pytest.param({"token_endpoint": None}, id="no token endpoint"),
    ],
)
@pytest.mark.asvs("9.1.3", "10.2.2", "10.5.3", "13.2.4")
def test_metadata_of_another_issuer_is_refused(
    portal: PortalThread, identity: HostileServer, discovery: dict[str, Any]
) -> None:
    identity.discovery = discovery
    refused(portal, status=503)
    assert identity.asked == [DISCOVERY]


@pytest.mark.parametrize(
    "broken",
    [
        pytest.param(Answer("{}", 500), id="500"),
        pytest.param(Answer("<h1>Hello</h1>", content_type="text/html"), id="html"),
        pytest.param(Answer("[]"), id="list"),
        pytest.param(Answer(DEEP), id="deep"),
        pytest.param(Answer('{"x": ' + DEEP), id="deep member"),
        pytest.param(Answer(b"\xff\xfe"), id="bytes"),
        pytest.param(Answer(b"x" * 2_000_000), id="oversize"),
        pytest.param(Answer(wait=1.5), id="slow"),
        pytest.param(Answer(status=302, headers={"Location": "/elsewhere"}), id="redirect"),
    ],
)
@pytest.mark.parametrize("path", [DISCOVERY, "/jwks"])
def test_unreadable_metadata_and_keys_are_reported_as_a_server_fault(
    portal: PortalThread, identity: HostileServer, broken: Answer, path: str
) -> None:
    identity.answers[path] = broken
    refused(portal, status=503)
    assert identity.count("/elsewhere") == 0


def test_unknown_metadata_does_not_become_a_client_setting(
    portal: PortalThread, identity: HostileServer
) -> None:
    identity.discovery = {
        "code_challenge_method": "plain",
        "scope": "everything",
        "response_mode": "fragment",
        "token_endpoint_auth_method": "none",
        "verify": False,
        "proxies": {"http": "http://elsewhere.example"},
        "leeway": 10**9,
    }
    visitor = portal.visitor()
    start = visitor.request("GET", "/sign-in", follow=False, status=303)
    location = start.headers["Location"]
    assert "code_challenge_method=S256" in location
    assert "everything" not in location
    assert "fragment" not in location
    assert signed_in(sign_in(visitor), visitor)


def test_unusable_keys_do_not_affect_usable_ones(portal: PortalThread, identity: HostileServer) -> None:
    good = identity.key.as_dict(private=False)
    odd: list[dict[str, object]] = [
        {"kty": "oct", "k": "c2VjcmV0", "kid": good["kid"]},
        {"kty": "RSA", "kid": "broken"},
        {"kty": "EC", "crv": "P-0", "x": "AA", "y": "AA"},
        {"kty": "AKP", "alg": "ML-DSA-44", "pub": "AA"},
        {"kty": ["RSA"]},
        {},
    ]
    identity.answers["/jwks"] = Answer(json.dumps({"keys": [*odd, good]}))
    visitor = portal.visitor()
    assert signed_in(sign_in(visitor), visitor)


def test_an_unknown_key_is_fetched_at_most_every_ten_seconds(
    portal: PortalThread, identity: HostileServer
) -> None:
    visitor = portal.visitor()
    assert signed_in(sign_in(visitor), visitor)
    identity.published = [identity.key]
    identity.key = RSAKey.generate_key(2048, auto_kid=True)
    portal.clock.advance(11)
    for _ in range(3):
        refused(portal)
    assert identity.count("/jwks") == 2
    portal.clock.advance(11)
    refused(portal)
    assert identity.count("/jwks") == 3


def test_rotated_keys_are_found(portal: PortalThread, identity: HostileServer) -> None:
    visitor = portal.visitor()
    assert signed_in(sign_in(visitor), visitor)
    identity.key = RSAKey.generate_key(2048, auto_kid=True)
    portal.clock.advance(11)
    other = portal.visitor()
    assert signed_in(sign_in(other), other)


def test_the_last_good_metadata_are_used_for_a_day_while_the_server_fails(
    portal: PortalThread, identity: HostileServer
) -> None:
    visitor = portal.visitor()
    assert signed_in(sign_in(visitor), visitor)
    identity.answers = {DISCOVERY: Answer("{}", 500), "/jwks": Answer("{}", 500)}
    portal.clock.advance(23 * HOUR)
    identity.claims = {name: time.time() + 23 * HOUR + extra for name, extra in [("iat", 0), ("exp", 600)]}
    other = portal.visitor()
    assert signed_in(sign_in(other), other)
    portal.clock.advance(2 * HOUR)
    for _ in range(3):
        refused(portal, status=503)
    identity.answers = {}
    identity.claims = {name: time.time() + 25 * HOUR + extra for name, extra in [("iat", 0), ("exp", 600)]}
    portal.clock.advance(11)
    assert signed_in(sign_in(other), other)


def test_invalid_new_metadata_are_refused_despite_a_good_copy(
    portal: PortalThread, identity: HostileServer
) -> None:
    visitor = portal.visitor()
    assert signed_in(sign_in(visitor), visitor)
    identity.discovery = {"issuer": "https://elsewhere.example"}
    portal.clock.advance(HOUR + 1)
    for _ in range(3):
        refused(portal, status=503)


def test_metadata_that_become_invalid_during_a_sign_in_are_refused(
    portal: PortalThread, identity: HostileServer
) -> None:
    visitor = portal.visitor()
    there = visitor.request("GET", "/sign-in", follow=False, status=303).headers["Location"]
    back = visitor.request("GET", there, follow=False, status=303).headers["Location"]
    identity.discovery = {"issuer": "https://elsewhere.example"}
    portal.context.providers._made.clear()
    before = audited(portal)
    page = visitor.request("GET", back, status=503)
    assert page.link("Sign in again") == "/"
    assert len(audited(portal)) == len(before) + 1
    assert person_of(visitor) is None


def test_endpoints_may_have_a_query_of_their_own(portal: PortalThread, identity: HostileServer) -> None:
    identity.discovery = {
        "authorization_endpoint": f"{identity.origin}/authorize?realm=a",
        "pushed_authorization_request_endpoint": f"{identity.origin}/par?realm=a",
    }
    identity.answers["/par"] = Answer('{"request_uri": "urn:x"}', 201)
    page = portal.visitor().request("GET", "/sign-in", follow=False, status=303)
    assert page.headers["Location"].startswith(f"{identity.origin}/authorize?realm=a&client_id=")


def test_concurrent_sign_ins_ask_a_server_that_is_down_once(
    portal: PortalThread, identity: HostileServer
) -> None:
    from concurrent.futures import ThreadPoolExecutor

    identity.answers[DISCOVERY] = Answer(status=500, body="{}", wait=0.3)
    began = time.monotonic()
    with ThreadPoolExecutor(8) as pool:
        pages = list(pool.map(lambda _: sign_in(portal.visitor()), range(8)))
    assert [page.status for page in pages] == [503] * 8
    assert identity.count(DISCOVERY) <= 2
    assert time.monotonic() - began < 2


def test_repeated_immediate_sign_ins_end_on_an_error_page(
    portal: PortalThread, identity: HostileServer
) -> None:
    identity.claims = {"role": None}
    visitor = portal.visitor()
    statuses = [sign_in(visitor).status for _ in range(5)]
    assert set(statuses) == {400}
    assert identity.count("/authorize") <= 4


# ── pushed requests ─────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "broken",
    [
        pytest.param(Answer("{}", 500), id="500"),
        pytest.param(Answer('{"error": "invalid_request"}', 400), id="refused"),
        pytest.param(Answer("<h1>Hello</h1>", 201, content_type="text/html"), id="html"),
        pytest.param(Answer("[]", 201), id="list"),
        pytest.param(Answer(DEEP, 201), id="deep"),
        pytest.param(Answer('{"request_uri": 5}', 201), id="number"),
        pytest.param(Answer(status=307, headers={"Location": "/elsewhere"}), id="redirect"),
        pytest.param(Answer(wait=1.5), id="slow"),
    ],
)
def test_a_failed_pushed_request_is_reported_as_a_server_fault(
    portal: PortalThread, identity: HostileServer, broken: Answer
) -> None:
    identity.discovery = {"pushed_authorization_request_endpoint": f"{identity.origin}/par"}
    identity.answers["/par"] = broken
    refused(portal, status=503)
    assert identity.count("/elsewhere") == 0


# ── renewing tokens ─────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "broken",
    [
        pytest.param(Answer("{}", 500), id="500"),
        pytest.param(Answer("<h1>Hello</h1>", content_type="text/html"), id="html"),
        pytest.param(Answer("[]"), id="list"),
        pytest.param(Answer(DEEP), id="deep"),
        pytest.param(Answer('{"token_type": "mac", "access_token": "x"}'), id="no bearer token"),
        pytest.param(Answer('{"error": "invalid_client"}', 401), id="client refused"),
        pytest.param(Answer('{"error": {"a": 1}}', 400), id="strange error"),
        pytest.param(Answer(status=307, headers={"Location": "/elsewhere"}), id="redirect"),
        pytest.param(Answer(wait=1.5), id="slow"),
    ],
)
def test_a_temporary_refresh_failure_ends_no_session(
    portal: PortalThread, identity: HostileServer, broken: Answer
) -> None:
    identity.token = {"expires_in": 60}
    visitor = portal.visitor()
    assert signed_in(sign_in(visitor), visitor)
    portal.clock.advance(61)
    identity.answers["/token"] = broken
    visitor.get("/conversations", status=503)
    assert person_of(visitor) is not None
    assert identity.count("/elsewhere") == 0
    del identity.answers["/token"]
    before = identity.count("/token")
    visitor.get("/conversations", status=503)
    assert identity.count("/token") == before, "the failure is known for some seconds"
    portal.clock.advance(6)
    visitor.get("/conversations", status=None)
    assert person_of(visitor) is not None
    assert identity.count("/token") == before + 1


def test_a_page_of_many_calls_waits_for_a_hanging_server_once(
    portal: PortalThread, identity: HostileServer
) -> None:
    identity.token = {"expires_in": 60}
    visitor = portal.visitor()
    assert signed_in(sign_in(visitor), visitor)
    portal.clock.advance(61)
    before, began = identity.count("/token"), time.monotonic()
    identity.answers["/token"] = Answer(wait=4)
    page = visitor.get("/", status=None)
    assert time.monotonic() - began < 3, "half a second is the longest that this portal waits for one call"
    assert identity.count("/token") == before + 1
    assert "Your consent forms can’t be shown right now" in page.words


def test_a_refresh_ends_at_the_pages_deadline(
    portal: PortalThread, identity: HostileServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    identity.token = {"expires_in": 60}
    visitor = portal.visitor()
    assert signed_in(sign_in(visitor), visitor)
    portal.clock.advance(61)
    identity.answers["/token"] = Answer(wait=4)
    slow = replace(portal.context.settings.timeouts, read=30.0, page=0.4)
    monkeypatch.setattr(portal.context.refresher, "_timeouts", slow)
    settings = replace(portal.context.settings, timeouts=slow)
    monkeypatch.setitem(portal.app.extensions, "portal", replace(portal.context, settings=settings))
    began = time.monotonic()
    visitor.get("/conversations", status=503)
    assert time.monotonic() - began < 3


@pytest.mark.parametrize(
    "claims",
    [
        pytest.param({"iss": "https://elsewhere.example"}, id="issuer"),
        pytest.param({"aud": "harbour-portal"}, id="audience"),
        pytest.param({"iat": None}, id="no time of issue"),
        pytest.param({"iat": time.time() - 3600}, id="an old one again"),
        pytest.param({"exp": time.time() - 60}, id="expired"),
        pytest.param({"auth_time": time.time() + 86400}, id="a later sign-in"),
        pytest.param({"at_hash": "bm90IG9mIHRoaXMgdG9rZW4"}, id="hash of another access token"),
    ],
)
def test_an_invalid_id_token_of_a_refresh_is_ignored(
    portal: PortalThread, identity: HostileServer, claims: dict[str, Any]
) -> None:
    """OpenID Connect Core §12.2."""
    identity.token = {"expires_in": 60}
    visitor = portal.visitor()
    assert signed_in(sign_in(visitor), visitor)
    before = tokens_of(visitor)
    portal.clock.advance(61)
    identity.claims = claims
    visitor.get("/conversations", status=503)
    assert tokens_of(visitor) == before


@pytest.mark.parametrize(
    "claims",
    [
        pytest.param({"sub": "person-2"}, id="another person"),
        pytest.param({"role": "burglar"}, id="no role any more"),
        pytest.param({"role": "nurse"}, id="a role of the other side"),
    ],
)
def test_a_refresh_for_another_person_ends_the_session(
    portal: PortalThread, identity: HostileServer, claims: dict[str, Any]
) -> None:
    """Another person's ID token, or one that says that this person may not come in any more."""
    identity.token = {"expires_in": 60}
    visitor = portal.visitor()
    assert signed_in(sign_in(visitor), visitor)
    portal.clock.advance(61)
    identity.claims = claims
    page = visitor.request("GET", "/conversations", follow=False, status=303)
    assert page.headers["Location"] == "/sign-in?next=%2Fconversations"
    assert person_of(visitor) is None


def test_each_refresh_updates_the_roles(portal: PortalThread, identity: HostileServer) -> None:
    identity.token, identity.claims = {"expires_in": 60}, {"role": ["nurse", "admin"]}
    visitor = portal.visitor()
    assert signed_in(sign_in(visitor), visitor)
    assert person_of(visitor).roles == {"nurse", "admin"}
    portal.clock.advance(61)
    identity.claims = {"role": "nurse"}
    visitor.get("/conversations", status=None)
    assert person_of(visitor).roles == {"nurse"}


def test_a_refresh_is_kept_even_if_roles_cannot_be_read(
    portal: PortalThread, identity: HostileServer
) -> None:
    """The refresh token is used up: without the new one the session would be over at the next renewal."""
    identity.token, identity.claims = {"expires_in": 60}, {"role": None}
    identity.userinfo = {"sub": "person-1", "role": "patient"}
    visitor = portal.visitor()
    assert signed_in(sign_in(visitor), visitor)
    before = tokens_of(visitor)
    portal.clock.advance(61)
    identity.answers["/userinfo"] = Answer(wait=1.5)
    visitor.get("/conversations", status=None)
    assert tokens_of(visitor).refresh_token != before.refresh_token
    assert person_of(visitor).roles == {"patient"}


def test_a_renewed_token_that_the_api_refuses_is_an_error_page_without_a_loop(
    portal: PortalThread, identity: HostileServer
) -> None:
    """The care API is not there, so that its address answers 404; here it answers 401 to whatever comes."""
    visitor = portal.visitor()
    assert signed_in(sign_in(visitor), visitor)
    identity.answers["/api/messaging/getconversations"] = Answer("{}", 401)
    page = visitor.request("GET", "/conversations", follow=False, status=502)
    assert page.heading == "The clinic’s system doesn’t accept your sign-in"
    assert person_of(visitor) is not None


def test_a_replaced_refresh_token_is_revoked(portal: PortalThread, identity: HostileServer) -> None:
    """Confirming who one is gives new tokens; nobody waits for the old one to be revoked."""
    identity.discovery = {"revocation_endpoint": f"{identity.origin}/revoke"}
    identity.answers["/revoke"] = Answer(wait=0.4)
    visitor = portal.visitor()
    sign_in(visitor)
    before = tokens_of(visitor)
    began = time.monotonic()
    assert signed_in(sign_in(visitor, fresh=True), visitor)
    assert time.monotonic() - began < 10
    after = tokens_of(visitor)
    assert after.refresh_token != before.refresh_token
    until = time.monotonic() + 10
    while not identity.posted("/revoke"):
        assert time.monotonic() < until
        threading.Event().wait(0.01)
    ((form, _authorization),) = identity.posted("/revoke")
    assert form["token"] == before.refresh_token


@pytest.mark.asvs("7.4.2")
def test_an_expired_refresh_token_leads_to_sign_in(portal: PortalThread, identity: HostileServer) -> None:
    identity.token = {"expires_in": 60}
    visitor = portal.visitor()
    assert signed_in(sign_in(visitor), visitor)
    portal.clock.advance(61)
    identity.answers["/token"] = Answer('{"error": "invalid_grant"}', 400)
    page = visitor.request("GET", "/conversations", follow=False, status=303)
    assert page.headers["Location"] == "/sign-in?next=%2Fconversations"
    assert person_of(visitor) is None


# ── signing out ─────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "broken",
    [
        Answer("{}", 500),
        Answer(DEEP),
        Answer(status=302, headers={"Location": "/elsewhere"}),
        Answer(wait=1.5),
    ],
)
@pytest.mark.asvs("14.3.1")
def test_signing_out_works_whatever_the_server_does(
    portal: PortalThread, identity: HostileServer, broken: Answer
) -> None:
    identity.discovery = {
        "revocation_endpoint": f"{identity.origin}/revoke",
        "end_session_endpoint": f"{identity.origin}/end",
    }
    visitor = portal.visitor()
    page = sign_in(visitor)
    assert signed_in(page, visitor)
    identity.answers["/revoke"] = broken
    answer = visitor.request(
        "POST", "/sign-out", data={"csrf_token": page_token(page)}, follow=False, status=303
    )
    assert answer.headers["Clear-Site-Data"] == '"cache", "storage"'
    assert person_of(visitor) is None
    assert identity.count("/elsewhere") == 0


def logout_token(identity: HostileServer, **claims: Any) -> str:
    now = time.time()
    return identity.jwt(
        {
            "iss": identity.origin,
            "aud": "riverside-portal",
            "iat": now,
            "exp": now + 120,
            "jti": str(time.monotonic_ns()),
            "events": {"http://schemas.openid.net/event/backchannel-logout": {}},
            "sid": "session-1",
            **claims,
        }
    )


def told_to_sign_out(portal: PortalThread, token: str, status: int) -> None:
    before = audited(portal)
    portal.visitor().request("POST", "/sign-out/back-channel", data={"logout_token": token}, status=status)
    (line,) = audited(portal)[len(before) :]
    assert (line["audit"], line["outcome"]) == (
        "sign-out.back-channel",
        "done" if status == 200 else "refused",
    )


@pytest.mark.parametrize("named", [{}, {"sid": None, "sub": "person-1"}, {"sub": "person-1"}])
@pytest.mark.asvs("7.4.2", "7.6.1", "10.5.5")
def test_a_logout_token_is_used_once(
    portal: PortalThread, identity: HostileServer, named: dict[str, Any]
) -> None:
    visitor, other = portal.visitor(), portal.visitor()
    assert signed_in(sign_in(visitor), visitor)
    identity.claims = {"sub": "person-12", "sid": "session-2"}
    sign_in(other)
    assert person_of(other) is not None
    identity.claims = {}
    token = logout_token(identity, **named)
    told_to_sign_out(portal, token, 200)
    assert person_of(visitor) is None
    assert person_of(other) is not None, "another person's session goes on"
    told_to_sign_out(portal, token, 400)


@pytest.mark.parametrize(
    "claims",
    [
        {"iss": "https://elsewhere.example"},
        {"aud": "harbour-portal"},
        {"aud": ["other"]},
        {"aud": 5},
        {"iat": time.time() - HOUR},
        {"iat": time.time() + HOUR},
        {"iat": float("nan")},
        {"iat": None},
        {"exp": time.time() - 60},
        {"exp": "x"},
        {"jti": None},
        {"jti": ""},
        {"jti": "x" * 1000},
        {"events": None},
        {"events": []},
        {"events": {"something else": {}}},
        {"nonce": "n"},
        {"sid": None},
        {"sid": 5},
        {"sid": "", "sub": ""},
    ],
)
@pytest.mark.asvs("9.2.2", "10.5.5")
def test_a_logout_token_with_a_wrong_claim_ends_nothing(
    portal: PortalThread, identity: HostileServer, claims: dict[str, Any]
) -> None:
    visitor = portal.visitor()
    assert signed_in(sign_in(visitor), visitor)
    told_to_sign_out(portal, logout_token(identity, **claims), 400)
    assert person_of(visitor) is not None


@pytest.mark.parametrize("how", ["unsigned", "public key", "another key", "nothing", "deep", "an ID token"])
@pytest.mark.asvs("9.1.1", "9.2.2", "10.5.5")
def test_a_logout_token_with_a_bad_signature_ends_nothing(
    portal: PortalThread, identity: HostileServer, how: str
) -> None:
    visitor = portal.visitor()
    assert signed_in(sign_in(visitor), visitor)
    if how == "unsigned":
        identity.sign = identity.unsigned
    if how == "public key":
        identity.sign = identity.by_public_key
    if how == "another key":
        identity.key = RSAKey.generate_key(2048, {"kid": identity.key.kid})
    id_token = {"iss": identity.origin, "aud": "riverside-portal", "sub": "person-1"}
    other = {"nothing": "", "deep": DEEP, "an ID token": identity.jwt(id_token)}
    token = other[how] if how in other else logout_token(identity)
    told_to_sign_out(portal, token, 400)
    assert person_of(visitor) is not None


# ── what the tests stand on ─────────────────────────────────────────────────────────────────────────────


def sign_in(visitor: Visitor, *, fresh: bool = False) -> Page:
    """Go to the identity server and back, as a browser does; ends at a public page when all is well."""
    return visitor.get(f"/sign-in?next=/signed-out{'&fresh=1' if fresh else ''}", status=None)


def signed_in(page: Page, visitor: Visitor) -> bool:
    return (page.status, page.path) == (200, "/signed-out") and "person-1" in str(person_of(visitor))


def refused(portal: PortalThread, *, status: int = 400) -> None:
    """One clear page with this status, one line of audit, and nobody signed in."""
    before = audited(portal)
    visitor = portal.visitor()
    page = sign_in(visitor)
    assert page.status == status, page.words[:400]
    assert page.heading in ("You couldn’t be signed in", "Signing in isn’t possible right now")
    if page.path == "/sign-in/callback":
        assert page.link("Sign in again") == "/"
    assert person_of(visitor) is None
    lines = audited(portal)[len(before) :]
    assert len(lines) == 1, lines
    assert lines[0]["audit"] == "sign-in"
    assert lines[0]["outcome"] in ("refused", "unknown", "unavailable")


def page_token(page: Page) -> str:
    return str(page.soup.select_one("input[name=csrf_token]")["value"])  # type: ignore[index]


def person_of(visitor: Visitor) -> Any:
    """Who is signed in in this browser, as the portal itself would say."""
    host = visitor.origin.removeprefix("http://")
    cookie = next((one.value for one in visitor.http.cookies if one.name == "__Host-sid"), "none")
    record, _ = PORTALS[host].context.sessions.load(cookie, "riverside", host)
    return record.person if record else None


def tokens_of(visitor: Visitor) -> Any:
    from portal.state.sessions import record_name

    host = visitor.origin.removeprefix("http://")
    cookie = next(one.value or "" for one in visitor.http.cookies if one.name == "__Host-sid")
    return PORTALS[host].context.sessions.tokens_of(record_name(cookie))


def audited(portal: PortalThread) -> list[dict[str, Any]]:
    files = sorted((portal.plan.data / "audit").glob("*.jsonl"))
    return [json.loads(line) for file in files for line in file.read_text().splitlines()]


def sessions_of(portal: PortalThread) -> list[Any]:
    """The sessions of the one person, newest first."""
    whose = person("person-1", issuer=portal.plan.service)
    found = portal.context.sessions.of_person(whose, "riverside")
    return sorted(found, key=lambda one: -one[1].created_at)
