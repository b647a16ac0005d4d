"""Discovery, and keys that are replaced with overlap."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from portal.careservice import database
from portal.careservice.identity import keys
from tests.careservice.identity.identity_server import ISSUER, IdentityServer


def published(server: IdentityServer) -> list[dict[str, Any]]:
    return server.app.test_client().get("/.well-known/jwks").get_json()["keys"]


def rotate(server: IdentityServer, overlap: timedelta) -> str:
    with server.app.app_context(), database.new_session(server.engine) as session:
        kid = keys.rotate(session, overlap)
        session.commit()
    return kid


def test_discovery_names_every_endpoint_under_the_issuer(server: IdentityServer) -> None:
    answer = server.app.test_client().get(
        "/.well-known/openid-configuration", headers={"Host": "evil.example"}
    )
    metadata = answer.get_json()
    assert metadata["issuer"] == ISSUER
    addresses = {name: value for name, value in metadata.items() if name.endswith(("_endpoint", "_uri"))}
    assert len(addresses) == 8
    for name, address in addresses.items():
        assert address.startswith(f"{ISSUER}/"), name
        assert server.app.test_client().get(address.removeprefix(ISSUER)).status_code != 404, name
    assert metadata["code_challenge_methods_supported"] == ["S256"]
    assert metadata["id_token_signing_alg_values_supported"] == ["RS256"]
    assert metadata["authorization_response_iss_parameter_supported"] is True


def test_only_public_keys_are_published(server: IdentityServer) -> None:
    for key in published(server):
        assert (key["kty"], key["use"], key["alg"]) == ("RSA", "sig", "RS256")
        assert not {"d", "p", "q", "dp", "dq", "qi"} & set(key)


def test_after_a_key_rotation_old_tokens_stay_valid_and_new_ones_use_the_new_key(
    server: IdentityServer,
) -> None:
    old = server.tokens()["access_token"]
    kid = rotate(server, timedelta(hours=2))
    new = server.tokens()["access_token"]
    assert server.read(new).header["kid"] == kid != server.read(old).header["kid"]
    assert server.userinfo(old).status_code == 200
    assert len(published(server)) == 2


def test_an_old_key_is_withdrawn_after_the_overlap(server: IdentityServer) -> None:
    kid = rotate(server, timedelta(hours=2))
    server.clock.advance(hours=2)
    assert [key["kid"] for key in published(server)] == [kid]


def test_concurrent_rotations_leave_one_signing_key(server: IdentityServer) -> None:
    rotate(server, timedelta(hours=2))
    last = rotate(server, timedelta(hours=2))
    assert len(published(server)) == 3
    assert server.read(server.tokens()["access_token"]).header["kid"] == last
