"""`portal check` says of an identity server what people would otherwise find out, and what to write."""

from __future__ import annotations

import base64
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest
from joserfc.jwk import RSAKey

from portal.config.profile import Profile, applied
from portal.config.strong_sign_in import Act, StrongSignIn
from portal.config.variables import Timeouts
from portal.operate.findings import Finding
from portal.operate.identity_check import check_identity
from portal.signin.discovery import Provider
from tests.support.clinic_file import SECRET, configured
from tests.support.hostile import Answer, HostileServer
from tests.support.stack import plan

Server = HostileServer


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    made = HostileServer(plan(tmp_path_factory.mktemp("identity")), "riverside")
    yield made
    made.stop()


@pytest.fixture
def server(running: Server) -> Server:
    running.behave()
    return running


def found(server: Server, tenant: str = "", strong: StrongSignIn | None = None) -> list[Finding]:
    timeouts = Timeouts(connect=1, read=1, page=2)
    provider = Provider(server.origin, (), timeouts, time.time, 0)
    clinic = replace(configured(server.plan, tenant), strong=strong)
    return list(check_identity([clinic], provider, timeouts))


def about(server: Server, what: str, tenant: str = "") -> Finding | None:
    return next((one for one in found(server, tenant) if one.what.partition(" from ")[0] == what), None)


def offers(**members: Any) -> Callable[[Server], None]:
    return lambda server: server.discovery.update(members)


def pushes(status: int, body: str) -> Callable[[Server], None]:
    def does(server: Server) -> None:
        server.discovery["pushed_authorization_request_endpoint"] = f"{server.origin}/par"
        server.answers["/par"] = Answer(body, status)

    return does


def answers(code: str, status: int = 400) -> Callable[[Server], None]:
    return lambda server: server.answers.update({"/token": Answer(f'{{"error": "{code}"}}', status)})


def takes_post_alone(server: Server) -> None:
    server.accepts = lambda form, _auth: form.get("client_secret") == SECRET


def takes_token_endpoint(server: Server) -> None:
    server.discovery["token_endpoint_auth_methods_supported"] = ["private_key_jwt"]

    def accepts(form: dict[str, str], _auth: str) -> bool:
        claims = form["client_assertion"].split(".")[1]
        return b"/token" in base64.urlsafe_b64decode(claims + "==")

    server.accepts = accepts


def has_a_short_key(server: Server) -> None:
    with warnings.catch_warnings(action="ignore"):
        server.key = RSAKey.generate_key(1024)


CLIENT, PUSH, TENANT = ("client riverside-portal", "pushed request of riverside-portal", "tenants.riverside")


@pytest.mark.parametrize(
    ("does", "tenant", "what", "said"),
    [
        (offers(id_token_signing_alg_values_supported=["HS256"]), "", "identity server", "signs ID tokens with HS256"),
        (has_a_short_key, "", "identity server", "Have it publish a key to sign with (RSA of 2048 bits or more"),
        (pushes(400, '{"error": "invalid_scope"}'), "", PUSH, "Write only scopes that this client has there"),
        (pushes(400, '{"error": "invalid_request"}'), "", PUSH, "/sign-in/callback there as a redirect URI"),
        (pushes(400, '{"error": "server_error"}'), "", PUSH, 'Write par = "off"'),
        (pushes(400, "<h1>Bad request</h1>"), "", PUSH, 'Write par = "off"'),
        (pushes(401, '{"error": "invalid_client"}'), "", PUSH, "the client isn't accepted"),
        (offers(), "dpop = true", f"{TENANT}.dpop", "doesn't offer DPoP. Switch it on there, or write dpop = false"),
        (offers(dpop_signing_alg_values_supported=["RS256"]), "dpop = true", f"{TENANT}.dpop", "takes proofs with RS256 alone"),
        (offers(dpop_signing_alg_values_supported=["ES256"]), "dpop = true", "service client", "token type is not DPoP"),
        (offers(), 'par = "required"', PUSH, 'pushed requests aren\'t offered. Write par = "auto"'),
        (answers("invalid_client", 401), "", CLIENT, "isn't accepted by the identity server. Compare client_id"),
        (takes_post_alone, "", CLIENT, 'Write client_auth = "client_secret_post": that is accepted'),
        (takes_token_endpoint, 'client_key_env = "RIVERSIDE_KEY"', CLIENT,
         'Write client_key_audience = "token_endpoint": that is accepted'),
        (offers(token_endpoint_auth_signing_alg_values_supported=["ES256", "PS512"]),
         'client_key_env = "RIVERSIDE_KEY"', CLIENT, 'Write client_key_alg = "PS512"'),
    ],
)  # fmt: skip
def test_what_keeps_people_out_is_a_fault_that_says_what_to_write(
    server: Server, does: Callable[[Server], None], tenant: str, what: str, said: str
) -> None:
    does(server)
    told = [
        f"{one.found}. {one.advice}" for one in found(server, tenant) if one.is_fault and what in one.what
    ]
    assert any(said in one for one in told), told


@pytest.mark.parametrize(
    ("does", "what", "said"),
    [
        (offers(claims_supported=["sub", "role", "tenantid"]), TENANT, "Have it send auth_time"),
        (offers(claims_supported=["auth_time", "tenantid"]), f"{TENANT}.roles.claim", "doesn't list role"),
        (offers(claims_supported=["auth_time", "role"]), f"{TENANT}.tenant_claim", "doesn't list tenantid"),
        (offers(scopes_supported=["openid", "email"]), f"{TENANT}.scope", 'write scope = "openid email"'),
    ],
)
def test_what_a_server_doesnt_list_is_a_note(
    server: Server, does: Callable[[Server], None], what: str, said: str
) -> None:
    does(server)
    finding = about(server, what)
    assert finding is not None
    assert said in f"{finding.found}. {finding.advice}"
    assert not finding.is_fault


KEEPS_FAPI2: dict[str, Any] = {
    "pushed_authorization_request_endpoint": "/par",
    "authorization_response_iss_parameter_supported": True,
    "code_challenge_methods_supported": ["S256"],
    "token_endpoint_auth_methods_supported": ["private_key_jwt"],
    "id_token_signing_alg_values_supported": ["RS256", "PS256"],
    "dpop_signing_alg_values_supported": ["ES256"],
    "require_pushed_authorization_requests": True,
}


def of_profile(server: Server) -> list[Finding]:
    """What is found of a clinic with `profile = "fapi2"`."""
    clinic = configured(server.plan, 'client_key_env = "RIVERSIDE_KEY"')
    asked = applied(replace(clinic, profile=Profile.FAPI2, service_client=None))
    provider = Provider(server.origin, (), Timeouts(connect=1, read=1, page=2), time.time, 0)
    found = list(check_identity([asked], provider, Timeouts(connect=1, read=1, page=2)))
    return [one for one in found if one.what == f"{TENANT}.profile"]


def keep_fapi2(server: Server) -> None:
    server.discovery.update(KEEPS_FAPI2)
    server.discovery["pushed_authorization_request_endpoint"] = f"{server.origin}/par"


def test_a_server_that_keeps_the_profile_is_told_nothing(server: Server) -> None:
    keep_fapi2(server)
    assert of_profile(server) == []


@pytest.mark.parametrize(
    ("broken", "value", "said"),
    [
        ("pushed_authorization_request_endpoint", None, "takes no pushed requests"),
        ("authorization_response_iss_parameter_supported", False, "doesn't name itself in its answers"),
        ("code_challenge_methods_supported", ["plain"], "doesn't advertise PKCE with S256"),
        ("token_endpoint_auth_methods_supported", ["client_secret_basic"], "takes no client keys"),
        ("id_token_signing_alg_values_supported", ["RS256"], "doesn't sign ID tokens with PS256"),
    ],
)
def test_each_rule_of_the_profile_that_a_server_breaks_is_a_fault(
    server: Server, broken: str, value: Any, said: str
) -> None:
    keep_fapi2(server)
    server.discovery[broken] = value
    (finding,) = of_profile(server)
    assert finding.is_fault
    assert f"the identity server {said}" in finding.found
    assert finding.advice == 'Switch it on there, or don\'t write profile = "fapi2"'


def test_a_server_that_takes_requests_by_the_browser_too_is_a_note(server: Server) -> None:
    keep_fapi2(server)
    server.discovery["require_pushed_authorization_requests"] = False
    (finding,) = of_profile(server)
    assert not finding.is_fault and "demands pushed requests" in finding.found


STRONG = StrongSignIn(
    acr=("urn:phr",), acts=frozenset({Act.EMBRYOS}), kinds=frozenset({"LegalParentood", "storage"})
)


@pytest.mark.parametrize(
    ("does", "what", "said"),
    [
        (offers(acr_values_supported=["0", "urn:mfa"]), f"{TENANT}.strong.acr", "it lists 0, urn:mfa"),
        (offers(claims_supported=["sub"]), f"{TENANT}.strong", "doesn't list the claim acr"),
        (
            offers(),
            f"{TENANT}.strong.kinds",
            "no forms of the kind LegalParentood. Is LegalParenthood meant?",
        ),
    ],
)
def test_a_strong_sign_in_that_may_never_come_is_a_note(
    server: Server, does: Callable[[Server], None], what: str, said: str
) -> None:
    does(server)
    told = [one for one in found(server, strong=STRONG) if one.what == what]
    assert [said in f"{one.found}. {one.advice}" and not one.is_fault for one in told] == [True]
    offers(acr_values_supported=["urn:phr"], claims_supported=["acr"])(server)
    assert not [
        one
        for one in found(server, strong=STRONG)
        if one.what in (f"{TENANT}.strong.acr", f"{TENANT}.strong")
    ]


def test_a_server_that_lists_everything_leaves_no_note(server: Server) -> None:
    offers(
        claims_supported=["auth_time", "role", "tenantid"],
        scopes_supported=["openid", "profile", "email", "roles", "offline_access", "ClientelePortal"],
        id_token_signing_alg_values_supported=["HS256", "EdDSA"],
    )(server)
    pushes(201, '{"request_uri": "urn:1"}')(server)
    told = {one.what.partition(" from ")[0]: one for one in found(server)}
    assert not [what for what in told if what.startswith(TENANT)]
    assert told[PUSH].found == told[CLIENT].found == "is accepted by the identity server"
    assert not any(one.is_fault for one in told.values())


@pytest.mark.parametrize("code", ["unauthorized_client", "invalid_request"])
def test_another_code_is_no_proof_unless_a_wrong_secret_has_its_own(server: Server, code: str) -> None:
    answers(code)(server)
    finding = about(server, CLIENT)
    assert finding is not None
    assert f"a wrong code is answered with {code}" in finding.found
    right = base64.b64encode(b"riverside-portal:a%2Bb%2Fc%3Dd%25").decode()
    server.answers.clear()
    server.accepts = lambda _form, auth: auth == f"Basic {right}"
    server.token_error = code
    finding = about(server, CLIENT)
    assert finding is not None
    assert finding.found == "is accepted by the identity server"


@pytest.mark.parametrize("secret", [SECRET, "another"])
def test_where_every_code_is_answered_alike_revoking_tells_of_the_secret(server: Server, secret: str) -> None:
    answers("unauthorized_client", 403)(server)
    server.discovery["revocation_endpoint"] = f"{server.origin}/revoke"
    server.accepts = lambda form, _auth: form.get("client_secret") == secret
    finding = about(server, CLIENT, 'client_auth = "client_secret_post"')
    assert finding is not None
    said = (
        ("isn't accepted by the identity server", True)
        if secret != SECRET
        else ("is accepted by the identity server", False)
    )
    assert (finding.found, finding.is_fault) == said


def test_the_push_is_sent_as_a_sign_in_would_be(server: Server) -> None:
    pushes(201, '{"request_uri": "urn:1"}')(server)
    found(server)
    form, _authorization = server.posted("/par")[0]
    assert form["redirect_uri"].endswith("/sign-in/callback")
    assert (form["scope"].split()[0], form["code_challenge_method"], form["acr_values"]) == (
        "openid",
        "S256",
        "tenant:riverside",
    )


def test_each_host_pushes_its_own_redirect_uri(server: Server) -> None:
    pushes(201, '{"request_uri": "urn:1"}')(server)
    clinic = replace(configured(server.plan, ""), hosts=("portal.example", "old.example"))
    timeouts = Timeouts(connect=1, read=1, page=2)
    list(check_identity([clinic], Provider(server.origin, (), timeouts, time.time, 0), timeouts))
    assert [form["redirect_uri"] for form, _authorization in server.posted("/par")] == [
        "https://portal.example/sign-in/callback",
        "https://old.example/sign-in/callback",
    ]


@pytest.mark.parametrize("tenant", ['par = "off"', ""])
def test_nothing_is_pushed_where_sign_ins_arent(server: Server, tenant: str) -> None:
    if tenant:
        pushes(400, "")(server)
    assert about(server, PUSH, tenant) is None
    assert not server.posted("/par")
