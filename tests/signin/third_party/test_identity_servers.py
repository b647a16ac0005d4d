"""The portal at identity servers that others wrote, by its tenants file alone: sign-in, step-up, refresh, sign-out, wrong proofs.

npm's oidc-provider as a plain client, with DPoP whose nonces it demands, and with the FAPI 2.0 Security Profile; PyPI's
django-oauth-toolkit, and Canaille, which signs with PS512; Debian's LemonLDAP::NG, and Glewlwyd, which doesn't say when
somebody signed in.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import msgspec
import pytest
import requests
from joserfc.jwk import ECKey

from portal.config.profile import Profile, applied
from portal.config.tenants import Tenant
from portal.config.variables import Timeouts
from portal.demo.programs import Requirement, install_missing
from portal.operate.identity_check import check_identity
from portal.signin.dpop import Prover
from portal.state.session_records import Tokens, record_name, tokens_name
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

SERVERS = Path(__file__).with_name("servers")
KEY = ECKey.generate_key("P-256")
STRONG = '[tenants.riverside.strong]\nacr = ["phr"]\nroles = ["nurse"]'
GROUPS = 'claim = "groups"\npatient = ["patient"]\nstaff = ["nurse"]'


@dataclass(frozen=True, slots=True)
class Server:
    """A package, the program here that runs it, the path of its issuer, and what it needs of Debian."""

    package: str
    program: str
    issuer: str = ""
    debian: tuple[str, ...] = ()

    def installed(self, folder: Path) -> list[str]:
        """Install it into the folder and return the command that runs it there."""
        shutil.copytree(SERVERS, folder, dirs_exist_ok=True)
        if self.program.endswith(".mjs"):
            assert not install_missing(NODE, NPM)
            _run("npm", "install", "--silent", "--no-audit", "--no-fund", "--prefix", folder, self.package)
            return ["node", str(folder / self.program)]
        if self.debian:
            assert not install_missing(Requirement(self.package, self.debian, self.is_installed))
            return [sys.executable, str(folder / self.program)]
        uv, python = Path(sys.executable).with_name("uv"), folder / "venv" / "bin" / "python"
        _run(uv, "venv", "--quiet", folder / "venv")
        _run(uv, "pip", "install", "--quiet", "--python", python, self.package)
        return [str(python), str(folder / self.program)]

    def is_installed(self) -> bool:
        """Whether Debian's packages are."""
        asked = subprocess.run(["dpkg", "--status", *self.debian], capture_output=True, check=False)
        return asked.returncode == 0


def _run(*command: object) -> None:
    subprocess.run([str(part) for part in command], check=True, timeout=300)


NODE_SERVER = Server("oidc-provider@9", "oidc_provider.mjs")
DJANGO = Server("django-oauth-toolkit==3.4.1", "django_oauth_toolkit.py", "/o")
CANAILLE = Server("canaille[front,oidc,server]==0.3.6", "canaille_server.py")
GLEWLWYD = Server("Glewlwyd", "glewlwyd_server.py", "/api/oidc", ("glewlwyd",))
PERL = tuple(
    f"lib{name}-perl" for name in ("plack", "string-random", "io-string", "gd-securityimage", "image-magick")
)
LEMONLDAP = Server("LemonLDAP::NG", "lemonldap_server.py", debian=("liblemonldap-ng-portal-perl", *PERL))


@dataclass(frozen=True, slots=True)
class Client:
    """How the portal is registered at a server, and what the tenants file says.

    `leaves` says after which changes there a person leaves the portal with the next refresh.
    """

    server: Server
    id: str
    lines: str
    roles: str
    profile: Profile | None = None
    step_up: str = "fresh"
    name: str = "Nora Quinn"
    leaves: tuple[str, ...] = ("role withdrawn", "disabled")


SCOPE = 'scope = "openid profile roles offline_access"'
ROLES = f"{clinic_file.ROLES}\n{STRONG}"
OF_GLEWLWYD = 'scope = "openid"\nclient_auth = "client_secret_post"\npar = "off"\nid_token_hint = true'
OF_LEMONLDAP = 'scope = "openid profile email roles offline_access"\nclient_auth = "client_secret_post"'
CLIENTS = [
    Client(NODE_SERVER, "plain", SCOPE, ROLES),
    Client(NODE_SERVER, "dpop", f"{SCOPE}\ndpop = true", ROLES),
    Client(NODE_SERVER, "fapi2", f'{SCOPE}\nclient_key_env = "RIVERSIDE_KEY"', ROLES, Profile.FAPI2),
    Client(DJANGO, "portal", 'scope = "openid profile groups"', GROUPS, leaves=("role withdrawn",)),
    Client(CANAILLE, "portal", 'scope = "openid profile email groups"\ntenant_claim = "groups"', GROUPS),
    Client(
        GLEWLWYD, "portal", OF_GLEWLWYD, clinic_file.ROLES, step_up="no-auth-time", leaves=("role withdrawn",)
    ),
    Client(
        LEMONLDAP,
        "portal",
        OF_LEMONLDAP,
        f"{clinic_file.ROLES}\n{STRONG}".replace("phr", "loa-1"),
        name="Doctor Who",
        leaves=(),
    ),
]
BOUND = [client for client in CLIENTS if client.id in ("dpop", "fapi2")]


def name(client: object) -> str | None:
    return f"{client.server.program} {client.id}" if isinstance(client, Client) else None


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[Server, PortalThread]]:
    """A portal for each server, with the server running at its clinic's address."""
    portals: dict[Server, PortalThread] = {}
    servers: list[Process] = []
    for server in (NODE_SERVER, DJANGO, CANAILLE, GLEWLWYD, LEMONLDAP):
        folder = tmp_path_factory.mktemp("identity-server")
        command = server.installed(folder)
        portal = portals[server] = PortalThread(plan(folder))
        origin, issuer = portal.origin(), f"{portal.plan.service}{server.issuer}"
        PORTALS[origin.removeprefix("http://")] = portal
        given = {
            "issuer": portal.plan.service,
            "redirect": f"{origin}/sign-in/callback",
            "signedOut": f"{origin}/signed-out",
            "secret": clinic_file.SECRET,
            "keys": [{**KEY.as_dict(private=False), "kid": KEY.thumbprint(), "use": "sig", "alg": "ES256"}],
        }
        servers.append(Process([*command, json.dumps(given)], {}, folder / "server.log"))
        servers[-1].wait_for(f"{issuer}/.well-known/openid-configuration")
    yield portals
    for process in servers:
        process.stop()
    for portal in portals.values():
        portal.stop()


def at(running: dict[Server, PortalThread], client: Client, patched: pytest.MonkeyPatch) -> PortalThread:
    """The portal, whose clinic is this client of its server."""
    portal = running[client.server]
    patched.setattr(clinic_file, "KEY", KEY)
    issuer = f"{portal.plan.service}{client.server.issuer}"
    lines = f'auth_url = "{issuer}"\nclient_id = "{client.id}"\n{client.lines}'
    clinic = clinic_file.configured(portal.plan, lines, client.roles)
    if client.profile:
        clinic = applied(replace(clinic, profile=client.profile, service_client=None))
    for host in clinic.hosts:
        patched.setitem(portal.context.settings.tenants.by_host, host, clinic)
    forget_nonces(portal)
    return portal


def clinic_at(portal: PortalThread) -> Tenant:
    """The portal's clinic, as it is now."""
    tenants: dict[str, Tenant] = portal.context.settings.tenants.by_host
    return tenants[portal.origin().partition("//")[2]]


def forget_nonces(portal: PortalThread) -> None:
    """Let the portal have an old nonce: the server demands its own of the next request."""
    provider = portal.context.sign_in.provider(clinic_at(portal))
    provider.nonces.learn(f"{portal.plan.service}/token", {"dpop-nonce": "of-another-day"})


def expire(portal: PortalThread, visitor: Any) -> None:
    """Let the visitor's access token be over."""
    cookie = visitor.session_id

    def over(tokens: Tokens) -> Tokens:
        return msgspec.structs.replace(tokens, refresh_at=0.0, expires_at=0.0)

    assert portal.context.vault.update(tokens_name(record_name(cookie)), Tokens, over)


@pytest.mark.parametrize("client", CLIENTS, ids=name)
def test_people_sign_in_and_step_up_and_sign_out(
    running: dict[Server, PortalThread], client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    portal = at(running, client, monkeypatch)
    visitor = portal.visitor()
    page = sign_in(visitor)
    assert page.path == "/signed-out", page.words[:300]
    person, clinic = person_of(visitor), clinic_at(portal)
    assert (person.name, person.roles) == (client.name, {"nurse"})
    assert not clinic.strong or person.acr in clinic.strong.acr
    assert bool(tokens_of(visitor).dpop_key) is (client in BOUND)
    forget_nonces(portal)
    sign_in(visitor, fresh=True)
    assert portal.audited()[-1]["outcome"] == client.step_up
    assert person_of(visitor).auth_time >= person.auth_time
    page = visitor.get("/signed-out")
    sent = visitor.request(
        "POST", "/sign-out", data={"csrf_token": page_token(page)}, follow=False, status=303
    )
    assert sent.headers["Location"].startswith(portal.plan.service)
    assert person_of(visitor) is None


@pytest.mark.parametrize("client", CLIENTS, ids=name)
def test_twelve_tabs_renew_one_expired_token(
    running: dict[Server, PortalThread], client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    portal = at(running, client, monkeypatch)
    visitor = portal.visitor()
    sign_in(visitor)
    before = tokens_of(visitor)
    forget_nonces(portal)
    expire(portal, visitor)
    with ThreadPoolExecutor(12) as tabs:
        pages = [tabs.submit(visitor.request, "GET", "/me", follow=False, status=None) for _ in range(12)]
        assert [page.result().status for page in pages] == [200] * 12
    after = tokens_of(visitor)
    assert after.access_token != before.access_token
    assert after.dpop_key == before.dpop_key


@pytest.mark.parametrize("client", CLIENTS[:-1], ids=name)
@pytest.mark.parametrize(
    ("change", "query"),
    [("role withdrawn", "role=&enabled=1"), ("disabled", "role=nurse&enabled=0")],
    ids=["role withdrawn", "disabled"],
)
def test_who_may_be_here_no_longer_leaves_at_a_refresh_if_the_server_tells(
    running: dict[Server, PortalThread],
    client: Client,
    monkeypatch: pytest.MonkeyPatch,
    change: str,
    query: str,
) -> None:
    """LemonLDAP::NG, the last, tells what was so when its own session began."""
    portal = at(running, client, monkeypatch)
    visitor = portal.visitor()
    sign_in(visitor)
    assert requests.get(f"{portal.plan.service}/person?{query}", timeout=30).status_code == 200
    try:
        expire(portal, visitor)
        visitor.request("GET", "/me", follow=False, status=None)
        assert (person_of(visitor) is None) is (change in client.leaves)
    finally:
        requests.get(f"{portal.plan.service}/person?role=nurse&enabled=1", timeout=30)


@pytest.mark.parametrize("client", CLIENTS, ids=name)
def test_the_check_finds_nothing_that_keeps_people_out(
    running: dict[Server, PortalThread], client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    portal = at(running, client, monkeypatch)
    clinic = replace(clinic_at(portal), service_client=None)
    found = list(check_identity([clinic], portal.context.sign_in.provider(clinic), Timeouts()))
    assert [finding for finding in found if finding.is_fault] == []
    wrong = (
        replace(clinic, client=replace(clinic.client, client_secret="wrong")) if not client.profile else None
    )
    if wrong:
        found = list(check_identity([wrong], portal.context.sign_in.provider(clinic), Timeouts()))
        assert [finding.what for finding in found if finding.is_fault][:1] == [f"client {client.id}"]


@contextmanager
def wrong(
    patched: pytest.MonkeyPatch, where: str, *, method: str = "", another_key: bool = False
) -> Iterator[None]:
    """Proofs for addresses that end so are for another method, or another key's."""
    right = Prover.proof

    def proof(prover: Prover, asked: str, url: str, *rest: Any, **named: Any) -> str:
        if not url.endswith(where):
            return right(prover, asked, url, *rest, **named)
        maker = Prover.new(prover._nonces) if another_key else prover
        return right(maker, method or asked, url, *rest, **named)

    with patched.context() as within:
        within.setattr(Prover, "proof", proof)
        yield


@pytest.mark.parametrize("client", BOUND, ids=name)
@pytest.mark.parametrize(
    ("where", "how", "said"),
    [
        ("/token", {"method": "PUT"}, "code refused: invalid_dpop_proof"),
        ("/token", {"another_key": True}, "code refused: invalid_grant"),
        ("/me", {"method": "PUT"}, "userinfo refused: invalid_dpop_proof"),
        ("/me", {"another_key": True}, "userinfo refused: invalid_token"),
    ],
)
def test_a_wrong_proof_ends_the_sign_in_in_words(
    running: dict[Server, PortalThread],
    client: Client,
    monkeypatch: pytest.MonkeyPatch,
    where: str,
    how: dict[str, Any],
    said: str,
) -> None:
    portal = at(running, client, monkeypatch)
    visitor = portal.visitor()
    with wrong(monkeypatch, where, **how):
        page = sign_in(visitor)
    assert (page.status, page.heading) == (400, "You couldn’t be signed in")
    assert portal.audited()[-1]["reason"] == said
    assert person_of(visitor) is None


@pytest.mark.parametrize("client", BOUND, ids=name)
@pytest.mark.parametrize("where", ["/token", "/me"])
def test_another_keys_proof_at_the_refresh_ends_the_session(
    running: dict[Server, PortalThread], client: Client, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    portal = at(running, client, monkeypatch)
    visitor = portal.visitor()
    assert signed_in(sign_in(visitor), visitor)
    expire(portal, visitor)
    with wrong(monkeypatch, where, another_key=True):
        assert visitor.request("GET", "/me", follow=False, status=None).status == 303
    assert person_of(visitor) is None
