"""The keys that sign ID tokens: unusable, unknown and rotated."""

from __future__ import annotations

import json

from joserfc.jwk import RSAKey

from tests.signin.hostile_identity.sign_ins import admitted, refused, sign_in, signed_in
from tests.support.hostile import Answer, HostileServer
from tests.support.stack import PortalThread


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
    admitted(portal)


def test_keys_are_refetched_for_an_unknown_key_at_most_every_ten_seconds(
    portal: PortalThread, identity: HostileServer
) -> None:
    admitted(portal)
    identity.published = [identity.key]
    identity.key = RSAKey.generate_key(2048, auto_kid=True)
    portal.clock.advance(11)
    for _ in range(3):
        refused(portal)
    assert identity.count("/jwks") == 2
    portal.clock.advance(11)
    refused(portal)
    assert identity.count("/jwks") == 3


def test_rotated_keys_are_fetched(portal: PortalThread, identity: HostileServer) -> None:
    admitted(portal)
    identity.key = RSAKey.generate_key(2048, auto_kid=True)
    portal.clock.advance(11)
    other = portal.visitor()
    assert signed_in(sign_in(other), other)
