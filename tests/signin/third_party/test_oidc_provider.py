"""The portal at npm's `oidc-provider` 9: plain, with DPoP whose nonces it demands, and with the FAPI 2.0 Security Profile."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from joserfc.jwk import ECKey

from portal.config.profile import Profile, applied
from portal.config.tenants import Tenant
from portal.demo.programs import install_missing
from portal.signin.dpop import Prover
from tests.signin.hostile_identity.sign_ins import (
    PORTALS,
    page_token,
    person_of,
    sign_in,
    signed_in,
    tokens_of,
)
from tests.support import clinic_file
from tests.support.stack import PortalThread, Process, plan
from tools.machine import NODE, NPM

PACKAGE = "oidc-provider@9"
SERVER = Path(__file__).with_name("oidc_provider.mjs")
KEY = ECKey.generate_key("P-256")
SCOPE = 'scope = "openid profile roles offline_access"'
STRONG = f'{clinic_file.ROLES}\n[tenants.riverside.strong]\nacr = ["phr"]\nroles = ["nurse"]'


@pytest.fixture(scope="module")
def portal(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PortalThread]:
    """The portal, with the server running at its clinic's address."""
    assert not install_missing(NODE, NPM)
    folder = tmp_path_factory.mktemp("oidc-provider")
    command = ["npm", "install", "--silent", "--no-audit", "--no-fund", "--prefix", str(folder), PACKAGE]
    subprocess.run(command, check=True, timeout=300)
    shutil.copy(SERVER, folder)
    running = PortalThread(plan(folder))
    origin = running.origin()
    PORTALS[origin.removeprefix("http://")] = running
    given = {
        "issuer": running.plan.service,
        "redirect": f"{origin}/sign-in/callback",
        "signedOut": f"{origin}/signed-out",
        "secret": clinic_file.SECRET,
        "keys": [{**KEY.as_dict(private=False), "kid": KEY.thumbprint(), "use": "sig", "alg": "ES256"}],
    }
    server = Process(["node", str(folder / SERVER.name), json.dumps(given)], {}, folder / "server.log")
    server.wait_for(f"{running.plan.service}/.well-known/openid-configuration")
    yield running
    server.stop()
    running.stop()


@pytest.fixture(params=["plain", "dpop", "fapi2"])
def clinic(
    request: pytest.FixtureRequest, portal: PortalThread, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Tenant]:
    """The portal's clinic, as this client of the server, whose nonces the portal doesn't know yet."""
    monkeypatch.setattr(clinic_file, "KEY", KEY)
    lines = [f'client_id = "{request.param}"', SCOPE]
    lines += ["dpop = true"] if request.param == "dpop" else []
    lines += ['client_key_env = "RIVERSIDE_KEY"'] if request.param == "fapi2" else []
    made = clinic_file.configured(portal.plan, "\n".join(lines), STRONG)
    if request.param == "fapi2":
        made = applied(replace(made, profile=Profile.FAPI2, service_client=None))
    tenants = portal.context.settings.tenants
    for host in made.hosts:
        monkeypatch.setitem(tenants.by_host, host, made)
    portal.clock.ahead = 0
    forget_nonces(portal)
    yield made
    portal.clock.ahead = 0


def forget_nonces(portal: PortalThread) -> None:
    """Let the portal have an old nonce: the server demands its own of the next request."""
    provider = portal.context.sign_in.provider(portal.context.settings.tenants.by_key["riverside"])
    provider.nonces.learn(f"{portal.plan.service}/token", {"dpop-nonce": "of-another-day"})


def test_people_sign_in_and_step_up_and_sign_out(portal: PortalThread, clinic: Tenant) -> None:
    visitor = portal.visitor()
    assert signed_in(sign_in(visitor), visitor)
    person = person_of(visitor)
    assert (person.name, person.roles, person.acr) == ("Nora Quinn", {"nurse"}, "phr")
    assert bool(tokens_of(visitor).dpop_key) is clinic.dpop
    forget_nonces(portal)
    page = sign_in(visitor, fresh=True)
    assert signed_in(page, visitor)
    assert portal.audited()[-1]["outcome"] == "fresh"
    assert person_of(visitor).auth_time >= person.auth_time
    sent = visitor.request(
        "POST", "/sign-out", data={"csrf_token": page_token(page)}, follow=False, status=303
    )
    assert sent.headers["Location"].startswith(f"{portal.plan.service}/session/end?")
    assert person_of(visitor) is None


@pytest.mark.usefixtures("clinic")
def test_twelve_tabs_renew_one_expired_token(portal: PortalThread) -> None:
    visitor = portal.visitor()
    assert signed_in(sign_in(visitor), visitor)
    before = tokens_of(visitor)
    forget_nonces(portal)
    portal.clock.advance(61)
    with ThreadPoolExecutor(12) as tabs:
        pages = [tabs.submit(visitor.request, "GET", "/me", follow=False, status=None) for _ in range(12)]
        assert [page.result().status for page in pages] == [200] * 12
    after = tokens_of(visitor)
    assert after.access_token != before.access_token
    assert after.dpop_key == before.dpop_key


@contextmanager
def wrong(monkeypatch: pytest.MonkeyPatch, where: str, **claims: Any) -> Iterator[None]:
    """Proofs for addresses that end so are another key's, or for another method."""
    right = Prover.proof

    def proof(prover: Prover, method: str, url: str, *rest: Any, **named: Any) -> str:
        if not url.endswith(where):
            return right(prover, method, url, *rest, **named)
        maker = Prover.new(prover._nonces) if claims.get("key") else prover
        return right(maker, claims.get("method", method), url, *rest, **named)

    with monkeypatch.context() as patched:
        patched.setattr(Prover, "proof", proof)
        yield


@pytest.mark.parametrize(
    ("where", "claims", "said"),
    [
        ("/token", {"method": "PUT"}, "code refused: invalid_dpop_proof"),
        ("/token", {"key": True}, "code refused: invalid_grant"),
        ("/me", {"method": "PUT"}, "userinfo refused: invalid_dpop_proof"),
        ("/me", {"key": True}, "userinfo refused: invalid_token"),
    ],
)
def test_a_wrong_proof_ends_the_sign_in_in_words(
    portal: PortalThread,
    clinic: Tenant,
    monkeypatch: pytest.MonkeyPatch,
    where: str,
    claims: dict[str, Any],
    said: str,
) -> None:
    visitor = portal.visitor()
    with wrong(monkeypatch, where, **claims):
        page = sign_in(visitor)
    if not clinic.dpop:
        assert signed_in(page, visitor), "it has no proofs"
        return
    assert (page.status, page.heading) == (400, "You couldn’t be signed in")
    assert portal.audited()[-1]["reason"] == said
    assert person_of(visitor) is None


@pytest.mark.parametrize("where", ["/token", "/me"])
def test_a_wrong_proof_at_the_refresh_ends_the_session(
    portal: PortalThread, clinic: Tenant, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    visitor = portal.visitor()
    assert signed_in(sign_in(visitor), visitor)
    portal.clock.advance(61)
    with wrong(monkeypatch, where, key=True):
        status = visitor.request("GET", "/me", follow=False, status=None).status
    assert (status, person_of(visitor) is None) == ((303, True) if clinic.dpop else (200, False))
