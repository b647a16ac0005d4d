"""Proofs of possession at the identity server and UserInfo: wrong ones of every kind are refused (RFC 9449 §4.3)."""

from __future__ import annotations

import base64
import hashlib
from typing import Any

import pytest
from joserfc import jwt
from joserfc.jwk import ECKey, OctKey, OKPKey, RSAKey

from tests.careservice.identity.identity_server import CALLBACK, ISSUER, SECRETS, VERIFIER, IdentityServer

KEY, OTHER = ECKey.generate_key("P-256"), ECKey.generate_key("P-256")
TOKEN = f"{ISSUER}/connect/token"
USERINFO = f"{ISSUER}/connect/userinfo"
_ids = iter(range(10**9))


class Client:
    """A client that proves a key, and repeats once with the server's nonce."""

    def __init__(self, server: IdentityServer) -> None:
        self.server = server
        self.nonce: str | None = None

    def proof(
        self, method: str, url: str, *, key: Any = KEY, header: Any = (), token: str = "", **claims: Any
    ) -> str:
        made = {
            "jti": str(next(_ids)),
            "htm": method,
            "htu": url,
            "iat": int(self.server.clock().timestamp()),
        }
        if token:
            made["ath"] = digest(token)
        if self.nonce:
            made["nonce"] = self.nonce
        made = {name: value for name, value in {**made, **claims}.items() if value is not None}
        head = {"typ": "dpop+jwt", "alg": "ES256", "jwk": key.as_dict(private=False), **dict(header)}
        head = {name: value for name, value in head.items() if value is not None}
        return jwt.encode(head, made, key, algorithms=[head["alg"]])

    def post(self, path: str, form: dict[str, str], proof: Any) -> Any:
        auth = ("riverside-portal", SECRETS["riverside-portal"])
        headers = {"DPoP": proof()} if proof else {}
        answer = self.server.app.test_client().post(path, data=form, auth=auth, headers=headers)
        if answer.status_code == 400 and answer.get_json()["error"] == "use_dpop_nonce":
            self.nonce = answer.headers["DPoP-Nonce"]
            return self.post(path, form, proof)
        return answer

    def tokens(self, **changes: Any) -> dict[str, Any]:
        form = code_form(self.server.browser().sign_in("amelia", **changes)["code"])
        answer = self.post("/connect/token", form, lambda: self.proof("POST", TOKEN))
        assert answer.status_code == 200, answer.text
        return answer.get_json()

    def userinfo(self, token: str, proof: str | None, scheme: str = "DPoP") -> Any:
        headers = {"Authorization": f"{scheme} {token}"} | ({"DPoP": proof} if proof else {})
        return self.server.app.test_client().get("/connect/userinfo", headers=headers)


@pytest.fixture
def client(server: IdentityServer) -> Client:
    return Client(server)


def code_form(code: str) -> dict[str, str]:
    return {
        "grant_type": "authorization_code",
        "code": code,
        "redirect_uri": CALLBACK,
        "code_verifier": VERIFIER,
    }


def digest(text: str) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=").decode()


def test_tokens_are_bound_to_the_proven_key_and_refreshed_with_it_alone(client: Client) -> None:
    tokens = client.tokens()
    assert tokens["token_type"] == "DPoP"
    assert client.server.read(tokens["access_token"]).claims["cnf"] == {"jkt": KEY.thumbprint()}
    form = {"grant_type": "refresh_token", "refresh_token": tokens["refresh_token"]}
    for proof in (None, lambda: client.proof("POST", TOKEN, key=OTHER)):
        answer = client.post("/connect/token", form, proof)
        assert (answer.status_code, answer.get_json()["error"]) == (400, "invalid_dpop_proof")
    renewed = client.post("/connect/token", form, lambda: client.proof("POST", TOKEN)).get_json()
    assert client.server.read(renewed["access_token"]).claims["cnf"] == {"jkt": KEY.thumbprint()}


def test_without_a_proof_nothing_changes(server: IdentityServer) -> None:
    tokens = server.tokens()
    assert tokens["token_type"] == "Bearer"
    assert "cnf" not in server.read(tokens["access_token"]).claims
    assert "DPoP-Nonce" not in server.userinfo(tokens["access_token"]).headers


def test_a_server_client_gets_a_bound_token(client: Client) -> None:
    auth = ("riverside-service", SECRETS["riverside-service"])
    form = {"grant_type": "client_credentials", "scope": "ClientelePortal"}
    http = client.server.app.test_client()
    first = http.post("/connect/token", data=form, auth=auth, headers={"DPoP": client.proof("POST", TOKEN)})
    client.nonce = first.headers["DPoP-Nonce"]
    answer = http.post("/connect/token", data=form, auth=auth, headers={"DPoP": client.proof("POST", TOKEN)})
    assert answer.get_json()["token_type"] == "DPoP"


def test_a_code_that_names_a_key_is_exchanged_with_that_alone(client: Client) -> None:
    code = client.server.browser().sign_in("amelia", dpop_jkt=KEY.thumbprint())["code"]
    for proof in (None, lambda: client.proof("POST", TOKEN, key=OTHER)):
        answer = client.post("/connect/token", code_form(code), proof)
        assert (answer.status_code, answer.get_json()["error"]) == (400, "invalid_dpop_proof")
    assert (
        client.post("/connect/token", code_form(code), lambda: client.proof("POST", TOKEN)).status_code == 200
    )


def test_a_pushed_request_binds_its_code_to_the_proven_key(client: Client) -> None:
    form = {
        "response_type": "code", "redirect_uri": CALLBACK, "scope": "openid", "state": "s", "code_challenge_method": "S256",
        "code_challenge": digest(VERIFIER),
    }  # fmt: skip
    url = f"{ISSUER}/connect/par"
    wrong = client.post(
        "/connect/par", form | {"dpop_jkt": OTHER.thumbprint()}, lambda: client.proof("POST", url)
    )
    assert (wrong.status_code, wrong.get_json()["error"]) == (400, "invalid_dpop_proof")
    pushed = client.post("/connect/par", form, lambda: client.proof("POST", url)).get_json()
    browser = client.server.browser()
    page = browser.http.get("/connect/authorize", query_string={"client_id": "riverside-portal", **pushed})
    answer = browser.submit(browser.http.get(page.location), "amelia")
    code = answer.location.partition("code=")[2].partition("&")[0]
    refused = client.post("/connect/token", code_form(code), None)
    assert refused.get_json()["error"] == "invalid_dpop_proof"


WRONG = {
    "another method": {"htm": "POST"},
    "another address": {"htu": f"{ISSUER}/connect/token"},
    "another server": {"htu": "https://other.example/connect/userinfo"},
    "another port": {"htu": USERINFO.replace("8001", "8002")},
    "no address": {"htu": None},
    "an address that isn't one": {"htu": "http://[::1"},
    "old": {"iat": 1_000_000},
    "of tomorrow": {"iat": 4_000_000_000},
    "no time": {"iat": None},
    "a time that isn't one": {"iat": "now"},
    "no id": {"jti": None},
    "an endless id": {"jti": "x" * 201},
    "another token": {"ath": digest("other")},
    "no token": {"ath": None},
    "another type": {"header": {"typ": "JWT"}},
    "without its key": {"header": {"jwk": None}},
    "with another's key": {"header": {"jwk": OTHER.as_dict(private=False)}},
    "with a private key": {"header": {"jwk": KEY.as_dict(private=True)}},
    "a secret as its key": {"header": {"alg": "HS256", "jwk": OctKey.generate_key(256).as_dict()}, "key": OctKey.generate_key(256)},
}  # fmt: skip


@pytest.mark.parametrize("wrong", WRONG.values(), ids=WRONG)
def test_a_wrong_proof_is_refused_in_words(client: Client, wrong: dict[str, Any]) -> None:
    token = client.tokens()["access_token"]
    answer = client.userinfo(token, client.proof("GET", USERINFO, token=token, **wrong))
    assert (answer.status_code, answer.data) == (401, b"")
    assert (
        'DPoP error="invalid_dpop_proof", error_description="The proof' in answer.headers["WWW-Authenticate"]
    )
    assert client.userinfo(token, client.proof("GET", USERINFO, token=token)).status_code == 200


def test_a_wrong_proof_gets_no_token_and_uses_up_no_code(client: Client) -> None:
    form = code_form(client.server.browser().sign_in("amelia")["code"])
    http, auth = client.server.app.test_client(), ("riverside-portal", SECRETS["riverside-portal"])
    first = http.post("/connect/token", data=form, auth=auth, headers={"DPoP": client.proof("POST", TOKEN)})
    assert (first.status_code, first.get_json()["error"]) == (400, "use_dpop_nonce"), "no nonce yet"
    client.nonce = first.headers["DPoP-Nonce"]
    wrongs = WRONG | {"another method": {"htm": "GET"}, "another address": {"htu": USERINFO}}
    for kind in ("another token", "no token"):  # there is none yet
        del wrongs[kind]
    told = {"DPoP": [client.proof("POST", TOKEN, **wrong) for wrong in wrongs.values()]}
    told["DPoP"] += ["", "a.b.c", "x" * 9000, f"{client.proof('POST', TOKEN)}, {client.proof('POST', TOKEN)}"]
    for proof in told["DPoP"]:
        answer = http.post("/connect/token", data=form, auth=auth, headers={"DPoP": proof})
        assert (answer.status_code, answer.get_json()["error"]) == (400, "invalid_dpop_proof"), proof
        assert "The" in answer.get_json()["error_description"]
        assert "no-store" in answer.headers["Cache-Control"]
    nonce = client.proof("POST", TOKEN, nonce="made-up")
    answer = http.post("/connect/token", data=form, auth=auth, headers={"DPoP": nonce})
    assert answer.get_json()["error"] == "use_dpop_nonce" and answer.headers["DPoP-Nonce"] == client.nonce
    proof = client.proof("POST", TOKEN)
    answer = http.post("/connect/token", data=form, auth=auth, headers={"DPoP": proof})
    assert answer.status_code == 200, answer.text
    refresh = {"grant_type": "refresh_token", "refresh_token": answer.get_json()["refresh_token"]}
    again = http.post("/connect/token", data=refresh, auth=auth, headers={"DPoP": proof})
    assert again.get_json()["error_description"] == "The proof was used before."


def test_the_care_api_refuses_every_wrong_proof_and_takes_the_right_one_once(client: Client) -> None:
    token, http = client.tokens()["access_token"], client.server.app.test_client()

    def read(*proofs: str, scheme: str = "DPoP") -> Any:
        headers = [("Authorization", f"{scheme} {token}"), *(("DPoP", proof) for proof in proofs)]
        return http.get("/api/care/consent-forms?MaxResultCount=1", headers=headers)

    url = f"{ISSUER}/api/care/consent-forms"
    for kind, wrong in WRONG.items():
        answer = read(client.proof("GET", url, token=token, **wrong))
        assert (answer.status_code, answer.data) == (401, b""), kind
        assert 'DPoP error="invalid_dpop_proof"' in answer.headers["WWW-Authenticate"], kind
    right = client.proof("GET", url, token=token)
    assert [read(right).status_code, read(right).status_code] == [200, 401]
    two = [client.proof("GET", url, token=token) for _ in range(2)]
    other = client.proof("GET", url, token=token, key=OTHER)
    for answer in (read(), read(*two), read(other), read(two[0], scheme="Bearer")):
        assert (answer.status_code, answer.data) == (401, b"")
        assert answer.headers["WWW-Authenticate"]
    answer = read(client.proof("GET", url, token=token, nonce="made-up"))
    assert 'error="use_dpop_nonce"' in answer.headers["WWW-Authenticate"]
    assert answer.headers["DPoP-Nonce"] == client.nonce


@pytest.mark.parametrize("made", ["", "a.b.c", "e30.e30.e30", "x" * 9000, "é"])
def test_what_is_no_proof_is_refused(client: Client, made: str) -> None:
    token = client.tokens()["access_token"]
    answer = client.server.app.test_client().get(
        "/connect/userinfo",
        headers=[("Authorization", f"DPoP {token}"), ("DPoP", made.encode().decode("latin-1"))],
    )
    assert answer.status_code == 401 and "invalid_dpop_proof" in answer.headers["WWW-Authenticate"]


def test_two_proofs_are_none(client: Client) -> None:
    token = client.tokens()["access_token"]
    proofs = [("DPoP", client.proof("GET", USERINFO, token=token)) for _ in range(2)]
    answer = client.server.app.test_client().get(
        "/connect/userinfo", headers=[("Authorization", f"DPoP {token}"), *proofs]
    )
    assert answer.status_code == 401


def test_a_proof_counts_once(client: Client) -> None:
    token = client.tokens()["access_token"]
    proof = client.proof("GET", USERINFO, token=token)
    assert client.userinfo(token, proof).status_code == 200
    answer = client.userinfo(token, proof)
    assert answer.status_code == 401 and "used before" in answer.headers["WWW-Authenticate"]


def test_a_nonce_ends_and_the_next_one_comes_with_the_answer(client: Client) -> None:
    token = client.tokens()["access_token"]
    client.server.clock.advance(seconds=60)
    answer = client.userinfo(token, client.proof("GET", USERINFO, token=token))
    assert answer.status_code == 200 and answer.headers["DPoP-Nonce"] != client.nonce
    client.server.clock.advance(seconds=120)
    answer = client.userinfo(token, client.proof("GET", USERINFO, token=token))
    assert 'error="use_dpop_nonce"' in answer.headers["WWW-Authenticate"]
    client.nonce = answer.headers["DPoP-Nonce"]
    assert client.userinfo(token, client.proof("GET", USERINFO, token=token)).status_code == 200


def test_a_bound_token_isnt_a_bearer_token_nor_the_other_way_round(client: Client) -> None:
    token, plain = client.tokens()["access_token"], client.server.tokens()["access_token"]
    assert client.userinfo(token, None, scheme="Bearer").status_code == 401
    assert (
        client.userinfo(token, client.proof("GET", USERINFO, token=token), scheme="Bearer").status_code == 401
    )
    assert client.userinfo(token, None).status_code == 401
    assert client.userinfo(token, client.proof("GET", USERINFO, token=token, key=OTHER)).status_code == 401
    assert client.userinfo(plain, client.proof("GET", USERINFO, token=plain)).status_code == 401
    assert client.userinfo(plain, None, scheme="Bearer").status_code == 200


@pytest.mark.parametrize(
    ("key", "alg"),
    [
        (OKPKey.generate_key("Ed25519"), "Ed25519"),
        (RSAKey.generate_key(2048), "PS256"),
        (ECKey.generate_key("P-384"), "ES384"),
    ],
    ids=["Ed25519", "PS256", "ES384"],
)
def test_keys_of_other_kinds_prove_too(client: Client, key: Any, alg: str) -> None:
    code = client.server.browser().sign_in("amelia")["code"]
    answer = client.post(
        "/connect/token", code_form(code), lambda: client.proof("POST", TOKEN, key=key, header={"alg": alg})
    )
    assert answer.get_json()["token_type"] == "DPoP"


def test_the_metadata_offer_it(server: IdentityServer) -> None:
    metadata = server.app.test_client().get("/.well-known/openid-configuration").get_json()
    assert "ES256" in metadata["dpop_signing_alg_values_supported"]
