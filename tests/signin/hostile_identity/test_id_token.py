"""ID tokens with a wrong claim or a bad signature are refused; those that differ within the standard are accepted."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from joserfc.jwk import RSAKey

from tests.signin.hostile_identity.sign_ins import DEEP, admitted, refused
from tests.support.hostile import Answer, HostileServer
from tests.support.stack import PortalThread


def test_a_matching_access_token_hash_is_accepted(portal: PortalThread, identity: HostileServer) -> None:
    """With the example of OpenID Connect Core, appendix A.3."""
    identity.token = {"access_token": "jHkWEdUXMU1BwAsC4vtUsZwnNvTIxEl0z9K3vx5KF0Y"}
    identity.claims = {"at_hash": "77QmUPtjPfzWtF2AnpK9RQ"}
    admitted(portal)


def test_an_honest_server_signs_in(portal: PortalThread, identity: HostileServer) -> None:
    admitted(portal)
    assert identity.count("/token") == 1


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
        pytest.param({"iat": time.time() - 7 * 86400}, id="issued a week ago"),
        pytest.param({"iat": None}, id="no time of issue"),
        pytest.param({"iat": float("nan")}, id="time of issue isn't a number"),
        pytest.param({"nbf": time.time() + 86400}, id="not yet"),
        pytest.param({"sub": None}, id="no person"),
        pytest.param({"sub": ""}, id="empty person"),
        pytest.param({"sub": 7}, id="person is a number"),
        pytest.param({"sub": "x" * 300}, id="person is longer than 255"),
        pytest.param({"auth_time": "now"}, id="time of sign-in is text"),
        pytest.param({"auth_time": time.time() + 86400}, id="time of sign-in is to come"),
        pytest.param({"at_hash": "bm90IG9mIHRoaXMgdG9rZW4"}, id="hash of another access token"),
        pytest.param({"at_hash": ""}, id="empty hash of the access token"),
        pytest.param({"at_hash": 5}, id="hash of the access token is a number"),
    ],
)
@pytest.mark.asvs("6.8.1", "9.2.1", "9.2.3", "10.5.1", "10.5.4", "16.3.1")
def test_an_id_token_with_a_wrong_claim_is_refused(
    portal: PortalThread, identity: HostileServer, claims: dict[str, Any]
) -> None:
    identity.claims = claims
    refused(portal)


@pytest.mark.parametrize(
    "how",
    [
        *(
            "alg none",
            "HS256 with the public key",
            "another key, same id",
            "another key, no key id",
            "a wrong type",
        ),
        *("a key that it brings itself", "a key at an address that it brings itself"),
        *(
            "an algorithm of another type of key",
            "a critical extension",
            "broken header",
            "deep header",
            "deep payload",
            "not three parts",
        ),
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
        case "another key, no key id":
            identity.published = [RSAKey.generate_key(2048, auto_kid=True) for _ in range(2)]
            identity.header = {"kid": None}
        case "a wrong type":
            identity.header = {"kid": ["x"]}
            identity.sign = lambda header, _: identity.with_raw_header(json.dumps(header).encode())({}, b"{}")
        case "an algorithm of another type of key":
            identity.header = {"alg": "ES256"}
            identity.sign = identity.with_raw_header(
                json.dumps({"alg": "ES256", "kid": identity.key.kid}).encode()
            )
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
    admitted(portal)


@pytest.mark.parametrize("seconds", [-20, 20])
def test_a_small_clock_difference_is_tolerated(
    portal: PortalThread, identity: HostileServer, seconds: int
) -> None:
    identity.claims = {"iat": time.time() + seconds, "exp": time.time() + min(seconds, 0)}
    admitted(portal)
