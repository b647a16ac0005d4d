"""Proofs of possession (RFC 9449): one for each request, with the server's last nonce, and no token without its key."""

from __future__ import annotations

import base64
import hashlib
from typing import Any

import pytest
import requests
from authlib.integrations.base_client import OAuthError
from joserfc import jws, jwt
from joserfc.jwk import ECKey

from portal.config.variables import Timeouts
from portal.http import transport
from portal.http.requests_adapter import mount
from portal.http.transfer import Answer, Call
from portal.signin import dpop
from portal.signin.dpop import Nonces, Prover, with_nonce
from portal.signin.errors import SignInFailed
from portal.signin.tokens import read_tokens

URL = "https://api.example/api/care/consent-forms?Filter=Amelia#x"


def read(proof: str) -> tuple[dict[str, Any], dict[str, Any]]:
    header = jws.extract_compact(proof.encode()).headers()
    key = ECKey.import_key(header["jwk"])
    return header, jwt.decode(proof, key, algorithms=["ES256"]).claims


def test_a_proof_is_of_its_key_for_one_request() -> None:
    prover = Prover.new(Nonces())
    header, claims = read(prover.proof("GET", URL, "token"))
    assert (header["typ"], header["alg"]) == ("dpop+jwt", "ES256")
    assert sorted(header["jwk"]) == ["crv", "kty", "x", "y"], "nothing private"
    assert claims["htu"] == "https://api.example/api/care/consent-forms", "neither query nor fragment"
    assert claims["htm"] == "GET"
    digest = hashlib.sha256(b"token").digest()
    assert claims["ath"] == base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
    assert "nonce" not in claims and "ath" not in read(prover.proof("POST", URL))[1]
    ids = {read(prover.proof("GET", URL))[1]["jti"] for _ in range(50)}
    assert len(ids) == 50


def test_a_kept_key_is_the_same_key() -> None:
    nonces = Nonces()
    prover = Prover.new(nonces)
    again = Prover.of(prover.kept, nonces)
    assert again is not None and again.thumbprint == prover.thumbprint
    assert read(again.proof("GET", URL))[0]["jwk"] == read(prover.proof("GET", URL))[0]["jwk"]
    assert Prover.of(None, nonces) is None


def test_each_server_has_its_own_last_nonce() -> None:
    prover = Prover.new(Nonces())
    prover.learn("https://id.example/token", {"DPoP-Nonce": "one"})
    assert "nonce" not in read(prover.proof("GET", URL))[1]
    assert read(prover.proof("POST", "https://id.example/par"))[1]["nonce"] == "one"
    prover.learn("https://id.example/token", {"DPoP-Nonce": "two"})
    assert read(prover.proof("POST", "https://id.example/par"))[1]["nonce"] == "two"
    for wrong in ("", "a b", 'a"b', "x" * 501, "é"):
        prover.learn("https://id.example/token", {"DPoP-Nonce": wrong})
    assert read(prover.proof("POST", "https://id.example/par"))[1]["nonce"] == "two"


def test_the_nonces_of_the_servers_asked_last_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dpop, "_MOST_ORIGINS", 2)
    nonces = Nonces()
    for name, nonce in (("a", "1"), ("b", "2"), ("a", "3"), ("c", "4")):
        nonces.learn(f"https://{name}.example/token", {"dpop-nonce": nonce})
    assert [nonces.of(f"https://{name}.example/par") for name in "abc"] == ["3", None, "4"]


@pytest.mark.parametrize(
    ("status", "headers", "repeats"),
    [
        (401, {"dpop-nonce": "n", "www-authenticate": 'DPoP error="use_dpop_nonce"'}, True),
        (401, {"dpop-nonce": "n", "www-authenticate": 'Bearer realm="x", DPoP algs="ES256", error=use_dpop_nonce'}, True),
        (401, {"www-authenticate": 'DPoP error="use_dpop_nonce"'}, False),
        (401, {"dpop-nonce": "n", "www-authenticate": 'DPoP error="invalid_token"'}, False),
        (401, {"dpop-nonce": "n", "www-authenticate": 'DPoP error="invalid_token", error_description="use_dpop_nonce"'}, False),
        (403, {"dpop-nonce": "n", "www-authenticate": 'DPoP error="use_dpop_nonce"'}, False),
        (200, {"dpop-nonce": "n"}, False),
    ],
)  # fmt: skip
def test_a_request_is_repeated_for_the_servers_nonce_alone(
    status: int, headers: dict[str, str], repeats: bool
) -> None:
    prover = Prover.new(Nonces())
    assert prover.nonce_demanded(URL, status, headers) == ("n" if repeats else None)
    assert read(prover.proof("GET", URL))[1].get("nonce") == headers.get("dpop-nonce")


def test_a_request_is_repeated_with_the_nonce_of_its_own_answer() -> None:
    """Nonces may count once; what another request is given meanwhile is that one's."""
    prover = Prover.new(Nonces())
    demand = {"www-authenticate": 'DPoP error="use_dpop_nonce"'}
    own = prover.nonce_demanded(URL, 401, demand | {"dpop-nonce": "own"})
    prover.nonce_demanded(URL, 401, demand | {"dpop-nonce": "another's"})
    (_, proof) = prover.authorization("token", "GET", URL, own)
    assert read(proof[1])[1]["nonce"] == "own"
    assert read(prover.proof("GET", URL))[1]["nonce"] == "another's"


def test_a_call_of_the_identity_server_is_repeated_with_the_nonce_of_its_own_answer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    prover, sent = Prover.new(Nonces()), list[str | None]()

    def answer(call: Call, *, alone: bool) -> Answer:
        sent.append(read(dict(call.headers)["DPoP"])[1].get("nonce"))
        learnt = {"DPoP-Nonce": f"own-{len(sent)}"}
        return Answer(400, learnt, b"")

    monkeypatch.setattr(transport, "send", answer)
    session = requests.Session()
    mount(session, Timeouts(), prover)
    for _ in range(2):
        session.post("https://id.example/token")
        prover.learn("https://id.example/token", {"DPoP-Nonce": "another's"})
    assert sent == [None, "own-1"]


def test_the_identity_server_is_asked_once_more_and_no_more() -> None:
    answers: list[Any] = [OAuthError("use_dpop_nonce"), "tokens"]

    def send() -> Any:
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    assert with_nonce(send) == "tokens"
    for errors in (["use_dpop_nonce", "use_dpop_nonce"], ["invalid_grant"], ["invalid_dpop_proof"]):
        answers[:] = [OAuthError(error) for error in errors]
        with pytest.raises(OAuthError):
            with_nonce(send)
        assert not answers


@pytest.mark.parametrize(
    ("kind", "has_key", "is_taken"),
    [("DPoP", True, True), ("dpop", True, True), ("Bearer", True, False), (None, True, False),
     ("Bearer", False, True), (None, False, True), ("DPoP", False, False)],
)  # fmt: skip
def test_a_token_is_bound_as_was_asked_or_refused(kind: str | None, has_key: bool, is_taken: bool) -> None:
    answer = {"access_token": "a", "expires_in": 60} | ({"token_type": kind} if kind else {})
    prover = Prover.new(Nonces()) if has_key else None
    if not is_taken:
        with pytest.raises(SignInFailed, match="token type is not"):
            read_tokens(answer, 0, keep_id_token=False, prover=prover)
        return
    tokens = read_tokens(answer, 0, keep_id_token=False, prover=prover)
    assert tokens.dpop_key == (prover.kept if prover else None)
