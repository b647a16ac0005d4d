"""The portal shows a signed assertion instead of a secret, everywhere that it speaks for itself (RFC 7523)."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from joserfc import jws, jwt
from joserfc.jwk import ECKey, OKPKey, RSAKey

from portal.config.client_keys import read_client_key
from portal.config.tenants import TenantsError
from portal.config.tenants_file import load_tenants
from portal.demo.stack import tenants_file
from portal.signin.service_client import ServiceBearers
from tests.support.hostile import HostileServer
from tests.support.stack import PortalThread, plan
from tests.support.visitor import Visitor

ASSERTION = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
KEYS: dict[str, RSAKey | ECKey | OKPKey] = {
    "RS256": RSAKey.generate_key(2048),
    "ES256": ECKey.generate_key("P-256"),
    "EdDSA": OKPKey.generate_key("Ed25519"),
}


def pem(key: RSAKey | ECKey | OKPKey) -> str:
    return key.as_pem(private=True).decode()


SHORT = (
    rsa.generate_private_key(65537, 1024)  # noqa: S505 (as bad as it should be)
    .private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    .decode()
)


@pytest.fixture(scope="module", params=KEYS)
def running(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[HostileServer, PortalThread, str]]:
    where = plan(tmp_path_factory.mktemp("keys"))
    file = where.data / "with-key.toml"
    text = tenants_file(where)
    for kind in ("CLIENT", "SERVICE"):
        named = f'client_secret_env = "RIVERSIDE_{kind}_SECRET"'
        assert named in text
        text = text.replace(named, 'client_key_env = "RIVERSIDE_KEY"')
    file.write_text(text)
    key_file = where.data / "key.pem"
    key_file.write_text(pem(KEYS[request.param]))
    portal = PortalThread(where, PORTAL_TENANTS=str(file), RIVERSIDE_KEY_FILE=str(key_file))
    tenant = portal.context.settings.tenants.by_key["riverside"]
    server = HostileServer(where, tenant.tenant_id or "")
    server.discovery = {
        "token_endpoint_auth_methods_supported": ["client_secret_basic", "private_key_jwt"],
        "pushed_authorization_request_endpoint": f"{server.origin}/par",
        "revocation_endpoint": f"{server.origin}/revoke",
    }
    yield server, portal, request.param
    portal.stop()
    server.stop()


def proven(form: dict[str, str], authorization: str, algorithm: str, issuer: str, client_id: str) -> str:
    """Check one proof as an identity server must, and return its `jti`."""
    assert not authorization
    assert "client_secret" not in form
    assert form["client_id"] == client_id
    assert form["client_assertion_type"] == ASSERTION
    header = jws.extract_compact(form["client_assertion"].encode()).headers()
    assert header["alg"] == algorithm
    assert header["kid"] == KEYS[algorithm].thumbprint()
    with warnings.catch_warnings(action="ignore"):  # about the name EdDSA
        claims: dict[str, Any] = jwt.decode(
            form["client_assertion"], KEYS[algorithm], algorithms=[algorithm]
        ).claims
    assert claims["iss"] == claims["sub"] == client_id
    assert claims["aud"] == issuer, "the issuer alone"
    assert 0 < claims["exp"] - time.time() <= 60
    assert set(claims) == {"iss", "sub", "aud", "jti", "iat", "exp"}
    return claims["jti"]


@pytest.mark.asvs("10.4.10")
def test_push_code_refresh_and_revocation_are_authenticated_by_the_key(
    running: tuple[HostileServer, PortalThread, str],
) -> None:
    server, portal, algorithm = running
    from tests.support.hostile import Answer

    server.token = {"expires_in": 60}
    visitor: Visitor = portal.visitor()
    server.answers["/par"] = Answer('{"request_uri": "urn:example:1", "expires_in": 60}', 201)
    sent = visitor.request("GET", "/sign-in?next=/signed-out", status=303, follow=False)
    assert "client_assertion" not in sent.headers["Location"], "nothing of it goes through the browser"
    ((pushed, authorization),) = server.posted("/par")
    used = {proven(pushed, authorization, algorithm, server.origin, "riverside-portal")}
    assert pushed["code_challenge_method"] == "S256"
    server.discovery.pop("pushed_authorization_request_endpoint")
    portal.context.providers._made.clear()
    page = visitor.get("/sign-in?next=/signed-out", status=None)
    assert page.path == "/signed-out"
    ((form, authorization),) = server.posted("/token")
    used.add(proven(form, authorization, algorithm, server.origin, "riverside-portal"))
    assert form["grant_type"] == "authorization_code"
    portal.clock.advance(61)
    visitor.get("/conversations", status=None)
    portal.clock.advance(-61)
    form, authorization = server.posted("/token")[1]
    used.add(proven(form, authorization, algorithm, server.origin, "riverside-portal"))
    assert form["grant_type"] == "refresh_token"
    server.answers["/revoke"] = Answer("")
    visitor.get("/signed-out").form("/sign-out").submit(status=None)
    ((form, authorization),) = server.posted("/revoke")
    used.add(proven(form, authorization, algorithm, server.origin, "riverside-portal"))
    assert len(used) == 4, "each is used once"


def test_the_public_keys_are_published_at_the_clinics_address(
    running: tuple[HostileServer, PortalThread, str],
) -> None:
    _, portal, algorithm = running
    answer = portal.visitor().request("GET", "/.well-known/jwks.json")
    assert answer.headers["Content-Type"] == "application/jwk-set+json"
    assert answer.headers["Cache-Control"] == "public, max-age=300"
    (key,) = answer.response.json()["keys"]
    assert (key["kid"], key["alg"], key["use"]) == (KEYS[algorithm].thumbprint(), algorithm, "sig")
    assert not {"d", "p", "q", "dp", "dq", "qi", "k"} & set(key)
    other = portal.visitor("harbour").request("GET", "/.well-known/jwks.json", status=404)
    assert "keys" not in other.headers.get("Content-Type", "")


def test_keys_are_changed_without_anyone_at_the_identity_server() -> None:
    """The new key is published before it signs, and the old one after it did."""
    old, new = pem(KEYS["ES256"]), pem(KEYS["RS256"])
    before, after = read_client_key(old + new), read_client_key(f"{new}\n{old}")
    assert before and after
    assert [one.algorithm for one in (before, after)] == ["ES256", "RS256"]
    names = [KEYS["ES256"].thumbprint(), KEYS["RS256"].thumbprint()]
    assert [key["kid"] for key in before.public] == names
    assert [key["kid"] for key in after.public] == names[::-1]
    stronger = after.by("PS256")
    assert stronger and [key["alg"] for key in stronger.public] == ["PS256", "ES256"]
    both = read_client_key(new + new)
    stronger = both and both.by("PS256")
    assert stronger and [key["alg"] for key in stronger.public] == ["PS256", "PS256"]


def test_the_service_client_authenticates_with_its_key(
    running: tuple[HostileServer, PortalThread, str],
) -> None:
    server, portal, algorithm = running
    server.forms.clear()
    the = portal.context
    tenant = the.settings.tenants.by_key["riverside"]
    bearer = ServiceBearers(the.settings.timeouts, the.clock).of(
        tenant, tenant.service_client, the.sign_in.provider(tenant)
    )
    assert bearer.token().startswith("access-")
    ((form, authorization),) = server.posted("/token")
    proven(form, authorization, algorithm, server.origin, "riverside-service")
    assert form["grant_type"] == "client_credentials"


@pytest.mark.parametrize(
    "bad",
    [
        pytest.param("", id="nothing"),
        pytest.param("not a key", id="text"),
        pytest.param(KEYS["RS256"].as_pem(private=False).decode(), id="public"),
        pytest.param(SHORT, id="short RSA"),
        pytest.param(pem(ECKey.generate_key("P-384")), id="another curve"),
        pytest.param(pem(OKPKey.generate_key("Ed448")), id="another Edwards curve"),
        pytest.param(pem(KEYS["ES256"]) + SHORT, id="one of two"),
    ],
)
def test_an_unusable_client_key_is_reported_at_start(tmp_path: Path, bad: str) -> None:
    file = tmp_path / "tenants.toml"
    where = plan(tmp_path)
    file.write_text(
        tenants_file(where).replace(
            'client_secret_env = "RIVERSIDE_CLIENT_SECRET"', 'client_key_env = "RIVERSIDE_KEY"'
        )
    )
    with pytest.raises(TenantsError) as refused:
        load_tenants(file, {**where.secrets, "RIVERSIDE_KEY": bad})
    assert refused.value.faults == [
        "tenants.riverside.client_key_env: set RIVERSIDE_KEY (or RIVERSIDE_KEY_FILE) to a private key as PEM: "
        "RSA of 2048 bits or more, EC on P-256, or Ed25519"
    ]


def test_the_repr_of_a_client_key_hides_it() -> None:
    key = read_client_key(pem(KEYS["RS256"]))
    assert key is not None
    assert repr(key) == "ClientKey(algorithm='RS256')"
