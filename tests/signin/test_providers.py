"""What becomes of people at identity servers of every habit: signing in, signing afresh, a refresh, signing out.

Each row is a habit of a real product, by a fake server that has it alone, and what the tenants file says of it.
docs/identity-servers.md tells which product has which.
"""

from __future__ import annotations

import base64
import hashlib
import json
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from joserfc import jws, jwt
from joserfc.jwk import ECKey, OKPKey, RSAKey

from tests.signin.hostile_identity.sign_ins import (
    PORTALS,
    page_token,
    person_of,
    sign_in,
    signed_in,
    tokens_of,
)
from tests.support.clinic_file import KEY, ROLES, SECRET, configured
from tests.support.hostile import Answer, HostileServer
from tests.support.stack import PortalThread, plan

P256, P384, P521 = (ECKey.generate_key(curve, auto_kid=True) for curve in ("P-256", "P-384", "P-521"))
ED25519 = OKPKey.generate_key("Ed25519", auto_kid=True)

Server = HostileServer


@dataclass(frozen=True, slots=True)
class Habit:
    """What a server does, what the tenants file says, and what becomes of people there.

    `signs_in` is "yes", "no" (one clear page), or "down" (the server's fault); `step_up` "yes", or the audit's outcome.
    """

    name: str
    does: Callable[[Server], None] = lambda server: None
    later: Callable[[Server], None] = lambda server: None
    tenant: str = ""
    roles: str = ROLES
    signs_in: str = "yes"
    step_up: str = "yes"
    refresh: str = "renewed"
    signed_out_at: str = "/end"
    signed_out_query: dict[str, str] = field(default_factory=dict)


def sets(member: str, **values: Any) -> Callable[[Server], None]:
    """The server's `member` (claims, header, token, discovery, callback) laid over with these."""
    return lambda server: setattr(server, member, {**getattr(server, member), **values})


def signs(alg: str, key: Any = None) -> Callable[[Server], None]:
    bits = alg[2:] if alg[:2] in ("RS", "PS", "ES") else "512"
    digest = hashlib.new(f"sha{bits}", b"access").digest()
    at_hash = base64.urlsafe_b64encode(digest[: len(digest) // 2]).rstrip(b"=").decode()

    def does(server: Server) -> None:
        server.key, server.header = key or server.key, {"alg": alg}
        server.token |= {"access_token": "access"}
        server.claims = {"at_hash": at_hash}

    return does


def answers(path: str, body: str, status: int = 200) -> Callable[[Server], None]:
    return lambda server: server.answers.update({path: Answer(body, status)})


def refuses(status: int, body: str = "") -> Callable[[Server], None]:
    return answers("/token", body, status)


def tells(**claims: Any) -> Callable[[Server], None]:
    """No role in the ID token, and these claims in UserInfo."""

    def does(server: Server) -> None:
        server.claims = {"role": None, "realm_access": {"verify_caller": True}}
        server.userinfo = {"sub": "person-1", **claims}

    return does


def refuses_userinfo(server: Server) -> None:
    """It goes on refreshing for somebody of whom it tells nothing any more."""
    challenge = {"WWW-Authenticate": 'Bearer error="invalid_token"'}
    server.answers["/userinfo"] = Answer("{}", 401, headers=challenge)


def signs_userinfo(issuer: str = "") -> Callable[[Server], None]:
    def does(server: Server) -> None:
        server.claims = {"role": None}
        claims = {
            "sub": "person-1",
            "role": "nurse",
            "iss": issuer or server.origin,
            "aud": "riverside-portal",
        }
        signed = jws.serialize_compact(
            {"alg": "RS256", "kid": server.key.kid}, json.dumps(claims).encode(), server.key
        )
        server.answers["/userinfo"] = Answer(signed, content_type="application/jwt;charset=utf-8")

    return does


def takes_basic_alone(server: Server) -> None:
    """HTTP Basic whose secret isn't decoded, although form-urlencoded first (RFC 6749 §2.3.1)."""
    server.discovery |= {
        "token_endpoint_auth_methods_supported": ["client_secret_basic", "client_secret_post"]
    }
    raw = base64.b64encode(f"riverside-portal:{SECRET}".encode()).decode()
    server.accepts = lambda form, auth: auth == f"Basic {raw}" or form.get("client_secret") == SECRET


def takes_post_alone(server: Server) -> None:
    server.accepts = lambda form, _auth: form.get("client_secret") == SECRET


def takes_key(alg: str, audience: str) -> Callable[[Server], None]:
    def accepts(form: dict[str, str], _auth: str) -> bool:
        signed = jws.extract_compact(form.get("client_assertion", "a.b.c").encode())
        claims = jwt.decode(form["client_assertion"], KEY, algorithms=["RS256", "PS256", "RS512"]).claims
        return (signed.headers()["alg"], urlsplit(claims["aud"]).path) == (alg, audience)

    def does(server: Server) -> None:
        server.accepts = accepts
        server.discovery |= {"token_endpoint_auth_methods_supported": ["private_key_jwt"]}

    return does


def pushes(server: Server) -> None:
    server.discovery |= {"pushed_authorization_request_endpoint": f"{server.origin}/par"}


def refuses_pushes(server: Server) -> None:
    pushes(server)
    server.answers["/par"] = Answer('{"error": "invalid_request"}', 400)


def two_keys_without_id(server: Server) -> None:
    server.published = [RSAKey.generate_key(2048, auto_kid=True), server.key]
    server.header = {"kid": None}


def hs256(server: Server) -> None:
    server.sign = server.by_public_key


STRONG = f'{ROLES}\n[tenants.riverside.strong]\nacr = ["phr"]\namr = ["hwk"]\nroles = ["patient"]'
NURSE = 'staff = ["nurse"]'
BY_KEY = 'client_key_env = "RIVERSIDE_KEY"\n'
NO = {"signs_in": "no"}
HABITS = [
    Habit("honest"),
    # signatures of the ID token
    *(Habit(alg.lower(), signs(alg)) for alg in ("RS384", "RS512", "PS256", "PS384", "PS512")),
    *(Habit(f"es{curve}", signs(f"ES{curve}", key)) for curve, key in ((256, P256), (384, P384), (512, P521))),
    *(Habit(alg.lower(), signs(alg, ED25519)) for alg in ("EdDSA", "Ed25519")),
    Habit("hs256", hs256, **NO),
    Habit("encid", sets("token", id_token="e30.e30.e30.e30.e30"), **NO),
    Habit("nokid2", two_keys_without_id),
    Habit("twoaudnoazp", sets("claims", aud=["riverside-portal", "api"]), **NO),
    # when somebody signed in
    Habit("noauthtime", sets("claims", auth_time=None), step_up="no-auth-time"),
    Habit("zeroauthtime", sets("claims", auth_time=0), step_up="no-auth-time"),
    Habit("textauthtime", lambda server: sets("claims", auth_time=str(int(time.time())))(server)),
    Habit("ignoresprompt", lambda server: sets("claims", auth_time=time.time() - 300)(server), step_up="not-fresh"),
    # how strongly
    Habit("acr", sets("claims", acr="phr"), roles=STRONG),
    Habit("amr", sets("claims", amr=["pwd", "hwk"]), roles=STRONG),
    Habit("acr of the first request alone", sets("claims", acr="pwd"), roles=STRONG, **NO),
    Habit("noacr", roles=STRONG, **NO),
    Habit("acrinuserinfo", tells(role="patient", acr="phr"), roles=STRONG, **NO),
    # where the roles are
    Habit("nested", sets("claims", role=None, realm_access={"roles": ["offline", "nurse"]}),
          roles=f'claim = ["realm_access", "roles"]\n{NURSE}'),
    Habit("nestedclient", sets("claims", role=None, resource_access={"riverside-portal": {"roles": ["nurse"]}}),
          roles=f'claim = ["resource_access", "riverside-portal", "roles"]\n{NURSE}'),
    Habit("nestedelsewhere", tells(realm_access={"roles": ["nurse"]}),
          roles=f'claim = ["realm_access", "roles"]\n{NURSE}'),
    Habit("namespaced", sets("claims", **{"role": None, "https://clinic.example/roles": ["nurse"]}),
          roles=f'claim = "https://clinic.example/roles"\n{NURSE}'),
    Habit("dictroles", sets("claims", role=None, **{"urn:zitadel:iam:org:project:roles": {"nurse": {"1": "a.example"}}}),
          roles=f'claim = "urn:zitadel:iam:org:project:roles"\n{NURSE}'),
    Habit("commaroles", sets("claims", role="other, nurse"), roles=f'separator = ","\n{NURSE}'),
    Habit("spaceroles", sets("claims", role="other nurse"), roles=f'separator = " "\n{NURSE}'),
    Habit("commaroles without separator", sets("claims", role="other,nurse"), **NO),
    Habit("groupnames", sets("claims", role=["CN=Nurses"]),
          roles=f'{NURSE}\n[tenants.riverside.roles.map]\n"CN=Nurses" = "nurse"'),
    Habit("groupnames that aren't mapped", sets("claims", role=["nurse"]),
          roles=f'{NURSE}\n[tenants.riverside.roles.map]\n"CN=Nurses" = "nurse"', **NO),
    Habit("atroles", tells(), **NO),
    Habit("signeduserinfo", signs_userinfo()),
    Habit("signeduserinfo of another issuer", signs_userinfo("https://other.example"), **NO),
    # which clinic it is
    Habit("tenantlist", sets("claims", tenantid=["other", "riverside"])),
    Habit("tenantdict", sets("claims", tenantid={"other": {}, "riverside": {"id": "1"}})),
    Habit("tenantnested", sets("claims", tenantid=None, org={"id": "riverside"}), tenant='tenant_claim = ["org", "id"]'),
    Habit("tenantlist of others", sets("claims", tenantid=["other", "riverside-2"]), **NO),
    # the request
    Habit("par", pushes),
    Habit("parrefuses", refuses_pushes, signs_in="down"),
    Habit("parrefuses, off", refuses_pushes, tenant='par = "off"'),
    Habit("nopar, required", tenant='par = "required"', signs_in="down"),
    Habit("jar", sets("callback", code=None, error="request_not_supported"), **NO),
    Habit("jarm", sets("callback", code=None, state=None, iss=None, response="a.b.c"), **NO),
    Habit("formpost", answers("/authorize", "<form method=post></form>"), **NO),
    Habit("noiss", sets("callback", iss=None), **NO),
    # how the portal proves who it is
    Habit("basicraw", takes_basic_alone, signs_in="down"),
    Habit("basicraw, post", takes_basic_alone, tenant='client_auth = "client_secret_post"'),
    Habit("postonly", takes_post_alone, tenant='client_auth = "client_secret_post"'),
    Habit("keyjwtissuer", takes_key("RS256", ""), tenant=BY_KEY),
    Habit("keyjwtps", takes_key("PS256", ""), tenant=f'{BY_KEY}client_key_alg = "PS256"'),
    Habit("keyjwtrs512", takes_key("RS512", ""), tenant=f'{BY_KEY}client_key_alg = "RS512"'),
    Habit("keyjwttoken", takes_key("RS256", "/token"), tenant=f'{BY_KEY}client_key_audience = "token_endpoint"'),
    Habit("keyjwttoken, issuer", takes_key("RS256", "/token"), tenant=BY_KEY, signs_in="down"),
    Habit("dpop", sets("token", token_type="DPoP"), **NO),
    Habit("dpop, bound", sets("token", token_type="DPoP"), tenant="dpop = true"),
    Habit("nodpop, bound", tenant="dpop = true", **NO),
    # refreshes
    Habit("norotate", later=sets("token", refresh_token=None)),
    Habit("norefreshtoken", sets("token", refresh_token=None), refresh="ended"),
    Habit("refreshempty400", later=refuses(400), refresh="ended"),
    *(Habit(f"refresh{code.replace('_', '')}", later=refuses(400, json.dumps({"error": code})), refresh="ended")
      for code in ("invalid_grant", "interaction_required", "access_denied", "invalid_token", "unauthorized")),
    Habit("refresh500", later=refuses(500), refresh="stays"),
    Habit("refreshclient", later=refuses(401, '{"error": "invalid_client"}'), refresh="stays"),
    Habit("rolegone", tells(role="nurse"), later=tells(), refresh="ended"),
    Habit("userinforefuses", tells(role="nurse"), later=refuses_userinfo, refresh="ended"),
    Habit("roleempty", later=sets("claims", role=[]), refresh="ended"),
    Habit("othersiderole", later=sets("claims", role="nurse"), refresh="ended"),
    # signing out
    Habit("noendsession", sets("discovery", end_session_endpoint=None), signed_out_at="/signed-out"),
    Habit("cognitologout", tenant='logout_params = { client_id = "{client_id}", logout_uri = "{signed_out}" }',
          signed_out_query={"client_id": "riverside-portal", "logout_uri": "/signed-out"}),
    Habit("hint", tenant="id_token_hint = true", signed_out_query={"id_token_hint": "", "ui_locales": "en"}),
]  # fmt: skip


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Server, PortalThread]]:
    where = plan(tmp_path_factory.mktemp("providers"))
    portal = PortalThread(where)
    server = HostileServer(where, "riverside")
    PORTALS[portal.origin().removeprefix("http://")] = portal
    yield server, portal
    portal.stop()
    server.stop()


@pytest.mark.parametrize("habit", HABITS, ids=lambda habit: habit.name)
def test_every_habit(
    running: tuple[Server, PortalThread], habit: Habit, monkeypatch: pytest.MonkeyPatch
) -> None:
    server, portal = running
    server.behave()
    server.discovery = {"end_session_endpoint": f"{server.origin}/end"}
    tenants = portal.context.settings.tenants
    clinic = configured(portal.plan, habit.tenant, habit.roles)
    monkeypatch.setitem(tenants.by_key, "riverside", clinic)
    for host in clinic.hosts:
        monkeypatch.setitem(tenants.by_host, host, clinic)
    portal.context.providers._made.clear()
    vault = portal.context.vault
    vault.delete(vault.name("sign-out", server.origin, "riverside", "person-1"))
    server.token = {"expires_in": 60}
    habit.does(server)
    visitor = portal.visitor()
    page = sign_in(visitor)
    if habit.signs_in != "yes":
        assert person_of(visitor) is None
        assert page.status in ((503,) if habit.signs_in == "down" else (200, 400, 403)), page.words[:300]
        return
    assert signed_in(page, visitor), page.words[:300]
    assert step_up(portal, visitor) == habit.step_up
    assert refreshed(server, portal, visitor, habit) == habit.refresh
    if habit.refresh != "ended":
        assert_signs_out(server, visitor, habit)


def step_up(portal: PortalThread, visitor: Any) -> str:
    if sign_in(visitor, fresh=True).status == 200:
        return "yes"
    return str(portal.audited()[-1]["outcome"])


def refreshed(server: Server, portal: PortalThread, visitor: Any, habit: Habit) -> str:
    """What becomes of the session once its token has expired."""
    before = tokens_of(visitor)
    habit.later(server)
    portal.clock.advance(61)
    visitor.request("GET", "/conversations", follow=False, status=None)
    server.answers.pop("/token", None)
    try:
        if person_of(visitor) is None:
            return "ended"
        return "stays" if tokens_of(visitor) == before else "renewed"
    finally:
        portal.clock.ahead = 0


def assert_signs_out(server: Server, visitor: Any, habit: Habit) -> None:
    """The browser goes to the server's own sign-out, and the next sign-in asks for the password."""
    page = visitor.get("/signed-out")
    answer = visitor.request(
        "POST", "/sign-out", data={"csrf_token": page_token(page)}, follow=False, status=303
    )
    sent = urlsplit(answer.headers["Location"])
    assert sent.path == habit.signed_out_at
    query = {name: value for name, (value,) in parse_qs(sent.query).items()}
    if habit.tenant.startswith("logout_params"):
        assert query.keys() == habit.signed_out_query.keys()
    for name, value in habit.signed_out_query.items():
        assert query[name].endswith(value)
    assert person_of(visitor) is None
    if server.claims.get("auth_time") is None:
        server.claims = {"auth_time": time.time() - 300, **server.claims}  # it remembers who signed in
        sign_in(visitor)
        assert server.authorized[-1]["prompt"] == "login"
